// The binding: columns in, columns out. No logic lives here.
#include <nanobind/stl/string.h>

#include "common/binding.hpp"
#include "explain/known.hpp"

namespace boomslang::explain {

void bind(nb::module_ m) {
    m.def(
        "known_violations",
        [](nb::args given, nb::kwargs named) {
            Arguments a(given, named);
            const auto txns = a.next<int32_t>("txns"), points = a.next<int32_t>("points"),
                       nodes = a.next<int32_t>("nodes");
            const auto state = a.array<uint8_t>("state");
            const auto read_start = a.array<int64_t>("read_start");
            const auto read_key = a.array<int32_t>("read_key"), read_writer = a.array<int32_t>("read_writer"),
                       read_step = a.array<int32_t>("read_step");
            const auto read_predicate = a.array<uint8_t>("read_predicate"),
                       read_strong = a.array<uint8_t>("read_strong");
            const auto key_start = a.array<int64_t>("key_start");
            const auto write_txn = a.array<int32_t>("write_txn"), edge_from = a.array<int32_t>("edge_from"),
                       edge_to = a.array<int32_t>("edge_to"), edge_read = a.array<int32_t>("edge_read");
            const auto edge_kind = a.array<uint8_t>("edge_kind"), edge_path = a.array<uint8_t>("edge_path");
            const auto hint = a.array<int64_t>("hint");
            const auto overlap = a.next<bool>("overlap");
            const auto once = a.next<nb::object>("once");
            const auto most = a.next<int64_t>("most");
            const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
            a.end();
            Given g;
            g.txns = txns, g.points = points, g.nodes = nodes, g.state = state;
            g.read_start = read_start, g.read_key = read_key, g.read_writer = read_writer;
            g.read_step = read_step, g.read_predicate = read_predicate, g.read_strong = read_strong;
            g.key_start = key_start, g.write_txn = write_txn;
            g.edge_from = edge_from, g.edge_to = edge_to, g.edge_read = edge_read;
            g.edge_kind = edge_kind, g.edge_path = edge_path, g.hint = hint;
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
        });
}

}  // namespace boomslang::explain
