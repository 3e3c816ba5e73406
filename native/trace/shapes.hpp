// Shapes of lines: what was said once is soon said again, with other words in the same places.
//
// A recorder writes all lines of one kind alike: the same fields in the same order, the same spaces. So each line that
// the tokenizer has understood leaves its shape behind, the text between its tokens, and a later line of that shape
// is matched by comparing this text, eight bytes at a time; only the tokens themselves are read. (The prediction of
// structure from the line before is Mison's: Li, Katsipoulakis, Chandramouli, Goldstein and Kossmann, VLDB 2017.)
// Shapes that begin alike share a path in a tree: each node is a piece of text and what kind of token follows it.
//
// It knows plain tokens only: integers of at most 18 digits, strings of ASCII without escapes. Whatever is not exactly
// so is left to the tokenizer, and so is every mistake: a match is a line that the tokenizer would have read as the same
// record, and no match says nothing.
#pragma once

#include <array>
#include <cstdint>

#include "trace/column.hpp"
#include "trace/brief.hpp"

namespace boomslang::trace {

class Shapes {
 public:
  // The line's '\n', or null: no match. Fills all of `brief` but number and session; `session` is the one it names.
  const char* match(const char* line, const char* text, Brief& brief, Scalar& session) const;

  // Remembers the shape of a line that the tokenizer understood; it has no fields but plain ones.
  void learn(const char* line, std::size_t size, const Record& record, const Places& places);

 private:
  static constexpr std::size_t words = 6, longest = words * 8;
  static constexpr std::size_t most = 400;     // nodes
  static constexpr int most_branches = 16;     // after one token
  static constexpr std::uint16_t none = 0xffff;

  // What follows the text of a node. The first six are fields of a record.
  enum Slot : std::uint8_t { session, txn, key, value, invoke, ret, end };

  struct Node {
    std::array<std::uint64_t, words> text, mask;
    std::uint8_t size;
    Slot slot;
    std::uint16_t child, sibling;
    // At the end of a line: what its text has said.
    std::uint32_t fields;
    Op op;
    bool found;
  };

  static bool is_text(const Node& node, const char* p);
  std::uint16_t add(std::uint16_t parent, const char* text, std::size_t size, Slot slot);

  Column<Node> nodes_;
  std::uint16_t first_ = none;
};

}  // namespace boomslang::trace
