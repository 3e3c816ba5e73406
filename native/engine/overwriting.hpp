// Who read a key and overwrote it: what counting (src/boomslang/solve/counting.py) counts.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace boomslang::engine {

// The reads of others' versions of keys that their (committed) reader also writes: the first of each reader and key.
std::vector<int32_t> overwriting_reads(int32_t txns, int32_t keys, std::span<const uint8_t> outcome,
                                       std::span<const int64_t> read_start, std::span<const int32_t> read_key,
                                       std::span<const uint8_t> read_counts, std::span<const int64_t> key_start,
                                       std::span<const int32_t> write_txn, std::vector<int32_t>& write);

}  // namespace boomslang::engine
