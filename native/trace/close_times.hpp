// Times of neighbouring operations, as 32 bits after a time that a block of them shares.
//
// Most of what a trace takes in memory are times, and neighbours happened within moments of each other. (A *frame of
// reference*; Goldstein, Ramakrishnan and Shaft, ICDE 1998.) trace/close_times.py reads what is made here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "trace/column.hpp"
#include "trace/numbers.hpp"

namespace boomslang::trace {

struct CloseTimes {
  static constexpr std::size_t block = 256;
  static constexpr std::uint32_t no_time_here = 0xffffffff;

  Column<std::int64_t> base;    // of each block its first time, or anything if it has none
  Column<std::uint32_t> after;  // of each row

  // Takes the times over, row i to row to(i), if all of them fit; or leaves them, and itself empty.
  // `in_parts(rows, work)` calls work(from, until) for all rows, perhaps several parts of them at a time.
  template <class To, class InParts>
  void take(Column<std::int64_t>& times, std::int64_t missing, const To& to, const InParts& in_parts) {
    const std::size_t rows = times.size(), blocks = (rows + block - 1) / block;
    if (!rows) return;
    struct Span {
      std::int64_t low = INT64_MAX, high = INT64_MIN;
    };
    std::vector<Span> spans(blocks);
    std::mutex mutex;
    in_parts(rows, [&](std::size_t from, std::size_t until) {
      std::vector<Span> own(blocks);  // rows of one block may be in several parts
      for (std::size_t i = from; i < until; ++i) {
        const std::int64_t time = times[i];
        Span& span = own[to(i) / block];
        span.low = time != missing && time < span.low ? time : span.low;
        span.high = std::max(span.high, time);  // a missing one is the smallest number
      }
      const std::lock_guard lock(mutex);
      for (std::size_t b = 0; b < blocks; ++b) {
        spans[b].low = std::min(spans[b].low, own[b].low);
        spans[b].high = std::max(spans[b].high, own[b].high);
      }
    });
    for (Span& span : spans) {
      if (span.low == INT64_MAX) span.low = 0;
      if (span.high != missing &&
          static_cast<std::uint64_t>(span.high) - static_cast<std::uint64_t>(span.low) >= no_time_here)
        return;
    }
    base.resize(blocks);
    for (std::size_t b = 0; b < blocks; ++b) base[b] = spans[b].low;
    after.resize(rows);
    in_parts(rows, [&](std::size_t from, std::size_t until) {
      for (std::size_t i = from; i < until; ++i) {
        const std::size_t row = to(i);
        after[row] = times[i] == missing ? no_time_here
                                         : static_cast<std::uint32_t>(static_cast<std::uint64_t>(times[i]) -
                                                                      static_cast<std::uint64_t>(base[row / block]));
      }
    });
    times.discard();
  }
};

}  // namespace boomslang::trace
