// A strict JSON tokenizer for one line of input.
//
// It works in place: a token is a slice of the line, and only strings with escapes and floats are decoded,
// into a scratch area that lives as long as the line. The line must end with '\n', which no token may
// contain, so the end needs no check anywhere; seven more readable bytes must follow (see `slack`). Strict
// means RFC 8259 and more: no duplicate fields, no lone surrogates, no invalid UTF-8, no number that a double
// cannot hold, no nesting beyond 64; whatever a looser reader would quietly change is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/digits.hpp"
#include "trace/fault.hpp"
#include "trace/scalar.hpp"

namespace boomslang::trace {

// Goes past the characters of a string that need no attention: stops at quotes, backslashes, control characters and
// all that is not ASCII.
inline const char* past_plain(const char* p) {
  for (;; p += 8) {
    const std::uint64_t x = load_eight(p);
    const std::uint64_t quote = x ^ each_byte * '"', slash = x ^ each_byte * '\\';
    const std::uint64_t marks =
        ((x - each_byte * 0x20) | (quote - each_byte) | (slash - each_byte) | x) & high_bits;
    if (marks) return p + first(marks);
  }
}

class Json {
 public:
  static constexpr int max_depth = 64;
  // How many bytes beyond the line's '\n' may be read (never used): tokens are scanned eight bytes at a time.
  static constexpr std::size_t slack = 8;

  void start(const char* line, std::size_t size) {
    line_ = p = line;
    size_ = size;
    used_ = 0;
  }

  void space() {
    while (*p == ' ' || *p == '\t' || *p == '\r') ++p;
  }

  // After the white space: the next character, not consumed.
  char peek() {
    space();
    return *p;
  }

  bool accept(char c) {
    if (peek() != c) return false;
    ++p;
    return true;
  }

  void expect(char c, const char* what) {
    if (!accept(c)) [[unlikely]]
      syntax(what);
  }

  void expect_end() {
    if (peek() != '\n') [[unlikely]]
      syntax("the end of the line after the object");
  }

  // Call at the '"'.
  Scalar string();
  Scalar number();
  bool boolean();
  // Any JSON scalar, or bytes as {"bytes": "00ff"}.
  Scalar scalar();
  // Check a value of any shape and go past it.
  void skip(int depth);
  // The text of the value here, gone past.
  std::string_view raw(int depth);

  [[noreturn]] void syntax(const char* expected) const;
  // What stands here, in words, for "found ...".
  std::string here() const;

  const char* p = nullptr;

 private:
  Scalar escaped_string(const char* from);
  const char* utf8(const char* at) const;
  std::uint32_t hex4(const char*& at) const;
  void word(const char* text, std::size_t size);
  void skip_object(int depth);

  char* scratch();

  const char* line_ = nullptr;
  std::size_t size_ = 0;
  std::vector<char> scratch_;
  std::size_t used_ = 0;
};

}  // namespace boomslang::trace
