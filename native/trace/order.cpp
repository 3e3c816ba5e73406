// The order of keys, as one number each: ranges become comparisons of integers for everyone downstream.
//
// Keys order by family (integers and floats are one: numbers), then within the family (scalar.hpp). Most keys are
// integers of at most 18 digits or strings; both are sorted by a 64-bit prefix that decides nearly every comparison
// without touching the text.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "trace/history.hpp"

namespace boomslang::trace {
namespace {

struct Entry {
  std::uint64_t prefix;
  std::int32_t id;
};

// Monotone: a smaller prefix is a smaller key of the same family; equal prefixes decide nothing.
std::uint64_t prefix_of(const Scalar& s) {
  constexpr std::uint64_t middle = 1ull << 63;
  if (s.type == Type::integer) {
    if (s.size > 18) return s.data[0] == '-' ? 0 : ~0ull;
    std::int64_t value = 0;
    std::from_chars(s.data, s.data + s.size, value);
    return static_cast<std::uint64_t>(value) + middle;
  }
  if (s.type == Type::real) {
    double value;
    std::memcpy(&value, s.data, 8);
    if (!(std::fabs(value) < 1e18)) return value < 0 ? 0 : ~0ull;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(std::floor(value))) + middle;
  }
  std::uint64_t prefix = 0;
  for (std::uint32_t i = 0; i < 8; ++i)
    prefix = prefix << 8 | (i < s.size ? static_cast<unsigned char>(s.data[i]) : 0);
  return prefix;
}

}  // namespace

Column<std::int64_t> rank(const Interner& keys) {
  constexpr int types = 6;
  std::vector<Entry> entries[types];
  const auto n = static_cast<std::int32_t>(keys.size());
  for (std::int32_t id = 0; id < n; ++id)
    entries[static_cast<int>(family(keys.type_of(id)))].push_back({prefix_of(keys[id]), id});
  Column<std::int64_t> ranks;
  ranks.resize(keys.size());
  std::int64_t next = 0;
  for (auto& group : entries) {
    std::sort(group.begin(), group.end(), [&](const Entry& a, const Entry& b) {
      return a.prefix != b.prefix ? a.prefix < b.prefix : compare(keys[a.id], keys[b.id]) < 0;
    });
    for (const Entry& entry : group) ranks[entry.id] = next++;
  }
  return ranks;
}

}  // namespace boomslang::trace
