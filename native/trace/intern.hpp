// A table of distinct scalars: each gets a number, in order of first appearance.
//
// Tens of millions of distinct values must fit, so there is no object per value: all contents lie end to end
// in one array, with one word each for where they start and their type. Whole numbers of up to 18 digits are found
// again by what they are (numbers.hpp); everything else by an open-addressing hash table of (hash, number) pairs.
// Storing 32 bits of the hash in the slot makes almost every mismatch cost no further memory access, and lets
// the table grow without touching the contents.
#pragma once

#include <cstdint>
#include <cstring>

#include "common/parallel.hpp"
#include "trace/column.hpp"
#include "trace/fault.hpp"
#include "trace/numbers.hpp"
#include "trace/scalar.hpp"

namespace boomslang::trace {

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
    word = static_cast<unsigned char>(data[0]) |
           static_cast<std::uint64_t>(static_cast<unsigned char>(data[size / 2])) << 8 |
           static_cast<std::uint64_t>(static_cast<unsigned char>(data[size - 1])) << 16;
  }
  return mix(h ^ word ^ k1, k0);
}

// memcmp for short texts, without the call.
inline bool equal_bytes(const char* a, const char* b, std::size_t size) {
  const auto word = [](const char* p, auto x) {  // x tells the type only
    std::memcpy(&x, p, sizeof x);
    return x;
  };
  if (size > 16) return std::memcmp(a, b, size) == 0;
  if (size >= 8) {
    const std::uint64_t w = 0;
    return word(a, w) == word(b, w) && word(a + size - 8, w) == word(b + size - 8, w);
  }
  if (size >= 4) {
    const std::uint32_t w = 0;
    return word(a, w) == word(b, w) && word(a + size - 4, w) == word(b + size - 4, w);
  }
  for (std::size_t i = 0; i < size; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

class Interner {
 public:
  Interner() { entries_.push(0); }

  std::size_t size() const { return entries_.size() - 1; }

  Scalar operator[](std::int32_t id) const {
    const std::uint64_t from = entries_[id] >> type_bits;
    return {type_of(id), static_cast<std::uint32_t>((entries_[id + 1] >> type_bits) - from),
            reinterpret_cast<const char*>(data.data()) + from};
  }

  Type type_of(std::int32_t id) const { return static_cast<Type>(entries_[id] & type_mask); }

  bool is(std::int32_t id, const Scalar& s) const { return equal(id, s); }

  // What a scalar is looked up by: itself if it is a whole number of at most 18 digits, else a hash.
  struct Code {
    std::uint64_t word;
    bool number;
  };
  static constexpr std::uint32_t longest_number = 18;

  static Code code(const Scalar& s) {
    if (s.type != Type::integer || s.size > longest_number) [[unlikely]]
      return {hash_bytes(s.data, s.size, static_cast<std::uint64_t>(s.type) + 1), false};
    const bool negative = s.data[0] == '-';
    std::uint64_t number = 0;
    for (std::uint32_t i = negative; i < s.size; ++i)
      number = number * 10 + static_cast<std::uint64_t>(s.data[i] - '0');
    return {negative ? 0 - number : number, true};
  }

  std::int32_t find(const Scalar& s) const { return find(s, code(s)); }

  std::int32_t find(const Scalar& s, Code c) const {
    if (c.number) return numbers_.find(c.word);
    return slots_.empty() ? -1 : slots_[probe(s, hash(c))].id;
  }

  std::int32_t intern(const Scalar& s) { return intern(s, code(s)); }

  std::int32_t intern(const Scalar& s, Code c) {
    if (c.number) {
      std::int32_t& row = numbers_.row(c.word);
      return row >= 0 ? row : row = add(s);
    }
    if ((others_ + 1) * 4 > slots_.size() * 3) [[unlikely]]
      grow();
    Slot& slot = slots_[probe(s, hash(c))];
    if (slot.id >= 0) return slot.id;
    slot = {hash(c), add(s)};
    ++others_;
    return slot.id;
  }

  // A lookup in a large table waits for memory: for the slot, and unless it is a number for the entry and for the
  // content. Someone who knows early what will be looked up asks for them in turn, some time apart, and waits
  // for none.
  void fetch_slot(Code c) const {
    if (c.number) return numbers_.prefetch(c.word);
    if (!slots_.empty()) fetch(&slots_[hash(c) & (slots_.size() - 1)]);
  }
  void fetch_entry(Code c) const {
    if (c.number) return;
    if (const std::int32_t id = likely(hash(c)); id >= 0) fetch(&entries_[id]);
  }
  void fetch_content(Code c) const {
    if (c.number) return;
    if (const std::int32_t id = likely(hash(c)); id >= 0) fetch(data.data() + (entries_[id] >> type_bits));
  }

  void drop_index() {
    numbers_.discard();
    slots_.discard();
  }

  // Done: the entries as the two columns they become in Python; `narrow` if its numbers have 31 bits.
  void split(Column<std::uint8_t>& type, Column<std::int32_t>& narrow, int jobs) {
    type.resize(size());
    narrow.resize(entries_.size());
    in_pieces(jobs, size(), [&](std::size_t from, std::size_t until) {
      for (std::size_t i = from; i < until; ++i) type[i] = static_cast<std::uint8_t>(entries_[i] & type_mask);
      for (std::size_t i = from; i < until; ++i) narrow[i] = static_cast<std::int32_t>(entries_[i] >> type_bits);
    });
    narrow.back() = static_cast<std::int32_t>(entries_.back() >> type_bits);
    entries_.discard();
    entries_.push(0);
  }
  // The second is the entries' own memory: there may be millions of them.
  void split(Column<std::uint8_t>& type, Column<std::uint64_t>& offset, int jobs) {
    type.resize(size());
    in_pieces(jobs, size(), [&](std::size_t from, std::size_t until) {
      for (std::size_t i = from; i < until; ++i) type[i] = static_cast<std::uint8_t>(entries_[i] & type_mask);
      for (std::size_t i = from; i < until; ++i) entries_[i] >>= type_bits;
    });
    entries_.back() >>= type_bits;
    offset.swap(entries_);
    entries_.discard();
    entries_.push(0);
  }

  Column<std::uint8_t> data;  // leaves for NumPy in the end

 private:
  static constexpr int type_bits = 3;
  static constexpr std::uint64_t type_mask = (1 << type_bits) - 1;

  struct Slot {
    std::uint32_t hash;
    std::int32_t id;
  };

  static std::uint32_t hash(Code c) { return static_cast<std::uint32_t>(c.word); }

  std::int32_t add(const Scalar& s) {
    if (size() >= 0x7fffffff)
      fault("more than 2147483647 different keys or values", "fewer", "split the trace");
    const auto id = static_cast<std::int32_t>(size());
    entries_.back() |= static_cast<std::uint64_t>(s.type);
    data.append(reinterpret_cast<const std::uint8_t*>(s.data), s.size);
    entries_.push(static_cast<std::uint64_t>(data.size()) << type_bits);
    return id;
  }

  bool equal(std::int32_t id, const Scalar& s) const {
    const std::uint64_t from = entries_[id] >> type_bits;
    return type_of(id) == s.type && (entries_[id + 1] >> type_bits) - from == s.size &&
           equal_bytes(reinterpret_cast<const char*>(data.data()) + from, s.data, s.size);
  }

  // The slot that holds s, or the empty one where it belongs.
  std::size_t probe(const Scalar& s, std::uint32_t h) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = h & mask;
    while (slots_[at].id >= 0 && (slots_[at].hash != h || !equal(slots_[at].id, s))) at = (at + 1) & mask;
    return at;
  }

  std::int32_t likely(std::uint32_t h) const {
    if (slots_.empty()) return -1;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = h & mask;; at = (at + 1) & mask) {
      const Slot& slot = slots_[at];
      if (slot.hash == h || slot.id < 0) return slot.id;
    }
  }

  void grow() {
    const std::size_t count = slots_.empty() ? 16 : slots_.size() * 2;
    Column<Slot> grown;
    grown.resize(count);
    std::memset(grown.data(), 0xff, count * sizeof(Slot));
    const std::size_t mask = count - 1;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].id < 0) continue;
      std::size_t at = slots_[i].hash & mask;
      while (grown[at].id >= 0) at = (at + 1) & mask;
      grown[at] = slots_[i];
    }
    slots_.swap(grown);
  }

  Column<std::uint64_t> entries_;  // start << type_bits | type; the last is where the next one starts
  Numbers numbers_;
  Column<Slot> slots_;  // everything else
  std::size_t others_ = 0;
};

}  // namespace boomslang::trace
