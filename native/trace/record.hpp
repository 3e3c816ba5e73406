// One line of a trace: its fields, read but not yet understood.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/intern.hpp"
#include "trace/json.hpp"

namespace boomslang::trace {

// The order is that of the columns' Kind (see model.py).
enum class Op : std::uint8_t { put, get, del, scan, iterator, next, begin, commit, abort, append, list, select };
constexpr int op_count = 12;
const char* op_name(Op op);

enum class Field : std::uint8_t {
  session,
  txn,
  op,
  key,
  value,
  absent,
  found,
  from,
  to,
  items,
  id,
  end,
  invoke,
  ret,
  ctx,
  error,
  initial,
  boomslang,
  clock,
  elements,
  unit,
  table,
  where
};
constexpr int field_count = 23;
constexpr std::uint32_t bit(Field field) { return 1u << static_cast<int>(field); }
const char* field_name(Field field);
// "a, b, c" of a set of fields.
std::string field_list(std::uint32_t fields);

constexpr std::int64_t no_time = std::numeric_limits<std::int64_t>::min();

using Items = std::vector<std::pair<Scalar, Scalar>>;

// Of each field that a line has: where its value begins and ends.
using Places = std::array<std::pair<const char*, const char*>, field_count>;

// Slices point into the line or the tokenizer's scratch area: valid until the next line.
struct Record {
  std::uint32_t fields;
  Op op;
  bool found;
  bool txn_initial;      // begin: "initial": true
  bool initial_unknown;  // header: "initial": "unknown"
  bool initial_given;    // header: "initial": {"items": ...}, which are in `items`
  Scalar session, txn, key, value, from, to, id, error, clock, unit;
  std::string_view ctx, table, where;  // as JSON
  std::int64_t invoke, ret;
  Interner::Code key_code, value_code;
  Items items;
  std::vector<Scalar> elements;  // what a list read returned

  bool has(Field field) const { return fields & bit(field); }
  bool is_header() const { return has(Field::boomslang); }

  // Reads the line at json's start, and checks what can be checked without knowing any other line.
  void read(Json& json, Places& places);

 private:
  void read_field(Json& json, Field field);
  void read_items(Json& json);
  void read_elements(Json& json);
  void read_initial(Json& json);
  void check_header() const;
  void check_operation() const;
};

// Is the line one well-formed JSON value? (If not, and it is the last one, it is torn.)
bool well_formed(Json& json, const char* line, std::size_t size);

}  // namespace boomslang::trace
