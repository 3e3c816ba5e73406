#include "whole.hpp"

#include <algorithm>

namespace boomslang {

void Whole::index() {
    txn_write_start.assign(size_t(txns) + 1, 0);
    for (int32_t t : write_txn) ++txn_write_start[size_t(t) + 1];
    for (int32_t t = 0; t < txns; ++t) txn_write_start[size_t(t) + 1] += txn_write_start[size_t(t)];
    txn_writes.resize(write_txn.size());
    std::vector<int64_t> at(txn_write_start.begin(), txn_write_start.end() - 1);
    for (int32_t key = 0; key < keys; ++key)
        for (int64_t w = key_start[key]; w < key_start[key + 1]; ++w)
            txn_writes[size_t(at[size_t(write_txn[w])]++)] = {key, write_value[w]};
    certain = true;
    for (int32_t t = 0; t < txns && certain; ++t)
        for (int64_t r = read_start[t]; state[t] != OUT && r < read_start[t + 1]; ++r) certain &= read_writer[r] >= -1;
    if (edge_to.empty()) return;
    edges_start.assign(size_t(txns) + 1, 0);
    for (int32_t to : edge_to) ++edges_start[size_t(to / points) + 1];
    for (int32_t t = 0; t < txns; ++t) edges_start[size_t(t) + 1] += edges_start[size_t(t)];
    edges_in.resize(edge_to.size());
    at.assign(edges_start.begin(), edges_start.end() - 1);
    for (size_t e = 0; e < edge_to.size(); ++e) edges_in[size_t(at[size_t(edge_to[e] / points)]++)] = int32_t(e);
}

std::pair<int64_t, int64_t> Whole::candidates(int32_t key, int32_t pattern) const {
    auto first = write_value.begin() + key_start[key], last = write_value.begin() + key_start[key + 1];
    auto low = pattern == PRESENT ? std::upper_bound(first, last, ABSENT) : std::lower_bound(first, last, pattern);
    auto high = pattern == PRESENT ? last : std::upper_bound(low, last, pattern);
    return {low - write_value.begin(), high - write_value.begin()};
}

}  // namespace boomslang
