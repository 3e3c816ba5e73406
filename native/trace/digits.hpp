// Decimal digits, eight at a time.
//
// Tokens are short, and a loop over their characters would guess its end wrong nearly every time; so eight
// characters go through one register. A mark is a high bit of the byte it is about; `first` counts the bytes
// before the lowest marked one, and a mark may have false ones above it (carries), never below. After "Determine
// if a word has a zero byte" in Anderson's Bit Hacks; the sums of neighbours in `eight_digits` are folklore.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace boomslang::trace {

constexpr std::uint64_t each_byte = 0x0101010101010101ull, high_bits = 0x8080808080808080ull;

inline std::uint64_t load_eight(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

inline int first(std::uint64_t marks) { return std::countr_zero(marks) / 8; }

inline std::uint64_t not_digits(std::uint64_t x) {
  const std::uint64_t y = x ^ each_byte * '0';
  return (y | (y + each_byte * 6)) & (each_byte * 0xF0);
}

// The number that eight digits are; zero bytes may stand for leading zeros.
inline std::uint64_t eight_digits(std::uint64_t x) {
  x = (x & each_byte * 0x0F) * 2561 >> 8;
  x = (x & 0x00FF00FF00FF00FFull) * 6553601 >> 16;
  return (x & 0x0000FFFF0000FFFFull) * 42949672960001ull >> 32;
}

// Goes past the digits at `p`, up to seven readable bytes beyond them, and gives the number they are, modulo 2^64.
inline std::uint64_t read_digits(const char*& p) {
  constexpr std::uint64_t power[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  std::uint64_t number = 0;
  for (;; p += 8) {
    const std::uint64_t word = load_eight(p);
    const std::uint64_t marks = not_digits(word);
    if (!marks) {
      number = number * 100000000 + eight_digits(word);
      continue;
    }
    const int count = first(marks);
    if (!count) return number;
    p += count;
    return number * power[count] + eight_digits(word << (8 - count) * 8);
  }
}

}  // namespace boomslang::trace
