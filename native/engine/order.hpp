// The order: a topological order of a growing and shrinking graph.
//
// The graph has the known edges (static), the edges of literals that are true now (a stack), and
// optionally one hinted successor a node (each of which can be given up).
// Adding an edge against the order moves only the nodes between its ends: Pearce and Kelly, "A dynamic
// topological sort algorithm for directed acyclic graphs", JEA 11 (2006). Removing an edge moves nothing,
// and that is the point: the order outlives backtracking and so is the memory of the whole search.
#pragma once
#include <cstdint>
#include <vector>

#include "common/limits.hpp"
#include "problem.hpp"

namespace boomslang::engine {

using Lit = int32_t;  // 2 * variable, + 1 when negated
constexpr Lit NO_LIT = -1;
constexpr Lit HINT_LIT = -2;  // of a hinted edge; who asks names it by its node

class Order {
public:
    Order(const Problem& problem, Limits& limits);

    int32_t nodes() const { return nodes_; }
    int32_t begin_of(int32_t txn) const { return points_ == 2 ? 2 * txn : txn; }
    int32_t commit_of(int32_t txn) const { return points_ == 2 ? 2 * txn + 1 : txn; }
    int32_t txn_of(int32_t node) const { return node < points_ * txns_ ? node / points_ : -1; }

    std::vector<int32_t> pos;  // node -> position
    std::vector<int32_t> at;   // position -> node

    // Adds from -> to because of `lit`. On a cycle nothing changes, `cycle` holds the literals on it in path
    // order beginning with `lit`, `cycle_hints` the nodes whose hinted edges lie on it, and the answer is false.
    bool add(int32_t from, int32_t to, Lit lit, std::vector<Lit>& cycle);
    void pop() {
        const Edge& e = edges_.back();
        out_head_[e.from] = e.next_out;
        in_head_[e.to] = e.next_in;
        edges_.pop_back();
    }

    // The nodes that the last `add` moved, and the window of positions it happened in.
    std::vector<int32_t> moved;
    int32_t window_low = 0, window_high = -1;

    bool hints = false;
    std::vector<int32_t> cycle_hints;
    void drop_hint(int32_t node) {
        hint_prev_[size_t(hint_next_[size_t(node)])] = -1;
        hint_next_[size_t(node)] = -1;
    }

    template <class F>
    void known_out(int32_t node, F&& f) const {
        for (int64_t i = out_start_[node]; i < out_start_[node + 1]; ++i) f(out_to_[i]);
        if (points_ == 2 && node < 2 * txns_ && node % 2 == 0) f(node + 1);
    }
    template <class F>
    void known_in(int32_t node, F&& f) const {
        for (int64_t i = in_start_[node]; i < in_start_[node + 1]; ++i) f(in_from_[i]);
        if (points_ == 2 && node < 2 * txns_ && node % 2 == 1) f(node - 1);
    }
    int32_t hint_next(int32_t node) const { return hint_next_.empty() ? -1 : hint_next_[node]; }
    int32_t hint_prev(int32_t node) const { return hint_prev_.empty() ? -1 : hint_prev_[node]; }

private:
    struct Edge {
        int32_t from, to, next_out, next_in;
        Lit lit;
    };
    struct Visit {
        int32_t node, parent;
        Lit lit;
    };
    template <class F>
    void all_out(int32_t node, F&& f) const {
        known_out(node, [&](int32_t to) { f(to, NO_LIT); });
        if (hints && hint_next_[node] >= 0) f(hint_next_[node], HINT_LIT);
        for (int32_t e = out_head_[node]; e >= 0; e = edges_[e].next_out) f(edges_[e].to, edges_[e].lit);
    }
    template <class F>
    void all_in(int32_t node, F&& f) const {
        known_in(node, f);
        if (hints && hint_prev_[node] >= 0) f(hint_prev_[node]);
        for (int32_t e = in_head_[node]; e >= 0; e = edges_[e].next_in) f(edges_[e].from);
    }
    bool reorder(int32_t from, int32_t to, Lit lit, std::vector<Lit>& cycle);

    Limits& limits_;
    int32_t txns_, points_, nodes_;
    std::vector<int64_t> out_start_, in_start_;
    std::vector<int32_t> out_to_, in_from_;
    std::vector<int32_t> hint_next_, hint_prev_;
    std::vector<int32_t> out_head_, in_head_;
    std::vector<Edge> edges_;
    // scratch of the search
    std::vector<uint32_t> seen_;
    uint32_t stamp_ = 0;
    std::vector<int32_t> parent_;
    std::vector<Lit> parent_lit_;
    std::vector<Visit> now_, later_;
    std::vector<int32_t> forward_, backward_, pool_;
};

}  // namespace boomslang::engine
