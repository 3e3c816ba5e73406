#include "order.hpp"

#include <algorithm>

namespace boomslang::engine {

Order::Order(const Problem& p, Limits& limits)
    : limits_(limits), txns_(p.txns), points_(p.points), nodes_(p.txns * p.points + p.helpers) {
    out_start_.assign(size_t(nodes_) + 1, 0);
    in_start_.assign(size_t(nodes_) + 1, 0);
    auto each_edge = [&](auto&& f) {
        for (size_t i = 0; i < p.edge_from.size(); ++i) f(p.edge_from[i], p.edge_to[i]);
        for (int32_t t = 0; t < p.txns; ++t) {
            limits.step(4);
            if (p.state[t] != MUST) continue;
            int32_t last = -1;
            for (int64_t r = p.read_start[t]; r < p.read_start[t + 1]; ++r) {
                int32_t w = p.read_writer[r];
                if (w < 0 || w == last) continue;
                last = w;
                f(commit_of(w), begin_of(t));
            }
        }
    };
    each_edge([&](int32_t a, int32_t b) { ++out_start_[a + 1], ++in_start_[b + 1]; });
    for (int32_t v = 0; v < nodes_; ++v) out_start_[v + 1] += out_start_[v], in_start_[v + 1] += in_start_[v];
    out_to_.resize(size_t(out_start_[nodes_]));
    in_from_.resize(size_t(in_start_[nodes_]));
    {
        std::vector<int64_t> o(out_start_.begin(), out_start_.end() - 1), i(in_start_.begin(), in_start_.end() - 1);
        each_edge([&](int32_t a, int32_t b) { out_to_[size_t(o[a]++)] = b, in_from_[size_t(i[b]++)] = a; });
    }
    if (!p.hint_next.empty()) {
        hint_next_.assign(p.hint_next.begin(), p.hint_next.end());
        hint_prev_.assign(size_t(nodes_), -1);
        for (int32_t v = 0; v < nodes_; ++v)
            if (hint_next_[v] >= 0) hint_prev_[hint_next_[v]] = v;
    }
    out_head_.assign(size_t(nodes_), -1);
    in_head_.assign(size_t(nodes_), -1);
    seen_.assign(size_t(nodes_), 0);
    parent_.assign(size_t(nodes_), -1);
    parent_lit_.assign(size_t(nodes_), NO_LIT);
}

bool Order::add(int32_t from, int32_t to, Lit lit, std::vector<Lit>& cycle) {
    moved.clear();
    if (pos[from] > pos[to] && !reorder(from, to, lit, cycle)) return false;
    edges_.push_back({from, to, out_head_[from], in_head_[to], lit});
    out_head_[from] = in_head_[to] = int32_t(edges_.size()) - 1;
    return true;
}

bool Order::reorder(int32_t from, int32_t to, Lit lit, std::vector<Lit>& cycle) {
    const int32_t low = pos[to], high = pos[from];
    // Forward from `to`, nearest in literals first, so that a cycle is explained by few of them.
    ++stamp_;
    forward_.clear();
    now_.clear(), later_.clear();
    now_.push_back({to, -1, NO_LIT});
    while (!now_.empty() || !later_.empty()) {
        if (now_.empty()) now_.swap(later_);
        Visit v = now_.back();
        now_.pop_back();
        if (seen_[v.node] == stamp_) continue;
        seen_[v.node] = stamp_;
        parent_[v.node] = v.parent, parent_lit_[v.node] = v.lit;
        forward_.push_back(v.node);
        limits_.step(4);
        if (v.node == from) {
            cycle.clear(), cycle_hints.clear();
            for (int32_t n = from; n != to; n = parent_[n]) {
                if (parent_lit_[n] == NO_LIT) continue;
                if (parent_lit_[n] == HINT_LIT) cycle_hints.push_back(parent_[n]);
                else cycle.push_back(parent_lit_[n]);
            }
            cycle.push_back(lit);
            std::reverse(cycle.begin(), cycle.end());
            return false;
        }
        all_out(v.node, [&](int32_t next, Lit l) {
            if (pos[next] > high || seen_[next] == stamp_) return;
            (l == NO_LIT ? now_ : later_).push_back({next, v.node, l});
        });
    }
    // Backward from `from`; the two sets are disjoint, or there had been a cycle.
    backward_.clear();
    pool_.assign(1, from);
    ++stamp_;
    seen_[from] = stamp_;
    while (!pool_.empty()) {
        int32_t n = pool_.back();
        pool_.pop_back();
        backward_.push_back(n);
        limits_.step(4);
        all_in(n, [&](int32_t prev) {
            if (pos[prev] < low || seen_[prev] == stamp_) return;
            seen_[prev] = stamp_;
            pool_.push_back(prev);
        });
    }
    auto by_position = [&](int32_t a, int32_t b) { return pos[a] < pos[b]; };
    std::sort(forward_.begin(), forward_.end(), by_position);
    std::sort(backward_.begin(), backward_.end(), by_position);
    moved.assign(backward_.begin(), backward_.end());
    moved.insert(moved.end(), forward_.begin(), forward_.end());
    pool_.clear();
    for (int32_t n : moved) pool_.push_back(pos[n]);
    std::sort(pool_.begin(), pool_.end());
    for (size_t i = 0; i < moved.size(); ++i) pos[moved[i]] = pool_[i], at[pool_[i]] = moved[i];
    window_low = low, window_high = high;
    return true;
}

}  // namespace boomslang::engine
