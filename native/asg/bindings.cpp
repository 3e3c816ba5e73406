// The binding: columns in, columns out. No logic lives here.
#include <nanobind/stl/string.h>

#include "analyse.hpp"
#include "common/binding.hpp"

using namespace boomslang;

namespace {
nb::tuple writes(Writes&& w) {
    return nb::make_tuple(out(std::move(w.txn)), out(std::move(w.key)), out(std::move(w.value)), out(std::move(w.op)));
}
}  // namespace

NB_MODULE(_analyse, m) {
    m.def(
        "extract",
        [](int32_t keys, In<int64_t> txn_ops, In<uint8_t> txn_outcome, In<uint8_t> op_kind, In<uint8_t> op_flags,
           In<int32_t> op_key, In<int32_t> op_value, In<int32_t> op_range, In<int32_t> range_lo, In<int32_t> range_hi,
           In<int64_t> range_items, In<int32_t> item_key, In<int32_t> item_value, In<int64_t> key_rank,
           In<uint8_t> key_type, In<int32_t> init, uint8_t own_writes, double seconds, double megabytes, int jobs) {
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
        },
        nb::arg("keys"), nb::arg("txn_ops"), nb::arg("txn_outcome"), nb::arg("op_kind"), nb::arg("op_flags"),
        nb::arg("op_key"), nb::arg("op_value"), nb::arg("op_range"), nb::arg("range_lo"), nb::arg("range_hi"),
        nb::arg("range_items"), nb::arg("item_key"), nb::arg("item_value"), nb::arg("key_rank"), nb::arg("key_type"),
        nb::arg("init"), nb::arg("own_writes"), nb::arg("seconds"), nb::arg("megabytes"), nb::arg("jobs") = 1);
    m.def(
        "link",
        [](In<uint8_t> outcome, In<int64_t> read_start, In<int32_t> read_key, In<int32_t> read_value,
           In<int64_t> key_start, In<int32_t> write_txn, In<int32_t> write_value, In<int32_t> init, In<int32_t> list_of,
           In<int32_t> list_length, In<int32_t> list_key, In<int64_t> list_start, In<int32_t> list_txn, double seconds,
           double megabytes, int jobs) {
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
        },
        nb::arg("outcome"), nb::arg("read_start"), nb::arg("read_key"), nb::arg("read_value"), nb::arg("key_start"),
        nb::arg("write_txn"), nb::arg("write_value"), nb::arg("init"), nb::arg("list_of"), nb::arg("list_length"),
        nb::arg("list_key"), nb::arg("list_start"), nb::arg("list_txn"), nb::arg("seconds"), nb::arg("megabytes"),
        nb::arg("jobs") = 1);
}
