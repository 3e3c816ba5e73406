#include "saturate.hpp"

#include <algorithm>

namespace boomslang {

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
    std::vector<std::vector<int32_t>> out(static_cast<size_t>(nodes_));
    std::vector<int32_t> missing(static_cast<size_t>(nodes_), 0), queue;
    auto edge = [&](int32_t a, int32_t b) { out[size_t(a)].push_back(b), ++missing[size_t(b)]; };
    for (size_t i = 0; i < edge_from.size(); ++i) edge(edge_from[i], edge_to[i]);
    for (int32_t t = 0; t < p_.txns; ++t) {
        if (p_.points == 2) edge(2 * t, 2 * t + 1);
        if (p_.state[t] != MUST) continue;
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
            if (p_.read_writer[r] >= 0) edge(commit_of(p_.read_writer[r]), begin_of(t));
    }
    std::fill(above_.begin(), above_.end(), 0);
    for (int32_t v = 0; v < nodes_; ++v)
        if (missing[size_t(v)] == 0) queue.push_back(v);
    for (size_t i = 0; i < queue.size(); ++i) {
        int32_t v = queue[i];
        const uint64_t* mine = &above_[size_t(v) * words_];
        for (int32_t next : out[size_t(v)]) {
            uint64_t* its = &above_[size_t(next) * words_];
            for (size_t k = 0; k < words_; ++k) its[k] |= mine[k];
            its[size_t(v >> 6)] |= uint64_t(1) << (v & 63);
            limits_.step(uint32_t(words_ / 4 + 1));
            if (--missing[size_t(next)] == 0) queue.push_back(next);
        }
    }
    return int32_t(queue.size()) == nodes_;
}

}  // namespace boomslang
