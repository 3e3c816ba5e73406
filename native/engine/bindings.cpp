// The binding: arrays in, arrays out. No logic lives here.
#include <nanobind/stl/string.h>

#include <memory>

#include "common/binding.hpp"
#include "depths.hpp"
#include "engine.hpp"
#include "forced.hpp"
#include "overwriting.hpp"
#include "states.hpp"
#include "sweep.hpp"
#include "trails.hpp"

namespace boomslang::engine {

namespace {
nb::dict solve(nb::args given, nb::kwargs named) {
    Arguments a(given, named);
    const auto txns = a.next<int32_t>("txns"), points = a.next<int32_t>("points"),
               helpers = a.next<int32_t>("helpers"), keys = a.next<int32_t>("keys");
    const auto state = a.array<uint8_t>("state");
    const auto read_start = a.array<int64_t>("read_start");
    const auto read_key = a.array<int32_t>("read_key"), read_value = a.array<int32_t>("read_value"),
               read_writer = a.array<int32_t>("read_writer");
    const auto read_strong = a.array<uint8_t>("read_strong");
    const auto key_start = a.array<int64_t>("key_start");
    const auto write_txn = a.array<int32_t>("write_txn"), write_value = a.array<int32_t>("write_value"),
               init = a.array<int32_t>("init"), edge_from = a.array<int32_t>("edge_from"),
               edge_to = a.array<int32_t>("edge_to");
    const auto edge_path = a.array<uint8_t>("edge_path");
    const auto hint_next = a.array<int32_t>("hint_next");
    const auto priority = a.array<int64_t>("priority");
    const auto trusted = a.next<bool>("trusted");
    const auto read_step = a.array<int32_t>("read_step");
    const auto clause_start = a.array<int64_t>("clause_start");
    const auto clause_lits = a.array<int32_t>("clause_lits");
    const auto overlap = a.next<bool>("overlap");
    const auto path = a.next<nb::object>("path");
    const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
    const auto hint_conflicts = a.next<int64_t>("hint_conflicts"), max_conflicts = a.next<int64_t>("max_conflicts");
    const auto saturate = a.next<bool>("saturate");
    const auto progress = a.next<nb::object>("progress");
    a.end();
    Problem p;
    p.txns = txns, p.points = points, p.helpers = helpers, p.keys = keys;
    p.state = state, p.read_start = read_start, p.read_key = read_key;
    p.read_value = read_value, p.read_writer = read_writer, p.read_strong = read_strong;
    p.key_start = key_start, p.write_txn = write_txn, p.write_value = write_value;
    p.init = init, p.edge_from = edge_from, p.edge_to = edge_to;
    p.hint_next = hint_next, p.priority = priority, p.edge_path = edge_path;
    p.read_step = read_step, p.clause_start = clause_start, p.clause_lits = clause_lits;
    p.overlap = overlap, p.trusted = trusted;
    if (!path.is_none()) {
        auto rule = nb::cast<nb::tuple>(path);
        p.path = {true, nb::cast<bool>(rule[0]), nb::cast<int32_t>(rule[1]), nb::cast<bool>(rule[2])};
    }

    Limits limits(seconds, megabytes);
    Options options;
    options.hint_conflicts = hint_conflicts, options.max_conflicts = max_conflicts;
    Answer answer;
    std::unique_ptr<Engine> engine;
    std::unique_ptr<Saturation> saturation;
    auto work = [&] {
        if (saturate) {
            saturation = std::make_unique<Saturation>(p, limits);
            p.edge_from = saturation->edge_from, p.edge_to = saturation->edge_to;
        }
        engine = std::make_unique<Engine>(p, limits, options, saturation.get());
        answer = engine->solve();
    };
    auto report = [&] {
        if (!progress.is_none() && engine) progress(engine->stats.decisions, engine->stats.conflicts, engine->pending());
    };
    if (std::string stopped = guarded(limits, work, report); !stopped.empty()) {
        answer = Answer{};
        answer.reason = stopped;
    }
    Stats stats = engine ? engine->stats : Stats{};
    engine.reset();
    nb::dict d;
    const char* names[] = {"valid", "invalid", "unknown"};
    d["status"] = names[answer.status];
    d["reason"] = answer.reason;
    d["order"] = out(std::move(answer.order));
    d["read_writer"] = out(std::move(answer.read_writer));
    d["initial"] = out(std::move(answer.initial));
    d["core_txns"] = out(std::move(answer.core_txns));
    d["core_reads"] = out(std::move(answer.core_reads));
    d["core_tracked"] = answer.core_tracked;
    nb::dict s;
    s["decisions"] = stats.decisions, s["conflicts"] = stats.conflicts, s["propagations"] = stats.propagations;
    s["restarts"] = stats.restarts, s["variables"] = stats.variables, s["clauses"] = stats.clauses;
    s["learned"] = stats.learned, s["removed"] = stats.removed, s["moves"] = stats.moves;
    s["checks"] = stats.checks, s["guess_violations"] = stats.guess_violations;
    s["hints_dropped"] = stats.hints_dropped, s["missed"] = stats.missed;
    s["derived"] = saturation ? int64_t(saturation->derived.size()) : 0;
    d["stats"] = s;
    return d;
}

nb::dict forced(nb::args given, nb::kwargs named) {
    Arguments a(given, named);
    const auto txns = a.next<int32_t>("txns"), keys = a.next<int32_t>("keys");
    const auto state = a.array<uint8_t>("state");
    const auto read_start = a.array<int64_t>("read_start");
    const auto read_key = a.array<int32_t>("read_key"), read_writer = a.array<int32_t>("read_writer"),
               read_step = a.array<int32_t>("read_step");
    const auto key_start = a.array<int64_t>("key_start");
    const auto write_txn = a.array<int32_t>("write_txn"), edge_from = a.array<int32_t>("edge_from"),
               edge_to = a.array<int32_t>("edge_to");
    const auto edge_path = a.array<uint8_t>("edge_path");
    const auto hint_next = a.array<int32_t>("hint_next");
    const auto path = a.next<nb::object>("path");
    const auto way = a.next<int32_t>("way");
    const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
    a.end();
    Problem p;
    p.txns = txns, p.keys = keys;
    p.state = state, p.read_start = read_start, p.read_key = read_key, p.read_writer = read_writer;
    p.read_step = read_step, p.key_start = key_start, p.write_txn = write_txn;
    p.edge_from = edge_from, p.edge_to = edge_to, p.edge_path = edge_path, p.hint_next = hint_next;
    if (!path.is_none()) {
        auto rule = nb::cast<nb::tuple>(path);
        p.path = {true, false, nb::cast<int32_t>(rule[0]), nb::cast<bool>(rule[1])};
    }
    Limits limits(seconds, megabytes);
    Forced pass(p, limits);
    pass.way = Forced::Way(way);
    Answer answer;
    bool covered = true;
    auto work = [&] {
        covered = pass.covers();
        if (covered) answer = pass.solve();
    };
    if (std::string stopped = guarded(limits, work, [] {}); !stopped.empty()) {
        answer = Answer{};
        answer.reason = stopped;
    }
    nb::dict d;
    const char* names[] = {"valid", "invalid", "unknown"};
    d["status"] = covered ? names[answer.status] : "not covered";
    d["reason"] = answer.reason;
    d["order"] = out(std::move(answer.order));
    d["core_txns"] = out(std::move(answer.core_txns));
    d["core_reads"] = out(std::move(answer.core_reads));
    nb::dict s;
    s["forced"] = pass.forced, s["rounds"] = pass.rounds, s["missing"] = pass.missing;
    d["stats"] = s;
    return d;
}

nb::dict by_depth(nb::args given, nb::kwargs named) {
    Arguments a(given, named);
    const auto txns = a.next<int32_t>("txns"), points = a.next<int32_t>("points"),
               helpers = a.next<int32_t>("helpers");
    const auto state = a.array<uint8_t>("state");
    const auto read_start = a.array<int64_t>("read_start");
    const auto read_writer = a.array<int32_t>("read_writer"), edge_from = a.array<int32_t>("edge_from"),
               edge_to = a.array<int32_t>("edge_to"), hint_next = a.array<int32_t>("hint_next");
    const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
    a.end();
    Problem p;
    p.txns = txns, p.points = points, p.helpers = helpers, p.state = state, p.read_start = read_start;
    p.read_writer = read_writer, p.edge_from = edge_from, p.edge_to = edge_to, p.hint_next = hint_next;
    Limits limits(seconds, megabytes);
    std::vector<int32_t> order;
    nb::dict d;
    d["stopped"] = guarded(limits, [&] { order = order_by_depth(p, limits); }, [] {});
    d["order"] = out(std::move(order));
    return d;
}

nb::dict unreachable(nb::args given, nb::kwargs named) {
    Arguments a(given, named);
    const auto txns = a.next<int32_t>("txns"), keys = a.next<int32_t>("keys");
    const auto outcome = a.array<uint8_t>("outcome");
    const auto read_start = a.array<int64_t>("read_start");
    const auto read_key = a.array<int32_t>("read_key"), read_value = a.array<int32_t>("read_value");
    const auto read_use = a.array<uint8_t>("read_use");
    const auto key_start = a.array<int64_t>("key_start");
    const auto write_txn = a.array<int32_t>("write_txn"), write_value = a.array<int32_t>("write_value"),
               init = a.array<int32_t>("init");
    const auto left_out = a.array<uint8_t>("left_out");
    const auto own_guards = a.next<bool>("own_guards"), single = a.next<bool>("single");
    const auto most_states = a.next<int32_t>("most_states"), most_keys = a.next<int32_t>("most_keys"),
               most_groups = a.next<int32_t>("most_groups");
    const auto most_steps = a.next<int64_t>("most_steps");
    const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
    a.end();
    StatesProblem p;
    p.txns = txns, p.keys = keys, p.outcome = outcome, p.read_start = read_start, p.read_key = read_key;
    p.read_value = read_value, p.read_use = read_use, p.key_start = key_start;
    p.write_txn = write_txn, p.write_value = write_value, p.init = init, p.left_out = left_out;
    p.own_guards = own_guards, p.single = single, p.most_states = most_states, p.most_keys = most_keys;
    p.most_groups = most_groups, p.most_steps = most_steps;
    Limits limits(seconds, megabytes);
    StatesFound found;
    std::string stopped = guarded(limits, [&] { found = find_unreachable(p, limits); }, [] {});
    nb::dict d;
    d["stopped"] = stopped;
    d["keys"] = out(std::move(found.keys));
    d["states"] = out(std::move(found.states));
    d["txn"] = found.txn;
    d["groups"] = found.groups, d["steps"] = found.steps, d["largest"] = found.largest;
    d["too_large"] = found.too_large;
    return d;
}

nb::tuple overwriting(nb::args given, nb::kwargs named) {
    Arguments a(given, named);
    const auto txns = a.next<int32_t>("txns"), keys = a.next<int32_t>("keys");
    const auto outcome = a.array<uint8_t>("outcome");
    const auto read_start = a.array<int64_t>("read_start");
    const auto read_key = a.array<int32_t>("read_key");
    const auto read_counts = a.array<uint8_t>("read_counts");
    const auto key_start = a.array<int64_t>("key_start");
    const auto write_txn = a.array<int32_t>("write_txn");
    a.end();
    std::vector<int32_t> writes;
    std::vector<int32_t> reads = overwriting_reads(txns, keys, outcome, read_start, read_key,
                                                   read_counts, key_start, write_txn, writes);
    return nb::make_tuple(out(std::move(reads)), out(std::move(writes)));
}

nb::dict trails(nb::args given, nb::kwargs named) {
    Arguments a(given, named);
    const auto txns = a.next<int32_t>("txns"), points = a.next<int32_t>("points"),
               helpers = a.next<int32_t>("helpers"), keys = a.next<int32_t>("keys");
    const auto state = a.array<uint8_t>("state");
    const auto read_start = a.array<int64_t>("read_start");
    const auto read_key = a.array<int32_t>("read_key"), read_value = a.array<int32_t>("read_value");
    const auto key_start = a.array<int64_t>("key_start");
    const auto write_txn = a.array<int32_t>("write_txn"), write_value = a.array<int32_t>("write_value"),
               init = a.array<int32_t>("init"), edge_from = a.array<int32_t>("edge_from"),
               edge_to = a.array<int32_t>("edge_to");
    const auto priority = a.array<int64_t>("priority");
    const auto patience = a.next<int64_t>("patience");
    const auto stall = a.next<int32_t>("stall");
    const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
    a.end();
    Problem p;
    p.txns = txns, p.points = points, p.helpers = helpers, p.keys = keys;
    p.state = state, p.read_start = read_start, p.read_key = read_key, p.read_value = read_value;
    p.key_start = key_start, p.write_txn = write_txn, p.write_value = write_value, p.init = init;
    p.edge_from = edge_from, p.edge_to = edge_to, p.priority = priority;
    Limits limits(seconds, megabytes);
    std::unique_ptr<Trails> pass;
    auto work = [&] {
        pass = std::make_unique<Trails>(p, limits);
        pass->find(patience, stall);
    };
    nb::dict d;
    d["stopped"] = guarded(limits, work, [] {});
    if (!pass) return d;
    d["order"] = out(std::move(pass->order));
    d["left"] = out(std::move(pass->left));
    d["rounds"] = pass->rounds, d["detours"] = pass->detours;
    return d;
}

nb::dict sweep(nb::args given, nb::kwargs named) {
    Arguments a(given, named);
    const auto txns = a.next<int32_t>("txns"), points = a.next<int32_t>("points"), keys = a.next<int32_t>("keys");
    const auto read_start = a.array<int64_t>("read_start");
    const auto read_key = a.array<int32_t>("read_key"), read_value = a.array<int32_t>("read_value");
    const auto key_start = a.array<int64_t>("key_start");
    const auto write_txn = a.array<int32_t>("write_txn"), write_value = a.array<int32_t>("write_value"),
               init = a.array<int32_t>("init"), before = a.array<int32_t>("before"),
               events = a.array<int32_t>("events");
    const auto most_places = a.next<int64_t>("most_places");
    const auto seconds = a.next<double>("seconds"), megabytes = a.next<double>("megabytes");
    a.end();
    SweepProblem p;
    p.txns = txns, p.points = points, p.keys = keys;
    p.read_start = read_start, p.read_key = read_key, p.read_value = read_value;
    p.key_start = key_start, p.write_txn = write_txn, p.write_value = write_value, p.init = init;
    p.before = before, p.events = events, p.most_places = most_places;
    Limits limits(seconds, megabytes);
    std::unique_ptr<Sweep> pass;
    bool valid = false;
    auto work = [&] {
        pass = std::make_unique<Sweep>(p, limits);
        valid = pass->run();
    };
    nb::dict d;
    d["stopped"] = guarded(limits, work, [] {});
    d["valid"] = valid;
    d["places"] = pass ? pass->places : 0;
    d["order"] = out(pass ? std::move(pass->order) : std::vector<int32_t>{});
    d["read_writer"] = out(pass ? std::move(pass->read_writer) : std::vector<int32_t>{});
    return d;
}
}  // namespace

void bind(nb::module_ m) {
    m.def("solve", &solve);
    m.def("forced", &forced);
    m.def("order_by_depth", &by_depth);
    m.def("unreachable", &unreachable);
    m.def("overwriting", &overwriting);
    m.def("trails", &trails);
    m.def("sweep", &sweep);
    m.def("resident_megabytes", &resident_megabytes);
}

}  // namespace boomslang::engine
