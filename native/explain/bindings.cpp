// The binding: columns in, columns out. No logic lives here.
#include <nanobind/stl/string.h>

#include "common/binding.hpp"
#include "explain/known.hpp"

using namespace boomslang;

NB_MODULE(_known, m) {
    m.def(
        "known_violations",
        [](int32_t txns, int32_t points, int32_t nodes, In<uint8_t> state, In<int64_t> read_start,
           In<int32_t> read_key, In<int32_t> read_writer, In<int32_t> read_step, In<uint8_t> read_predicate,
           In<uint8_t> read_strong, In<int64_t> key_start, In<int32_t> write_txn, In<int32_t> edge_from,
           In<int32_t> edge_to, In<int32_t> edge_read, In<uint8_t> edge_kind, In<uint8_t> edge_path, In<int64_t> hint,
           bool overlap, nb::object once, int64_t most, double seconds, double megabytes) {
            Given g;
            g.txns = txns, g.points = points, g.nodes = nodes, g.state = view(state);
            g.read_start = view(read_start), g.read_key = view(read_key), g.read_writer = view(read_writer);
            g.read_step = view(read_step), g.read_predicate = view(read_predicate), g.read_strong = view(read_strong);
            g.key_start = view(key_start), g.write_txn = view(write_txn);
            g.edge_from = view(edge_from), g.edge_to = view(edge_to), g.edge_read = view(edge_read);
            g.edge_kind = view(edge_kind), g.edge_path = view(edge_path), g.hint = view(hint);
            g.overlap = overlap, g.most = most;
            if (!once.is_none()) {
                nb::tuple told = nb::cast<nb::tuple>(once);
                g.once = true, g.once_ww = nb::cast<bool>(told[0]);
                g.once_longest = nb::cast<int32_t>(told[1]), g.once_earlier = nb::cast<bool>(told[2]);
            }
            Limits limits(seconds, megabytes);
            Known k;
            nb::dict d;
            d["stopped"] = guarded(limits, [&] { known_violations(g, k, limits); }, [] {});
            d["all"] = k.all;
            d["cycle"] = nb::make_tuple(out(std::move(k.from)), out(std::move(k.to)), out(std::move(k.kind)),
                                        out(std::move(k.key)));
            d["cycle_start"] = out(std::move(k.cycle_start));
            d["reads"] = out(std::move(k.reads)), d["reads_start"] = out(std::move(k.reads_start));
            d["txns"] = out(std::move(k.txns)), d["txns_start"] = out(std::move(k.txns_start));
            d["out_read"] = out(std::move(k.out_read)), d["out_txn"] = out(std::move(k.out_txn));
            return d;
        },
        nb::arg("txns"), nb::arg("points"), nb::arg("nodes"), nb::arg("state"), nb::arg("read_start"),
        nb::arg("read_key"), nb::arg("read_writer"), nb::arg("read_step"), nb::arg("read_predicate"),
        nb::arg("read_strong"), nb::arg("key_start"), nb::arg("write_txn"), nb::arg("edge_from"), nb::arg("edge_to"),
        nb::arg("edge_read"), nb::arg("edge_kind"), nb::arg("edge_path"), nb::arg("hint"), nb::arg("overlap"),
        nb::arg("once").none(), nb::arg("most"), nb::arg("seconds"), nb::arg("megabytes"));
}
