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

using namespace boomslang;

namespace {
nb::dict solve(int32_t txns, int32_t points, int32_t helpers, int32_t keys, In<uint8_t> state, In<int64_t> read_start,
               In<int32_t> read_key, In<int32_t> read_value, In<int32_t> read_writer, In<uint8_t> read_strong,
               In<int64_t> key_start, In<int32_t> write_txn, In<int32_t> write_value, In<int32_t> init,
               In<int32_t> edge_from, In<int32_t> edge_to, In<uint8_t> edge_path, In<int32_t> hint_next,
               In<int64_t> priority, bool trusted, In<int32_t> read_step, In<int64_t> clause_start, In<int32_t> clause_lits, bool overlap,
               nb::object path, double seconds, double megabytes, int64_t hint_conflicts, int64_t max_conflicts, bool saturate, nb::object progress) {
    Problem p;
    p.txns = txns, p.points = points, p.helpers = helpers, p.keys = keys;
    p.state = view(state), p.read_start = view(read_start), p.read_key = view(read_key);
    p.read_value = view(read_value), p.read_writer = view(read_writer), p.read_strong = view(read_strong);
    p.key_start = view(key_start), p.write_txn = view(write_txn), p.write_value = view(write_value);
    p.init = view(init), p.edge_from = view(edge_from), p.edge_to = view(edge_to);
    p.hint_next = view(hint_next), p.priority = view(priority), p.edge_path = view(edge_path);
    p.read_step = view(read_step), p.clause_start = view(clause_start), p.clause_lits = view(clause_lits);
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

nb::dict forced(int32_t txns, int32_t keys, In<uint8_t> state, In<int64_t> read_start, In<int32_t> read_key, In<int32_t> read_writer,
                In<int32_t> read_step, In<int64_t> key_start, In<int32_t> write_txn, In<int32_t> edge_from, In<int32_t> edge_to,
                In<uint8_t> edge_path, In<int32_t> hint_next, nb::object path, int32_t way, double seconds, double megabytes) {
    Problem p;
    p.txns = txns, p.keys = keys;
    p.state = view(state), p.read_start = view(read_start), p.read_key = view(read_key), p.read_writer = view(read_writer);
    p.read_step = view(read_step), p.key_start = view(key_start), p.write_txn = view(write_txn);
    p.edge_from = view(edge_from), p.edge_to = view(edge_to), p.edge_path = view(edge_path), p.hint_next = view(hint_next);
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

nb::dict by_depth(int32_t txns, int32_t points, int32_t helpers, In<uint8_t> state, In<int64_t> read_start,
                  In<int32_t> read_writer, In<int32_t> edge_from, In<int32_t> edge_to, In<int32_t> hint_next, double seconds,
                  double megabytes) {
    Problem p;
    p.txns = txns, p.points = points, p.helpers = helpers, p.state = view(state), p.read_start = view(read_start);
    p.read_writer = view(read_writer), p.edge_from = view(edge_from), p.edge_to = view(edge_to), p.hint_next = view(hint_next);
    Limits limits(seconds, megabytes);
    std::vector<int32_t> order;
    nb::dict d;
    d["stopped"] = guarded(limits, [&] { order = order_by_depth(p, limits); }, [] {});
    d["order"] = out(std::move(order));
    return d;
}

nb::dict unreachable(int32_t txns, int32_t keys, In<uint8_t> outcome, In<int64_t> read_start, In<int32_t> read_key,
                     In<int32_t> read_value, In<uint8_t> read_use, In<int64_t> key_start, In<int32_t> write_txn,
                     In<int32_t> write_value, In<int32_t> init, In<uint8_t> left_out, bool own_guards, bool single,
                     int32_t most_states, int32_t most_keys, int32_t most_groups, int64_t most_steps, double seconds,
                     double megabytes) {
    StatesProblem p;
    p.txns = txns, p.keys = keys, p.outcome = view(outcome), p.read_start = view(read_start), p.read_key = view(read_key);
    p.read_value = view(read_value), p.read_use = view(read_use), p.key_start = view(key_start);
    p.write_txn = view(write_txn), p.write_value = view(write_value), p.init = view(init), p.left_out = view(left_out);
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

nb::tuple overwriting(int32_t txns, int32_t keys, In<uint8_t> outcome, In<int64_t> read_start, In<int32_t> read_key,
                      In<uint8_t> read_counts, In<int64_t> key_start, In<int32_t> write_txn) {
    std::vector<int32_t> writes;
    std::vector<int32_t> reads = overwriting_reads(txns, keys, view(outcome), view(read_start), view(read_key),
                                                   view(read_counts), view(key_start), view(write_txn), writes);
    return nb::make_tuple(out(std::move(reads)), out(std::move(writes)));
}

nb::dict trails(int32_t txns, int32_t points, int32_t helpers, int32_t keys, In<uint8_t> state, In<int64_t> read_start,
                In<int32_t> read_key, In<int32_t> read_value, In<int64_t> key_start, In<int32_t> write_txn,
                In<int32_t> write_value, In<int32_t> init, In<int32_t> edge_from, In<int32_t> edge_to, In<int64_t> priority,
                int64_t patience, int32_t stall, double seconds, double megabytes) {
    Problem p;
    p.txns = txns, p.points = points, p.helpers = helpers, p.keys = keys;
    p.state = view(state), p.read_start = view(read_start), p.read_key = view(read_key), p.read_value = view(read_value);
    p.key_start = view(key_start), p.write_txn = view(write_txn), p.write_value = view(write_value), p.init = view(init);
    p.edge_from = view(edge_from), p.edge_to = view(edge_to), p.priority = view(priority);
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

nb::dict sweep(int32_t txns, int32_t points, int32_t keys, In<int64_t> read_start, In<int32_t> read_key, In<int32_t> read_value,
               In<int64_t> key_start, In<int32_t> write_txn, In<int32_t> write_value, In<int32_t> init, In<int32_t> before,
               In<int32_t> events, int64_t most_places, double seconds, double megabytes) {
    SweepProblem p;
    p.txns = txns, p.points = points, p.keys = keys;
    p.read_start = view(read_start), p.read_key = view(read_key), p.read_value = view(read_value);
    p.key_start = view(key_start), p.write_txn = view(write_txn), p.write_value = view(write_value), p.init = view(init);
    p.before = view(before), p.events = view(events), p.most_places = most_places;
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

NB_MODULE(_engine, m) {
    m.def("solve", &solve, nb::arg("txns"), nb::arg("points"), nb::arg("helpers"), nb::arg("keys"), nb::arg("state"),
          nb::arg("read_start"), nb::arg("read_key"), nb::arg("read_value"), nb::arg("read_writer"),
          nb::arg("read_strong"), nb::arg("key_start"), nb::arg("write_txn"), nb::arg("write_value"), nb::arg("init"),
          nb::arg("edge_from"), nb::arg("edge_to"), nb::arg("edge_path"), nb::arg("hint_next"), nb::arg("priority"),
          nb::arg("trusted"), nb::arg("read_step"), nb::arg("clause_start"), nb::arg("clause_lits"), nb::arg("overlap"),
          nb::arg("path").none(), nb::arg("seconds"), nb::arg("megabytes"), nb::arg("hint_conflicts"), nb::arg("max_conflicts"), nb::arg("saturate"),
          nb::arg("progress").none());
    m.def("forced", &forced, nb::arg("txns"), nb::arg("keys"), nb::arg("state"), nb::arg("read_start"), nb::arg("read_key"),
          nb::arg("read_writer"), nb::arg("read_step"), nb::arg("key_start"), nb::arg("write_txn"), nb::arg("edge_from"),
          nb::arg("edge_to"), nb::arg("edge_path"), nb::arg("hint_next"), nb::arg("path").none(), nb::arg("way"),
          nb::arg("seconds"), nb::arg("megabytes"));
    m.def("order_by_depth", &by_depth, nb::arg("txns"), nb::arg("points"), nb::arg("helpers"), nb::arg("state"),
          nb::arg("read_start"), nb::arg("read_writer"), nb::arg("edge_from"), nb::arg("edge_to"), nb::arg("hint_next"),
          nb::arg("seconds"), nb::arg("megabytes"));
    m.def("unreachable", &unreachable, nb::arg("txns"), nb::arg("keys"), nb::arg("outcome"), nb::arg("read_start"),
          nb::arg("read_key"), nb::arg("read_value"), nb::arg("read_use"), nb::arg("key_start"), nb::arg("write_txn"),
          nb::arg("write_value"), nb::arg("init"), nb::arg("left_out"), nb::arg("own_guards"), nb::arg("single"),
          nb::arg("most_states"), nb::arg("most_keys"), nb::arg("most_groups"), nb::arg("most_steps"), nb::arg("seconds"),
          nb::arg("megabytes"));
    m.def("overwriting", &overwriting, nb::arg("txns"), nb::arg("keys"), nb::arg("outcome"), nb::arg("read_start"),
          nb::arg("read_key"), nb::arg("read_counts"), nb::arg("key_start"), nb::arg("write_txn"));
    m.def("trails", &trails, nb::arg("txns"), nb::arg("points"), nb::arg("helpers"), nb::arg("keys"), nb::arg("state"),
          nb::arg("read_start"), nb::arg("read_key"), nb::arg("read_value"), nb::arg("key_start"), nb::arg("write_txn"),
          nb::arg("write_value"), nb::arg("init"), nb::arg("edge_from"), nb::arg("edge_to"), nb::arg("priority"),
          nb::arg("patience"), nb::arg("stall"), nb::arg("seconds"), nb::arg("megabytes"));
    m.def("sweep", &sweep, nb::arg("txns"), nb::arg("points"), nb::arg("keys"), nb::arg("read_start"), nb::arg("read_key"),
          nb::arg("read_value"), nb::arg("key_start"), nb::arg("write_txn"), nb::arg("write_value"), nb::arg("init"),
          nb::arg("before"), nb::arg("events"), nb::arg("most_places"), nb::arg("seconds"), nb::arg("megabytes"));
    m.def("resident_megabytes", &resident_megabytes);
}
