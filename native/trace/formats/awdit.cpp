// AWDIT's test format: `r KEY VALUE` and `w KEY VALUE`, one a line; a line of dashes ends a transaction, one
// of equals signs a session.
//
// Nothing else is said: all transactions committed, and no value means that there was none.
#include "trace/formats/lines.hpp"
#include "trace/formats/lookahead.hpp"

namespace boomslang::trace {
namespace {

constexpr const char* awdit_form =
    "write r KEY VALUE or w KEY VALUE, or a line of - or = between transactions or sessions";

class Awdit final : public LineFormat {
 public:
  void begin() override {
    LineFormat::begin();
    ahead_ = {};
    session_ = 1;
    transaction_ = last_ = 0;
    session_id_ = txn_ = none;
  }

 private:
  struct Step {
    char what;  // r, w, - or =
    std::uint32_t line;
    Number key, value;
  };

  void line(Line at, Emit& emit) override {
    at.space();
    if (at.done()) return;
    Step& step = ahead_.next();
    step.what = *at.p;
    step.line = line_;
    if (step.what == '-' || step.what == '=') {
      while (at.accept(step.what)) {
      }
      if (!at.done()) at.wrong("nothing else on a line of - or =", awdit_form);
    } else {
      if (!at.accept('r') && !at.accept('w')) at.wrong("r or w", awdit_form);
      step.key = operand(at, "the key");
      step.value = operand(at, "the value");
      if (!at.done()) at.wrong("the end of the line", awdit_form);
      emit.history().keys.fetch_slot(step.key.code);
      emit.history().values.fetch_slot(step.value.code);
    }
    if (ahead_.add()) settle(emit);
  }

  static Number operand(Line& at, const char* what) {
    const char* before = at.p;
    at.space();
    if (at.p == before) at.wrong("a space", awdit_form);
    return at.number(what, awdit_form);
  }

  void settle(Emit& emit) override {
    ahead_.settle([&](const Step& step) { act(step, emit); });
  }

  void act(const Step& step, Emit& emit) {
    History& history = emit.history();
    if (step.what == '-' || step.what == '=') {
      finish(emit);
      if (step.what == '=') ++session_, transaction_ = 0, session_id_ = none;
      return;
    }
    if (txn_ == none) {
      if (session_id_ == none) {
        Scalar name = digits_.of(session_);
        name.type = Type::text;
        session_id_ = history.session_of(name);
      }
      const std::int32_t name = history.name_of(digits_.of(++transaction_), {transaction_, true});
      txn_ = history.open(session_id_, name, step.line);
    }
    last_ = step.line;
    const std::int32_t key = history.keys.intern(step.key.scalar, step.key.code);
    const std::int32_t value = history.values.intern(step.value.scalar, step.value.code);
    history.access(step.what == 'r' ? Op::get : Op::put, txn_, key, value, step.line);
  }

  void finish(Emit& emit) override {
    if (txn_ != none) emit.history().close(txn_, committed, last_);
    txn_ = none;
  }

  Lookahead<Step> ahead_;
  std::uint32_t session_ = 1, transaction_ = 0, last_ = 0;
  std::int32_t session_id_ = none, txn_ = none;
  Digits digits_;
};

}  // namespace

std::unique_ptr<Format> make_awdit() { return std::make_unique<Awdit>(); }

}  // namespace boomslang::trace
