#include "trace/shapes.hpp"

#include "trace/digits.hpp"

namespace boomslang::trace {
namespace {

// Goes past a whole number of at most 18 characters, as JSON has it; null if there is none.
inline const char* past_number(const char* p, std::uint64_t& number) {
  const char* const from = p;
  const bool negative = *p == '-';
  p += negative;
  const char* const digits = p;
  const std::uint64_t word = load_eight(p);
  if (const std::uint64_t marks = not_digits(word)) [[likely]] {
    const int count = first(marks);
    if (!count) return nullptr;
    number = eight_digits(word << (8 - count) * 8);
    p += count;
  } else {
    number = read_digits(p);
    if (p - from > static_cast<std::ptrdiff_t>(Interner::longest_number)) return nullptr;
  }
  if (*digits == '0' && (negative || p - digits > 1)) return nullptr;
  if (negative) number = 0 - number;
  return p;
}

// Goes past a string without anything that needs attention, from behind its first quote; null if there is none.
inline const char* past_string(const char* p, Scalar& scalar) {
  const char* const from = p;
  p = past_plain(p);
  if (*p != '"') return nullptr;
  scalar = {Type::text, static_cast<std::uint32_t>(p - from), from};
  return p + 1;
}

}  // namespace

// Reads up to seven bytes beyond the last one compared. A word is looked at only if those before it are equal, and no
// text has a '\n' but as its last character: so what is read starts no later than the line's own '\n'.
inline bool Shapes::is_text(const Node& node, const char* p) {
  for (std::size_t i = 0; i * 8 < node.size; ++i)
    if ((load_eight(p + i * 8) ^ node.text[i]) & node.mask[i]) return false;
  return true;
}

const char* Shapes::match(const char* p, const char* text, Brief& line, Scalar& named) const {
  std::uint16_t at = first_;
  line.invoke = line.ret = no_time;
  while (at != none) {
    const Node& node = nodes_[at];
    if (!is_text(node, p)) {
      at = node.sibling;
      continue;
    }
    p += node.size;
    switch (node.slot) {
      case session:
        if (*p != '"' || !(p = past_string(p + 1, named))) return nullptr;
        break;
      case txn:
      case key:
      case value: {
        Part& part = node.slot == key ? line.key : node.slot == value ? line.value : line.txn;
        const char* const from = p;
        if (*p == '"') {
          Scalar scalar;
          if (!(p = past_string(p + 1, scalar))) return nullptr;
          part = Part::of(scalar, Interner::code(scalar), text);
        } else {
          std::uint64_t number;
          if (!(p = past_number(p, number))) return nullptr;
          part = Part::of({Type::integer, static_cast<std::uint32_t>(p - from), from}, {number, true}, text);
        }
        break;
      }
      case invoke:
      case ret: {
        std::uint64_t number;
        if (!(p = past_number(p, number))) return nullptr;
        (node.slot == invoke ? line.invoke : line.ret) = static_cast<std::int64_t>(number);
        break;
      }
      case end:
        if (line.ret != no_time && line.invoke != no_time && line.ret < line.invoke)
          return nullptr;  // a mistake, which the tokenizer will tell
        line.fields = node.fields;
        line.op = node.op;
        line.found = node.found;
        line.record = Brief::none;
        return p - 1;
    }
    at = node.child;
  }
  return nullptr;
}

// The node with this text and slot under the parent, made if there is none. None if it cannot be.
std::uint16_t Shapes::add(std::uint16_t parent, const char* text, std::size_t size, Slot slot) {
  std::uint16_t* link = parent == none ? &first_ : &nodes_[parent].child;
  Node fresh{};
  fresh.size = static_cast<std::uint8_t>(size);
  fresh.slot = slot;
  fresh.child = fresh.sibling = none;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t shift = i % 8 * 8;
    fresh.text[i / 8] |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << shift;
    fresh.mask[i / 8] |= std::uint64_t{0xff} << shift;
  }
  for (int branches = 0; *link != none; ++branches) {
    Node& node = nodes_[*link];
    if (node.size == fresh.size && node.slot == slot && node.text == fresh.text) return *link;
    if (branches == most_branches) return none;
    link = &node.sibling;
  }
  const auto at = static_cast<std::uint16_t>(nodes_.size());
  *link = at;  // before the push, which may move the link
  nodes_.push(fresh);
  return at;
}

void Shapes::learn(const char* line, std::size_t size, const Record& record, const Places& places) {
  constexpr std::pair<Field, Slot> variable[] = {{Field::session, session}, {Field::txn, txn},
                                                 {Field::key, key},         {Field::value, value},
                                                 {Field::invoke, invoke},   {Field::ret, ret}};
  struct Piece {
    const char *from, *to;
    Slot slot;
  };
  std::array<Piece, std::size(variable)> pieces;
  std::size_t count = 0;
  for (const auto& [field, slot] : variable) {
    if (!record.has(field)) continue;
    const auto& [from, to] = places[static_cast<std::size_t>(field)];
    std::size_t i = count++;
    for (; i && pieces[i - 1].from > from; --i) pieces[i] = pieces[i - 1];  // in the order of the line
    pieces[i] = {from, to, slot};
  }
  if (nodes_.size() + count + 1 > most) return;
  const char* const stop = line + size + 1;  // the '\n' belongs to the shape
  const char* before = line;
  for (std::size_t i = 0; i <= count; ++i) {
    const char* const until = i < count ? pieces[i].from : stop;
    if (static_cast<std::size_t>(until - before) > longest) return;
    if (i < count) before = pieces[i].to;
  }
  before = line;
  std::uint16_t at = none;
  for (std::size_t i = 0; i <= count; ++i) {
    const char* const until = i < count ? pieces[i].from : stop;
    at = add(at, before, static_cast<std::size_t>(until - before), i < count ? pieces[i].slot : end);
    if (at == none) return;
    if (i < count) before = pieces[i].to;
  }
  nodes_[at].fields = record.fields;
  nodes_[at].op = record.op;
  nodes_[at].found = record.found;
}

}  // namespace boomslang::trace
