#include "overwriting.hpp"

namespace boomslang::engine {

std::vector<int32_t> overwriting_reads(int32_t txns, int32_t keys, std::span<const uint8_t> outcome,
                                       std::span<const int64_t> read_start, std::span<const int32_t> read_key,
                                       std::span<const uint8_t> read_counts, std::span<const int64_t> key_start,
                                       std::span<const int32_t> write_txn, std::vector<int32_t>& write) {
    std::vector<int32_t> start(size_t(txns) + 1, 0), written(write_txn.size()), at(size_t(keys), -1), row(size_t(keys), -1);
    for (int32_t t : write_txn) ++start[size_t(t) + 1];
    for (int32_t t = 0; t < txns; ++t) start[size_t(t) + 1] += start[size_t(t)];
    auto next = start;
    for (size_t i = 0; i < write_txn.size(); ++i) written[size_t(next[size_t(write_txn[i])]++)] = int32_t(i);
    // Writes are sorted by key: of each write its key.
    std::vector<int32_t> key_of(write_txn.size());
    for (int32_t k = 0; k < keys; ++k)
        for (int64_t i = key_start[size_t(k)]; i < key_start[size_t(k) + 1]; ++i) key_of[size_t(i)] = k;
    std::vector<int32_t> found;
    for (int32_t t = 0; t < txns; ++t) {
        if (outcome[size_t(t)] != 0 || start[size_t(t)] == start[size_t(t) + 1]) continue;
        for (int32_t j = start[size_t(t)]; j < start[size_t(t) + 1]; ++j) {
            int32_t w = written[size_t(j)];
            at[size_t(key_of[size_t(w)])] = t, row[size_t(key_of[size_t(w)])] = w;
        }
        for (int64_t r = read_start[size_t(t)]; r < read_start[size_t(t) + 1]; ++r) {
            size_t k = size_t(read_key[size_t(r)]);
            if (at[k] != t || !read_counts[size_t(r)]) continue;
            found.push_back(int32_t(r)), write.push_back(row[k]);
            at[k] = -1;
        }
    }
    return found;
}

}  // namespace boomslang::engine
