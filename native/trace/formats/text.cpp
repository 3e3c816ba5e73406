// Text of PolySI, Plume, IsoVista and AWDIT: one operation a line, `r(key,value,session,transaction)` or
// `w(...)`.
//
// A session's transactions follow each other; sessions may alternate from line to line. Transaction -1 means
// aborted: such lines have lost their transaction's id, so each run of them in a session becomes one aborted
// transaction without a name.
#include <vector>

#include "trace/formats/lines.hpp"
#include "trace/formats/lookahead.hpp"

namespace boomslang::trace {
namespace {

constexpr const char* text_form = "write r(key,value,session,transaction) or w(...), whole numbers, no spaces";

class Text final : public LineFormat {
 public:
  void begin() override {
    LineFormat::begin();
    ahead_ = {};
    sessions_.clear();
    numbered_ = Interner();
    begun_.clear();
    current_ = nowhere;
  }

 private:
  static constexpr std::int32_t nowhere = -1;

  struct Step {
    bool read, aborted;
    std::uint32_t line;
    Number key, value, session, transaction;
  };

  struct Session {
    std::int32_t id;
    std::int32_t txn = none;  // the open one
    bool aborted = false;
    Interner::Code code = {};  // of its id
    std::uint32_t line = 0;    // of its last operation
  };

  static std::string_view view(const Scalar& s) { return {s.data, s.size}; }

  void line(Line at, Emit& emit) override {
    if (at.done()) return;
    Step& step = ahead_.next();
    step.read = at.accept('r');
    if (!step.read && !at.accept('w')) at.wrong("r or w", text_form);
    if (!at.accept('(')) at.wrong("'('", text_form);
    step.key = at.number("the key", text_form);
    if (!at.accept(',')) at.wrong("',' after the key", text_form);
    step.value = at.number("the value", text_form);
    if (!at.accept(',')) at.wrong("',' after the value", text_form);
    step.session = at.number("the session", text_form);
    if (!at.accept(',')) at.wrong("',' after the session", text_form);
    step.aborted = at.accept('-');
    step.transaction = at.number("the transaction", text_form);
    if (step.aborted && view(step.transaction.scalar) != "1") {
      at.p = step.transaction.scalar.data - 1;
      at.wrong("a transaction's id, or -1 for an aborted one", text_form);
    }
    if (!at.accept(')')) at.wrong("')' after the transaction", text_form);
    if (!at.done()) at.wrong("the end of the line", text_form);
    step.line = line_;
    emit.history().keys.fetch_slot(step.key.code);
    emit.history().values.fetch_slot(step.value.code);
    if (ahead_.add()) settle(emit);
  }

  void settle(Emit& emit) override {
    ahead_.settle([&](const Step& step) { act(step, emit.history()); });
  }

  void act(const Step& step, History& history) {
    if (current_ == nowhere || !step.session.code.number || step.session.code.word != current_word_)
      enter(step.session, history);
    Session& now = sessions_[current_];
    if (!is_open(now, step, history)) {
      end(now, history);
      const std::int32_t name = step.aborted ? history.null_name() : fresh_name(step, history);
      now.txn = history.open(now.id, name, step.line);
      now.aborted = step.aborted;
      now.code = step.transaction.code;
      if (!step.aborted) begun_[name] = now.txn;
    }
    now.line = step.line;
    const std::int32_t key = history.keys.intern(step.key.scalar, step.key.code);
    const std::int32_t value = history.values.intern(step.value.scalar, step.value.code);
    history.access(step.read ? Op::get : Op::put, now.txn, key, value, step.line);
  }

  void enter(const Number& session, History& history) {
    current_ = numbered_.intern(session.scalar, session.code);
    current_word_ = session.code.word;
    if (static_cast<std::size_t>(current_) == sessions_.size()) {
      Scalar name = session.scalar;
      name.type = Type::text;
      sessions_.push_back({history.session_of(name)});
    }
  }

  static bool is_open(const Session& session, const Step& step, const History& history) {
    if (session.txn == none || session.aborted != step.aborted) return false;
    if (step.aborted) return true;
    if (step.transaction.code.number) return session.code.number && session.code.word == step.transaction.code.word;
    return history.names.is(history.txn_name[session.txn], step.transaction.scalar);
  }

  // Of a transaction that begins here; nobody else may have it.
  std::int32_t fresh_name(const Step& step, History& history) {
    const Scalar& text = step.transaction.scalar;
    const std::int32_t name = history.name_of(text, step.transaction.code);
    begun_.pad(history.names.size(), none);
    const std::int32_t other = begun_[name];
    if (other == none) return name;
    const std::string line = std::to_string(history.txn_begin_line[other]);
    const std::int32_t here = sessions_[current_].id, there = history.txn_session[other];
    if (here != there)
      fault("transaction " + show(text) + " in session " + std::string(view(history.sessions[here])) +
                "; on line " + line + " it is in session " + std::string(view(history.sessions[there])),
            "each transaction in one session", "give each transaction an id of its own");
    fault("transaction " + show(text) + " again, which began on line " + line +
              " and was followed by another of its session",
          "one transaction of a session after the other",
          "write the operations of a transaction one after the other, and give each an id of its own");
  }

  static void end(const Session& session, History& history) {
    if (session.txn != none) history.close(session.txn, session.aborted ? aborted : committed, session.line);
  }

  void finish(Emit& emit) override {
    for (const Session& session : sessions_) end(session, emit.history());
  }

  Lookahead<Step> ahead_;
  std::vector<Session> sessions_;
  Interner numbered_;            // number of a session -> its place in sessions_
  Column<std::int32_t> begun_;   // name -> the transaction that has it
  std::int32_t current_ = nowhere;
  std::uint64_t current_word_ = 0;  // the code of its number
};

}  // namespace

std::unique_ptr<Format> make_text() { return std::make_unique<Text>(); }

}  // namespace boomslang::trace
