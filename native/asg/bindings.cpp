// The binding: columns in, columns out. No logic lives here.
#include <nanobind/stl/string.h>

#include "analyse.hpp"
#include "common/binding.hpp"

namespace boomslang::asg {

namespace {
nb::tuple writes(Writes&& w) {
    return nb::make_tuple(out(std::move(w.txn)), out(std::move(w.key)), out(std::move(w.value)), out(std::move(w.op)));
}
}  // namespace

void bind(nb::module_ m) {
    m.def(
        "extract",
        [](nb::args given, nb::kwargs named) {
            Arguments a(given, named);
            const auto keys = a.next<int32_t>("keys");
            const auto txn_ops = a.array<int64_t>("txn_ops");
            const auto txn_outcome = a.array<uint8_t>("txn_outcome"), op_kind = a.array<uint8_t>("op_kind"),
                       op_flags = a.array<uint8_t>("op_flags");
            const auto op_key = a.array<int32_t>("op_key"), op_value = a.array<int32_t>("op_value"),
                       op_range = a.array<int32_t>("op_range"), range_lo = a.array<int32_t>("range_lo"),
                       range_hi = a.array<int32_t>("range_hi");
            const auto range_items = a.array<int64_t>("range_items");
            const auto item_key = a.array<int32_t>("item_key"), item_value = a.array<int32_t>("item_value");
            const auto key_rank = a.array<int64_t>("key_rank");
            const auto key_type = a.array<uint8_t>("key_type");
            const auto init = a.array<int32_t>("init");
            const auto own_writes = a.next<uint8_t>("own_writes");
            const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
            const auto jobs = a.next<int>("jobs", 1);
            a.end();
            Columns c;
            c.own_writes = OwnWrites(own_writes);
            c.keys = keys, c.txn_ops = txn_ops, c.txn_outcome = txn_outcome, c.op_kind = op_kind;
            c.op_flags = op_flags, c.op_key = op_key, c.op_value = op_value;
            c.op_range = op_range, c.range_lo = range_lo, c.range_hi = range_hi;
            c.range_items = range_items, c.item_key = item_key, c.item_value = item_value;
            c.key_rank = key_rank, c.key_type = key_type, c.init = init;
            Limits limits(seconds, megabytes);
            Extracted e;
            nb::dict d;
            d["stopped"] = guarded(limits, [&] { e = extract(c, limits, jobs); }, [] {});
            Writes& w = e.final;
            d["final"] = nb::make_tuple(out(std::move(w.txn)), out(std::move(w.value)), out(std::move(w.op)),
                                        out(std::move(e.key_start)));
            d["intermediate"] = writes(std::move(e.intermediate));
            d["reads"] = nb::make_tuple(out(std::move(e.reads.start)), out(std::move(e.reads.key)),
                                        out(std::move(e.reads.value)), out(std::move(e.reads.op)),
                                        out(std::move(e.reads.kind)));
            d["internal"] = nb::make_tuple(out(std::move(e.internal.txn)), out(std::move(e.internal.op)),
                                           out(std::move(e.internal.key)), out(std::move(e.internal.seen)),
                                           out(std::move(e.internal.own)));
            d["own_seen"] = e.own_seen, d["own_missed"] = e.own_missed;
            Lists& l = e.lists;
            d["lists"] = nb::make_tuple(out(std::move(l.of)), out(std::move(l.length)), out(std::move(l.key)),
                                        out(std::move(l.start)), out(std::move(l.txn)));
            return d;
        });
    m.def(
        "link",
        [](nb::args given, nb::kwargs named) {
            Arguments a(given, named);
            const auto outcome = a.array<uint8_t>("outcome");
            const auto read_start = a.array<int64_t>("read_start");
            const auto read_key = a.array<int32_t>("read_key"), read_value = a.array<int32_t>("read_value");
            const auto key_start = a.array<int64_t>("key_start");
            const auto write_txn = a.array<int32_t>("write_txn"), write_value = a.array<int32_t>("write_value"),
                       init = a.array<int32_t>("init"), list_of = a.array<int32_t>("list_of"),
                       list_length = a.array<int32_t>("list_length"), list_key = a.array<int32_t>("list_key");
            const auto list_start = a.array<int64_t>("list_start");
            const auto list_txn = a.array<int32_t>("list_txn");
            const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
            const auto jobs = a.next<int>("jobs", 1);
            a.end();
            Limits limits(seconds, megabytes);
            ListView lists{list_of, list_length, list_key, list_start, list_txn};
            Links l;
            nb::dict d;
            auto work = [&] {
                l = link(outcome, read_start, read_key, read_value, key_start,
                         write_txn, write_value, init, lists, limits, jobs);
            };
            d["stopped"] = guarded(limits, work, [] {});
            d["writer"] = out(std::move(l.writer)), d["state"] = out(std::move(l.state));
            d["init"] = out(std::move(l.init)), d["orphans"] = out(std::move(l.orphans));
            d["forced_by"] = out(std::move(l.forced_by)), d["init_by"] = out(std::move(l.init_by));
            d["list_from"] = out(std::move(l.list_from)), d["list_to"] = out(std::move(l.list_to));
            d["list_read"] = out(std::move(l.list_read)), d["doubtful"] = out(std::move(l.doubtful));
            return d;
        });
}

}  // namespace boomslang::asg
