#include "trace/record.hpp"

#include <charconv>

#include "trace/intern.hpp"

namespace boomslang::trace {
namespace {

constexpr const char* op_names[op_count] = {"put",  "get",   "delete", "scan",   "iterator",
                                            "next", "begin", "commit", "abort", "append", "list", "select"};
constexpr const char* field_names[field_count] = {
    "session", "txn", "op",     "key",    "value", "absent", "found",   "from",      "to",   "items",
    "id",      "end", "invoke", "return", "ctx",   "error",  "initial", "boomslang", "clock",
    "elements", "unit", "table", "where"};

constexpr std::uint32_t any_op = bit(Field::session) | bit(Field::txn) | bit(Field::op) | bit(Field::invoke) |
                                 bit(Field::ret) | bit(Field::ctx) | bit(Field::error);
constexpr std::uint32_t header_fields =
    bit(Field::boomslang) | bit(Field::clock) | bit(Field::initial) | bit(Field::unit) | bit(Field::session) |
    bit(Field::ctx);

constexpr std::uint32_t allowed[op_count] = {
    any_op | bit(Field::key) | bit(Field::value),                                     // put
    any_op | bit(Field::key) | bit(Field::value) | bit(Field::absent),                // get
    any_op | bit(Field::key) | bit(Field::found),                                     // delete
    any_op | bit(Field::from) | bit(Field::to) | bit(Field::items),                   // scan
    any_op | bit(Field::id) | bit(Field::from) | bit(Field::to),                      // iterator
    any_op | bit(Field::id) | bit(Field::key) | bit(Field::value) | bit(Field::end),  // next
    any_op | bit(Field::initial),
    any_op,
    any_op,                                                // begin, commit, abort
    any_op | bit(Field::key) | bit(Field::value),          // append
    any_op | bit(Field::key) | bit(Field::elements),       // list
    any_op | bit(Field::table) | bit(Field::where) | bit(Field::items)};  // select

// What must be there unless the operation failed; either/or results are checked apart.
constexpr std::uint32_t required[op_count] = {bit(Field::key) | bit(Field::value),
                                              bit(Field::key),
                                              bit(Field::key),
                                              bit(Field::items),
                                              bit(Field::id),
                                              bit(Field::id),
                                              0,
                                              0,
                                              0,
                                              bit(Field::key) | bit(Field::value),
                                              bit(Field::key) | bit(Field::elements),
                                              bit(Field::table) | bit(Field::items)};

std::string_view text(const Scalar& s) { return {s.data, s.size}; }

// Length first: at most seven names share one, and a short memcmp of constant size is a single comparison.
int find_field(std::string_view name) {
  const auto is = [&](Field f, std::string_view expected) {
    return name == expected ? static_cast<int>(f) : -1;
  };
  switch (name.size()) {
    case 2:
      return name[0] == 'o'   ? is(Field::op, "op")
             : name[0] == 't' ? is(Field::to, "to")
                              : is(Field::id, "id");
    case 3:
      switch (name[0]) {
        case 't': return is(Field::txn, "txn");
        case 'k': return is(Field::key, "key");
        case 'e': return is(Field::end, "end");
        default: return is(Field::ctx, "ctx");
      }
    case 4: return name[0] == 'f' ? is(Field::from, "from") : is(Field::unit, "unit");
    case 5:
      switch (name[0]) {
        case 'v': return is(Field::value, "value");
        case 'e': return is(Field::error, "error");
        case 'f': return is(Field::found, "found");
        case 'i': return is(Field::items, "items");
        case 't': return is(Field::table, "table");
        case 'w': return is(Field::where, "where");
        default: return is(Field::clock, "clock");
      }
    case 6:
      switch (name[0]) {
        case 'i': return is(Field::invoke, "invoke");
        case 'r': return is(Field::ret, "return");
        default: return is(Field::absent, "absent");
      }
    case 7: return name[0] == 's' ? is(Field::session, "session") : is(Field::initial, "initial");
    case 8: return is(Field::elements, "elements");
    case 9: return is(Field::boomslang, "boomslang");
    default: return -1;
  }
}

Op find_op(std::string_view name) {
  for (int i = 0; i < op_count; ++i)
    if (name == op_names[i]) return static_cast<Op>(i);
  std::string known;
  for (int i = 0; i < op_count; ++i) known += std::string(i ? ", " : "") + op_names[i];
  fault("the unknown op " + show({Type::text, static_cast<std::uint32_t>(name.size()), name.data()}),
        "one of " + known, "correct the spelling");
}

std::string quoted(Field field) { return std::string("\"") + field_name(field) + "\""; }

[[noreturn]] void wrong(const Json& json, Field field, const char* expected, const char* fix) {
  fault(json.here() + " as " + quoted(field), expected, fix);
}

std::int64_t read_time(Json& json, Field field) {
  const char c = json.peek();
  if (c != '-' && (c < '0' || c > '9'))
    wrong(json, field, "an integer", "record the clock in whole ticks, such as nanoseconds");
  const Scalar token = json.number();
  std::int64_t value = 0;
  if (token.type != Type::integer ||
      std::from_chars(token.data, token.data + token.size, value).ec != std::errc{} || value == no_time)
    fault(show(token) + " as " + quoted(field), "an integer of 64 bits",
          "record the clock in whole ticks, such as nanoseconds");
  return value;
}

void read_true(Json& json, Field field) {
  const char c = json.peek();
  if ((c != 't' && c != 'f') || !json.boolean())
    wrong(json, field, "true, or no such field", "write true, or leave the field out");
}

}  // namespace

const char* op_name(Op op) { return op_names[static_cast<int>(op)]; }
const char* field_name(Field field) { return field_names[static_cast<int>(field)]; }

std::string field_list(std::uint32_t fields) {
  std::string list;
  for (int i = 0; i < field_count; ++i)
    if (fields & 1u << i) list += (list.empty() ? "" : ", ") + std::string(field_names[i]);
  return list;
}

void Record::read_items(Json& json) {
  items.clear();
  const auto pair = [&] {
    wrong(json, Field::items, "a list of [key, value] pairs", "write \"items\": [[\"k\", 1], ...]");
  };
  if (json.peek() != '[') pair();
  ++json.p;
  if (json.accept(']')) return;
  do {
    if (json.peek() != '[') pair();
    ++json.p;
    if (json.peek() == ']') pair();
    const Scalar k = json.scalar();
    if (!json.accept(',')) pair();
    const Scalar v = json.scalar();
    if (!json.accept(']')) pair();
    items.emplace_back(k, v);
  } while (json.accept(','));
  json.expect(']', "',' or ']' after the item");
}

void Record::read_elements(Json& json) {
  elements.clear();
  if (json.peek() != '[')
    wrong(json, Field::elements, "a list of values", "write \"elements\": [1, 2, ...], the list as it was read");
  ++json.p;
  if (json.accept(']')) return;
  do elements.push_back(json.scalar());
  while (json.accept(','));
  json.expect(']', "',' or ']' after the element");
}

void Record::read_initial(Json& json) {
  initial_unknown = initial_given = false;
  const auto refuse = [&] {
    wrong(json, Field::initial,
          "\"empty\", \"unknown\" or {\"items\": [[key, value], ...]} in a header, true in a begin",
          "say what the database held before the first operation");
  };
  const char c = json.peek();
  if (c == 't') {
    json.boolean();
    txn_initial = true;
  } else if (c == '"') {
    const char* before = json.p;
    const Scalar mode = json.string();
    initial_unknown = text(mode) == "unknown";
    if (!initial_unknown && text(mode) != "empty") {
      json.p = before;
      refuse();
    }
  } else if (c == '{') {
    ++json.p;
    if (json.peek() != '"' || text(json.string()) != "items") refuse();
    json.expect(':', "':' after the field name");
    read_items(json);
    json.expect('}', "'}' after the items");
    initial_given = true;
  } else {
    refuse();
  }
}

void Record::read_field(Json& json, Field field) {
  const auto string = [&](const char* fix) {
    if (json.peek() != '"') wrong(json, field, "a string", fix);
    return json.string();
  };
  switch (field) {
    case Field::session:
      if (json.peek() == 'n') {
        session = json.scalar();
      } else {
        session = string("name the session with a string, or null for none");
      }
      return;
    case Field::txn:
    case Field::id: {
      const char c = json.peek();
      if (c != '"' && c != '-' && (c < '0' || c > '9'))
        wrong(json, field, "an integer or a string", "give each transaction and iterator an id");
      const Scalar token = json.scalar();
      if (token.type == Type::real)
        fault(show(token) + " as " + quoted(field), "an integer or a string",
              "give each transaction and iterator an id");
      (field == Field::txn ? txn : id) = token;
      return;
    }
    case Field::op: op = find_op(text(string("name the operation with a string"))); return;
    case Field::key:
      key = json.scalar();
      key_code = Interner::code(key);
      return;
    case Field::value:
      value = json.scalar();
      value_code = Interner::code(value);
      return;
    case Field::from: from = json.scalar(); return;
    case Field::to: to = json.scalar(); return;
    case Field::absent:
    case Field::end: read_true(json, field); return;
    case Field::found: {
      const char c = json.peek();
      if (c != 't' && c != 'f')
        wrong(json, field, "true or false", "leave the field out if the database did not say");
      found = json.boolean();
      return;
    }
    case Field::items: read_items(json); return;
    case Field::elements: read_elements(json); return;
    case Field::invoke: invoke = read_time(json, field); return;
    case Field::ret: ret = read_time(json, field); return;
    case Field::ctx:
      if (json.peek() != '{') wrong(json, field, "an object", "write hints as \"ctx\": {\"name\": ...}");
      ctx = json.raw(2);
      return;
    case Field::table: {
      json.space();
      const char* from = json.p;
      string("name the table with a string");
      table = {from, static_cast<std::size_t>(json.p - from)};
      return;
    }
    case Field::where: where = json.raw(2); return;
    case Field::error: error = string("describe the failure with a string"); return;
    case Field::initial: read_initial(json); return;
    case Field::boomslang: {
      const Scalar version = json.scalar();
      if (version.type != Type::integer || text(version) != "1")
        fault("format version " + show(version), "version 1",
              "use the version of boomslang that wrote the trace, or a newer one");
      return;
    }
    case Field::clock: clock = string("name the clock with a string, such as \"host/boot\""); return;
    case Field::unit: {
      const char* fix = "say what a tick of the clock is, or leave the field out";
      unit = string(fix);
      if (text(unit) != "ns" && text(unit) != "us" && text(unit) != "ms" && text(unit) != "s")
        fault(show(unit) + " as " + quoted(field), "\"ns\", \"us\", \"ms\" or \"s\"", fix);
      return;
    }
  }
}

void Record::read(Json& json, Places& places) {
  fields = 0;
  txn_initial = false;
  invoke = ret = no_time;
  std::string unknown;
  json.expect('{', "a JSON object");
  if (!json.accept('}')) {
    do {
      if (json.peek() != '"') [[unlikely]]
        json.syntax("a field name in double quotes");
      const Scalar name = json.string();
      json.expect(':', "':' after the field name");
      const int field = find_field(text(name));
      if (field < 0) [[unlikely]] {
        if (unknown.empty()) unknown = show(name);  // reported below, once the op is known
        json.skip(2);
        continue;
      }
      if (fields & 1u << field) [[unlikely]]
        fault("the field " + show(name) + " twice in one object", "each field once", "remove one of the two");
      fields |= 1u << field;
      json.space();
      places[static_cast<std::size_t>(field)].first = json.p;
      read_field(json, static_cast<Field>(field));
      places[static_cast<std::size_t>(field)].second = json.p;
    } while (json.accept(','));
    json.expect('}', "',' or '}' after the field");
  }
  json.expect_end();
  if (!unknown.empty()) [[unlikely]] {
    const std::uint32_t known = is_header()      ? header_fields
                                : has(Field::op) ? allowed[static_cast<int>(op)]
                                                 : any_op;
    const std::string of = is_header()      ? "a header"
                           : has(Field::op) ? std::string("\"") + op_name(op) + "\""
                                            : "an operation";
    fault("the unknown field " + unknown + " in " + of, "only the fields " + field_list(known),
          "correct the spelling, or move extra information into \"ctx\"");
  }
  is_header() ? check_header() : check_operation();
}

void Record::check_header() const {
  if (const std::uint32_t extra = fields & ~header_fields)
    fault("the fields " + field_list(extra) + " in a header", "only the fields " + field_list(header_fields),
          "write operations on lines of their own");
  if (txn_initial)
    fault("\"initial\": true in a header", "\"empty\", \"unknown\" or {\"items\": [[key, value], ...]}",
          "say what the database held before the first operation");
}

void Record::check_operation() const {
  if (!has(Field::op)) [[unlikely]]
    fault("no field \"op\"",
          "an operation with the fields op, txn and more, or a header with the field boomslang",
          "add \"op\": \"get\" or whatever it was");
  const int at = static_cast<int>(op);
  const auto name = [&] { return std::string("\"") + op_name(op) + "\""; };
  if (const std::uint32_t extra = fields & ~allowed[at]) [[unlikely]]
    fault("the field " + field_list(extra) + ", unknown in " + name(),
          "only the fields " + field_list(allowed[at]), "remove it, or move extra information into \"ctx\"");
  if (has(Field::initial) && !txn_initial)
    fault("\"initial\" other than true in a begin", "true",
          "describe the initial state in the header, or load it with puts");
  if (ret != no_time && invoke != no_time && ret < invoke) [[unlikely]]
    fault("return " + std::to_string(ret) + " before invoke " + std::to_string(invoke),
          "times that run forwards", "read one monotonic clock before and after each call");
  const bool failed = has(Field::error);
  if (const std::uint32_t missing = required[at] & ~fields; missing && !failed) [[unlikely]]
    fault("no field " + field_list(missing) + " in " + name(), "the fields " + field_list(required[at]),
          "record it, or \"error\" if the operation failed");
  if (op == Op::get) {
    if (has(Field::value) && has(Field::absent)) [[unlikely]]
      fault("both value and absent in \"get\"", "one of them", "write what the database returned");
    if (!failed && !has(Field::value) && !has(Field::absent)) [[unlikely]]
      fault("no field value and no absent in \"get\"", "\"value\": what was returned, or \"absent\": true",
            "record the result, or \"error\" if the operation failed");
  } else if (op == Op::next) {
    const bool item = has(Field::key) || has(Field::value);
    if (item && has(Field::end)) [[unlikely]]
      fault("both an item and end in \"next\"", "key and value, or \"end\": true",
            "write what the database returned");
    if (!failed && !has(Field::end) && !(has(Field::key) && has(Field::value))) [[unlikely]]
      fault("no result in \"next\"", "key and value, or \"end\": true",
            "record the result, or \"error\" if the operation failed");
  }
}

bool well_formed(Json& json, const char* line, std::size_t size) {
  try {
    json.start(line, size);
    json.skip(1);
    json.expect_end();
    return true;
  } catch (const Fault&) {
    return false;
  }
}

}  // namespace boomslang::trace
