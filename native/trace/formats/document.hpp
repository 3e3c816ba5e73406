// A document in memory, token by token: JSON over many lines, or EDN.
//
// Both say the same things with other marks: arrays and objects (EDN: vectors or lists, and maps), texts, numbers,
// true, false and null. So there is one kind of token for both, and what is built on them does not care which
// dialect it reads. EDN has more: keywords, which are tokens of their own; sets; tagged values, of which only
// the value is seen; `#_` and the value it discards, which are not seen at all. Every value is whole when its
// last token has been given: brackets match, commas and colons stand where they must, objects have a value for
// each key. Nothing here recurses, so the nesting costs no stack; it is bounded all the same.
//
// Tokens are slices of the document. Only texts with escapes and reals are decoded, into an area that is kept
// until `forget()`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trace/fault.hpp"
#include "trace/scalar.hpp"

namespace boomslang::trace {

enum class Dialect : std::uint8_t { json, edn };

enum class Token : std::uint8_t {
  end,      // of the document
  array,    // opens; also a list of EDN
  object,   // opens
  set,      // opens
  close,    // of whichever was opened last
  text,
  keyword,  // with its colon
  integer,
  real,
  boolean,
  null,
  other     // EDN: symbols, characters, ratios and exact decimals, which are no keys or values here
};

class Document {
 public:
  static constexpr int max_depth = 64;

  explicit Document(Dialect dialect) : dialect_(dialect) {}

  // A place in the document where a value starts, to read it again later, by another Document.
  struct Mark {
    const char* at = nullptr;
    std::uint32_t line = 0;
  };

  // At least one zero byte must follow the data.
  void start(std::string_view data) { start(data, {data.data(), 1}); }
  void start(std::string_view data, Mark mark);

  // Where the last token starts.
  Mark mark() const { return {token_at_, token_line_}; }
  const char* at() const { return p_; }

  Token next() { return token_ = dialect_ == Dialect::json ? next_json() : next_edn(); }
  Token token() const { return token_; }
  // The last token's content; of `other` its text.
  const Scalar& scalar() const { return scalar_; }
  std::uint32_t line() const { return token_line_; }
  // The last token as the name of a field: a text, or a keyword without its colon. Else empty.
  std::string_view name() const;

  // The last token began a value: go past the rest of it.
  void skip();
  // Go past the whole value that comes next.
  void skip_next() {
    next();
    skip();
  }
  // As one text, single spaces between its parts, so that equal values have equal texts.
  Scalar render();
  // A key or value: any scalar; an array too if `composite`, rendered. `what` says what it is, for messages.
  Scalar value(const char* what, bool composite);

  // Would this text be read as a keyword of EDN?
  static bool spells_keyword(std::string_view text);

  // Decoded tokens so far are not needed any more.
  void forget();

  // What the last token is, in words, for "found ...".
  std::string found() const;
  [[noreturn]] void fail(std::string found, std::string expected, std::string fix) const {
    throw Fault{std::move(found), std::move(expected), std::move(fix), {}, token_line_};
  }

  Dialect dialect() const { return dialect_; }

 private:
  enum class Place : std::uint8_t { opened, key, value };  // what came last in a level
  struct Level {
    char close;
    bool pairs;  // keys and values
    Place place;
  };

  Token next_json();
  Token next_edn();
  Token lex_json();
  Token lex_edn();
  Token open(Token token, char close);
  Token close();
  Token at_end();
  void value_done();
  void space_json();
  void space_edn();
  void discard();
  Token lex_string();
  void decode_string(const char* from);
  Token lex_number();
  Token lex_edn_number();
  Token lex_symbol();
  Token real(const char* from, const char* to);
  void word(std::string_view text);
  const char* past_utf8(const char* at) const;
  std::uint32_t hex4();
  Scalar slice(Type type, const char* from, const char* to) const;
  char* take(std::size_t size);
  std::string here() const;
  [[noreturn]] void syntax(const char* expected) const;

  Dialect dialect_;
  const char* p_ = nullptr;
  const char* end_ = nullptr;
  const char* token_at_ = nullptr;
  std::uint32_t line_ = 1, token_line_ = 1;
  Token token_ = Token::end;
  Scalar scalar_;
  int depth_ = 0;
  bool tagged_ = false;  // a tag awaits its value
  std::array<Level, max_depth> levels_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t used_ = 0, room_ = 0;  // of the last block
};

}  // namespace boomslang::trace
