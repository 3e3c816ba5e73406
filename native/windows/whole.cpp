#include "whole.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace boomslang::windows {

namespace {

// What belongs to each transaction, side by side and in the order in which `each` tells it: told twice, once to count and once
// to put. Each thread has transactions of its own, and passes over the others.
template <class Each, class Put>
void by_transaction(int32_t txns, int jobs, std::vector<int64_t>& start, Each&& each, Put&& put) {
    start.assign(size_t(txns) + 1, 0);
    Limits none;
    auto share = [&](auto&& work) {
        in_parallel(jobs, size_t(jobs), none, [&](size_t j, int, Limits&) {
            work(int32_t(int64_t(txns) * int64_t(j) / jobs), int32_t(int64_t(txns) * int64_t(j + 1) / jobs));
        });
    };
    share([&](int32_t low, int32_t high) {
        each([&](int32_t t, auto&&...) {
            if (t >= low && t < high) ++start[size_t(t) + 1];
        });
    });
    for (int32_t t = 0; t < txns; ++t) start[size_t(t) + 1] += start[size_t(t)];
    share([&](int32_t low, int32_t high) {
        std::vector<int64_t> at(start.begin() + low, start.begin() + high);
        each([&](int32_t t, auto&&... what) {
            if (t >= low && t < high) put(size_t(at[size_t(t - low)]++), what...);
        });
    });
}

}  // namespace

void Whole::index(int jobs) {
    txn_writes.resize(write_txn.size());
    by_transaction(
        txns, jobs, txn_write_start,
        [&](auto&& told) {
            for (int32_t key = 0; key < keys; ++key)
                for (int64_t w = key_start[key]; w < key_start[key + 1]; ++w) told(write_txn[w], key, write_value[w]);
        },
        [&](size_t at, int32_t key, int32_t value) { txn_writes[at] = {key, value}; });
    certain = true;
    for (int32_t t = 0; t < txns && certain; ++t)
        for (int64_t r = read_start[t]; state[t] != OUT && r < read_start[t + 1]; ++r) certain &= read_writer[r] >= -1;
    if (edge_to.empty()) return;
    edges_in.resize(edge_to.size());
    by_transaction(
        txns, jobs, edges_start,
        [&](auto&& told) {
            for (size_t e = 0; e < edge_to.size(); ++e) told(edge_to[e] / points, int32_t(e));
        },
        [&](size_t at, int32_t e) { edges_in[at] = e; });
}

std::pair<int64_t, int64_t> Whole::candidates(int32_t key, int32_t pattern) const {
    auto first = write_value.begin() + key_start[key], last = write_value.begin() + key_start[key + 1];
    auto low = pattern == PRESENT ? std::upper_bound(first, last, ABSENT) : std::lower_bound(first, last, pattern);
    auto high = pattern == PRESENT ? last : std::upper_bound(low, last, pattern);
    return {low - write_value.begin(), high - write_value.begin()};
}

}  // namespace boomslang::windows
