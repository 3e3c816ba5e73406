// Rank: see rank.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace boomslang::windows {

struct Turns {
    // The points of the transactions `of`, two of each: begin 2t and commit 2t + 1, by their times; or one, t, by its end.
    // Those of one time in the order of `of`, a begin before its own commit.
    std::vector<int32_t> points;
    std::vector<int32_t> after;  // of each transaction the last one that ended before it began, or -1
};

Turns in_turn(std::span<const int64_t> begins, std::span<const int64_t> ends, std::span<const int64_t> of, int32_t points,
              int32_t txns);

}  // namespace boomslang::windows
