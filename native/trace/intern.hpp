// A table of distinct scalars: each gets a number, in order of first appearance.
//
// Tens of millions of distinct values must fit, so there is no object per value: all contents lie end to end
// in one array, with one offset and one type byte each, and an open-addressing hash table of (hash, number)
// pairs finds them again. Storing 32 bits of the hash in the slot makes almost every mismatch cost no
// further memory access, and lets the table grow without touching the contents.
#pragma once

#include <cstdint>
#include <cstring>

#include "trace/column.hpp"
#include "trace/fault.hpp"
#include "trace/scalar.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace boomslang {

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Multiply-and-fold over eight bytes at a time, after Wang Yi's wyhash.
inline std::uint64_t hash_bytes(const char* data, std::size_t size, std::uint64_t seed) {
  constexpr std::uint64_t k0 = 0xa0761d6478bd642full, k1 = 0xe7037ed1a0b428dbull;
  std::uint64_t h = seed ^ (size * k1);
  while (size > 8) {
    std::uint64_t word;
    std::memcpy(&word, data, 8);
    h = mix(h ^ word ^ k0, k1);
    data += 8;
    size -= 8;
  }
  std::uint64_t word = 0;
  if (size >= 4) {
    std::uint32_t low, high;
    std::memcpy(&low, data, 4);
    std::memcpy(&high, data + size - 4, 4);
    word = low | static_cast<std::uint64_t>(high) << 32;
  } else if (size) {
    word = static_cast<unsigned char>(data[0]) | static_cast<std::uint64_t>(static_cast<unsigned char>(data[size / 2])) << 8 |
           static_cast<std::uint64_t>(static_cast<unsigned char>(data[size - 1])) << 16;
  }
  return mix(h ^ word ^ k1, k0);
}

class Interner {
 public:
  Interner() { offset.push(0); }

  std::size_t size() const { return type.size(); }

  Scalar operator[](std::int32_t id) const {
    return {static_cast<Type>(type[id]), static_cast<std::uint32_t>(offset[id + 1] - offset[id]),
            reinterpret_cast<const char*>(data.data()) + offset[id]};
  }

  static std::uint32_t hash(const Scalar& s) {
    return static_cast<std::uint32_t>(hash_bytes(s.data, s.size, static_cast<std::uint64_t>(s.type) + 1));
  }

  std::int32_t find(const Scalar& s) const {
    if (slots_.empty()) return -1;
    return slots_[probe(s, hash(s))].id;
  }

  std::int32_t intern(const Scalar& s) {
    if ((size() + 1) * 4 > slots_.size() * 3) [[unlikely]] grow();
    const std::uint32_t h = hash(s);
    Slot& slot = slots_[probe(s, h)];
    if (slot.id >= 0) return slot.id;
    if (size() >= 0x7fffffff)
      fault("more than 2147483647 different keys or values", "fewer", "split the trace");
    slot = {h, static_cast<std::int32_t>(size())};
    type.push(static_cast<std::uint8_t>(s.type));
    data.append(reinterpret_cast<const std::uint8_t*>(s.data), s.size);
    offset.push(static_cast<std::int64_t>(data.size()));
    return slot.id;
  }

  void drop_index() { slots_.discard(); }

  // Public because they leave for NumPy in the end.
  Column<std::uint8_t> type;
  Column<std::int64_t> offset;
  Column<std::uint8_t> data;

 private:
  struct Slot {
    std::uint32_t hash;
    std::int32_t id;
  };

  bool equal(std::int32_t id, const Scalar& s) const {
    const std::int64_t from = offset[id];
    return offset[id + 1] - from == static_cast<std::int64_t>(s.size) &&
           type[id] == static_cast<std::uint8_t>(s.type) &&
           (s.size == 0 || std::memcmp(data.data() + from, s.data, s.size) == 0);
  }

  // The slot that holds s, or the empty one where it belongs.
  std::size_t probe(const Scalar& s, std::uint32_t h) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = place(h) & mask;
    while (slots_[at].id >= 0 && (slots_[at].hash != h || !equal(slots_[at].id, s))) at = (at + 1) & mask;
    return at;
  }

  // 32 hash bits address up to 2^32 slots; spread them so that low bits depend on all.
  static std::size_t place(std::uint32_t h) { return h; }

  void grow() {
    const std::size_t count = slots_.empty() ? 16 : slots_.size() * 2;
    Column<Slot> grown;
    grown.resize(count);
#if defined(__linux__)
    // Random access into a table of many pages: large pages spare most of the address translation.
    if (count * sizeof(Slot) >= (8u << 20)) {
      const auto begin = (reinterpret_cast<std::uintptr_t>(grown.data()) + 4095) & ~std::uintptr_t{4095};
      const auto end = reinterpret_cast<std::uintptr_t>(grown.data() + count) & ~std::uintptr_t{4095};
      madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    }
#endif
    std::memset(grown.data(), 0xff, count * sizeof(Slot));
    const std::size_t mask = count - 1;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].id < 0) continue;
      std::size_t at = place(slots_[i].hash) & mask;
      while (grown[at].id >= 0) at = (at + 1) & mask;
      grown[at] = slots_[i];
    }
    slots_.swap(grown);
  }

  Column<Slot> slots_;
};

}  // namespace boomslang
