// AWDIT's test format: `r KEY VALUE` and `w KEY VALUE`, one a line; a line of dashes ends a transaction, one
// of equals signs a session.
//
// Nothing else is said: all transactions committed, and no value means that there was none.
#include "trace/formats/lines.hpp"

namespace boomslang {
namespace {

constexpr const char* form =
    "write r KEY VALUE or w KEY VALUE, or a line of - or = between transactions or sessions";

class Awdit final : public LineFormat {
 public:
  void start(std::string_view data, Emit&) override {
    rewind(data);
    session_ = 1;
    transaction_ = last_ = 0;
    open_ = false;
  }

 private:
  void line(Line at, Emit& emit) override {
    at.space();
    if (at.done()) return;
    if (*at.p == '-' || *at.p == '=') {
      const char rule = *at.p;
      while (at.accept(rule)) {
      }
      if (!at.done()) at.wrong("nothing else on a line of - or =", form);
      finish(emit);
      if (rule == '=') ++session_, transaction_ = 0;
      return;
    }
    const bool read = at.accept('r');
    if (!read && !at.accept('w')) at.wrong("r or w", form);
    const Scalar key = operand(at, "the key");
    const Scalar value = operand(at, "the value");
    if (!at.done()) at.wrong("the end of the line", form);
    if (!open_) {
      Scalar session = session_digits_.of(session_);
      session.type = Type::text;
      emit.begin(&session, name_digits_.of(++transaction_), line_);
      open_ = true;
    }
    last_ = line_;
    read ? emit.get(key, value, line_) : emit.put(key, value, line_);
  }

  static Scalar operand(Line& at, const char* what) {
    const char* before = at.p;
    at.space();
    if (at.p == before) at.wrong("a space", form);
    return at.number(what, form);
  }

  void finish(Emit& emit) override {
    if (open_) emit.commit(last_);
    open_ = false;
  }

  std::uint32_t session_ = 1, transaction_ = 0, last_ = 0;
  bool open_ = false;
  Digits session_digits_, name_digits_;
};

}  // namespace

std::unique_ptr<Format> make_awdit() { return std::make_unique<Awdit>(); }

}  // namespace boomslang
