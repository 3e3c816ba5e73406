// TimeKiller's histories: a JSON array of committed transactions, each with the timestamps that the database gave
// it.
//
// A timestamp is a pair (p, l) of a hybrid logical clock, compared part by part. Where every l is 0, the times of
// the trace are the p themselves; else they are the places of the pairs in their order.
#include <algorithm>
#include <charconv>

#include "trace/formats/document.hpp"
#include "trace/formats/format.hpp"
#include "trace/formats/mops.hpp"

namespace boomslang::trace {
namespace {

class TimeKiller : public Format {
 public:
  void start(std::string_view data, Emit& emit) override {
    doc_.start(data);
    emit.history().times_may_run_back = true;
    emit.clock("database timestamps");
    if (doc_.next() != Token::array)
      doc_.fail(doc_.found(), "an array of transactions", "write all transactions in one JSON array");
  }

  bool step(Emit& emit) override {
    const char* const until = doc_.at() + stride;
    while (doc_.at() < until) {
      if (doc_.next() == Token::close) {
        if (doc_.next() != Token::end)
          doc_.fail(doc_.found() + " after the end of the array", "nothing more",
                    "write all transactions in one JSON array");
        finish(emit.history());
        return false;
      }
      transaction(emit);
      doc_.forget();
    }
    return true;
  }

 private:
  struct Timestamp {
    std::int64_t p = 0, l = 0;
    auto operator<=>(const Timestamp&) const = default;
    std::string text() const {
      std::string text("[");
      return text.append(std::to_string(p)).append(", ").append(std::to_string(l)).append("]");
    }
  };

  void expect(Token token, const char* expected) {
    if (doc_.token() != token)
      doc_.fail(doc_.found(), expected,
                "write {\"tid\": 1, \"sid\": 1, \"sts\": {\"p\": 1, \"l\": 0}, \"cts\": {\"p\": 2, \"l\": 0}, "
                "\"ops\": [...]}");
  }

  // The fields of the object that has just opened: `read` reads the value of a known one, and says which it was
  // as a bit, or 0 for a field that is of no use here.
  template <class F>
  unsigned fields(F&& read) {
    unsigned seen = 0;
    while (doc_.next() != Token::close) {
      const std::string name(doc_.name());
      const std::uint32_t line = doc_.line();
      doc_.next();
      const unsigned bit = read(name);
      if (!bit) doc_.skip();
      if (seen & bit)
        throw Fault{"the field \"" + name + "\" twice in one object", "each field once",
                    "remove one of the two", {}, line};
      seen |= bit;
    }
    return seen;
  }

  void transaction(Emit& emit) {
    expect(Token::object, "a transaction as an object");
    const std::uint32_t line = doc_.line();
    Scalar tid, sid;
    Timestamp start, commit;
    mops_.clear();
    const unsigned seen = fields([&](std::string_view name) {
      if (name == "tid") return tid = identifier("tid"), 1u;
      if (name == "sid") return sid = identifier("sid"), 2u;
      if (name == "sts") return start = timestamp(), 4u;
      if (name == "cts") return commit = timestamp(), 8u;
      if (name == "ops") return operations(), 16u;
      return 0u;
    });
    static const char* const names[] = {"tid", "sid", "sts", "cts", "ops"};
    for (int i = 0; i < 5; ++i)
      if (!(seen & 1u << i))
        throw Fault{"a transaction without the field \"" + std::string(names[i]) + "\"",
                    "the fields tid, sid, sts, cts and ops", "write all five", {}, line};
    if (commit < start)
      throw Fault{"the commit timestamp " + commit.text() + " before the start timestamp " + start.text(),
                  "sts <= cts", "check that the two are not swapped", {}, line};
    sid.type = Type::text;
    times_.push_back(start);
    times_.push_back(commit);
    logical_ |= start.l || commit.l;
    const std::string ctx = "{\"sts\": " + start.text() + ", \"cts\": " + commit.text() + "}";
    emit.begin(&sid, tid, line, start.p, ctx);
    mops_.emit(emit, true);
    emit.commit(doc_.line(), commit.p);
  }

  Scalar identifier(const char* what) {
    if (doc_.token() != Token::integer && doc_.token() != Token::text)
      doc_.fail(doc_.found() + " as \"" + what + "\"", "a number", "number the transactions and the sessions");
    return doc_.scalar();
  }

  Timestamp timestamp() {
    expect(Token::object, "a timestamp such as {\"p\": 1, \"l\": 0}");
    const std::uint32_t line = doc_.line();
    Timestamp stamp;
    const unsigned seen = fields([&](std::string_view name) {
      if (name == "p") return stamp.p = number(), 1u;
      if (name == "l") return stamp.l = number(), 2u;
      return 0u;
    });
    if (!(seen & 1))
      throw Fault{"a timestamp without \"p\"", "its physical part", "write both \"p\" and \"l\"", {}, line};
    return stamp;
  }

  std::int64_t number() {
    const Scalar& s = doc_.scalar();
    std::int64_t number = 0;
    if (doc_.token() == Token::integer || doc_.token() == Token::text) {
      const auto [end, error] = std::from_chars(s.data, s.data + s.size, number);
      if (error == std::errc{} && end == s.data + s.size && s.size && number != no_time) return number;
    }
    doc_.fail(doc_.found() + " as a part of a timestamp", "an integer of 64 bits, or one in quotes",
              "write the timestamps as the database gave them");
  }

  void operations() {
    expect(Token::array, "an array of operations");
    while (doc_.next() != Token::close) operation();
  }

  // The value may stand before the type.
  void operation() {
    expect(Token::object, "an operation such as {\"t\": \"w\", \"k\": 1, \"v\": 2}");
    const std::uint32_t line = doc_.line();
    const auto fail = [&](std::string found, const char* expected) {
      throw Fault{std::move(found), expected, "write {\"t\": \"r\", \"w\" or \"a\", \"k\": key, \"v\": value}", {},
                  line};
    };
    Mop kind = Mop::absent;
    Scalar key, value;
    bool list = false, nothing = true;
    elements_.clear();
    const unsigned seen = fields([&](std::string_view name) {
      if (name == "t") return kind = type(), 1u;
      if (name == "k") return key = doc_.value("a key", false), 2u;
      if (name == "v") {
        list = doc_.token() == Token::array;
        nothing = doc_.token() == Token::null;
        if (list) {
          while (doc_.next() != Token::close) elements_.push_back(doc_.value("an element of a list", false));
        } else {
          value = doc_.value("a value", false);
        }
        return 4u;
      }
      return 0u;
    });
    if (!(seen & 1)) fail("an operation without \"t\"", "its type");
    if (!(seen & 2)) fail("an operation without \"k\"", "its key");
    if (kind != Mop::get) {
      if (list) fail("a list as what was written", "one value");
      if (nothing && kind == Mop::put) fail("a write without a value", "a value that is not null");
      mops_.add(kind, key, value, line);
    } else if (nothing || (list && elements_.empty())) {
      mops_.add(Mop::absent, key, {}, line);
    } else if (list) {
      mops_.add_list(key, line);
      for (const Scalar& element : elements_) mops_.add_element(element);
    } else {
      mops_.add(kind, key, value, line);
    }
  }

  Mop type() {
    const std::string_view name = doc_.name();
    if (name == "r" || name == "read") return Mop::get;
    if (name == "w" || name == "write") return Mop::put;
    if (name == "a" || name == "append") return Mop::append;
    doc_.fail(doc_.found() + " as \"t\"", "r, w or a (or read, write, append)",
              "write what kind of operation it was");
  }

  void finish(History& history) {
    if (!logical_) return;
    std::vector<Timestamp> order = times_;
    std::sort(order.begin(), order.end());
    order.erase(std::unique(order.begin(), order.end()), order.end());
    const auto place = [&](const Timestamp& stamp) {
      return std::lower_bound(order.begin(), order.end(), stamp) - order.begin();
    };
    for (std::size_t t = 0; t < history.txn_begin.size(); ++t) {
      history.txn_begin[t] = place(times_[2 * t]);
      history.txn_end[t] = place(times_[2 * t + 1]);
    }
  }

  Document doc_{Dialect::json};
  Mops mops_;
  std::vector<Scalar> elements_;
  std::vector<Timestamp> times_;  // start and commit of each transaction
  bool logical_ = false;
};

}  // namespace

std::unique_ptr<Format> make_timekiller() { return std::make_unique<TimeKiller>(); }

}  // namespace boomslang::trace
