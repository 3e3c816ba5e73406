#include "part.hpp"

#include <algorithm>

namespace boomslang::windows {

Scratch::Scratch(const Whole& whole)
    : key_stamp(size_t(whole.keys), 0), txn_stamp(size_t(whole.txns), 0), demand_stamp(size_t(whole.keys), 0),
      key_local(size_t(whole.keys)), txn_local(size_t(whole.txns)), demand_pattern(size_t(whole.keys)) {}

Part::Part(const Whole& whole, std::span<const int32_t> points, std::span<const int32_t> spanning,
           std::span<const int32_t> place, Scratch& scratch) {
    const uint32_t stamp = ++scratch.stamp;
    auto local = [&](int32_t t) {
        if (scratch.txn_stamp[size_t(t)] != stamp) {
            scratch.txn_stamp[size_t(t)] = stamp;
            scratch.txn_local[size_t(t)] = int32_t(txn_.size());
            txn_.push_back(t), has_.push_back(0), may_.push_back(whole.state[t] == MAY);
        }
        return size_t(scratch.txn_local[size_t(t)]);
    };
    for (int32_t point : points)
        has_[local(point / whole.points)] |=
            uint8_t((whole.is_begin(point) ? BEGIN : 0) | (whole.is_commit(point) ? COMMIT : 0));
    for (int32_t t : spanning) local(t);

    auto local_key = [&](int32_t key) {
        if (scratch.key_stamp[size_t(key)] != stamp) {
            scratch.key_stamp[size_t(key)] = stamp;
            scratch.key_local[size_t(key)] = int32_t(keys.size());
            keys.push_back({key});
        }
        return scratch.key_local[size_t(key)];
    };
    // Who does not commit here matters only where overlapping writers do.
    auto matters = [&](size_t i) { return has_[i] & COMMIT || whole.overlap; };
    std::vector<int32_t> rows;
    for (size_t i = 0; i < txn_.size(); ++i) {
        if (!matters(i)) continue;
        for (int64_t j = whole.txn_write_start[size_t(txn_[i])]; j < whole.txn_write_start[size_t(txn_[i]) + 1]; ++j) {
            int32_t k = local_key(whole.txn_writes[size_t(j)].key);
            rows.push_back(k);
            if (!(has_[i] & COMMIT)) continue;
            Key& key = keys[size_t(k)];
            key.visible = true;
            if (!may_[i]) key.sure = true;
        }
    }
    // Whether a transaction of unknown outcome is in may hang on any of its reads.
    for (size_t i = 0; i < txn_.size(); ++i)
        if (may_[i] && has_[i] & BEGIN)
            for (int64_t r = whole.read_start[txn_[i]]; r < whole.read_start[txn_[i] + 1]; ++r) local_key(whole.read_key[r]);

    key_start_.assign(keys.size() + 1, 0);
    for (int32_t k : rows) ++key_start_[size_t(k) + 1];
    for (size_t k = 0; k < keys.size(); ++k) key_start_[k + 1] += key_start_[k];
    writes_.resize(rows.size());
    std::vector<int32_t> at(key_start_.begin(), key_start_.end() - 1);
    size_t row = 0;
    for (size_t i = 0; i < txn_.size(); ++i) {
        if (!matters(i)) continue;
        for (int64_t j = whole.txn_write_start[size_t(txn_[i])]; j < whole.txn_write_start[size_t(txn_[i]) + 1]; ++j) {
            int32_t value = has_[i] & COMMIT ? whole.txn_writes[size_t(j)].value : whole.unnamed + 1;
            writes_[size_t(at[size_t(rows[row++])]++)] = {value, int32_t(i)};
        }
    }
    for (size_t k = 0; k < keys.size(); ++k) {
        auto first = writes_.begin() + key_start_[k], last = writes_.begin() + key_start_[k + 1];
        if (last - first > 1 && !std::is_sorted(first, last)) std::sort(first, last);
    }

    auto demand = [&](int32_t key, int32_t pattern, int64_t read) {
        if (scratch.demand_stamp[size_t(key)] == stamp && scratch.demand_pattern[size_t(key)] == pattern) return;
        scratch.demand_stamp[size_t(key)] = stamp, scratch.demand_pattern[size_t(key)] = pattern;
        demands.push_back(read);
    };
    std::vector<int32_t> first_write(keys.size(), INT32_MAX), first_read(keys.size(), INT32_MAX);
    std::vector<int64_t> saw(keys.size(), -1);
    for (size_t k = 0; k < keys.size(); ++k) {
        int32_t last = -1;
        for (int64_t w = key_start_[k]; w < key_start_[k + 1]; ++w) {
            const Write& write = writes_[size_t(w)];
            if (!(has_[size_t(write.txn)] & COMMIT)) continue;
            int32_t at = place[whole.commit_of(txn_[size_t(write.txn)])];
            first_write[k] = std::min(first_write[k], at);
            if (at > last && !may_[size_t(write.txn)]) last = at, keys[k].last = write.value;
        }
    }
    for (size_t i = 0; i < txn_.size(); ++i) {
        if (!(has_[i] & BEGIN)) continue;
        const int32_t t = txn_[i], here = place[whole.begin_of(t)];
        for (int64_t r = whole.read_start[t]; r < whole.read_start[t + 1]; ++r) {
            int32_t key = whole.read_key[r], pattern = whole.read_value[r];
            bool known = scratch.key_stamp[size_t(key)] == stamp;
            size_t k = known ? size_t(scratch.key_local[size_t(key)]) : 0;
            if (!known || !(keys[k].visible || may_[i])) {
                demand(key, pattern, r);
                continue;
            }
            keys[k].read = true;
            if (pattern == PRESENT) keys[k].any_value = true;
            const int32_t writer = whole.read_writer[r];
            if (writer >= -1 ? commits_here(writer, scratch) >= 0 : explained_here(int32_t(k), pattern, int32_t(i))) {
                if (writer >= 0) continue;
            } else if (!may_[i]) {
                demand(key, pattern, r);
                continue;
            }
            if (here < first_write[k] && here < first_read[k]) first_read[k] = here, saw[k] = r;
        }
    }
    for (size_t k = 0; k < keys.size(); ++k)
        if (saw[k] >= 0) likely.push_back(saw[k]);
    keys.shrink_to_fit(), likely.shrink_to_fit(), demands.shrink_to_fit();
}

int32_t Part::commits_here(int32_t txn, const Scratch& scratch) const {
    if (txn < 0 || scratch.txn_stamp[size_t(txn)] != scratch.stamp) return -1;
    int32_t i = scratch.txn_local[size_t(txn)];
    return has_[size_t(i)] & COMMIT ? i : -1;
}

std::pair<int64_t, int64_t> Part::matching(int32_t key, int32_t pattern) const {
    auto first = writes_.begin() + key_start_[size_t(key)], last = writes_.begin() + key_start_[size_t(key) + 1];
    auto below = [](const Write& w, int32_t value) { return w.value < value; };
    if (pattern == PRESENT)
        return {std::lower_bound(first, last, ABSENT + 1, below) - writes_.begin(), last - writes_.begin()};
    auto low = std::lower_bound(first, last, pattern, below);
    auto high = low;
    while (high != last && high->value == pattern) ++high;
    return {low - writes_.begin(), high - writes_.begin()};
}

bool Part::explained_here(int32_t key, int32_t pattern, int32_t reader) const {
    auto [low, high] = matching(key, pattern);
    for (int64_t w = low; w < high; ++w)
        if (int32_t i = writes_[size_t(w)].txn; i != reader && has_[size_t(i)] & COMMIT) return true;
    return false;
}

bool Part::leaves(int32_t key, int32_t pattern, bool sure) const {
    auto [low, high] = matching(key, pattern);
    for (int64_t w = low; w < high; ++w)
        if (int32_t i = writes_[size_t(w)].txn; has_[size_t(i)] & COMMIT && bool(may_[size_t(i)]) != sure) return true;
    return false;
}

namespace {
// Real-time order among the transactions of a part, with a helper node for each moment at which something has returned
// and something begins (see ASG.time_edges).
struct TimeLine {
    std::vector<std::pair<int64_t, int32_t>> ends, begins;  // time, node
    template <class Edge, class Helper>
    void add(Edge&& edge, Helper&& helper) {
        std::sort(ends.begin(), ends.end());
        std::sort(begins.begin(), begins.end());
        size_t e = 0;
        int32_t last = -1;
        bool fresh = false;
        for (auto [time, node] : begins) {
            for (; e < ends.size() && ends[e].first < time; ++e) {
                if (!fresh) {
                    int32_t next = helper();
                    if (last >= 0) edge(last, next);
                    last = next, fresh = true;
                }
                edge(ends[e].second, last);
            }
            fresh = false;
            if (last >= 0) edge(last, node);
        }
    }
};
}  // namespace

Solved Part::solve(const Whole& whole, std::span<const int32_t> start, std::span<const Demand> final,
                   std::span<const int32_t> place, bool lenient, Options options, Limits& limits, Scratch& scratch) const {
    const uint32_t stamp = ++scratch.stamp;
    const int32_t points = whole.points, own = int32_t(txn_.size()), reader = final.empty() ? -1 : own;
    const int32_t txns = own + (reader >= 0);
    for (int32_t i = 0; i < own; ++i)
        scratch.txn_stamp[size_t(txn_[size_t(i)])] = stamp, scratch.txn_local[size_t(txn_[size_t(i)])] = i;
    for (size_t k = 0; k < keys.size(); ++k)
        scratch.key_stamp[size_t(keys[k].key)] = stamp, scratch.key_local[size_t(keys[k].key)] = int32_t(k);

    Solved solved;
    Problem p;
    p.txns = txns, p.points = points, p.keys = int32_t(keys.size()), p.overlap = whole.overlap;
    std::vector<int32_t> write_txn(writes_.size()), write_value(writes_.size());
    for (size_t w = 0; w < writes_.size(); ++w) write_txn[w] = writes_[w].txn, write_value[w] = writes_[w].value;
    std::vector<int64_t> key_start(key_start_.begin(), key_start_.end());
    std::vector<int32_t> init(keys.size());
    for (size_t k = 0; k < keys.size(); ++k)
        init[k] = start[k] == NO_DEMAND ? whole.unnamed + 2 : start[k] == PRESENT ? whole.unnamed : start[k];

    // Reads, and whom they must have seen. A read with one candidate shows that this one committed; then its own reads
    // count, and may show others.
    std::vector<uint8_t> state;
    state.assign(size_t(txns), MUST);
    for (int32_t i = 0; i < own; ++i)
        if (may_[size_t(i)]) state[size_t(i)] = MAY;
    std::vector<int64_t> read_start(size_t(txns) + 1, 0);
    std::vector<int32_t> read_key, read_value, read_writer;
    std::vector<int64_t> read_of;  // of the final reader: which demand, as ~n
    auto from_start = [&](int32_t key, int32_t pattern) {
        return init[size_t(key)] == UNKNOWN_INIT || matches(init[size_t(key)], pattern);
    };
    auto look = [&](int32_t key, int32_t pattern, int32_t i, int32_t& only) {
        int found = 0;
        auto [low, high] = matching(key, pattern);
        for (int64_t w = low; w < high && found < 2; ++w) {
            int32_t other = writes_[size_t(w)].txn;
            if (other == i || !(has_[size_t(other)] & COMMIT)) continue;
            ++found, only = other;
        }
        return found;
    };
    std::vector<int64_t> orphans;
    auto take = [&](int32_t i, int32_t key, int32_t pattern, int64_t of) {
        int32_t only = -1;
        int found;
        if (of >= 0 && whole.read_writer[of] >= -1) {  // who wrote it is known; is that here?
            only = commits_here(whole.read_writer[of], scratch);
            found = only >= 0;
        } else {
            found = look(key, pattern, i, only);
        }
        bool initial = from_start(key, pattern);
        if (found == 0 && !initial && lenient) return;
        if (found == 0 && !initial && (i == reader || !may_[size_t(i)])) orphans.push_back(of);
        read_key.push_back(key), read_value.push_back(pattern), read_of.push_back(of);
        bool fixed = found == 0 && initial && init[size_t(key)] != UNKNOWN_INIT;
        read_writer.push_back(found == 1 && !initial ? only : fixed ? -1 : -2);
    };
    for (int32_t i = 0; i < own; ++i) {
        limits.step(4);
        const int32_t t = txn_[size_t(i)];
        for (int64_t r = whole.read_start[t]; has_[size_t(i)] & BEGIN && r < whole.read_start[t + 1]; ++r) {
            // Of keys that nobody writes here, all that was read is a demand, and met.
            size_t key = size_t(whole.read_key[r]);
            if (scratch.key_stamp[key] != stamp) continue;
            int32_t k = scratch.key_local[key];
            if (keys[size_t(k)].visible || may_[size_t(i)]) take(i, k, whole.read_value[r], r);
        }
        read_start[size_t(i) + 1] = int64_t(read_key.size());
    }
    if (reader >= 0) {
        for (size_t d = 0; d < final.size(); ++d)
            take(reader, scratch.key_local[size_t(final[d].key)], final[d].pattern, ~int64_t(d));
        read_start[size_t(reader) + 1] = int64_t(read_key.size());
    }
    auto txn_of_read = [&](int64_t read) {
        return int32_t(std::upper_bound(whole.read_start.begin(), whole.read_start.end(), read) - whole.read_start.begin()) - 1;
    };
    auto read_of_whole = [&](int64_t of) { return of >= 0 ? of : final[size_t(~of)].read; };
    auto add_core_read = [&](int64_t of) {
        int64_t read = read_of_whole(of);
        if (read < 0) return;
        solved.core_reads.push_back(read);
        solved.core_txns.push_back(txn_of_read(read));
    };
    if (!orphans.empty()) {
        solved.status = Answer::INVALID;
        add_core_read(orphans.front());
        return solved;
    }
    std::vector<int32_t> work;
    for (int32_t i = 0; i < txns; ++i)
        if (state[size_t(i)] == MUST) work.push_back(i);
    for (size_t at = 0; at < work.size(); ++at)
        for (int64_t r = read_start[size_t(work[at])]; r < read_start[size_t(work[at]) + 1]; ++r)
            if (int32_t w = read_writer[size_t(r)]; w >= 0 && state[size_t(w)] == MAY) state[size_t(w)] = MUST, work.push_back(w);

    // The known edges.
    std::vector<int32_t> edge_from, edge_to;
    auto edge = [&](int32_t a, int32_t b) { edge_from.push_back(a), edge_to.push_back(b); };
    auto begin_node = [&](int32_t i) { return i * points; };
    auto commit_node = [&](int32_t i) { return i * points + points - 1; };
    int32_t helpers = 0;
    auto helper = [&] { return txns * points + helpers++; };
    auto inside = [&](int32_t point) {  // the node of a point that is in this part, or -1
        int32_t t = point / points;
        if (scratch.txn_stamp[size_t(t)] != stamp) return -1;
        int32_t i = scratch.txn_local[size_t(t)];
        uint8_t bit = uint8_t(points == 1 ? BEGIN | COMMIT : whole.is_begin(point) ? BEGIN : COMMIT);
        return has_[size_t(i)] & bit ? i * points + point % points : -1;
    };
    for (int32_t i = 0; i < own && whole.edges_in; ++i)
        for (int64_t j = whole.edges_start[size_t(txn_[size_t(i)])]; j < whole.edges_start[size_t(txn_[size_t(i)]) + 1]; ++j) {
            int32_t e = whole.edges_in[size_t(j)], a = inside(whole.edge_from[e]), b = inside(whole.edge_to[e]);
            if (a >= 0 && b >= 0) edge(a, b);
        }
    if (whole.real_time || whole.in_time) {
        std::vector<int32_t> clocks;
        for (int32_t t : txn_)
            if (std::find(clocks.begin(), clocks.end(), whole.clock[t]) == clocks.end()) clocks.push_back(whole.clock[t]);
        for (int32_t clock : clocks) {
            TimeLine line;
            for (int32_t i = 0; i < own; ++i) {
                int32_t t = txn_[size_t(i)];
                if (whole.clock[t] != clock) continue;
                if (has_[size_t(i)] & COMMIT && whole.returned[t] && whole.end[t] != NO_TIME)
                    line.ends.push_back({whole.end[t], commit_node(i)});
                if (has_[size_t(i)] & BEGIN && whole.begin[t] != NO_TIME) line.begins.push_back({whole.begin[t], begin_node(i)});
            }
            line.add(edge, helper);
        }
    }
    if (reader >= 0)  // behind all who write what it reads
        for (const Demand& d : final) {
            size_t k = size_t(scratch.key_local[size_t(d.key)]);
            for (int64_t w = key_start_[k]; w < key_start_[k + 1]; ++w)
                if (int32_t i = writes_[size_t(w)].txn; has_[size_t(i)] & COMMIT) edge(commit_node(i), begin_node(reader));
        }
    if (whole.overlap && !lenient) {
        // Points that are elsewhere are pinned: begins before, commits behind all that has to do with the same keys.
        std::vector<uint8_t> early(keys.size(), 0), late(keys.size(), 0);
        bool some_early = false, some_late = false;
        for (size_t k = 0; k < keys.size(); ++k)
            for (int64_t w = key_start_[k]; w < key_start_[k + 1]; ++w) {
                uint8_t has = has_[size_t(writes_[size_t(w)].txn)];
                if (!(has & BEGIN)) early[k] = 1, some_early = true;
                if (!(has & COMMIT)) late[k] = 1, some_late = true;
            }
        if (some_early) {
            int32_t first = helper();
            for (size_t k = 0; k < keys.size(); ++k)
                for (int64_t w = key_start_[k]; early[k] && w < key_start_[k + 1]; ++w) {
                    int32_t i = writes_[size_t(w)].txn;
                    if (has_[size_t(i)] & BEGIN) {
                        edge(first, begin_node(i));
                    } else {
                        edge(begin_node(i), first);
                        edge(first, commit_node(i));
                    }
                }
        }
        if (some_late) {
            int32_t last = helper();
            for (size_t k = 0; k < keys.size(); ++k)
                for (int64_t w = key_start_[k]; late[k] && w < key_start_[k + 1]; ++w) {
                    int32_t i = writes_[size_t(w)].txn;
                    if (has_[size_t(i)] & COMMIT) {
                        edge(commit_node(i), last);
                    } else {
                        edge(begin_node(i), last);
                        edge(last, commit_node(i));
                    }
                }
            for (int32_t i = 0; i < txns; ++i)
                for (int64_t r = read_start[size_t(i)]; r < read_start[size_t(i) + 1]; ++r)
                    if (late[size_t(read_key[size_t(r)])]) {
                        edge(begin_node(i), last);
                        break;
                    }
        }
    }
    std::vector<int32_t> hint_next;
    if (!whole.hint_next.empty()) {
        hint_next.assign(size_t(txns * points + helpers), -1);
        for (int32_t i = 0; i < own; ++i) {
            if (!(has_[size_t(i)] & COMMIT)) continue;
            int32_t to = whole.hint_next[size_t(whole.commit_of(txn_[size_t(i)]))];
            if (to >= 0) hint_next[size_t(commit_node(i))] = inside(to);
        }
    }
    std::vector<int64_t> priority(size_t(txns), INT64_MAX);
    for (int32_t i = 0; i < own; ++i) {
        int32_t t = txn_[size_t(i)];
        priority[size_t(i)] = place[has_[size_t(i)] & COMMIT ? whole.commit_of(t) : whole.begin_of(t)];
    }
    std::vector<uint8_t> strong(read_key.size(), 1);
    std::vector<int32_t> step(read_key.size(), 0);
    p.helpers = helpers, p.state = state, p.read_start = read_start, p.read_key = read_key, p.read_value = read_value;
    p.read_writer = read_writer, p.read_strong = strong, p.key_start = key_start, p.write_txn = write_txn;
    p.write_value = write_value, p.init = init, p.edge_from = edge_from, p.edge_to = edge_to, p.hint_next = hint_next;
    p.priority = priority, p.read_step = step;

    Engine engine(p, limits, options);
    Answer answer;
    try {
        answer = engine.solve();
    } catch (const Stopped& stopped) {
        if (stopped.reason != "conflicts") throw;
        answer.reason = stopped.reason;
    }
    solved.status = answer.status, solved.reason = answer.reason, solved.stats = engine.stats;
    if (answer.status == Answer::VALID) {
        for (int32_t node : answer.order) {
            int32_t i = node / points;
            if (i >= own) continue;
            uint8_t bit = uint8_t(points == 1 ? BEGIN | COMMIT : node % 2 == 0 ? BEGIN : COMMIT);
            if (has_[size_t(i)] & bit) solved.order.push_back(txn_[size_t(i)] * points + node % points);
        }
        for (size_t k = 0; k < keys.size(); ++k)
            if (start[k] == UNKNOWN_INIT) solved.initial.push_back({keys[k].key, answer.initial[k]});
    } else if (answer.status == Answer::INVALID) {
        for (int32_t i : answer.core_txns)
            if (i < own) solved.core_txns.push_back(txn_[size_t(i)]);
        for (int32_t r : answer.core_reads) add_core_read(read_of[size_t(r)]);
    }
    return solved;
}

}  // namespace boomslang::windows
