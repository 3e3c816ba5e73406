// Is a table of scalars that somebody else wrote what a table must be?
//
// Equal values must have equal numbers, so each integer has one way to be written, and nothing is there twice. Both are
// asked of every value of a columnar file, which has millions.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace boomslang::trace {

// The numbers that these texts are; of those longer than `digits`, which may not fit, 0. Nothing, if one of them is no
// integer, or not as one writes it: 0, 12, -12. Text i is data[offset[i]] up to data[offset[i + 1]].
inline std::optional<std::vector<std::int64_t>> integers(std::span<const std::int64_t> offset,
                                                         std::span<const std::uint8_t> data, std::int64_t digits) {
  const std::size_t many = offset.empty() ? 0 : offset.size() - 1;
  std::vector<std::int64_t> numbers(many);
  for (std::size_t i = 0; i < many; ++i) {
    const std::uint8_t *p = data.data() + offset[i], *end = data.data() + offset[i + 1];
    const bool fits = end - p <= digits, negative = p != end && *p == '-';
    p += negative;
    if (p == end || (*p == '0' && (negative || end - p > 1))) return std::nullopt;
    std::uint64_t number = 0;
    for (; p != end; ++p) {
      const unsigned digit = *p - unsigned{'0'};
      if (digit > 9) return std::nullopt;
      number = 10 * number + digit;
    }
    if (fits) numbers[i] = negative ? -static_cast<std::int64_t>(number) : static_cast<std::int64_t>(number);
  }
  return numbers;
}

// Places of the numbers that are there more than once, in their order.
inline std::vector<std::int64_t> alike(std::span<const std::int64_t> numbers) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  const std::size_t many = numbers.size();
  std::vector<std::int64_t> found;
  // By a table of places; who chose the numbers so that they collide gets them sorted instead.
  if (many < none) {
    std::vector<std::uint32_t> table(std::bit_ceil(2 * many + 2), none);
    std::vector<std::uint8_t> twice(many);
    const int shift = 64 - std::bit_width(table.size() - 1);
    std::size_t patience = 16 * many + 64;
    bool some = false;
    for (std::size_t i = 0; i < many && patience; ++i) {
      std::size_t at = (static_cast<std::uint64_t>(numbers[i]) * 0x9e3779b97f4a7c15u) >> shift;
      while (table[at] != none && numbers[table[at]] != numbers[i] && patience) {
        at = (at + 1) & (table.size() - 1);
        --patience;
      }
      if (table[at] == none) {
        table[at] = static_cast<std::uint32_t>(i);
      } else {
        twice[i] = twice[table[at]] = some = true;
      }
    }
    if (patience) {
      if (some) {
        for (std::size_t i = 0; i < many; ++i) {
          if (twice[i]) found.push_back(static_cast<std::int64_t>(i));
        }
      }
      return found;
    }
  }
  std::vector<std::int64_t> order(many);
  std::iota(order.begin(), order.end(), 0);
  const auto number = [&](std::int64_t place) { return numbers[static_cast<std::size_t>(place)]; };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return number(a) < number(b); });
  for (std::size_t i = 0; i < many; ++i) {
    if ((i && number(order[i - 1]) == number(order[i])) || (i + 1 < many && number(order[i + 1]) == number(order[i]))) {
      found.push_back(order[i]);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace boomslang::trace
