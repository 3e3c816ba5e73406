// Saturate: write down what already follows, before anything is guessed.
//
// r read x from w, and p wrote x too: p is before w or after r. If w reaches p in the known graph, p is after r; if p
// reaches r, p is before w. Each such edge makes more nodes reach each other, so this goes round until nothing follows.
// (Cobra, OSDI 2020, calls the idea pruning; here it adds edges rather than removing constraints.) Reachability is kept as
// one bit for each pair of nodes, which is quadratic, so this is for traces of some ten thousand transactions, and only
// worth its time when nothing else suggests an order. Each edge remembers what it was derived from, for the core.
//
// Most of what a round derives follows from the rest of it: whoever read the initial value is before every writer, and these
// are before each other. After each round those of its edges are dropped along whose ends other edges lead (what is left is
// the transitive reduction, which a graph without cycles has just one of). Others never rest on edges of their own round,
// so whatever is derived later still finds the path that it rests on among edges of earlier rounds. The search is faster
// with few edges; a refutation is shorter with many, so those that were dropped are kept for the core (core.cpp).
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/limits.hpp"
#include "hash_map.hpp"
#include "problem.hpp"

namespace boomslang::engine {

class Saturation {
public:
    struct Edge {
        int32_t from, to;
        int32_t read;                 // the read it follows from; -1: that `a` and `b` must not overlap
        int32_t a, b;                 // transactions it speaks of
        int32_t path_from, path_to;   // the path that made the other order impossible; -1: none needed
        int32_t round;
    };
    static constexpr int32_t MOST_NODES = 45000;

    Saturation(const Problem& problem, Limits& limits);
    // All known edges: the problem's and the derived ones.
    std::vector<int32_t> edge_from, edge_to;
    std::vector<Edge> derived;

    // The derived edge between these, if it was kept.
    const Edge* kept(int32_t from, int32_t to) const {
        int32_t i = index_.get(uint64_t(uint32_t(from)) << 32 | uint32_t(to));
        return i < 0 ? nullptr : &derived[size_t(i)];
    }
    // The same, kept or dropped.
    const Edge* find(int32_t from, int32_t to) const {
        if (const Edge* edge = kept(from, to)) return edge;
        auto first = std::lower_bound(dropped_.begin(), dropped_.end(), std::pair(from, to), earlier);
        return first != dropped_.end() && first->from == from && first->to == to ? &*first : nullptr;
    }
    // The dropped edges from here.
    template <class Visit>
    void dropped_out(int32_t from, Visit&& visit) const {
        auto first = std::lower_bound(dropped_.begin(), dropped_.end(), std::pair(from, INT32_MIN), earlier);
        for (; first != dropped_.end() && first->from == from; ++first) visit(*first);
    }

private:
    bool close();
    bool reaches(int32_t a, int32_t b) const { return above_[size_t(b) * words_ + size_t(a >> 6)] >> (a & 63) & 1; }
    void derive(Edge edge);
    // Forgets derived edges that others lead along, too.
    void drop(const std::vector<uint8_t>& needless);
    int32_t begin_of(int32_t t) const { return p_.points == 2 ? 2 * t : t; }
    int32_t commit_of(int32_t t) const { return p_.points == 2 ? 2 * t + 1 : t; }

    const Problem& p_;
    Limits& limits_;
    int32_t nodes_;
    size_t words_;
    std::vector<uint64_t> above_;  // for each node, the set of nodes that reach it
    static bool earlier(const Edge& edge, std::pair<int32_t, int32_t> ends) { return std::pair(edge.from, edge.to) < ends; }
    HashMap index_;
    std::vector<Edge> dropped_;  // sorted by their ends, once all is done
    int32_t settled_ = 0;  // derived edges of rounds that were looked through for needless ones
};

}  // namespace boomslang::engine
