// For formats of short lines of ASCII: one line after the other, and numbers in it.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "trace/digits.hpp"
#include "trace/formats/format.hpp"

namespace boomslang::trace {

// With what it is looked up by.
struct Number {
  Scalar scalar;
  Interner::Code code;
};

// Characters of one line, from `p` up to `end`. Whatever is wrong is a Fault that names the column.
struct Line {
  const char* from;
  const char* p;
  const char* end;

  bool done() const { return p == end; }
  bool accept(char c) { return p < end && *p == c ? (++p, true) : false; }
  void space() {
    while (p < end && (*p == ' ' || *p == '\t')) ++p;
  }

  // A whole number without a sign, in canonical form. (Digits end before the line does.)
  Number number(const char* expected, const char* fix) {
    const char* first = p;
    const std::uint64_t value = read_digits(p);
    if (p == first) wrong(expected, fix);
    while (first + 1 < p && *first == '0') ++first;
    const Scalar scalar{Type::integer, static_cast<std::uint32_t>(p - first), first};
    if (scalar.size > Interner::longest_number) [[unlikely]]
      return {scalar, Interner::code(scalar)};
    return {scalar, {value, true}};
  }

  [[noreturn]] void wrong(const char* expected, const char* fix) const {
    const std::string column = " at column " + std::to_string(p - from + 1);
    if (p == end) fault("the end of the line" + column, expected, fix);
    const unsigned c = static_cast<unsigned char>(*p);
    char text[16];
    std::snprintf(text, sizeof text, c < 0x20 || c >= 0x7f ? "byte 0x%02x" : "'%c'", c);
    fault(text + column, expected, fix);
  }
};

class LineFormat : public Format {
 public:
  void begin() override {
    data_ = {};
    at_ = line_ = 0;
  }
  bool takes_lines() const final { return true; }
  void lines(std::string_view data, Emit& emit) final {
    start(data, emit);
    read(data.size(), emit);
  }
  void start(std::string_view data, Emit&) final {
    data_ = data;
    at_ = 0;
  }
  bool step(Emit& emit) final {
    read(at_ + stride, emit);
    if (at_ < data_.size()) return true;
    finish(emit);
    return false;
  }

 protected:
  virtual void line(Line line, Emit& emit) = 0;
  // For formats that look at some lines before they act on them: now act on all, as the lines are about to go.
  virtual void settle(Emit&) {}
  virtual void finish(Emit& emit) = 0;

  std::uint32_t line_ = 0;

 private:
  void read(std::size_t until, Emit& emit) {
    until = std::min(until, data_.size());
    while (at_ < until) {
      const char* from = data_.data() + at_;
      const void* newline = std::memchr(from, '\n', data_.size() - at_);
      const char* end = newline ? static_cast<const char*>(newline) : data_.data() + data_.size();
      at_ = static_cast<std::size_t>(end - data_.data()) + 1;
      ++line_;
      while (end > from && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) --end;
      try {
        line({from, from, end}, emit);
      } catch (Fault& f) {
        if (!f.line) {
          settle(emit);  // an earlier line may have a fault of its own, which then is the one to report
          f.line = line_;
        }
        throw;
      }
    }
    settle(emit);
  }

  std::string_view data_;
  std::size_t at_ = 0;
};

}  // namespace boomslang::trace
