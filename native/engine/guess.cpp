// Guess: a first order, made the way a database would have made it.
//
// Kahn's algorithm over the known (and hinted) edges, with a simulated store at hand. A point that is ready waits
// while placing it would be a mistake that can be seen at once:
//
//   - a write, while somebody has yet to read the version it would overwrite;
//   - a read with several candidates, while the store does not show its value;
//   - with two points, a begin, while an open transaction is about to write one of its keys.
//
// Whoever waits is parked at one key and looked at again when that key changes. If all wait, the one that the
// trace suggests first (recorded times, else the order of the log) goes, and the search repairs what that breaks.
#include <algorithm>
#include <queue>

#include "engine.hpp"

namespace boomslang::engine {

namespace {
struct Item {
    int64_t priority;
    int32_t node;
    bool operator<(const Item& o) const {  // std::priority_queue is a max-heap
        return priority != o.priority ? priority > o.priority : node > o.node;
    }
};
}  // namespace

bool Engine::guess(std::vector<int32_t>& stuck) {
    const int32_t nodes = order_.nodes();
    order_.pos.assign(size_t(nodes), -1);
    order_.at.clear();
    order_.at.reserve(size_t(nodes));
    std::vector<int32_t> missing(size_t(nodes), 0);  // predecessors that are not placed yet
    for (int32_t v = 0; v < nodes; ++v) {
        limits_.step(4);
        order_.known_in(v, [&](int32_t) { ++missing[size_t(v)]; });
        if (order_.hints && order_.hint_prev(v) >= 0) ++missing[size_t(v)];
    }
    // How many known readers of each version are still to come. (A version is a write; then one a key for the initial one.)
    std::vector<int32_t> pending(size_t(writes_) + size_t(p_.keys), 0);
    auto version = [&](int32_t key, int32_t txn) -> int64_t {
        if (txn < 0) return int64_t(writes_) + key;
        // The writes of a transaction are in the order of keys; it may load a million of them.
        const auto last = txn_writes_.begin() + txn_write_start_[size_t(txn) + 1];
        const auto at = std::partition_point(txn_writes_.begin() + txn_write_start_[size_t(txn)], last,
                                             [&](int32_t w) { return write_key_[size_t(w)] < key; });
        return at != last && write_key_[size_t(*at)] == key ? int64_t(*at) : int64_t(writes_) + key;
    };
    std::vector<int32_t> current(size_t(p_.keys), -1);  // the write that the store shows
    std::vector<int32_t> holder(p_.points == 2 ? size_t(p_.keys) : 0, -1);
    std::vector<int32_t> parked_head(size_t(p_.keys), -1), parked_next(size_t(nodes), -1);
    auto known_writer = [&](int32_t t, int64_t r) { return p_.state[t] == MUST && p_.read_writer[r] >= -1; };
    for (int32_t t = 0; t < p_.txns; ++t)
        if (limits_.step(8), p_.state[t] != OUT)
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
                if (p_.read_strong[r] && known_writer(t, r)) ++pending[size_t(version(p_.read_key[r], p_.read_writer[r]))];

    std::priority_queue<Item> free_nodes, waiting;
    auto priority = [&](int32_t node) {
        int32_t t = order_.txn_of(node);
        return t < 0 ? INT64_MIN : p_.priority[t];
    };
    auto placed = [&](int32_t node) { return order_.pos[size_t(node)] >= 0; };

    // The key at which a node must wait, or -1.
    auto blocked_at = [&](int32_t node) -> int32_t {
        int32_t t = order_.txn_of(node);
        if (p_.trusted || t < 0 || !active(t) || p_.state[t] == OUT) return -1;
        if (node == order_.begin_of(t)) {
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
                if (known_writer(t, r)) continue;
                int32_t key = p_.read_key[r], w = current[size_t(key)];
                if (!p_.read_strong[r] && initial_matches(key, p_.read_value[r])) continue;
                if (w < 0 ? !initial_matches(key, p_.read_value[r]) : !matches(p_.write_value[w], p_.read_value[r]))
                    return key;
            }
            if (p_.points == 2)
                for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j) {
                    int32_t key = write_key_[size_t(txn_writes_[size_t(j)])];
                    if (holder[size_t(key)] >= 0) return key;
                }
        }
        if (node == order_.commit_of(t))
            for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j) {
                int32_t key = write_key_[size_t(txn_writes_[size_t(j)])], w = current[size_t(key)];
                int32_t readers = pending[size_t(w < 0 ? writes_ + key : w)];
                if (readers > 0 && p_.points == 1)  // its own read does not count
                    for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
                        if (p_.read_key[r] == key && p_.read_strong[r] && known_writer(t, r) &&
                            version(key, p_.read_writer[r]) == (w < 0 ? int64_t(writes_) + key : w))
                            --readers;
                if (readers > 0) return key;
            }
        return -1;
    };
    auto offer = [&](int32_t node) {
        int32_t key = blocked_at(node);
        if (key < 0) {
            free_nodes.push({priority(node), node});
            return;
        }
        parked_next[size_t(node)] = parked_head[size_t(key)];
        parked_head[size_t(key)] = node;
    };
    const int32_t own = p_.points == 1 ? 1 : 0;  // who reads a version and overwrites it waits for all others
    std::vector<int32_t> woken;
    auto wake = [&](int32_t key) {
        // A bounded number at a time: on a hot key without session order everybody may be parked.
        for (int n = 0; n < 128 && parked_head[size_t(key)] >= 0; ++n) {
            int32_t node = parked_head[size_t(key)];
            parked_head[size_t(key)] = parked_next[size_t(node)];
            if (!placed(node)) woken.push_back(node);
        }
    };
    auto ready = [&](int32_t node) {
        waiting.push({priority(node), node});
        offer(node);
    };
    auto place = [&](int32_t node) {
        order_.pos[size_t(node)] = int32_t(order_.at.size());
        order_.at.push_back(node);
        int32_t t = order_.txn_of(node);
        if (!p_.trusted && t >= 0 && p_.state[t] != OUT && active(t)) {
            if (node == order_.begin_of(t)) {
                for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
                    if (p_.read_strong[r] && known_writer(t, r) &&
                        --pending[size_t(version(p_.read_key[r], p_.read_writer[r]))] <= own)
                        wake(p_.read_key[r]);
                if (p_.points == 2)
                    for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j)
                        holder[size_t(write_key_[size_t(txn_writes_[size_t(j)])])] = t;
            }
            if (node == order_.commit_of(t))
                for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j) {
                    int32_t w = txn_writes_[size_t(j)], key = write_key_[size_t(w)];
                    current[size_t(key)] = w;
                    if (p_.points == 2 && holder[size_t(key)] == t) holder[size_t(key)] = -1;
                    wake(key);
                }
        }
        auto arrive = [&](int32_t next) {
            if (--missing[size_t(next)] == 0) woken.push_back(~next);
        };
        order_.known_out(node, arrive);
        if (order_.hints && order_.hint_next(node) >= 0) arrive(order_.hint_next(node));
        for (size_t i = 0; i < woken.size(); ++i) {
            if (woken[i] < 0) ready(~woken[i]);
            else offer(woken[i]);
        }
        woken.clear();
    };
    for (int32_t v = 0; v < nodes; ++v)
        if (missing[size_t(v)] == 0) ready(v);
    while (true) {
        limits_.step(16);
        if (!free_nodes.empty()) {
            int32_t node = free_nodes.top().node;
            free_nodes.pop();
            if (placed(node)) continue;
            if (blocked_at(node) >= 0) offer(node);  // the store has changed since
            else place(node);
            continue;
        }
        while (!waiting.empty() && placed(waiting.top().node)) waiting.pop();
        if (waiting.empty()) break;
        int32_t node = waiting.top().node;
        waiting.pop();
        place(node);
    }
    if (int32_t(order_.at.size()) == nodes) return true;
    for (int32_t v = 0; v < nodes; ++v)
        if (!placed(v)) stuck.push_back(v);
    return false;
}

// Hints may contradict the known edges outright: then without those on a cycle, or in the end without any.
bool Engine::guess_at_last(std::vector<int32_t>& stuck) {
    order_.hints = !p_.hint_next.empty();
    for (int tries = 0; !guess(stuck); ++tries) {
        if (!order_.hints) return false;
        order_.hints = tries < 20 && drop_cyclic_hints(stuck);
        stuck.clear();
    }
    return true;
}

// The known edges have a cycle: every stuck node has a stuck predecessor, so walking back must come around.
void Engine::known_cycle(const std::vector<int32_t>& stuck, Answer& answer) {
    std::vector<int32_t> at(size_t(order_.nodes()), -1), path;
    int32_t node = stuck.front();
    while (at[size_t(node)] < 0) {
        at[size_t(node)] = int32_t(path.size());
        path.push_back(node);
        int32_t previous = -1;
        order_.known_in(node, [&](int32_t from) {
            if (order_.pos[size_t(from)] < 0 && previous < 0) previous = from;
        });
        node = previous;
    }
    CoreParts core;
    core.txns.assign(size_t(p_.txns), 0), core.reads.assign(size_t(reads_), 0);
    for (size_t i = size_t(at[size_t(node)]); i < path.size(); ++i) {
        int32_t to = path[i], from = i + 1 < path.size() ? path[i + 1] : node;
        core_add_edge(from, to, core);
    }
    core_finish(core, answer);
}

// Walks back from nodes that could not be placed, and drops the hints on the cycles met. False: none was met.
bool Engine::drop_cyclic_hints(const std::vector<int32_t>& stuck) {
    std::vector<int32_t> seen(size_t(order_.nodes()), -1);
    int64_t before = stats.hints_dropped;
    for (int32_t start = 0; start < int32_t(stuck.size()); ++start) {
        std::vector<int32_t> path;
        int32_t node = stuck[size_t(start)];
        while (node >= 0 && seen[size_t(node)] < 0) {
            limits_.step();
            seen[size_t(node)] = start;
            path.push_back(node);
            int32_t previous = -1;
            order_.known_in(node, [&](int32_t from) {
                if (order_.pos[size_t(from)] < 0) previous = from;
            });
            int32_t hinted = order_.hint_prev(node);
            if (previous < 0 && hinted >= 0 && order_.pos[size_t(hinted)] < 0) previous = hinted;
            node = previous;
        }
        if (node < 0 || seen[size_t(node)] != start) continue;
        // The path runs against the edges, from `node` back to itself.
        for (auto it = std::find(path.begin(), path.end(), node); it != path.end(); ++it) {
            int32_t from = it + 1 == path.end() ? node : *(it + 1);
            if (order_.hint_next(from) != *it) continue;
            order_.drop_hint(from);
            ++stats.hints_dropped;
        }
    }
    return stats.hints_dropped > before;
}

}  // namespace boomslang::engine
