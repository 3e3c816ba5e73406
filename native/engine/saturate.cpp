#include "saturate.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace boomslang::engine {

Saturation::Saturation(const Problem& p, Limits& limits)
    : edge_from(p.edge_from.begin(), p.edge_from.end()),
      edge_to(p.edge_to.begin(), p.edge_to.end()),
      p_(p),
      limits_(limits),
      nodes_(p.txns * p.points + p.helpers),
      words_((size_t(nodes_) + 63) / 64) {
    if (nodes_ > MOST_NODES) return;
    above_.resize(size_t(nodes_) * words_);
    for (int32_t round = 0; round < 30 && close(); ++round) {
        size_t before = derived.size();
        for (int32_t t = 0; t < p_.txns; ++t) {
            if (p_.state[t] != MUST) continue;
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
                int32_t w = p_.read_writer[r], key = p_.read_key[r];
                if (!p_.read_strong[r] || w < -1) continue;
                for (int64_t j = p_.key_start[key]; j < p_.key_start[key + 1]; ++j) {
                    int32_t q = p_.write_txn[j];
                    limits_.step();
                    if (q == w || q == t || p_.state[q] != MUST) continue;
                    int32_t read = int32_t(r), reader = begin_of(t), passer = commit_of(q);
                    if (reaches(reader, passer)) continue;
                    if (w < 0) {
                        derive({reader, passer, read, t, q, -1, -1, round});
                    } else if (int32_t later = p_.overlap ? begin_of(w) : commit_of(w); reaches(later, passer)) {
                        derive({reader, passer, read, t, q, later, passer, round});
                    } else if (reaches(passer, reader) && !reaches(passer, later)) {
                        derive({passer, later, read, t, q, passer, reader, round});
                    }
                }
            }
        }
        if (p_.points == 2 && p_.overlap)
            for (int32_t key = 0; key < p_.keys; ++key)
                for (int64_t i = p_.key_start[key]; i < p_.key_start[key + 1]; ++i)
                    for (int64_t j = p_.key_start[key]; j < p_.key_start[key + 1]; ++j) {
                        int32_t a = p_.write_txn[i], b = p_.write_txn[j];
                        limits_.step();
                        if (a == b || p_.state[a] != MUST || p_.state[b] != MUST) continue;
                        if (reaches(begin_of(a), commit_of(b)) && !reaches(commit_of(a), begin_of(b)))
                            derive({commit_of(a), begin_of(b), -1, a, b, begin_of(a), commit_of(b), round});
                    }
        if (derived.size() - before <= derived.size() / 200) break;
    }
    above_ = {};
    std::sort(dropped_.begin(), dropped_.end(),
              [](const Edge& a, const Edge& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); });
}

void Saturation::derive(Edge edge) {
    int32_t& known = index_[uint64_t(uint32_t(edge.from)) << 32 | uint32_t(edge.to)];
    if (known >= 0) return;
    known = int32_t(derived.size());
    derived.push_back(edge);
    edge_from.push_back(edge.from);
    edge_to.push_back(edge.to);
}

// The closure, along a topological order. False: there is a cycle, which the search will find by itself.
bool Saturation::close() {
    const int32_t given = int32_t(p_.edge_from.size());
    // Who leads to each node, and by which derived edge (-1: by a known one).
    struct Step {
        int32_t from, edge;
    };
    std::vector<int32_t> start(static_cast<size_t>(nodes_) + 1, 0), missing, queue;
    std::vector<std::pair<int32_t, int32_t>> known;
    for (int32_t t = 0; t < p_.txns; ++t) {
        if (p_.points == 2) known.emplace_back(2 * t, 2 * t + 1);
        if (p_.state[t] != MUST) continue;
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
            if (p_.read_writer[r] >= 0) known.emplace_back(commit_of(p_.read_writer[r]), begin_of(t));
    }
    auto each = [&](auto&& visit) {
        for (size_t i = 0; i < edge_from.size(); ++i) visit(edge_from[i], edge_to[i], std::max(-1, int32_t(i) - given));
        for (auto [from, to] : known) visit(from, to, -1);
    };
    each([&](int32_t, int32_t to, int32_t) { ++start[size_t(to) + 1]; });
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<Step> in(static_cast<size_t>(start.back()));
    std::vector<int32_t> next(start.begin(), start.end() - 1);
    std::vector<std::vector<int32_t>> out(static_cast<size_t>(nodes_));
    each([&](int32_t from, int32_t to, int32_t edge) {
        in[size_t(next[size_t(to)]++)] = {from, edge < settled_ ? -1 : edge};
        out[size_t(from)].push_back(to);
    });
    missing.resize(size_t(nodes_));
    for (int32_t v = 0; v < nodes_; ++v) {
        missing[size_t(v)] = start[size_t(v) + 1] - start[size_t(v)];
        if (missing[size_t(v)] == 0) queue.push_back(v);
    }
    std::vector<int32_t> place(static_cast<size_t>(nodes_), 0);
    for (size_t i = 0; i < queue.size(); ++i) {
        place[size_t(queue[i])] = int32_t(i);
        for (int32_t to : out[size_t(queue[i])])
            if (--missing[size_t(to)] == 0) queue.push_back(to);
    }
    if (int32_t(queue.size()) != nodes_) return false;
    std::fill(above_.begin(), above_.end(), 0);
    std::vector<uint8_t> needless(derived.size(), 0);
    for (int32_t v : queue) {
        std::span<Step> from(in.data() + start[size_t(v)], size_t(start[size_t(v) + 1] - start[size_t(v)]));
        // The latest first: whoever comes before it by another way is there already.
        std::sort(from.begin(), from.end(), [&](const Step& a, const Step& b) {
            return a.from != b.from ? place[size_t(a.from)] > place[size_t(b.from)] : a.edge < b.edge;
        });
        uint64_t* mine = &above_[size_t(v) * words_];
        for (const Step& step : from) {
            limits_.step();
            uint64_t bit = uint64_t(1) << (step.from & 63);
            if (mine[size_t(step.from >> 6)] & bit) {
                if (step.edge >= 0) needless[size_t(step.edge)] = 1;
                continue;
            }
            const uint64_t* its = &above_[size_t(step.from) * words_];
            for (size_t k = 0; k < words_; ++k) mine[k] |= its[k];
            mine[size_t(step.from >> 6)] |= bit;
            limits_.step(uint32_t(words_ / 4 + 1));
        }
    }
    drop(needless);
    return true;
}

void Saturation::drop(const std::vector<uint8_t>& needless) {
    std::vector<Edge> kept;
    for (size_t i = 0; i < derived.size(); ++i)
        (needless[i] ? dropped_ : kept).push_back(derived[i]);
    if (kept.size() < derived.size()) {
        derived.clear();
        index_ = {};
        edge_from.resize(p_.edge_from.size());
        edge_to.resize(p_.edge_to.size());
        for (const Edge& edge : kept) derive(edge);
    }
    settled_ = int32_t(derived.size());
}

}  // namespace boomslang::engine
