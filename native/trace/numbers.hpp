// From whole numbers to the numbers of their rows in a table.
//
// Most keys and values of most traces are whole numbers, and often counters. A counter needs no hashing: the
// small numbers are an array, everyone else is in an open-addressing hash table that holds the number itself, so
// that a lookup waits for memory once. How far the array goes is decided when the hash table is full, as in
// Lua's tables ("The Implementation of Lua 5.0", J. UCS 2005): up to the largest power of two of which an eighth
// is in use, and the upper half, too.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "trace/column.hpp"

namespace boomslang::trace {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// GCC takes a function that only prefetches for one without effect, and drops the call; the empty asm keeps
// it.
inline void fetch(const void* address) {
  __builtin_prefetch(address);
  asm volatile("" : : "r"(address));
}

class Numbers {
 public:
  std::int32_t find(std::uint64_t number) const {
    if (number < near_.size()) return near_[number];
    return slots_.empty() ? -1 : slots_[probe(slots_, number)].id;
  }

  // The row of the number. -1 if it has none: then it must be given one there and then.
  std::int32_t& row(std::uint64_t number) {
    if (number < near_.size()) return near_[number];
    if ((far_ + 1) * 8 > slots_.size() * 5) [[unlikely]] {
      grow();
      if (number < near_.size()) return near_[number];
    }
    Slot& slot = slots_[probe(slots_, number)];
    if (slot.id < 0) {
      slot.low = static_cast<std::uint32_t>(number);
      slot.high = static_cast<std::uint32_t>(number >> 32);
      ++far_;
    }
    return slot.id;
  }

  void prefetch(std::uint64_t number) const {
    if (number < near_.size()) {
      fetch(&near_[number]);
    } else if (!slots_.empty()) {
      fetch(&slots_[place(number) & (slots_.size() - 1)]);
    }
  }

  void discard() {
    near_.discard();
    slots_.discard();
    far_ = 0;
  }

 private:
  struct Slot {
    std::uint32_t low, high;  // two halves, or the slot would be a third larger
    std::int32_t id;
    std::uint64_t number() const { return static_cast<std::uint64_t>(high) << 32 | low; }
  };

  static constexpr int farthest = 31;  // the array's largest size, as a power of two

  static std::size_t place(std::uint64_t number) {
    return static_cast<std::size_t>(mix(number ^ 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull));
  }

  // The slot that holds the number, or the empty one where it belongs.
  static std::size_t probe(const Column<Slot>& slots, std::uint64_t number) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = place(number) & mask;
    while (slots[at].id >= 0 && slots[at].number() != number) at = (at + 1) & mask;
    return at;
  }

  // How far the array should go, by what is in it and in the table.
  std::size_t best() const {
    std::array<std::size_t, 65> by_width{};
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].id >= 0) ++by_width[std::bit_width(slots_[i].number())];
    std::size_t used = 0, best = near_.size();
    for (std::size_t i = 0; i < near_.size(); ++i) used += near_[i] >= 0;
    for (int width = 0; width <= farthest; ++width) {
      used += by_width[width];
      const std::size_t size = std::size_t{1} << width;
      if (by_width[width] && size > best && used * 8 > size) best = size;  // no farther than any number goes
    }
    return best;
  }

  void grow() {
    const std::size_t reach = best();
    if (reach > near_.size()) {
      near_.pad(reach, -1);
      for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].id < 0 || slots_[i].number() >= reach) continue;
        near_[slots_[i].number()] = slots_[i].id;
        slots_[i].id = -1;
        --far_;
      }
    }
    std::size_t count = 16;
    while ((far_ + 1) * 16 > count * 5) count *= 2;
    Column<Slot> grown;
    grown.resize(count);
    std::memset(grown.data(), 0xff, count * sizeof(Slot));
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].id >= 0) grown[probe(grown, slots_[i].number())] = slots_[i];
    slots_.swap(grown);
  }

  Column<std::int32_t> near_;  // number -> row
  Column<Slot> slots_;
  std::size_t far_ = 0;  // numbers in the slots
};

}  // namespace boomslang::trace
