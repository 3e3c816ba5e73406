// The binding: arrays in, arrays out. No logic lives here.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

#include "common/binding.hpp"
#include "rank.hpp"
#include "windows.hpp"

namespace boomslang::windows {

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
    std::vector<nb::ndarray<>> arrays;
    std::unique_ptr<Windows> windows;

    Held(const nb::args& given, const nb::kwargs& named) {
        Arguments a(given, named);
        const auto txns = a.next<int32_t>("txns"), points = a.next<int32_t>("points"), keys = a.next<int32_t>("keys"),
                   values = a.next<int32_t>("values");
        const auto overlap = a.next<bool>("overlap");
        const auto state = a.array<uint8_t>("state");
        const auto read_start = a.array<int64_t>("read_start");
        const auto read_key = a.array<int32_t>("read_key"), read_value = a.array<int32_t>("read_value"),
                   read_writer = a.array<int32_t>("read_writer");
        const auto key_start = a.array<int64_t>("key_start");
        const auto write_txn = a.array<int32_t>("write_txn"), write_value = a.array<int32_t>("write_value"),
                   init = a.array<int32_t>("init"), edge_from = a.array<int32_t>("edge_from"),
                   edge_to = a.array<int32_t>("edge_to");
        const auto begin = a.array<int64_t>("begin"), end = a.array<int64_t>("end");
        const auto clock = a.array<int32_t>("clock");
        const auto returned = a.array<uint8_t>("returned");
        const auto real_time = a.next<bool>("real_time"), in_time = a.next<bool>("in_time");
        const auto sequence = a.next<In<int32_t>>("sequence");  // a copy is kept
        const auto after = a.array<int32_t>("after");
        const auto uncertain = a.next<In<uint8_t>>("uncertain");
        const auto jobs = a.next<int>("jobs");
        a.end();
        Whole w;
        w.txns = txns, w.points = points, w.keys = keys, w.unnamed = values, w.overlap = overlap;
        w.state = state, w.read_start = read_start, w.read_key = read_key;
        w.read_value = read_value, w.read_writer = read_writer, w.key_start = key_start;
        w.write_txn = write_txn, w.write_value = write_value;
        w.init = init, w.edge_from = edge_from, w.edge_to = edge_to;
        w.begin = begin, w.end = end, w.clock = clock, w.returned = returned;
        w.real_time = real_time, w.in_time = in_time;
        windows = std::make_unique<Windows>(std::move(w), view(sequence), after, view(uncertain), jobs);
        arrays = std::move(a).arrays();
    }

    void hint(In<int32_t> next) {
        arrays.emplace_back(next);
        windows->hint(view(next));
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
        return stepped(seconds, megabytes, [&](Limits& limits) { return windows->solve(stop, jobs, options(conflicts), limits); });
    }

    nb::dict walk(int32_t margin, int32_t shortest, int jobs, int64_t conflicts, double seconds, double megabytes) {
        return stepped(seconds, megabytes,
                       [&](Limits& limits) { return windows->walk(margin, shortest, jobs, options(conflicts), limits); });
    }

    template <class F>
    nb::dict stepped(double seconds, double megabytes, F&& work) {
        Limits limits(seconds, megabytes);
        Windows::Step step;
        std::string stopped = guarded(limits, [&] { step = work(limits); }, [] {});
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

    bool explains(const std::vector<int32_t>& order, const std::vector<std::pair<int32_t, int32_t>>& initial, int jobs) const {
        return windows->explains_in_parts(order, initial, jobs);
    }

    bool join(std::vector<int32_t> failed) { return windows->join(failed); }

    nb::dict stats() const {
        const WindowStats& s = windows->stats;
        nb::dict d;
        d["cuts"] = s.cuts, d["refined"] = s.refined, d["joined"] = s.joined, d["windows"] = s.windows;
        d["solved"] = s.solved, d["largest"] = s.largest, d["conflicts"] = s.conflicts, d["decisions"] = s.decisions;
        d["walked"] = s.walked, d["marks"] = s.marks, d["stretches"] = s.stretches;
        return d;
    }
};

}  // namespace

void bind(nb::module_ m) {
    m.def(
        "in_turn",
        [](In<int64_t> begins, In<int64_t> ends, In<uint8_t> state, int32_t points, int jobs, size_t least) {
            Turns turns;
            {
                nb::gil_scoped_release release;
                turns = in_turn(view(begins), view(ends), view(state), points, jobs, least);
            }
            return nb::make_tuple(out(std::move(turns.points)), out(std::move(turns.after)));
        },
        nb::arg("begins"), nb::arg("ends"), nb::arg("state"), nb::arg("points"), nb::arg("jobs") = 1, nb::arg("least") = 100'000);
    nb::class_<Held>(m, "Windows")
        .def("__init__", [](Held* self, nb::args given, nb::kwargs named) { new (self) Held(given, named); })
        .def("hint", &Held::hint, nb::arg("next"))
        .def("cut", &Held::cut, nb::arg("size"), nb::arg("margin"), nb::arg("stop"), nb::arg("jobs"), nb::arg("conflicts"), nb::arg("seconds"),
             nb::arg("megabytes"))
        .def("solve", &Held::solve, nb::arg("stop"), nb::arg("jobs"), nb::arg("conflicts"), nb::arg("seconds"),
             nb::arg("megabytes"))
        .def("walk", &Held::walk, nb::arg("margin"), nb::arg("shortest"), nb::arg("jobs"), nb::arg("conflicts"), nb::arg("seconds"),
             nb::arg("megabytes"))
        .def("explains", &Held::explains, nb::arg("order"), nb::arg("initial"), nb::arg("jobs"))
        .def("join", &Held::join, nb::arg("failed"))
        .def("stats", &Held::stats);
}

}  // namespace boomslang::windows
