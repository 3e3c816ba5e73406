#include "states.hpp"

#include <algorithm>
#include <map>

#include "problem.hpp"

namespace boomslang::engine {
namespace {

constexpr uint8_t COMMITTED = 0, ABORTED = 1, GUARD = 1, MATCH = 2;
constexpr size_t SMALL_DOMAIN = 255;  // values of a key in a group of several

struct Seen {
    int32_t key, value;
    uint8_t use;
    auto operator<=>(const Seen&) const = default;
};
struct Wrote {
    int32_t key, value;
    auto operator<=>(const Wrote&) const = default;
};
// Transactions that saw and did the same are one. What they saw and wrote is sorted by key.
struct Behaviour {
    std::span<const Seen> reads;
    std::span<const Wrote> writes;
    bool committed;
    int32_t first;
};

// A set of states: those that agree with `value` where `mask` has ones, and hold something wherever `present` does.
struct Pattern {
    uint64_t mask = 0, value = 0, present = 0;
    auto operator<=>(const Pattern&) const = default;
};
constexpr Pattern NOTHING{0, 1, 0};  // matches no state
struct Rule {
    Pattern guard;
    uint64_t mask = 0, value = 0;
    auto operator<=>(const Rule&) const = default;
};
struct Demand {
    Pattern pattern;
    int32_t txn;
};

class Search {
public:
    Search(const StatesProblem& problem, Limits& limits) : p(problem), limits(limits) {}

    StatesFound run() {
        gather();
        find_domains();
        for (int32_t k = 0; k < p.keys && found.keys.empty(); ++k)
            if (!domain[size_t(k)].empty() && !of_key(k).empty()) try_group({k});
        if (found.keys.empty() && !p.single) several();
        return std::move(found);
    }

private:
    const StatesProblem& p;
    Limits& limits;
    StatesFound found;
    std::vector<Seen> all_seen;
    std::vector<Wrote> all_wrote;
    std::vector<Behaviour> behaviours;
    std::vector<int64_t> key_from;             // of each key, where in `by_key` it begins
    std::vector<int32_t> by_key;               // the behaviours that read or write it
    std::vector<std::vector<int32_t>> domain;  // of each key its values, sorted; absent, and an unnamed one, if they can be
    std::vector<uint32_t> stamp;
    uint32_t now = 0;

    void gather() {
        std::vector<int32_t> start(size_t(p.txns) + 1, 0);
        for (int32_t t : p.write_txn) ++start[size_t(t) + 1];
        for (int32_t t = 0; t < p.txns; ++t) start[size_t(t) + 1] += start[size_t(t)];
        all_wrote.resize(p.write_txn.size());
        auto next = start;
        for (int32_t k = 0; k < p.keys; ++k)
            for (int64_t i = p.key_start[size_t(k)]; i < p.key_start[size_t(k) + 1]; ++i)
                all_wrote[size_t(next[size_t(p.write_txn[size_t(i)])]++)] = {k, p.write_value[size_t(i)]};
        all_seen.reserve(p.read_key.size());  // so that what behaviours refer to stays where it is
        size_t slots = 64;
        while (slots < 2 * size_t(p.txns)) slots *= 2;
        std::vector<int32_t> by_hash(slots, -1);
        for (int32_t t = 0; t < p.txns; ++t) {
            if (p.outcome[size_t(t)] == ABORTED) continue;
            size_t from = all_seen.size();
            for (int64_t r = p.read_start[size_t(t)]; r < p.read_start[size_t(t) + 1]; ++r) {
                int32_t key = p.read_key[size_t(r)];
                if (p.read_use[size_t(r)] && !p.left_out[size_t(key)])
                    all_seen.push_back({key, p.read_value[size_t(r)], p.read_use[size_t(r)]});
            }
            auto first = all_seen.begin() + int64_t(from);
            std::sort(first, all_seen.end());
            all_seen.erase(std::unique(first, all_seen.end()), all_seen.end());
            std::span<const Seen> reads(all_seen.data() + from, all_seen.size() - from);
            std::span<const Wrote> writes(all_wrote.data() + start[size_t(t)], size_t(start[size_t(t) + 1] - start[size_t(t)]));
            bool committed = p.outcome[size_t(t)] == COMMITTED;
            limits.step(uint32_t(reads.size() + writes.size()) + 1);
            if (!(writes.empty() && (reads.empty() || !committed)) && is_new(by_hash, {reads, writes, committed, t}))
                behaviours.push_back({reads, writes, committed, t});
            else
                all_seen.resize(from);
        }
        key_from.assign(size_t(p.keys) + 1, 0);
        each_key([&](int32_t key, int32_t) { ++key_from[size_t(key) + 1]; });
        for (int32_t k = 0; k < p.keys; ++k) key_from[size_t(k) + 1] += key_from[size_t(k)];
        by_key.resize(size_t(key_from.back()));
        auto at = key_from;
        each_key([&](int32_t key, int32_t behaviour) { by_key[size_t(at[size_t(key)]++)] = behaviour; });
        stamp.assign(behaviours.size(), 0);
    }

    // Notes it in the table, unless one like it is there.
    bool is_new(std::vector<int32_t>& by_hash, const Behaviour& b) const {
        uint64_t h = b.committed;
        auto mix = [&](uint64_t x) { h = (h ^ x) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
        for (const Seen& s : b.reads) mix(uint64_t(uint32_t(s.key)) << 32 | uint32_t(s.value)), mix(s.use);
        for (const Wrote& w : b.writes) mix(~(uint64_t(uint32_t(w.key)) << 32 | uint32_t(w.value)));
        for (size_t i = h & (by_hash.size() - 1);; i = (i + 1) & (by_hash.size() - 1)) {
            if (by_hash[i] < 0) {
                by_hash[i] = int32_t(behaviours.size());
                return true;
            }
            const Behaviour& o = behaviours[size_t(by_hash[i])];
            if (o.committed == b.committed && std::ranges::equal(o.reads, b.reads) && std::ranges::equal(o.writes, b.writes))
                return false;
        }
    }

    // Each key of each behaviour, once.
    template <class F>
    void each_key(F&& f) const {
        for (size_t i = 0; i < behaviours.size(); ++i) {
            const Behaviour& b = behaviours[i];
            auto w = b.writes.begin();
            for (auto s = b.reads.begin(); s != b.reads.end() || w != b.writes.end();) {
                int32_t key = w == b.writes.end() || (s != b.reads.end() && s->key < w->key) ? s->key : w->key;
                while (s != b.reads.end() && s->key == key) ++s;
                while (w != b.writes.end() && w->key == key) ++w;
                f(key, int32_t(i));
            }
        }
    }

    std::span<const int32_t> of_key(int32_t key) const {
        return {by_key.data() + key_from[size_t(key)], size_t(key_from[size_t(key) + 1] - key_from[size_t(key)])};
    }

    // What of it is about the key. A transaction may have read a million keys, so it is not looked through each time.
    template <class T>
    static std::span<const T> about(std::span<const T> all, int32_t key) {
        auto low = std::ranges::lower_bound(all, key, {}, &T::key);
        auto high = low;
        while (high != all.end() && high->key == key) ++high;
        return {low, high};
    }

    void find_domains() {
        domain.resize(size_t(p.keys));
        for (int32_t k = 0; k < p.keys; ++k) {
            if (p.left_out[size_t(k)] || of_key(k).empty()) continue;
            auto& values = domain[size_t(k)];
            for (int64_t i = p.key_start[size_t(k)]; i < p.key_start[size_t(k) + 1]; ++i)
                if (p.outcome[size_t(p.write_txn[size_t(i)])] != ABORTED) values.push_back(p.write_value[size_t(i)]);
            if (p.init[size_t(k)] == UNKNOWN_INIT) {
                values.push_back(ABSENT), values.push_back(StatesFound::unnamed);
                for (int32_t s : of_key(k))
                    for (const Seen& seen : about(behaviours[size_t(s)].reads, k))
                        if (seen.value != PRESENT) values.push_back(seen.value);
            } else {
                values.push_back(p.init[size_t(k)]);
            }
            std::sort(values.begin(), values.end());
            values.erase(std::unique(values.begin(), values.end()), values.end());
            if (values.size() > size_t(p.most_states)) values.clear();
        }
    }

    // Keys that a transaction read together, and where those are many, what it wrote with each of them.
    void several() {
        std::map<std::vector<int32_t>, int64_t> groups;
        auto add = [&](std::vector<int32_t> keys) {
            std::sort(keys.begin(), keys.end());
            keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
            if (keys.size() > size_t(p.most_keys)) ++found.too_large;
            if (keys.size() < 2 || keys.size() > size_t(p.most_keys)) return;
            if (int64_t(groups.size()) < 8 * p.most_groups || groups.count(keys)) ++groups[keys];
        };
        for (const Behaviour& s : behaviours) {
            std::vector<int32_t> read, wrote;
            for (const Seen& seen : s.reads)
                if (small(seen.key)) read.push_back(seen.key);
            for (const Wrote& w : s.writes)
                if (small(w.key)) wrote.push_back(w.key);
            limits.step(uint32_t(read.size() + wrote.size()) + 1);
            // With guards on own keys only, keys are tied together by transactions that write several.
            if (p.own_guards && wrote.size() < 2) continue;
            if (s.committed) add(read);
            if (wrote.empty()) continue;
            std::vector<int32_t> both = read;
            both.insert(both.end(), wrote.begin(), wrote.end());
            add(both);
            if (both.size() > size_t(p.most_keys) && int64_t(groups.size()) < 4 * p.most_groups)
                for (int32_t k : read) add({wrote.front(), k});
        }
        std::vector<std::pair<std::vector<int32_t>, int64_t>> order(groups.begin(), groups.end());
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
            return a.first.size() != b.first.size() ? a.first.size() < b.first.size() : a.second > b.second;
        });
        for (size_t i = 0; i < order.size() && found.keys.empty(); ++i) {
            if (found.groups >= p.most_groups + int64_t(p.keys) || found.steps > p.most_steps) return;
            std::vector<int32_t> keys = order[i].first;
            if (try_group(keys)) continue;
            ++found.too_large;
            if (keys.size() == 2) continue;
            // Too many states: then two at a time.
            for (size_t a = 0; a < keys.size() && found.keys.empty(); ++a)
                for (size_t b = a + 1; b < keys.size() && found.keys.empty(); ++b)
                    if (groups.emplace(std::vector<int32_t>{keys[a], keys[b]}, 0).second) try_group({keys[a], keys[b]});
        }
    }

    // Of a key that never changes, all is said once it has been looked at alone.
    bool small(int32_t key) const { return domain[size_t(key)].size() > 1 && domain[size_t(key)].size() <= SMALL_DOMAIN; }

    // False: it has too many states. If it refutes the trace, `found` has it.
    bool try_group(const std::vector<int32_t>& keys) {
        if (found.steps > p.most_steps) return true;
        ++found.groups;
        std::vector<int> shift;
        int bits = 0;
        for (int32_t k : keys) {
            shift.push_back(bits);
            int width = 1;
            while ((size_t(1) << width) < domain[size_t(k)].size() + 1) ++width;
            bits += width;
        }
        if (bits > 64) return false;
        shift.push_back(bits);
        auto ones = [&](int i) {
            int width = shift[size_t(i) + 1] - shift[size_t(i)];
            return ((width == 64 ? 0 : uint64_t(1) << width) - 1) << shift[size_t(i)];
        };
        // Values are numbered from 1 on: no key is 0.
        auto code = [&](int i, int32_t value) -> uint64_t {
            const auto& d = domain[size_t(keys[size_t(i)])];
            auto at = std::lower_bound(d.begin(), d.end(), value);
            if (at == d.end() || *at != value) return ~uint64_t(0);
            return uint64_t(at - d.begin() + 1) << shift[size_t(i)];
        };
        std::vector<uint64_t> absent;
        for (int i = 0; i < int(keys.size()); ++i) absent.push_back(code(i, ABSENT));
        auto matches = [&](const Pattern& g, uint64_t state) {
            if ((state & g.mask) != g.value) return false;
            for (int i = 0; g.present && i < int(keys.size()); ++i)
                if ((g.present & ones(i)) && (state & ones(i)) == absent[size_t(i)]) return false;
            return true;
        };

        std::vector<Rule> rules;
        std::vector<Demand> demands;
        ++now;
        for (int32_t key : keys)
            for (int32_t s : of_key(key)) {
                if (stamp[size_t(s)] == now) continue;
                stamp[size_t(s)] = now;
                const Behaviour& b = behaviours[size_t(s)];
                Rule rule;
                for (int i = 0; i < int(keys.size()); ++i)
                    for (const Wrote& w : about(b.writes, keys[size_t(i)])) rule.mask |= ones(i), rule.value |= code(i, w.value);
                Pattern demand;
                bool can_be = true, can_happen = true;
                for (int i = 0; i < int(keys.size()); ++i) {
                    bool own = (rule.mask & ones(i)) != 0;
                    for (const Seen& seen : about(b.reads, keys[size_t(i)])) {
                        if (seen.use & MATCH) {
                            // Where keys are alone, so are reads: two of one key may have seen two versions of it.
                            if (p.single) demand = {}, can_be = true;
                            can_be &= narrow(demand, seen.value, ones(i), code(i, seen.value));
                            if (p.single && b.committed) demands.push_back({can_be ? demand : NOTHING, b.first});
                        }
                        if ((seen.use & GUARD) && (own || !p.own_guards))
                            can_happen &= narrow(rule.guard, seen.value, ones(i), code(i, seen.value));
                    }
                }
                found.steps += 2 * int64_t(keys.size());
                if (rule.mask && can_happen) rules.push_back(rule);
                if (!p.single && b.committed && (!can_be || demand.mask || demand.present))
                    demands.push_back({can_be ? demand : NOTHING, b.first});
            }
        if (demands.empty()) return true;
        std::sort(rules.begin(), rules.end());
        rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
        std::stable_sort(demands.begin(), demands.end(), [](const Demand& a, const Demand& b) { return a.pattern < b.pattern; });
        demands.erase(std::unique(demands.begin(), demands.end(),
                                  [](const Demand& a, const Demand& b) { return a.pattern == b.pattern; }),
                      demands.end());

        std::vector<uint64_t> states{0};
        for (int i = 0; i < int(keys.size()); ++i) {
            int32_t first = p.init[size_t(keys[size_t(i)])];
            std::vector<uint64_t> more;
            for (uint64_t s : states)
                if (first != UNKNOWN_INIT) more.push_back(s | code(i, first));
                else
                    for (int32_t value : domain[size_t(keys[size_t(i)])]) more.push_back(s | code(i, value));
            states = std::move(more);
            if (states.size() > size_t(p.most_states)) return false;
        }
        begin_reaching();
        for (uint64_t s : states) reach(s);
        for (size_t at = 0; at < states.size(); ++at) {
            found.steps += int64_t(rules.size());
            limits.step(uint32_t(rules.size()) + 1);
            if (found.steps > p.most_steps) return false;
            for (const Rule& rule : rules) {
                if (!matches(rule.guard, states[at])) continue;
                uint64_t next = (states[at] & ~rule.mask) | rule.value;
                if (!reach(next)) continue;
                states.push_back(next);
                if (states.size() > size_t(p.most_states)) return false;
            }
        }
        found.largest = std::max(found.largest, int64_t(states.size()));
        for (const Demand& demand : demands) {
            found.steps += int64_t(states.size());
            if (std::any_of(states.begin(), states.end(), [&](uint64_t s) { return matches(demand.pattern, s); })) continue;
            found.keys = keys, found.txn = demand.txn;
            for (uint64_t s : states)
                for (int i = 0; i < int(keys.size()); ++i)
                    found.states.push_back(domain[size_t(keys[size_t(i)])][((s & ones(i)) >> shift[size_t(i)]) - 1]);
            return true;
        }
        return true;
    }

    // The states that were reached: a table that the next group can use without its being cleared.
    std::vector<uint64_t> reached;
    std::vector<uint32_t> reached_at;
    uint32_t reaching = 0;
    void begin_reaching() {
        if (reached.empty()) {
            size_t slots = 16;
            while (slots < 4 * (size_t(p.most_states) + 1)) slots *= 2;
            reached.assign(slots, 0), reached_at.assign(slots, 0);
        }
        ++reaching;
    }
    // False: it was reached before. (There are never more than one too many.)
    bool reach(uint64_t state) {
        uint64_t h = state * 0x9E3779B97F4A7C15ull;
        size_t i = size_t(h >> 32) & (reached.size() - 1);
        for (; reached_at[i] == reaching; i = (i + 1) & (reached.size() - 1))
            if (reached[i] == state) return false;
        reached[i] = state, reached_at[i] = reaching;
        return true;
    }

    // Adds "this key was that" to a pattern. False: it says something else already, or nobody ever made it that.
    static bool narrow(Pattern& pattern, int32_t value, uint64_t ones, uint64_t code) {
        if (value == PRESENT) {
            pattern.present |= ones;
            return true;
        }
        if (code == ~uint64_t(0)) return false;
        if ((pattern.mask & ones) && (pattern.value & ones) != code) return false;
        pattern.mask |= ones, pattern.value |= code;
        return true;
    }
};

}  // namespace

StatesFound find_unreachable(const StatesProblem& problem, Limits& limits) { return Search(problem, limits).run(); }

}  // namespace boomslang::engine
