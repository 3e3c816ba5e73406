// The binding: arrays in, arrays out. No logic lives here.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "common/binding.hpp"
#include "rank.hpp"
#include "windows.hpp"

using namespace boomslang;

namespace {

nb::dict told(Solved&& solved) {
    nb::dict d;
    const char* names[] = {"valid", "invalid", "unknown"};
    d["status"] = names[solved.status];
    d["reason"] = solved.reason;
    d["core_txns"] = out(std::move(solved.core_txns));
    d["core_reads"] = out(std::move(solved.core_reads));
    return d;
}

// A trace in windows, and the arrays it looks at.
struct Held {
    std::vector<nb::object> arrays;
    std::unique_ptr<Windows> windows;

    template <class T>
    std::span<const T> keep(const In<T>& array) {
        arrays.push_back(nb::cast(array));
        return view(array);
    }

    Held(int32_t txns, int32_t points, int32_t keys, int32_t values, bool overlap, In<uint8_t> state, In<int64_t> read_start,
         In<int32_t> read_key, In<int32_t> read_value, In<int32_t> read_writer, In<int64_t> key_start, In<int32_t> write_txn,
         In<int32_t> write_value, In<int32_t> init, In<int32_t> edge_from, In<int32_t> edge_to,
         In<int32_t> hint_next, In<int64_t> begin, In<int64_t> end, In<int32_t> clock, In<uint8_t> returned, bool real_time,
         bool in_time, In<int32_t> sequence, In<uint8_t> uncertain, int jobs) {
        Whole w;
        w.txns = txns, w.points = points, w.keys = keys, w.unnamed = values, w.overlap = overlap;
        w.state = keep(state), w.read_start = keep(read_start), w.read_key = keep(read_key);
        w.read_value = keep(read_value), w.read_writer = keep(read_writer), w.key_start = keep(key_start);
        w.write_txn = keep(write_txn), w.write_value = keep(write_value);
        w.init = keep(init), w.edge_from = keep(edge_from), w.edge_to = keep(edge_to), w.hint_next = keep(hint_next);
        w.begin = keep(begin), w.end = keep(end), w.clock = keep(clock), w.returned = keep(returned);
        w.real_time = real_time, w.in_time = in_time;
        std::span<const int32_t> points_by_rank = view(sequence);
        windows = std::make_unique<Windows>(std::move(w), std::vector<int32_t>(points_by_rank.begin(), points_by_rank.end()),
                                            view(uncertain), jobs);
    }

    static Options options(int64_t conflicts) {
        Options o;
        o.max_conflicts = conflicts, o.hint_conflicts = conflicts, o.proof_megabytes = 64;
        return o;
    }

    nb::dict cut(int32_t size, int32_t margin, int stop, int jobs, int64_t conflicts, double seconds, double megabytes) {
        Limits limits(seconds, megabytes);
        std::vector<Solved> refuted;
        std::string stopped =
            guarded(limits, [&] { refuted = windows->cut(size, margin, stop, jobs, options(conflicts), limits); }, [] {});
        nb::dict d;
        d["stopped"] = stopped;
        d["hard"] = windows->hard();
        nb::list why;
        for (Solved& solved : refuted) why.append(told(std::move(solved)));
        d["refuted"] = why;
        return d;
    }

    nb::dict solve(int stop, int jobs, int64_t conflicts, double seconds, double megabytes) {
        Limits limits(seconds, megabytes);
        Windows::Step step;
        std::string stopped =
            guarded(limits, [&] { step = windows->solve(stop, jobs, options(conflicts), limits); }, [] {});
        nb::dict d;
        d["stopped"] = stopped;
        d["valid"] = step.status == Answer::VALID;
        d["broken"] = step.broken;
        d["misfit"] = step.misfit;
        d["hard"] = windows->hard();
        d["order"] = out(std::move(step.order));
        std::vector<int32_t> keys, values;
        for (auto [key, value] : step.initial) keys.push_back(key), values.push_back(value);
        d["initial_key"] = out(std::move(keys));
        d["initial_value"] = out(std::move(values));
        d["failed"] = step.failed;
        nb::list why;
        for (Solved& solved : step.why) why.append(told(std::move(solved)));
        d["why"] = why;
        return d;
    }

    bool join(std::vector<int32_t> failed) { return windows->join(failed); }

    nb::dict stats() const {
        const WindowStats& s = windows->stats;
        nb::dict d;
        d["cuts"] = s.cuts, d["refined"] = s.refined, d["joined"] = s.joined, d["windows"] = s.windows;
        d["solved"] = s.solved, d["largest"] = s.largest, d["conflicts"] = s.conflicts, d["decisions"] = s.decisions;
        return d;
    }
};

}  // namespace

NB_MODULE(_windows, m) {
    m.def(
        "in_turn",
        [](In<int64_t> begins, In<int64_t> ends, In<int64_t> of) {
            std::vector<int32_t> points;
            {
                nb::gil_scoped_release release;
                points = in_turn(view(begins), view(ends), view(of));
            }
            return out(std::move(points));
        },
        nb::arg("begins"), nb::arg("ends"), nb::arg("of"));
    nb::class_<Held>(m, "Windows")
        .def(nb::init<int32_t, int32_t, int32_t, int32_t, bool, In<uint8_t>, In<int64_t>, In<int32_t>, In<int32_t>, In<int32_t>,
                      In<int64_t>, In<int32_t>, In<int32_t>, In<int32_t>, In<int32_t>, In<int32_t>, In<int32_t>,
                      In<int64_t>, In<int64_t>, In<int32_t>, In<uint8_t>, bool, bool, In<int32_t>, In<uint8_t>, int>(),
             nb::arg("txns"), nb::arg("points"), nb::arg("keys"), nb::arg("values"), nb::arg("overlap"), nb::arg("state"),
             nb::arg("read_start"), nb::arg("read_key"), nb::arg("read_value"), nb::arg("read_writer"), nb::arg("key_start"),
             nb::arg("write_txn"), nb::arg("write_value"), nb::arg("init"), nb::arg("edge_from"),
             nb::arg("edge_to"), nb::arg("hint_next"), nb::arg("begin"), nb::arg("end"), nb::arg("clock"), nb::arg("returned"),
             nb::arg("real_time"), nb::arg("in_time"), nb::arg("sequence"), nb::arg("uncertain"), nb::arg("jobs"))
        .def("cut", &Held::cut, nb::arg("size"), nb::arg("margin"), nb::arg("stop"), nb::arg("jobs"), nb::arg("conflicts"), nb::arg("seconds"),
             nb::arg("megabytes"))
        .def("solve", &Held::solve, nb::arg("stop"), nb::arg("jobs"), nb::arg("conflicts"), nb::arg("seconds"),
             nb::arg("megabytes"))
        .def("join", &Held::join, nb::arg("failed"))
        .def("stats", &Held::stats);
}
