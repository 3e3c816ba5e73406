// Times of neighbouring operations, as 32 bits after a time that a block of them shares.
//
// Most of what a trace takes in memory are times, and neighbours happened within moments of each other. (A *frame of
// reference*; Goldstein, Ramakrishnan and Shaft, ICDE 1998.) trace/close_times.py reads what is made here.
#pragma once

#include <algorithm>
#include <cstdint>

#include "trace/column.hpp"
#include "trace/numbers.hpp"

namespace boomslang::trace {

struct CloseTimes {
  static constexpr std::size_t block = 256;
  static constexpr std::uint32_t no_time_here = 0xffffffff;

  Column<std::int64_t> base;    // of each block its first time, or anything if it has none
  Column<std::uint32_t> after;  // of each row

  // Takes the times over, if all of them fit; or leaves them, and itself empty.
  void take(Column<std::int64_t>& times, std::int64_t missing) {
    const std::size_t rows = times.size();
    if (!rows) return;
    base.resize((rows + block - 1) / block);
    after.resize(rows);
    for (std::size_t b = 0; b * block < rows; ++b) {
      const std::size_t from = b * block, until = std::min(rows, from + block);
      std::int64_t low = INT64_MAX, high = INT64_MIN;
      for (std::size_t i = from; i < until; ++i) {
        const std::int64_t time = times[i];
        low = time != missing && time < low ? time : low;
        high = std::max(high, time);  // a missing one is the smallest number
      }
      if (low == INT64_MAX) low = 0;
      if (high != missing &&
          static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) >= no_time_here) {
        base.discard();
        after.discard();
        return;
      }
      base[b] = low;
      for (std::size_t i = from; i < until; ++i)
        after[i] = times[i] == missing
                       ? no_time_here
                       : static_cast<std::uint32_t>(static_cast<std::uint64_t>(times[i]) - static_cast<std::uint64_t>(low));
    }
    times.discard();
  }
};

}  // namespace boomslang::trace
