#include "explain/known.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>

namespace boomslang::explain {
namespace {

constexpr int64_t MOST_VISITS = 20'000;       // of one question whether there is a path
constexpr int64_t VISITS_PER_NODE = 1'000;    // of all of them, for each node
constexpr int MOST_ROUNDS = 40;

struct Edge {
    int32_t from, to, key, read;
    Kind kind;
    bool path, alive;
};

enum Along : uint8_t { ALL, PATHS, SESSIONS, TIMES };

struct Full {};

class Pass {
public:
    Pass(const Given& g, Known& found, Limits& limits) : g(g), found(found), limits(limits) {}

    void run() {
        prepare();
        insert_given();
        for (int round = 0; round < MOST_ROUNDS; ++round) {
            changed = false;
            sort_writers();
            for (int32_t r : sequence) simulate(r);
            if (g.points == 2 && g.overlap && !g.once) overlaps();
            if (!changed) break;
        }
    }

private:
    const Given& g;
    Known& found;
    Limits& limits;

    std::vector<Edge> edges;
    std::vector<std::vector<int32_t>> outs, ins;          // of each node: edges
    std::vector<std::vector<int32_t>> of_read;            // of each read: edges that rest on it
    std::vector<std::vector<int32_t>> because, supports;  // of each edge: those it rests on, those that rest on it
    std::vector<int64_t> ord;
    std::vector<int32_t> at;  // of each place in the order: its node
    std::vector<int32_t> reader, sequence, rank;
    std::vector<uint8_t> read_out, gone;
    std::vector<int32_t> writers;  // by key, as write_txn, sorted by the order
    bool changed = false;

    // Time lines: chains of helpers, which points enter and leave. Of each node: the edge to the first helper that it
    // enters and from the last that it leaves (-1: none), and of each helper the number of its chain.
    std::vector<int32_t> enters, leaves, chain;

    std::vector<uint32_t> seen;
    std::vector<int32_t> parent, cost;
    uint32_t stamp = 0;
    int32_t jump_from = -1, jump_to = -1;  // where the way found follows a time line
    std::vector<int32_t> visited;
    int64_t budget = 0;

    int32_t begin(int32_t t) const { return g.points == 1 ? t : 2 * t; }
    int32_t commit(int32_t t) const { return g.points == 1 ? t : 2 * t + 1; }
    int32_t overwritten(int32_t t) const { return g.points == 1 ? t : 2 * t + !g.overlap; }  // where a ww ends
    int32_t txn(int32_t node) const { return node < g.points * g.txns ? node / g.points : -1; }
    bool in(int32_t t) const { return g.state[t] == IN && !gone[t]; }
    bool counts(int32_t r) const { return !read_out[r] && in(reader[r]) && g.read_writer[r] >= NOBODY; }

    void prepare() {
        size_t reads = g.read_key.size();
        outs.resize(g.nodes), ins.resize(g.nodes), of_read.resize(reads);
        seen.assign(g.nodes, 0), parent.assign(g.nodes, -1), cost.assign(g.nodes, 0);
        reader.resize(reads), read_out.assign(reads, 0), gone.assign(g.txns, 0);
        for (int32_t t = 0; t < g.txns; ++t)
            for (int64_t r = g.read_start[t]; r < g.read_start[t + 1]; ++r) reader[r] = t;
        sequence.resize(reads);
        std::iota(sequence.begin(), sequence.end(), 0);
        std::stable_sort(sequence.begin(), sequence.end(), [&](int32_t a, int32_t b) {
            return g.hint[commit(reader[a])] < g.hint[commit(reader[b])];
        });
        rank.resize(reads);
        for (size_t i = 0; i < reads; ++i) rank[sequence[i]] = int32_t(i);
        writers.assign(g.write_txn.begin(), g.write_txn.end());
        enters.assign(g.nodes, -1), leaves.assign(g.nodes, -1);
        number_chains();
        budget = VISITS_PER_NODE * (int64_t(g.nodes) + 1000);
        first_order();
    }

    // Helpers of one chain have numbers in a row.
    void number_chains() {
        int32_t first = g.points * g.txns;
        chain.assign(g.nodes - first, 0);
        for (size_t i = 0; i < g.edge_from.size(); ++i)
            if (g.edge_from[i] >= first && g.edge_to[i] == g.edge_from[i] + 1) chain[g.edge_to[i] - first] = 1;
        int32_t number = 0;
        for (int32_t& c : chain) c = c ? number : ++number;
    }

    // Kahn's algorithm along all that is given, earliest hint first; where it is stuck in a cycle, the earliest.
    void first_order() {
        std::vector<std::pair<int32_t, int32_t>> all;
        for (size_t i = 0; i < g.edge_from.size(); ++i) all.emplace_back(g.edge_from[i], g.edge_to[i]);
        for (size_t r = 0; r < reader.size(); ++r)
            if (counts(int32_t(r)) && g.read_writer[r] >= 0)
                all.emplace_back(commit(g.read_writer[r]), begin(reader[r]));
        if (g.points == 2)
            for (int32_t t = 0; t < g.txns; ++t) all.emplace_back(begin(t), commit(t));
        std::vector<int64_t> start(g.nodes + 1, 0);
        std::vector<int32_t> missing(g.nodes, 0), target(all.size());
        for (auto [a, b] : all) ++start[a + 1], ++missing[b];
        std::partial_sum(start.begin(), start.end(), start.begin());
        auto next = start;
        for (auto [a, b] : all) target[next[a]++] = b;
        std::vector<int32_t> by_hint(g.nodes);
        std::iota(by_hint.begin(), by_hint.end(), 0);
        std::stable_sort(by_hint.begin(), by_hint.end(), [&](int32_t a, int32_t b) { return g.hint[a] < g.hint[b]; });
        std::vector<int32_t> place(g.nodes);
        for (int32_t i = 0; i < g.nodes; ++i) place[by_hint[i]] = i;
        std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
        for (int32_t i = 0; i < g.nodes; ++i)
            if (!missing[by_hint[i]]) ready.push(i);
        ord.assign(g.nodes, -1), at.clear(), at.reserve(g.nodes);
        int32_t earliest = 0;
        while (int32_t(at.size()) < g.nodes) {
            limits.step();
            int32_t node;
            if (ready.empty()) {
                while (ord[by_hint[earliest]] >= 0) ++earliest;
                node = by_hint[earliest];
            } else {
                node = by_hint[ready.top()];
                ready.pop();
                if (ord[node] >= 0) continue;
            }
            ord[node] = int64_t(at.size());
            at.push_back(node);
            for (int64_t i = start[node]; i < start[node + 1]; ++i)
                if (--missing[target[i]] == 0 && ord[target[i]] < 0) ready.push(place[target[i]]);
        }
    }

    // --- paths

    bool leads(const Edge& e, Along along) const {
        if (!e.alive) return false;
        if (along == ALL) return true;
        return e.path && (along == PATHS || e.kind == (along == SESSIONS ? SO : RT));
    }

    // Is `from` before `to` on a time line? Those two edges are all that is worth telling of the way.
    bool on_time_line(int32_t from, int32_t to, Along along) const {
        int32_t a = enters[from], b = leaves[to];
        if (a < 0 || b < 0 || along == SESSIONS || !leads(edges[a], along) || !leads(edges[b], along)) return false;
        int32_t first = g.points * g.txns, here = edges[a].to - first, there = edges[b].from - first;
        return chain[here] == chain[there] && here <= there;
    }

    // Cheapest first, where entering another transaction costs one. Stays before `to` in the order. Leaves what it saw
    // in `visited`, and its ways in `parent`. With `bounded`, gives up after a while.
    bool search(int32_t from, int32_t to, Along along, bool bounded) {
        visited.clear(), jump_to = -1;
        if (from == to) {
            ++stamp, seen[from] = stamp, parent[from] = -1;
            visited.push_back(from);
            return true;
        }
        if (ord[from] > ord[to]) return false;
        if (bounded && budget < 0) return false;
        ++stamp;
        std::deque<int32_t> queue{from};
        seen[from] = stamp, parent[from] = -1, cost[from] = 0;
        visited.push_back(from);
        int64_t steps = 0;
        bool reached = false;
        while (!queue.empty()) {
            int32_t node = queue.front();
            queue.pop_front();
            if (node == to) {
                reached = true;
                break;
            }
            if (on_time_line(node, to, along)) {
                jump_from = node, jump_to = to;
                reached = true;
                break;
            }
            for (int32_t e : outs[node]) {
                limits.step(), ++steps;
                int32_t target = edges[e].to;
                if (ord[target] > ord[to] || !leads(edges[e], along)) continue;
                int32_t mine = txn(target), price = cost[node] + (mine >= 0 && mine != txn(node));
                if (seen[target] == stamp && cost[target] <= price) continue;
                if (seen[target] != stamp) visited.push_back(target);
                seen[target] = stamp, parent[target] = e, cost[target] = price;
                if (price > cost[node]) queue.push_back(target);
                else queue.push_front(target);
            }
            if (bounded && steps > MOST_VISITS) break;
        }
        if (bounded) budget -= steps;
        return reached;
    }

    std::vector<int32_t> way(int32_t to) const {
        std::vector<int32_t> path;
        int32_t e = parent[to];
        if (jump_to >= 0) {
            path = {leaves[to], enters[jump_from]};
            e = parent[jump_from];
        }
        for (; e >= 0; e = parent[edges[e].from]) path.push_back(e);
        std::reverse(path.begin(), path.end());
        return path;
    }

    // Is `from` known to be before `to`? The edges that show it.
    bool before(int32_t from, int32_t to, std::vector<int32_t>& path, Along along = ALL) {
        if (!search(from, to, along, true)) return false;
        path = way(to);
        return true;
    }

    // --- edges

    // Adds an edge. If it closes a cycle it is not added, and `path` is the rest of the cycle.
    bool insert(Edge e, std::vector<int32_t>&& reasons, std::vector<int32_t>& path, int32_t* made = nullptr) {
        if (ord[e.from] >= ord[e.to]) {
            if (search(e.to, e.from, ALL, false)) {
                path = way(e.from);
                return false;
            }
            reorder(e.from, e.to);
        }
        int32_t id = int32_t(edges.size());
        e.alive = true;
        edges.push_back(e);
        outs[e.from].push_back(id), ins[e.to].push_back(id);
        if (e.read >= 0) of_read[e.read].push_back(id);
        note_time_line(id);
        for (int32_t reason : reasons) supports[reason].push_back(id);
        because.push_back(std::move(reasons)), supports.emplace_back();
        if (made) *made = id;
        return true;
    }

    void note_time_line(int32_t id) {
        const Edge& e = edges[id];
        bool from = txn(e.from) >= 0, to = txn(e.to) >= 0;
        if (from && !to && (enters[e.from] < 0 || edges[enters[e.from]].to > e.to)) enters[e.from] = id;
        if (!from && to && (leaves[e.to] < 0 || edges[leaves[e.to]].from < e.from)) leaves[e.to] = id;
    }

    // Moves what `to` reaches (it is in `visited`) behind what reaches `from`.
    void reorder(int32_t from, int32_t to) {
        std::vector<int32_t> ahead = visited, behind{from};
        ++stamp;
        seen[from] = stamp;
        for (size_t i = 0; i < behind.size(); ++i)
            for (int32_t e : ins[behind[i]]) {
                limits.step();
                int32_t source = edges[e].from;
                if (!edges[e].alive || seen[source] == stamp || ord[source] < ord[to]) continue;
                seen[source] = stamp;
                behind.push_back(source);
            }
        auto by_place = [&](int32_t a, int32_t b) { return ord[a] < ord[b]; };
        std::sort(ahead.begin(), ahead.end(), by_place);
        std::sort(behind.begin(), behind.end(), by_place);
        std::vector<int64_t> places;
        for (int32_t n : behind) places.push_back(ord[n]);
        for (int32_t n : ahead) places.push_back(ord[n]);
        std::sort(places.begin(), places.end());
        size_t i = 0;
        for (auto* part : {&behind, &ahead})
            for (int32_t n : *part) ord[n] = places[i], at[places[i]] = n, ++i;
    }

    void remove(int32_t id) {
        std::vector<int32_t> todo{id};
        while (!todo.empty()) {
            int32_t e = todo.back();
            todo.pop_back();
            if (!edges[e].alive) continue;
            edges[e].alive = false;
            std::erase(outs[edges[e].from], e), std::erase(ins[edges[e].to], e);
            todo.insert(todo.end(), supports[e].begin(), supports[e].end());
        }
    }

    void take_out_read(int32_t r) {
        read_out[r] = 1;
        for (int32_t e : std::vector<int32_t>(of_read[r])) remove(e);
    }

    void take_out_txn(int32_t t) {
        gone[t] = 1;
        for (int64_t r = g.read_start[t]; r < g.read_start[t + 1]; ++r)
            if (!read_out[r]) take_out_read(int32_t(r));
        for (int32_t node = begin(t); node <= commit(t); ++node)
            for (auto* list : {&outs[node], &ins[node]})
                for (int32_t e : std::vector<int32_t>(*list))
                    if (edges[e].kind != INSIDE) remove(e);
    }

    // --- what is given

    void insert_given() {
        std::vector<int32_t> path;
        if (g.points == 2)
            for (int32_t t = 0; t < g.txns; ++t)
                insert({begin(t), commit(t), -1, -1, INSIDE, false, true}, {}, path);
        std::vector<std::vector<int32_t>> shown(reader.size());
        for (size_t i = 0; i < g.edge_from.size(); ++i) {
            if (g.edge_read[i] >= 0) {
                shown[g.edge_read[i]].push_back(int32_t(i));
                continue;
            }
            int32_t a = txn(g.edge_from[i]), b = txn(g.edge_to[i]);
            if ((a >= 0 && gone[a]) || (b >= 0 && gone[b])) continue;
            given(i, path);
        }
        for (int32_t r : sequence) {
            if (read_out[r] || !in(reader[r])) continue;
            int32_t w = g.read_writer[r];
            if (w >= 0 && !gone[w]) {
                Edge e{commit(w), begin(reader[r]), g.read_key[r], r, g.read_predicate[r] ? PWR : WR, true, true};
                if (!insert(e, {}, path)) {
                    tell(e, path, {}, {});
                    continue;
                }
            }
            for (int32_t i : shown[r])
                if (!read_out[r]) given(size_t(i), path);
        }
    }

    void given(size_t i, std::vector<int32_t>& path) {
        int32_t r = g.edge_read[i], key = r >= 0 ? g.read_key[r] : -1;
        Edge e{g.edge_from[i], g.edge_to[i], key, r, Kind(g.edge_kind[i]), bool(g.edge_path[i]), true};
        if (!insert(e, {}, path)) tell(e, path, {}, {});
    }

    // --- the simulation

    void sort_writers() {
        for (size_t k = 0; k + 1 < g.key_start.size(); ++k) {
            auto first = writers.begin() + g.key_start[k], last = writers.begin() + g.key_start[k + 1];
            limits.step(uint32_t(last - first));
            auto earlier = [&](int32_t a, int32_t b) { return ord[commit(a)] < ord[commit(b)]; };
            if (!std::is_sorted(first, last, earlier)) std::sort(first, last, earlier);
        }
    }

    void simulate(int32_t r) {
        limits.step();
        if (!counts(r) || !(g.once || g.read_strong[r])) return;
        int32_t t = reader[r], key = g.read_key[r], w = g.read_writer[r];
        auto first = writers.begin() + g.key_start[key], last = writers.begin() + g.key_start[key + 1];
        auto it = std::partition_point(first, last, [&](int32_t p) { return ord[commit(p)] < ord[begin(t)]; });
        while (it != first) {
            int32_t p = *--it;
            if (p == w || (w >= 0 && ord[commit(p)] < ord[commit(w)])) break;
            if (p == t || !in(p) || ord[commit(p)] > ord[begin(t)]) continue;
            if (g.once ? !saw_what_it_may(r, p) : !saw_the_last(r, p)) return;
            if (!counts(r)) return;
        }
    }

    // The reader must see the last writer before it, and p stands between: p goes after the reader or before w.
    bool saw_the_last(int32_t r, int32_t p) {
        int32_t t = reader[r], w = g.read_writer[r], key = g.read_key[r];
        std::vector<int32_t> path, rest;
        Edge e{begin(t), commit(p), key, r, g.read_predicate[r] ? PRW : RW, false, true};
        if (w >= 0 && !before(overwritten(w), commit(p), path)) {
            if (!before(commit(p), begin(t), path)) return true;  // who knows
            e = {commit(p), overwritten(w), key, r, WW, g.once_ww, true};
        }
        auto reasons = path;
        if (insert(e, std::move(path), rest)) {
            changed = true;
            return true;
        }
        tell(e, rest, reasons, {});
        return false;
    }

    // Who is in the reader's past, by the level's paths, must be before w.
    bool saw_what_it_may(int32_t r, int32_t p) {
        int32_t t = reader[r], w = g.read_writer[r], key = g.read_key[r];
        std::vector<int32_t> path, rest;
        Edge anti{t, p, key, r, g.read_predicate[r] ? PRW : RW, false, true};
        if (in_past(r, p, path)) {
            if (w < 0) {
                tell(anti, path, {}, {});
                return false;
            }
            auto reasons = path;
            if (insert({p, w, key, r, WW, g.once_ww, true}, std::move(reasons), rest)) {
                changed = true;
                return true;
            }
            tell(anti, path, rest, {});
            return false;
        }
        if (!g.once_ww || !wrote(t, key)) return true;
        if (w >= 0 && !before(w, p, path)) return true;
        auto reasons = path;
        Edge e{t, p, key, r, WW, true, true};
        if (insert(e, std::move(path), rest)) {
            changed = true;
            return true;
        }
        tell(e, rest, reasons, {});
        return false;
    }

    bool wrote(int32_t t, int32_t key) const {
        auto first = g.write_txn.begin() + g.key_start[key], last = g.write_txn.begin() + g.key_start[key + 1];
        return std::find(first, last, t) != last;
    }

    bool in_past(int32_t r, int32_t p, std::vector<int32_t>& path) {
        int32_t t = reader[r];
        if (g.once_longest != 1) return before(p, t, path, PATHS);
        for (int32_t e : ins[t]) {
            const Edge& x = edges[e];
            if (!x.alive || x.from != p || !(x.kind == WR || x.kind == PWR)) continue;
            if (g.once_earlier && g.read_step[x.read] >= g.read_step[r]) continue;
            path = {e};
            return true;
        }
        return !g.once_earlier && (before(p, t, path, SESSIONS) || before(p, t, path, TIMES));
    }

    // Under snapshot isolation, of two writers of a key the one commits before the other begins.
    void overlaps() {
        for (size_t k = 0; k + 1 < g.key_start.size(); ++k)
            for (int64_t i = g.key_start[k] + 1; i < g.key_start[k + 1]; ++i)
                for (int64_t j = i - 1; j >= g.key_start[k]; --j) {
                    limits.step();
                    int32_t p = writers[j], q = writers[i];
                    if (p == q || !in(p) || !in(q)) continue;
                    if (ord[commit(p)] < ord[begin(q)]) break;
                    apart(p, q, int32_t(k));
                }
    }

    void apart(int32_t p, int32_t q, int32_t key) {
        if (!overwrote_what_was_read(q, p, key) || !overwrote_what_was_read(p, q, key)) return;
        for (auto [a, b] : {std::pair{p, q}, std::pair{q, p}}) {
            // b before a would need its commit before a's begin.
            std::vector<int32_t> path, rest;
            if (ord[commit(a)] < ord[begin(b)] || !before(begin(a), commit(b), path)) continue;
            auto reasons = path;
            Edge e{commit(a), begin(b), key, -1, WW, false, true};
            if (insert(e, std::move(path), rest)) {
                changed = true;
                continue;
            }
            tell(e, rest, reasons, {p, q});
            return;
        }
    }

    // If `t` read a version of the key that `p` overwrote, it begins before p commits. False: that is a violation.
    bool overwrote_what_was_read(int32_t t, int32_t p, int32_t key) {
        for (int64_t r = g.read_start[t]; r < g.read_start[t + 1]; ++r) {
            if (g.read_key[r] != key || !counts(int32_t(r)) || !g.read_strong[r] || g.read_writer[r] == p) continue;
            bool there = false;
            for (int32_t e : outs[begin(t)]) there |= edges[e].to == commit(p) && edges[e].kind != INSIDE;
            if (there) return true;
            if (!saw_the_last_of(int32_t(r), p)) return false;
        }
        return true;
    }

    bool saw_the_last_of(int32_t r, int32_t p) {
        int32_t w = g.read_writer[r];
        std::vector<int32_t> path, rest;
        if (w >= 0 && !before(overwritten(w), commit(p), path)) return true;
        auto reasons = path;
        Edge e{begin(reader[r]), commit(p), g.read_key[r], r, g.read_predicate[r] ? PRW : RW, false, true};
        if (insert(e, std::move(path), rest)) {
            changed = true;
            return true;
        }
        tell(e, rest, reasons, {});
        return false;
    }

    // --- violations

    // The cycle of `e` and `path`, and what else it rests on. Then its read is taken out; `writers` where there is none.
    void tell(const Edge& e, const std::vector<int32_t>& path, const std::vector<int32_t>& reasons,
              std::vector<int32_t> both) {
        std::vector<int32_t> reads, txns, todo(path);
        todo.insert(todo.end(), reasons.begin(), reasons.end());
        std::vector<int32_t> told;
        auto take = [&](const Edge& x) {
            for (int32_t node : {x.from, x.to})
                if (txn(node) >= 0) txns.push_back(txn(node));
            if (x.read < 0) return;
            reads.push_back(x.read), txns.push_back(reader[x.read]);
        };
        take(e);
        while (!todo.empty()) {
            int32_t id = todo.back();
            todo.pop_back();
            if (std::find(told.begin(), told.end(), id) != told.end()) continue;
            told.push_back(id);
            take(edges[id]);
            todo.insert(todo.end(), because[id].begin(), because[id].end());
        }
        for (auto* list : {&reads, &txns}) {
            std::sort(list->begin(), list->end());
            list->erase(std::unique(list->begin(), list->end()), list->end());
        }
        auto add = [&](const Edge& x) {
            found.from.push_back(x.from), found.to.push_back(x.to), found.key.push_back(x.key);
            found.kind.push_back(x.kind);
        };
        add(e);
        for (int32_t id : path) add(edges[id]);
        found.cycle_start.push_back(int64_t(found.from.size()));
        found.reads.insert(found.reads.end(), reads.begin(), reads.end());
        found.reads_start.push_back(int64_t(found.reads.size()));
        found.txns.insert(found.txns.end(), txns.begin(), txns.end());
        found.txns_start.push_back(int64_t(found.txns.size()));

        int32_t read = e.read, culprit = -1;
        for (int32_t r : reads)
            if (e.read < 0 && (read < 0 || rank[r] > rank[read])) read = r;
        if (read >= 0) {
            take_out_read(read);
        } else {
            if (both.empty()) both = txns;
            for (int32_t t : both)
                if (culprit < 0 || g.hint[commit(t)] > g.hint[commit(culprit)]) culprit = t;
            take_out_txn(culprit);
        }
        found.out_read.push_back(read), found.out_txn.push_back(culprit);
        changed = true;
        if (g.most && int64_t(found.out_read.size()) >= g.most) {
            found.all = false;
            throw Full{};
        }
    }
};

}  // namespace

void known_violations(const Given& given, Known& found, Limits& limits) {
    try {
        Pass(given, found, limits).run();
    } catch (const Full&) {
    }
}

}  // namespace boomslang::explain
