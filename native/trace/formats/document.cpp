#include "trace/formats/document.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace boomslang::trace {
namespace {

constexpr std::uint8_t unescaped = 1, symbol = 2, blank = 4, digit_ = 8;

constexpr auto make_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (int c = 0x20; c < 0x7f; ++c) classes[c] = unescaped | symbol;
  for (const char c : {'"', '\\'}) classes[static_cast<unsigned char>(c)] = 0;
  for (const char c : {'(', ')', '[', ']', '{', '}', ';', ',', '@', '^', '`', '~'})
    classes[static_cast<unsigned char>(c)] = unescaped;
  for (const char c : {' ', '\t', '\r'}) classes[static_cast<unsigned char>(c)] |= blank;
  classes[' '] = unescaped | blank;
  classes[0x7f] = unescaped;
  for (int c = '0'; c <= '9'; ++c) classes[c] |= digit_;
  return classes;
}

// unescaped: needs no attention in a string. symbol: may stand in a symbol or keyword of EDN. blank: white space
// other than the end of a line.
constexpr std::array<std::uint8_t, 256> classes = make_classes();

bool is(std::uint8_t kind, char c) { return classes[static_cast<unsigned char>(c)] & kind; }
unsigned byte_here(const char* at) { return static_cast<unsigned char>(*at); }

const char* past_decimals(const char* p) {
  while (is(digit_, *p)) ++p;
  return p;
}

const char zero = 0, one = 1;

}  // namespace

void Document::start(std::string_view data, Mark mark) {
  p_ = mark.at;
  end_ = data.data() + data.size();
  line_ = token_line_ = mark.line;
  token_ = Token::end;
  depth_ = 0;
  tagged_ = false;
  forget();
}

// --- messages ---

std::string Document::here() const {
  if (p_ >= end_) return "the end of the file";
  const unsigned c = byte_here(p_);
  if (c == '\n') return "the end of the line";
  char text[16];
  std::snprintf(text, sizeof text, c < 0x20 || c >= 0x7f ? "byte 0x%02x" : "'%c'", c);
  return text;
}

void Document::syntax(const char* expected) const {
  throw Fault{here(), expected,
              dialect_ == Dialect::json ? "write one whole JSON document" : "write whole EDN values", {}, line_};
}

std::string Document::found() const {
  const bool json = dialect_ == Dialect::json;
  switch (token_) {
    case Token::end: return "the end of the file";
    case Token::array: return json ? "an array" : "a vector or list";
    case Token::object: return json ? "an object" : "a map";
    case Token::set: return "a set";
    case Token::close: return std::string("a closing bracket");
    case Token::null: return json ? "null" : "nil";
    case Token::keyword:
    case Token::other: {
      Scalar shown = scalar_;
      shown.type = Type::integer;  // as it stands there, without quotes
      return show(shown);
    }
    default: return show(scalar_);
  }
}

// --- the area for decoded tokens ---

char* Document::take(std::size_t size) {
  if (blocks_.empty() || room_ - used_ < size) {
    constexpr std::size_t block = 1u << 14;
    room_ = size > block ? size : block;
    blocks_.push_back(std::make_unique<char[]>(room_));
    used_ = 0;
  }
  char* const out = blocks_.back().get() + used_;
  used_ += size;
  return out;
}

void Document::forget() {
  if (blocks_.size() > 1) {
    blocks_.clear();
    room_ = 0;
  }
  used_ = 0;
}

Scalar Document::slice(Type type, const char* from, const char* to) const {
  const auto size = static_cast<std::size_t>(to - from);
  if (size > 0x7fffffff)
    throw Fault{"a token of more than 2 GB", "shorter ones", "check that the file is a history", {}, line_};
  return {type, static_cast<std::uint32_t>(size), from};
}

// --- structure ---

Token Document::open(Token token, char close) {
  if (depth_ == max_depth)
    throw Fault{"nesting deeper than " + std::to_string(max_depth),
                "at most " + std::to_string(max_depth) + " brackets inside each other",
                "check that the file is a history: those are nested four deep or so", {}, line_};
  ++p_;
  value_done();
  levels_[depth_++] = {close, token == Token::object, Place::opened};
  return token;
}

Token Document::close() {
  ++p_;
  --depth_;
  return Token::close;
}

// A value stands here, or has just opened: what does its level wait for next?
void Document::value_done() {
  tagged_ = false;
  if (!depth_) return;
  Level& level = levels_[depth_ - 1];
  level.place = level.pairs && level.place != Place::key ? Place::key : Place::value;
}

Token Document::at_end() {
  if (depth_ || tagged_) syntax(depth_ ? "the rest of an open bracket" : "a value after the tag");
  return Token::end;
}

void Document::skip() {
  if (token_ != Token::array && token_ != Token::object && token_ != Token::set) return;
  const int outside = depth_ - 1;
  while (depth_ > outside) next();
}

std::string_view Document::name() const {
  if (token_ == Token::text) return {scalar_.data, scalar_.size};
  if (token_ == Token::keyword) return {scalar_.data + 1, scalar_.size - 1};
  return {};
}

// --- JSON ---

void Document::space_json() {
  for (;; ++p_) {
    if (is(blank, *p_)) continue;
    if (*p_ != '\n') return;
    ++line_;
  }
}

Token Document::next_json() {
  space_json();
  if (depth_) {
    const Level level = levels_[depth_ - 1];
    const bool object = level.pairs;
    if (object && level.place == Place::key) {
      if (*p_ != ':') syntax("':' after the name of a field");
      ++p_;
      space_json();
    } else {
      if (*p_ == level.close) {
        token_line_ = line_;
        return close();
      }
      if (level.place == Place::value) {
        if (*p_ != ',') syntax(object ? "',' or '}' after a field" : "',' or ']' after an element");
        ++p_;
        space_json();
      }
      if (object && *p_ != '"') syntax("the name of a field, in double quotes");
    }
  }
  token_line_ = line_;
  token_at_ = p_;
  return lex_json();
}

Token Document::lex_json() {
  switch (*p_) {
    case '[': return open(Token::array, ']');
    case '{': return open(Token::object, '}');
    case '"': value_done(); return lex_string();
    case 't': word("true"); break;
    case 'f': word("false"); break;
    case 'n': word("null"); break;
    case '\0':
      if (p_ >= end_) return at_end();
      [[fallthrough]];
    default:
      if (*p_ != '-' && !is(digit_, *p_)) syntax("a JSON value");
      value_done();
      return lex_number();
  }
  value_done();
  const char last = p_[-2];  // the one before the last letter tells the three words apart
  if (last == 'l') return scalar_ = {Type::null, 0, &zero}, Token::null;
  return scalar_ = {Type::boolean, 1, last == 'u' ? &one : &zero}, Token::boolean;
}

void Document::word(std::string_view text) {
  for (const char c : text) {
    if (*p_ != c) syntax("a JSON value");
    ++p_;
  }
}

Token Document::lex_number() {
  const char* const from = p_;
  if (*p_ == '-') ++p_;
  if (!is(digit_, *p_)) syntax("a digit");
  if (*p_ == '0' && is(digit_, p_[1])) syntax("a number without leading zeros");
  p_ = past_decimals(p_);
  if (*p_ != '.' && *p_ != 'e' && *p_ != 'E') {
    scalar_ = slice(Type::integer, from[0] == '-' && from[1] == '0' ? from + 1 : from, p_);
    return Token::integer;
  }
  if (*p_ == '.') {
    ++p_;
    if (!is(digit_, *p_)) syntax("a digit after the decimal point");
    p_ = past_decimals(p_);
  }
  if (*p_ == 'e' || *p_ == 'E') {
    ++p_;
    if (*p_ == '+' || *p_ == '-') ++p_;
    if (!is(digit_, *p_)) syntax("a digit in the exponent");
    p_ = past_decimals(p_);
  }
  return real(from, p_);
}

Token Document::real(const char* from, const char* to) {
  const std::optional<double> value = to_double(from, to);
  if (!value)
    throw Fault{"the number " + show(slice(Type::integer, from, to)), "a number that a 64-bit float can hold",
                "write it as a string if it must be kept as it is", {}, line_};
  char* const out = take(8);
  std::memcpy(out, &*value, 8);
  scalar_ = {Type::real, 8, out};
  return Token::real;
}

// --- strings, of both dialects ---

Token Document::lex_string() {
  const char* const from = ++p_;
  for (;;) {
    while (is(unescaped, *p_)) ++p_;
    if (*p_ == '"') [[likely]] {
      scalar_ = slice(Type::text, from, p_);
      ++p_;
      return Token::text;
    }
    if (*p_ == '\\') {
      decode_string(from);
      return Token::text;
    }
    if (byte_here(p_) >= 0x80) {
      p_ = past_utf8(p_);
    } else if (dialect_ == Dialect::edn && (*p_ == '\n' || *p_ == '\r' || *p_ == '\t')) {
      line_ += *p_++ == '\n';
    } else {
      syntax(p_ >= end_ || *p_ == '\n' ? "the rest of the string and a closing quote"
                                       : "no raw control character in a string (write it as an escape)");
    }
  }
}

// Unicode's table 3-7 of well-formed sequences. The zero behind the document is no tail: each test stops in time.
const char* Document::past_utf8(const char* at) const {
  const unsigned a = byte_here(at), b = byte_here(at + 1);
  const auto tail = [](unsigned c) { return (c & 0xC0) == 0x80; };
  if (a >= 0xC2 && a <= 0xDF && tail(b)) return at + 2;
  if (a >= 0xE0 && a <= 0xEF && tail(b) && !(a == 0xE0 && b < 0xA0) && !(a == 0xED && b >= 0xA0) &&
      tail(byte_here(at + 2)))
    return at + 3;
  if (a >= 0xF0 && a <= 0xF4 && tail(b) && !(a == 0xF0 && b < 0x90) && !(a == 0xF4 && b >= 0x90) &&
      tail(byte_here(at + 2)) && tail(byte_here(at + 3)))
    return at + 4;
  char text[48];
  std::snprintf(text, sizeof text, "invalid UTF-8 (byte 0x%02x)", a);
  throw Fault{text, "text in UTF-8", "write the file as UTF-8", {}, line_};
}

std::uint32_t Document::hex4() {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++p_) {
    const char c = *p_;
    const int nibble = c >= '0' && c <= '9'   ? c - '0'
                       : c >= 'a' && c <= 'f' ? c - 'a' + 10
                       : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                              : -1;
    if (nibble < 0) syntax("four hexadecimal digits after \\u");
    value = value << 4 | static_cast<std::uint32_t>(nibble);
  }
  return value;
}

// From the first backslash on. What is decoded is never longer than its source.
void Document::decode_string(const char* from) {
  const char* stop = p_;
  while (*stop != '"') {
    if (stop >= end_) {
      p_ = stop;
      syntax("the rest of the string and a closing quote");
    }
    stop += *stop == '\\' && stop + 1 < end_ ? 2 : 1;
  }
  char* const begin = take(static_cast<std::size_t>(stop - from));
  char* out = begin;
  const auto copy = [&](const char* to) {
    std::memcpy(out, from, static_cast<std::size_t>(to - from));
    out += to - from;
    from = to;
  };
  const auto put = [&](std::uint32_t bits) { *out++ = static_cast<char>(bits); };
  for (;;) {
    if (is(unescaped, *p_)) {
      ++p_;
    } else if (*p_ == '"') {
      copy(p_++);
      break;
    } else if (byte_here(p_) >= 0x80) {
      p_ = past_utf8(p_);
    } else if (dialect_ == Dialect::edn && (*p_ == '\n' || *p_ == '\r' || *p_ == '\t')) {
      line_ += *p_++ == '\n';
    } else if (*p_ != '\\') {
      syntax("the rest of the string and a closing quote");
    } else {
      copy(p_);
      const char letter = *++p_;
      ++p_;
      switch (letter) {
        case '"':
        case '\\': put(static_cast<unsigned char>(letter)); break;
        case 'b': put('\b'); break;
        case 'f': put('\f'); break;
        case 'n': put('\n'); break;
        case 'r': put('\r'); break;
        case 't': put('\t'); break;
        case 'u': {
          std::uint32_t code = hex4();
          bool lone = code >= 0xDC00 && code <= 0xDFFF;
          if (code >= 0xD800 && code <= 0xDBFF) {
            lone = true;
            if (p_[0] == '\\' && p_[1] == 'u') {
              p_ += 2;
              const std::uint32_t low = hex4();
              lone = low < 0xDC00 || low > 0xDFFF;
              code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
          }
          if (lone)
            throw Fault{"half of a surrogate pair", "a character", "write both halves of the pair", {}, line_};
          if (code < 0x80) {
            put(code);
          } else if (code < 0x800) {
            put(0xC0 | code >> 6), put(0x80 | (code & 0x3F));
          } else if (code < 0x10000) {
            put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
          } else {
            put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 0x3F));
            put(0x80 | (code >> 6 & 0x3F)), put(0x80 | (code & 0x3F));
          }
          break;
        }
        case '/':
          if (dialect_ == Dialect::json) {
            put('/');
            break;
          }
          [[fallthrough]];
        default: --p_; syntax("an escape such as \\\" \\\\ \\n \\t \\u0041");
      }
      from = p_;
    }
  }
  scalar_ = slice(Type::text, begin, out);
}

// --- EDN ---

void Document::space_edn() {
  for (;; ++p_) {
    if (is(blank, *p_) || *p_ == ',') continue;
    if (*p_ == '\n') {
      ++line_;
    } else if (*p_ == ';') {
      while (*p_ != '\n' && p_ < end_) ++p_;
      --p_;  // the end of the line is seen again
    } else {
      return;
    }
  }
}

// Past the values that `#_` takes away. Each further `#_` before a value takes one more, and a tag belongs to the
// value behind it; so it is enough to count.
void Document::discard() {
  const int outside = depth_;
  const Level level = outside ? levels_[outside - 1] : Level{};
  const bool tagged = tagged_;  // a tag before the `#_` waits for what comes after
  tagged_ = false;
  std::size_t owed = 0;
  do {
    space_edn();
    if (p_[0] == '#' && p_[1] == '_') {
      p_ += 2;
      owed += depth_ == outside;
      continue;
    }
    const bool closes = *p_ == ']' || *p_ == ')' || *p_ == '}';
    if (p_ >= end_ || (closes && depth_ == outside)) syntax("a value after #_");
    lex_edn();
    owed -= depth_ == outside && !tagged_;
  } while (owed);
  if (outside) levels_[outside - 1] = level;
  tagged_ = tagged;
}

Token Document::next_edn() {
  for (;;) {
    space_edn();
    while (p_[0] == '#' && p_[1] == '_') discard(), space_edn();
    token_line_ = line_;
    token_at_ = p_;
    const Token token = lex_edn();
    if (!tagged_) return token;
  }
}

// One token. A tag only sets tagged_, which the value behind it clears.
Token Document::lex_edn() {
  const char c = *p_;
  switch (c) {
    case '[': return open(Token::array, ']');
    case '(': return open(Token::array, ')');
    case '{': return open(Token::object, '}');
    case ']':
    case ')':
    case '}': {
      if (!depth_ || levels_[depth_ - 1].close != c) syntax(depth_ ? "another closing bracket" : "a value");
      if (tagged_) syntax("a value after the tag");
      if (levels_[depth_ - 1].place == Place::key) syntax("a value for the last key of the map");
      return close();
    }
    case '"': value_done(); return lex_string();
    case '#':
      if (p_[1] == '{') {
        ++p_;
        return open(Token::set, '}');
      }
      if (p_[1] == '#') {  // ##NaN and the like
        value_done();
        return lex_symbol();
      }
      ++p_;
      if (!is(symbol, *p_) || is(digit_, *p_)) syntax("a set, a tag or a discard after '#'");
      while (is(symbol, *p_)) ++p_;
      tagged_ = true;
      return Token::other;
    case '\\': {  // a character, or its name
      const char* const from = p_++;
      if (p_ >= end_ || byte_here(p_) <= ' ') syntax("a character after '\\'");
      p_ = byte_here(p_) >= 0x80 ? past_utf8(p_) : p_ + 1;
      while (is(symbol, *p_)) ++p_;
      value_done();
      scalar_ = slice(Type::text, from, p_);
      return Token::other;
    }
    case '\0':
      if (p_ >= end_) return at_end();
      syntax("an EDN value");
    case '+':
    case '-':
      value_done();
      return is(digit_, p_[1]) ? lex_edn_number() : lex_symbol();
    default:
      value_done();
      return is(digit_, c) ? lex_edn_number() : lex_symbol();
  }
}

Token Document::lex_edn_number() {
  const char* const from = p_;
  const bool sign = *p_ == '+' || *p_ == '-';
  const char* const digits = p_ + sign;
  p_ = past_decimals(digits);
  if (*digits == '0' && p_ - digits > 1) syntax("a number without leading zeros");
  const auto ends = [&] { return !is(symbol, *p_) && byte_here(p_) < 0x80; };
  const char* const whole = p_;
  if (*p_ == 'N') ++p_;
  if (ends()) {
    const bool negative = *from == '-' && !(*digits == '0');
    scalar_ = slice(Type::integer, negative ? from : digits, whole);
    return Token::integer;
  }
  p_ = whole;
  const bool ratio = *p_ == '/';
  if (ratio) {
    p_ = past_decimals(p_ + 1);
    if (p_ == whole + 1) syntax("a digit after '/'");
  } else {
    if (*p_ == '.') p_ = past_decimals(p_ + 1);
    if (*p_ == 'e' || *p_ == 'E') {
      ++p_;
      if (*p_ == '+' || *p_ == '-') ++p_;
      if (!is(digit_, *p_)) syntax("a digit in the exponent");
      p_ = past_decimals(p_);
    }
  }
  const char* const stop = p_;
  const bool exact = !ratio && *p_ == 'M';
  p_ += exact;
  if (!ends()) syntax("the end of the number");
  if (!ratio && !exact) return real(*from == '+' ? digits : from, stop);
  scalar_ = slice(Type::text, from, p_);
  return Token::other;
}

Token Document::lex_symbol() {
  const char* const from = p_;
  for (;;) {
    if (is(symbol, *p_)) {
      ++p_;
    } else if (byte_here(p_) >= 0x80) {
      p_ = past_utf8(p_);
    } else {
      break;
    }
  }
  if (p_ == from) syntax("an EDN value");
  scalar_ = slice(Type::text, from, p_);
  const std::string_view text(from, scalar_.size);
  if (text[0] == ':') {
    if (text.size() == 1) syntax("the name of a keyword after ':'");
    return Token::keyword;
  }
  if (text == "nil") return scalar_ = {Type::null, 0, &zero}, Token::null;
  if (text == "true") return scalar_ = {Type::boolean, 1, &one}, Token::boolean;
  if (text == "false") return scalar_ = {Type::boolean, 1, &zero}, Token::boolean;
  return Token::other;
}

// --- keys and values ---

Scalar Document::render() {
  std::string text, closing;
  for (;; next()) {
    const bool opens = token_ == Token::array || token_ == Token::object || token_ == Token::set;
    if (token_ == Token::close) {
      text += closing.back();
      closing.pop_back();
    } else {
      if (!text.empty() && text.back() != '[' && text.back() != '{') text += ' ';
      if (opens) {
        text += token_ == Token::array ? "[" : token_ == Token::object ? "{" : "#{";
        closing += token_ == Token::array ? ']' : '}';
      } else if (token_ == Token::text) {
        text += '"';
        for (const char c : std::string_view(scalar_.data, scalar_.size)) {
          if (c == '"' || c == '\\') text += '\\';
          text += c;
        }
        text += '"';
      } else if (token_ == Token::real || token_ == Token::boolean || token_ == Token::null) {
        text += found();
      } else {
        text.append(scalar_.data, scalar_.size);
      }
    }
    if (closing.empty()) break;
  }
  char* const out = take(text.size());
  std::memcpy(out, text.data(), text.size());
  return slice(Type::text, out, out + text.size());
}

bool Document::spells_keyword(std::string_view text) {
  for (const char& c : text)
    if (!is(symbol, c) && byte_here(&c) < 0x80) return false;
  return text.size() > 1 && text[0] == ':';
}

Scalar Document::value(const char* what, bool composite) {
  switch (token_) {
    case Token::text:
    case Token::integer:
    case Token::real:
    case Token::boolean:
    case Token::null: return scalar_;
    case Token::keyword: {
      Scalar text = scalar_;
      text.type = Type::text;
      return text;
    }
    case Token::array:
      if (composite) return render();
      break;
    default: break;
  }
  fail(found() + " as " + what,
       dialect_ == Dialect::json ? "a string, a number, true, false or null"
                                 : "a number, a string, a keyword, true, false or nil",
       "let the workload use such keys and values");
}

}  // namespace boomslang::trace
