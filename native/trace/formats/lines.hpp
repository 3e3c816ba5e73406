// For formats of short lines of ASCII: one line after the other, and numbers in it.
#pragma once

#include <cstdio>
#include <cstring>

#include "trace/formats/format.hpp"

namespace boomslang {

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

  // A whole number without a sign, in canonical form.
  Scalar number(const char* expected, const char* fix) {
    const char* first = p;
    while (p < end && *p >= '0' && *p <= '9') ++p;
    if (p == first) wrong(expected, fix);
    while (first + 1 < p && *first == '0') ++first;
    return {Type::integer, static_cast<std::uint32_t>(p - first), first};
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
  bool step(Emit& emit) final {
    const std::size_t until = at_ + stride;
    while (at_ < until) {
      if (at_ >= data_.size()) {
        finish(emit);
        return false;
      }
      const char* from = data_.data() + at_;
      const void* newline = std::memchr(from, '\n', data_.size() - at_);
      const char* end = newline ? static_cast<const char*>(newline) : data_.data() + data_.size();
      at_ = static_cast<std::size_t>(end - data_.data()) + 1;
      ++line_;
      while (end > from && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) --end;
      try {
        line({from, from, end}, emit);
      } catch (Fault& f) {
        if (!f.line) f.line = line_;
        throw;
      }
    }
    return true;
  }

 protected:
  void rewind(std::string_view data) {
    data_ = data;
    at_ = 0;
    line_ = 0;
  }
  virtual void line(Line line, Emit& emit) = 0;
  virtual void finish(Emit& emit) = 0;

  std::uint32_t line_ = 0;

 private:
  std::string_view data_;
  std::size_t at_ = 0;
};

}  // namespace boomslang
