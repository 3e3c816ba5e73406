// dbcop's histories for people (`.hist`): `[x:=1 y==2 z==?]` is a transaction that writes x, reads y and z.
//
// `?` means that there was nothing to read, `!` after the bracket that the transaction did not commit, a line
// of dashes ends a session, and what follows `//` is a comment. A transaction stands on one line; a line may
// hold several.
#include "trace/formats/lines.hpp"

namespace boomslang::trace {
namespace {

constexpr const char* hist_form =
    "write [x:=1 y==2 z==?] for a transaction, [...]! if it did not commit, --- between sessions";

bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Hist final : public LineFormat {
 public:
  void begin() override {
    LineFormat::begin();
    session_ = 1;
    transaction_ = 0;
  }

 private:
  void line(Line at, Emit& emit) override {
    at.space();
    if (at.accept('-')) {
      while (at.accept('-')) {
      }
      at.space();
      if (!at.done() && !comment(at)) at.wrong("nothing else on a line of -", hist_form);
      ++session_;
      transaction_ = 0;
      return;
    }
    for (; !at.done() && !comment(at); at.space()) {
      if (!at.accept('[')) at.wrong("'[' of a transaction", hist_form);
      transaction(at, emit);
    }
  }

  static bool comment(const Line& at) { return at.end - at.p >= 2 && at.p[0] == '/' && at.p[1] == '/'; }

  void transaction(Line& at, Emit& emit) {
    Scalar session = session_digits_.of(session_);
    session.type = Type::text;
    emit.begin(&session, name_digits_.of(++transaction_), line_);
    at.space();
    do event(at, emit);
    while (!at.accept(']'));
    at.accept('!') ? emit.abort(line_) : emit.commit(line_);
  }

  void event(Line& at, Emit& emit) {
    const char* from = at.p;
    if (at.done() || !letter(*at.p)) at.wrong("a variable: a letter or _, then letters, digits and _", hist_form);
    while (at.p < at.end && (letter(*at.p) || (*at.p >= '0' && *at.p <= '9'))) ++at.p;
    const Scalar key = Emit::text({from, static_cast<std::size_t>(at.p - from)});
    const bool write = at.accept(':');
    if (!write && !at.accept('=')) at.wrong(":= of a write or == of a read", hist_form);
    if (!at.accept('=')) at.wrong(write ? "'=' after ':'" : "a second '='", hist_form);
    if (!write && at.accept('?')) {
      emit.get_absent(key, line_);
    } else {
      const Scalar version =
          at.number(write ? "the version, a whole number" : "the version, a whole number or ?", hist_form).scalar;
      write ? emit.put(key, version, line_) : emit.get(key, version, line_);
    }
    const char* end = at.p;
    at.space();
    if (at.p == end && (at.done() || *at.p != ']')) at.wrong("a space or ']' after the event", hist_form);
  }

  void finish(Emit&) override {}

  std::uint32_t session_ = 1, transaction_ = 0;
  Digits session_digits_, name_digits_;
};

}  // namespace

std::unique_ptr<Format> make_hist() { return std::make_unique<Hist>(); }

}  // namespace boomslang::trace
