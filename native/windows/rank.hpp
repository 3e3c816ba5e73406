// Rank: see rank.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace boomslang::windows {

// The points of the transactions `of`, two of each: begin 2t and commit 2t + 1, by their times. Those of one time in the
// order of `of`, a begin before its own commit.
std::vector<int32_t> in_turn(std::span<const int64_t> begins, std::span<const int64_t> ends, std::span<const int64_t> of);

}  // namespace boomslang::windows
