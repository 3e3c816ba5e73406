// One key or value, as it stands in the input: a type and its bytes.
//
// Values compare by type and content: 1, 1.0, true, "1" and null are five values. Equal values have equal
// bytes, which makes interning a memcmp: integers are canonical decimal text (of any size), floats are the
// eight bytes of the double with -0.0 written as 0.0, text is UTF-8, booleans are one byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace boomslang::trace {

enum class Type : std::uint8_t { null = 0, boolean = 1, integer = 2, real = 3, text = 4, bytes = 5 };

struct Scalar {
  Type type = Type::null;
  std::uint32_t size = 0;
  const char* data = nullptr;
};

inline const char* type_name(Type type) {
  static const char* const names[] = {"null", "boolean", "integer", "float", "string", "bytes"};
  return names[static_cast<int>(type)];
}

inline int compare_bytes(const Scalar& a, const Scalar& b) {
  const std::uint32_t common = a.size < b.size ? a.size : b.size;
  if (common) {
    if (int c = std::memcmp(a.data, b.data, common)) return c;
  }
  return a.size < b.size ? -1 : a.size > b.size;
}

// Canonical decimals: the longer is the further from zero, equal lengths compare as text.
inline int compare_integers(const Scalar& a, const Scalar& b) {
  const bool a_negative = a.data[0] == '-', b_negative = b.data[0] == '-';
  if (a_negative != b_negative) return a_negative ? -1 : 1;
  int c = a.size != b.size ? (a.size < b.size ? -1 : 1) : std::memcmp(a.data, b.data, a.size);
  return a_negative ? -c : c;
}

// An integer and a double, exactly: 2^53 + 1 is more than 2.0^53, though a double cannot hold it. Never equal: of two
// numbers of one size the integer is the first, so that keys have a total order.
int compare_numbers(const Scalar& integer, const Scalar& real);

// Types that have an order among each other. Integers and floats are numbers, which order by size; between all others
// the order is the database's, so nobody may draw conclusions from ours.
inline Type family(Type type) { return type == Type::real ? Type::integer : type; }

inline const char* family_name(Type type) { return family(type) == Type::integer ? "number" : type_name(type); }

// The order of keys: by family, then within the family.
inline int compare(const Scalar& a, const Scalar& b) {
  if (a.type != b.type) {
    if (a.type == Type::integer && b.type == Type::real) return compare_numbers(a, b);
    if (a.type == Type::real && b.type == Type::integer) return -compare_numbers(b, a);
    return a.type < b.type ? -1 : 1;
  }
  if (a.type == Type::integer) return compare_integers(a, b);
  if (a.type == Type::real) {
    double x, y;
    std::memcpy(&x, a.data, 8);
    std::memcpy(&y, b.data, 8);
    return x < y ? -1 : x > y;
  }
  return compare_bytes(a, b);
}

// The number that the text is; nothing if a double cannot hold it. -0.0 and 0.0 are one value.
std::optional<double> to_double(const char* from, const char* to);

// As a person would write it, for messages.
std::string show(const Scalar& scalar);

}  // namespace boomslang::trace
