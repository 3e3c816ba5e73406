// Text of PolySI, Plume, IsoVista and AWDIT: one operation a line, `r(key,value,session,transaction)` or
// `w(...)`.
//
// A session's transactions follow each other; sessions may alternate from line to line. Transaction -1 means
// aborted: such lines have lost their transaction's id, so each run of them in a session becomes one aborted
// transaction without a name.
#include <unordered_map>

#include "trace/formats/lines.hpp"

namespace boomslang {
namespace {

constexpr const char* form = "write r(key,value,session,transaction) or w(...), whole numbers, no spaces";

class Text final : public LineFormat {
 public:
  void start(std::string_view data, Emit&) override {
    rewind(data);
    sessions_.clear();
    by_name_.clear();
    transactions_.clear();
    current_ = nowhere;
  }

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

  struct Session {
    Scalar name;
    std::string_view transaction = {};  // the open one's id, as it stands in the file
    std::uint32_t line = 0;             // of its last operation
  };

  struct Seen {
    std::size_t session;
    std::uint32_t line;
  };

  static std::string_view view(const Scalar& s) { return {s.data, s.size}; }

  void line(Line at, Emit& emit) override {
    if (at.done()) return;
    const bool read = at.accept('r');
    if (!read && !at.accept('w')) at.wrong("r or w", form);
    if (!at.accept('(')) at.wrong("'('", form);
    const Scalar key = at.number("the key", form);
    if (!at.accept(',')) at.wrong("',' after the key", form);
    const Scalar value = at.number("the value", form);
    if (!at.accept(',')) at.wrong("',' after the value", form);
    const Scalar session = at.number("the session", form);
    if (!at.accept(',')) at.wrong("',' after the session", form);
    const bool aborted = at.accept('-');
    const Scalar transaction = at.number("the transaction", form);
    if (aborted && view(transaction) != "1") {
      at.p = transaction.data - 1;
      at.wrong("a transaction's id, or -1 for an aborted one", form);
    }
    if (!at.accept(')')) at.wrong("')' after the transaction", form);
    if (!at.done()) at.wrong("the end of the line", form);

    enter(session, aborted ? "-1" : view(transaction), transaction, emit);
    read ? emit.get(key, value, line_) : emit.put(key, value, line_);
  }

  void enter(const Scalar& session, std::string_view id, const Scalar& name, Emit& emit) {
    if (current_ == nowhere || view(sessions_[current_].name) != view(session)) {
      const auto [found, fresh] = by_name_.try_emplace(view(session), sessions_.size());
      if (fresh) {
        sessions_.push_back({session});
        sessions_.back().name.type = Type::text;
      }
      current_ = found->second;
      emit.resume(&sessions_[current_].name);
    }
    Session& now = sessions_[current_];
    if (now.transaction != id) {
      end(now, emit);
      now.transaction = id;
      const bool aborted = id == "-1";
      if (!aborted) remember(name);
      emit.begin(&now.name, aborted ? Scalar{} : name, line_);
    }
    now.line = line_;
  }

  void remember(const Scalar& name) {
    const auto [found, fresh] = transactions_.try_emplace(view(name), Seen{current_, line_});
    if (fresh) return;
    const Seen& seen = found->second;
    if (seen.session != current_)
      fault("transaction " + show(name) + " in session " + std::string(view(sessions_[current_].name)) +
                "; on line " + std::to_string(seen.line) + " it is in session " +
                std::string(view(sessions_[seen.session].name)),
            "each transaction in one session", "give each transaction an id of its own");
    fault("transaction " + show(name) + " again, which began on line " + std::to_string(seen.line) +
              " and was followed by another of its session",
          "one transaction of a session after the other",
          "write the operations of a transaction one after the other, and give each an id of its own");
  }

  static void end(const Session& session, Emit& emit) {
    if (session.transaction.empty()) return;
    session.transaction == "-1" ? emit.abort(session.line) : emit.commit(session.line);
  }

  void finish(Emit& emit) override {
    for (const Session& session : sessions_) {
      emit.resume(&session.name);
      end(session, emit);
    }
  }

  std::vector<Session> sessions_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::string_view, Seen> transactions_;
  std::size_t current_ = nowhere;
};

}  // namespace

std::unique_ptr<Format> make_text() { return std::make_unique<Text>(); }

}  // namespace boomslang
