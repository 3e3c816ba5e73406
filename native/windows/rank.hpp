// Rank: see rank.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/unset.hpp"

namespace boomslang::windows {

struct Turns {
    // The points of all transactions that are not out, two of each: begin 2t and commit 2t + 1, by their times; or one, t, by
    // its end. Those of one time in the order of their numbers, a begin before its own commit.
    Unset<int32_t> points;
    Unset<int32_t> after;  // of each transaction the last one that ended before it began, or -1
};

// Who has no end ended where it began; who has neither, after all others. `least`: transactions that are worth a thread.
Turns in_turn(std::span<const int64_t> begins, std::span<const int64_t> ends, std::span<const uint8_t> state, int32_t points,
              int jobs, size_t least);

}  // namespace boomslang::windows
