// A line of a trace in brief: what most lines need, and nothing else.
//
// Lines are parsed in one place (slice.hpp) and understood in another (History), perhaps by another thread. What
// goes between must be small, for it is written and read again for every line: a full Record is five times as large.
// Parts point into the text of the slice by offset, and carry what they will be looked up by. A line that has more
// than this (ranges, lists, hints, errors, values with escapes) keeps its Record, and `record` says which.
#pragma once

#include <cstdint>

#include "trace/intern.hpp"
#include "trace/record.hpp"

namespace boomslang::trace {

struct Part {
  std::uint64_t word;  // the Interner's code
  std::uint32_t at;    // in the text of the slice
  std::uint32_t what;  // size, type, and whether the code is a number

  static Part of(const Scalar& s, Interner::Code code, const char* text) {
    return {code.word, static_cast<std::uint32_t>(s.data - text),
            s.size << 4 | static_cast<std::uint32_t>(s.type) << 1 | static_cast<std::uint32_t>(code.number)};
  }
  Interner::Code code() const { return {word, (what & 1) != 0}; }
  Scalar scalar(const char* text) const { return {static_cast<Type>(what >> 1 & 7), what >> 4, text + at}; }
};

struct Brief {
  static constexpr std::int32_t none = -1;

  std::uint32_t fields;
  std::uint32_t number;  // of the line, from 1 in each slice
  std::int32_t record;   // its Record among those of the slice, or none: then what follows says it all
  std::int32_t session;  // among those of the slice, or none: the line names none
  Op op;
  bool found;
  std::int64_t invoke, ret;
  Part txn, key, value;

  bool has(Field field) const { return fields & bit(field); }

  // The fields that a line in brief may have.
  static constexpr std::uint32_t plain = bit(Field::session) | bit(Field::txn) | bit(Field::op) | bit(Field::key) |
                                         bit(Field::value) | bit(Field::absent) | bit(Field::found) |
                                         bit(Field::invoke) | bit(Field::ret);
};

}  // namespace boomslang::trace
