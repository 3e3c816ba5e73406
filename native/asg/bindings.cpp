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
            const auto txn_ops = a.next<In<int64_t>>("txn_ops");
            const auto txn_outcome = a.next<In<uint8_t>>("txn_outcome"), op_kind = a.next<In<uint8_t>>("op_kind"),
                       op_flags = a.next<In<uint8_t>>("op_flags");
            const auto op_key = a.next<In<int32_t>>("op_key"), op_value = a.next<In<int32_t>>("op_value"),
                       op_range = a.next<In<int32_t>>("op_range"), range_lo = a.next<In<int32_t>>("range_lo"),
                       range_hi = a.next<In<int32_t>>("range_hi");
            const auto range_items = a.next<In<int64_t>>("range_items");
            const auto item_key = a.next<In<int32_t>>("item_key"), item_value = a.next<In<int32_t>>("item_value");
            const auto key_rank = a.next<In<int64_t>>("key_rank");
            const auto key_type = a.next<In<uint8_t>>("key_type");
            const auto init = a.next<In<int32_t>>("init");
            const auto own_writes = a.next<uint8_t>("own_writes");
            const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
            const auto jobs = a.next<int>("jobs", 1);
            a.end();
            Columns c;
            c.own_writes = OwnWrites(own_writes);
            c.keys = keys, c.txn_ops = view(txn_ops), c.txn_outcome = view(txn_outcome), c.op_kind = view(op_kind);
            c.op_flags = view(op_flags), c.op_key = view(op_key), c.op_value = view(op_value);
            c.op_range = view(op_range), c.range_lo = view(range_lo), c.range_hi = view(range_hi);
            c.range_items = view(range_items), c.item_key = view(item_key), c.item_value = view(item_value);
            c.key_rank = view(key_rank), c.key_type = view(key_type), c.init = view(init);
            Limits limits(seconds, megabytes);
            Extracted e;
            nb::dict d;
            d["stopped"] = guarded(limits, [&] { e = extract(c, limits, jobs); }, [] {});
            d["final"] = writes(std::move(e.final));
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
            const auto outcome = a.next<In<uint8_t>>("outcome");
            const auto read_start = a.next<In<int64_t>>("read_start");
            const auto read_key = a.next<In<int32_t>>("read_key"), read_value = a.next<In<int32_t>>("read_value");
            const auto key_start = a.next<In<int64_t>>("key_start");
            const auto write_txn = a.next<In<int32_t>>("write_txn"), write_value = a.next<In<int32_t>>("write_value"),
                       init = a.next<In<int32_t>>("init"), list_of = a.next<In<int32_t>>("list_of"),
                       list_length = a.next<In<int32_t>>("list_length"), list_key = a.next<In<int32_t>>("list_key");
            const auto list_start = a.next<In<int64_t>>("list_start");
            const auto list_txn = a.next<In<int32_t>>("list_txn");
            const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
            const auto jobs = a.next<int>("jobs", 1);
            a.end();
            Limits limits(seconds, megabytes);
            ListView lists{view(list_of), view(list_length), view(list_key), view(list_start), view(list_txn)};
            Links l;
            nb::dict d;
            auto work = [&] {
                l = link(view(outcome), view(read_start), view(read_key), view(read_value), view(key_start),
                         view(write_txn), view(write_value), view(init), lists, limits, jobs);
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
