#include "trace/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "trace/digits.hpp"

namespace boomslang::trace {
namespace {

constexpr auto make_plain() {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}

// Characters of a string that need no attention.
constexpr std::array<bool, 256> plain = make_plain();

const char* past_digits(const char* p) {
  for (;; p += 8)
    if (const std::uint64_t marks = not_digits(load_eight(p))) return p + first(marks);
}

bool digit(char c) { return c >= '0' && c <= '9'; }

unsigned byte_at(const char* at) { return static_cast<unsigned char>(*at); }

}  // namespace

std::string Json::here() const {
  const std::string column = " at column " + std::to_string(p - line_ + 1);
  if (*p == '\n') return "the end of the line" + column;
  const unsigned c = byte_at(p);
  if (c < 0x20 || c >= 0x7f) {
    char text[16];
    std::snprintf(text, sizeof text, "byte 0x%02x", c);
    return text + column;
  }
  return std::string("'") + *p + "'" + column;
}

// Where the next decoded token goes. Only the first of a line may move the area: the others are still in use.
// Decoded text is never longer than its source; a float is eight bytes from three characters or more.
char* Json::scratch() {
  if (used_ == 0) {
    constexpr std::size_t modest = 1u << 16;
    const std::size_t need = size_ * 3 + 16;
    if (scratch_.size() < need || (scratch_.size() > modest && need <= modest)) {
      scratch_ = std::vector<char>();
      scratch_.resize(need < modest ? std::min(need * 2, modest) : need);
    }
  }
  return scratch_.data() + used_;
}

void Json::syntax(const char* expected) const {
  fault(here(), expected, "write one whole JSON object a line, nothing before or after it");
}

// Goes past one character of two to four bytes: Unicode's table 3-7 of well-formed sequences.
const char* Json::utf8(const char* at) const {
  const unsigned a = byte_at(at);
  const auto tail = [](unsigned c) { return (c & 0xC0) == 0x80; };
  const unsigned b = byte_at(at + 1);  // the line ends with '\n', which is no tail: each test stops in time
  if (a >= 0xC2 && a <= 0xDF && tail(b)) return at + 2;
  if (a >= 0xE0 && a <= 0xEF && tail(b) && !(a == 0xE0 && b < 0xA0) && !(a == 0xED && b >= 0xA0) &&
      tail(byte_at(at + 2)))
    return at + 3;
  if (a >= 0xF0 && a <= 0xF4 && tail(b) && !(a == 0xF0 && b < 0x90) && !(a == 0xF4 && b >= 0x90) &&
      tail(byte_at(at + 2)) && tail(byte_at(at + 3)))
    return at + 4;
  char text[64];
  std::snprintf(text, sizeof text, "invalid UTF-8 (byte 0x%02x) at column %td", a, at - line_ + 1);
  fault(text, "text in UTF-8",
        "write the file as UTF-8; write bytes that are no text as {\"bytes\": \"00ff\"}");
}

Scalar Json::string() {
  const char* from = ++p;
  for (;;) {
    p = past_plain(p);
    if (*p == '"') [[likely]] {
      Scalar token{Type::text, static_cast<std::uint32_t>(p - from), from};
      ++p;
      return token;
    }
    if (*p == '\\') return escaped_string(from);
    if (byte_at(p) < 0x80) {
      if (*p == '\n') syntax("the rest of the string and a closing quote");
      syntax("no raw control character in a string (write it as an escape)");
    }
    p = utf8(p);
  }
}

std::uint32_t Json::hex4(const char*& at) const {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at) {
    const char c = *at;
    int nibble = digit(c)               ? c - '0'
                 : c >= 'a' && c <= 'f' ? c - 'a' + 10
                 : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                        : -1;
    if (nibble < 0) {
      Json there = *this;
      there.p = at;
      there.syntax("four hexadecimal digits after \\u");
    }
    value = value << 4 | static_cast<std::uint32_t>(nibble);
  }
  return value;
}

Scalar Json::escaped_string(const char* from) {
  char* const out_begin = scratch();
  char* out = out_begin;
  std::memcpy(out, from, static_cast<std::size_t>(p - from));
  out += p - from;
  for (;;) {
    if (plain[byte_at(p)]) {
      *out++ = *p++;
    } else if (*p == '"') {
      ++p;
      break;
    } else if (byte_at(p) >= 0x80) {
      const char* next = utf8(p);
      while (p < next) *out++ = *p++;
    } else if (*p != '\\') {
      syntax("the rest of the string and a closing quote");
    } else {
      ++p;
      switch (*p) {
        case '"':
        case '\\':
        case '/': *out++ = *p++; break;
        case 'b':
          *out++ = '\b';
          ++p;
          break;
        case 'f':
          *out++ = '\f';
          ++p;
          break;
        case 'n':
          *out++ = '\n';
          ++p;
          break;
        case 'r':
          *out++ = '\r';
          ++p;
          break;
        case 't':
          *out++ = '\t';
          ++p;
          break;
        case 'u': {
          ++p;
          const char* at = p;
          std::uint32_t code = hex4(at);
          bool lone = code >= 0xDC00 && code <= 0xDFFF;
          if (code >= 0xD800 && code <= 0xDBFF) {
            lone = true;
            if (at[0] == '\\' && at[1] == 'u') {
              const char* second = at + 2;
              const std::uint32_t low = hex4(second);
              if (low >= 0xDC00 && low <= 0xDFFF) {
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                at = second;
                lone = false;
              }
            }
          }
          if (lone)
            fault(
                "a lone surrogate (\\u" + std::string(p, 4) + ") at column " + std::to_string(p - line_ - 1),
                "a character", "write both halves of the pair, or bytes as {\"bytes\": \"00ff\"}");
          p = at;
          if (code < 0x80) {
            *out++ = static_cast<char>(code);
          } else if (code < 0x800) {
            *out++ = static_cast<char>(0xC0 | code >> 6);
            *out++ = static_cast<char>(0x80 | (code & 0x3F));
          } else if (code < 0x10000) {
            *out++ = static_cast<char>(0xE0 | code >> 12);
            *out++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
            *out++ = static_cast<char>(0x80 | (code & 0x3F));
          } else {
            *out++ = static_cast<char>(0xF0 | code >> 18);
            *out++ = static_cast<char>(0x80 | (code >> 12 & 0x3F));
            *out++ = static_cast<char>(0x80 | (code >> 6 & 0x3F));
            *out++ = static_cast<char>(0x80 | (code & 0x3F));
          }
          break;
        }
        default: syntax("one of the escapes \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
      }
    }
  }
  used_ += static_cast<std::size_t>(out - out_begin);
  return {Type::text, static_cast<std::uint32_t>(out - out_begin), out_begin};
}

Scalar Json::number() {
  const char* from = p;
  if (*p == '-') ++p;
  if (!digit(*p)) syntax("a number, string, true, false, null or {\"bytes\": \"00ff\"}");
  if (*p == '0') {
    ++p;
    if (digit(*p)) syntax("a number without leading zeros");
  } else {
    p = past_digits(p);
  }
  if (*p != '.' && *p != 'e' && *p != 'E') [[likely]] {
    if (from[0] == '-' && from[1] == '0') ++from;
    return {Type::integer, static_cast<std::uint32_t>(p - from), from};
  }
  if (*p == '.') {
    ++p;
    if (!digit(*p)) syntax("a digit after the decimal point");
    while (digit(*p)) ++p;
  }
  if (*p == 'e' || *p == 'E') {
    ++p;
    if (*p == '+' || *p == '-') ++p;
    if (!digit(*p)) syntax("a digit in the exponent");
    while (digit(*p)) ++p;
  }
  const std::optional<double> value = to_double(from, p);
  if (!value)
    fault("the number " + show({Type::integer, static_cast<std::uint32_t>(p - from), from}),
          "a number that a 64-bit float can hold", "write it as a string if it must be kept as it is");
  char* out = scratch();
  std::memcpy(out, &*value, 8);
  used_ += 8;
  return {Type::real, 8, out};
}

void Json::word(const char* text, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i, ++p)
    if (*p != text[i]) syntax("a number, string, true, false, null or {\"bytes\": \"00ff\"}");
}

bool Json::boolean() {
  const bool value = *p == 't';
  value ? word("true", 4) : word("false", 5);
  return value;
}

Scalar Json::scalar() {
  static const char zero = 0, one = 1;
  switch (peek()) {
    case '"': return string();
    case 't':
    case 'f': return {Type::boolean, 1, boolean() ? &one : &zero};
    case 'n': word("null", 4); return {Type::null, 0, &zero};
    case '[':
      fault("an array at column " + std::to_string(p - line_ + 1),
            "a key or value: any JSON scalar, or bytes", "write a composite as one string or as bytes");
    case '{': {
      const auto column = std::to_string(p - line_ + 1);
      const auto refuse = [&] {
        fault("an object that is not bytes at column " + column,
              "a key or value: any JSON scalar, or bytes as {\"bytes\": \"00ff\"}",
              "write a composite as one string or as bytes");
      };
      ++p;
      if (peek() != '"') {
        p[0] == '}' ? refuse() : syntax("a field name");
      }
      Scalar name = string();
      expect(':', "':' after the field name");
      if (std::string_view(name.data, name.size) != "bytes" || peek() != '"') refuse();
      Scalar hex = string();
      if (peek() == ',') refuse();
      expect('}', "'}' after the bytes");
      const auto nibble = [](char c) {
        return digit(c)               ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
      };
      char* out = scratch();
      for (std::uint32_t i = 0; i < hex.size; i += 2) {
        const int high = nibble(hex.data[i]), low = i + 1 < hex.size ? nibble(hex.data[i + 1]) : -1;
        if (high < 0 || low < 0)
          fault("bytes " + show(hex), "an even number of hexadecimal digits",
                "write two digits a byte, as in \"00ff\"");
        out[i / 2] = static_cast<char>(high << 4 | low);
      }
      used_ += hex.size / 2;
      return {Type::bytes, hex.size / 2, out};
    }
    default: return number();
  }
}

void Json::skip_object(int depth) {
  std::vector<std::string_view> names;
  ++p;
  if (accept('}')) return;
  do {
    if (peek() != '"') syntax("a field name in double quotes");
    Scalar name = string();
    names.emplace_back(name.data, name.size);
    expect(':', "':' after the field name");
    skip(depth + 1);
  } while (accept(','));
  expect('}', "',' or '}' after the field");
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    fault("the field " + show({Type::text, static_cast<std::uint32_t>(twice->size()), twice->data()}) +
              " twice in one object",
          "each field once", "remove one of the two");
}

void Json::skip(int depth) {
  if (depth > max_depth)
    fault("nesting deeper than " + std::to_string(max_depth) + " at column " + std::to_string(p - line_ + 1),
          "at most " + std::to_string(max_depth) + " levels of [ and {",
          "flatten the value, or write it as a string");
  switch (peek()) {
    case '"': string(); return;
    case 't':
    case 'f': boolean(); return;
    case 'n': word("null", 4); return;
    case '{': skip_object(depth); return;
    case '[':
      ++p;
      if (accept(']')) return;
      do skip(depth + 1);
      while (accept(','));
      expect(']', "',' or ']' after the element");
      return;
    default: number();
  }
}

std::string_view Json::raw(int depth) {
  space();
  const char* from = p;
  skip(depth);
  return {from, static_cast<std::size_t>(p - from)};
}

}  // namespace boomslang::trace
