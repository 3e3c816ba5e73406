// dbcop's histories in JSON: an array of sessions, each an array of transactions, each an array of events.
//
// The sessions stand alone, or as the field "data" of an object that also says how they were made. A transaction
// is {"events": [...], "committed": true}, an event {"Read": {"variable": 1, "version": 2}} or a "Write". Sessions
// and transactions have no names: they are counted from 1. What a version means is for later (dbcop_json.py).
#include "trace/formats/document.hpp"
#include "trace/formats/format.hpp"
#include "trace/formats/mops.hpp"

namespace boomslang::trace {
namespace {

class DbcopJson : public Format {
 public:
  void start(std::string_view data, Emit&) override {
    doc_.start(data);
    doc_.next();
    if (doc_.token() == Token::array) return;
    expect(Token::object, "an array of sessions, or an object with them as \"data\"");
    while (doc_.next() != Token::close) {
      const bool sessions = doc_.name() == "data";
      doc_.next();
      if (sessions) {
        wrapped_ = true;
        return expect(Token::array, "an array of sessions");
      }
      doc_.skip();
    }
    doc_.fail("an object without the field \"data\"", "the sessions in it", fix);
  }

  bool step(Emit& emit) override {
    const char* const until = doc_.at() + stride;
    while (doc_.at() < until) {
      if (doc_.next() == Token::close) {
        if (in_session_) {
          in_session_ = false;
          continue;
        }
        finish();
        return false;
      }
      if (in_session_) {
        transaction(emit);
        doc_.forget();
      } else {
        expect(Token::array, "a session as an array of transactions");
        in_session_ = true;
        ++session_;
        transaction_ = 0;
      }
    }
    return true;
  }

 private:
  static constexpr const char* fix =
      "write [[{\"events\": [{\"Write\": {\"variable\": 0, \"version\": 1}}], \"committed\": true}]]";

  void expect(Token token, const char* expected) {
    if (doc_.token() != token) doc_.fail(doc_.found(), expected, fix);
  }

  void once(bool& seen) {
    if (seen)
      doc_.fail("the field \"" + std::string(doc_.name()) + "\" twice in one object", "each field once", fix);
    seen = true;
    doc_.next();
  }

  void transaction(Emit& emit) {
    expect(Token::object, "a transaction as an object");
    const std::uint32_t line = doc_.line();
    bool has_events = false, has_committed = false, committed = false;
    mops_.clear();
    while (doc_.next() != Token::close) {
      if (doc_.name() == "events") {
        once(has_events);
        expect(Token::array, "an array of events");
        while (doc_.next() != Token::close) event();
      } else if (doc_.name() == "committed") {
        once(has_committed);
        expect(Token::boolean, "true or false");
        committed = doc_.scalar().data[0];
      } else {
        doc_.skip_next();
      }
    }
    if (!has_events || !has_committed)
      throw Fault{"a transaction without the field \"" + std::string(has_events ? "committed" : "events") + "\"",
                  "both fields", fix, {}, line};
    Digits name, session;
    Scalar whose = session.of(session_);
    whose.type = Type::text;
    emit.begin(&whose, name.of(++transaction_), line);
    mops_.emit(emit, true);
    if (committed) {
      emit.commit(doc_.line());
    } else {
      emit.abort(doc_.line());
    }
  }

  void event() {
    if (doc_.token() == Token::array) return compact();
    expect(Token::object, "an event as an object");
    const std::uint32_t line = doc_.line();
    doc_.next();
    const bool write = doc_.name() == "Write";
    if (!write && doc_.name() != "Read")
      doc_.fail(doc_.token() == Token::close ? "an empty event" : doc_.found(), "\"Read\" or \"Write\"", fix);
    doc_.next();
    expect(Token::object, "the variable and the version as an object");
    bool has_variable = false, has_version = false, nothing = false;
    Scalar variable, version;
    while (doc_.next() != Token::close) {
      if (doc_.name() == "variable") {
        once(has_variable);
        variable = doc_.value("a variable", false);
      } else if (doc_.name() == "version") {
        once(has_version);
        nothing = doc_.token() == Token::null;
        if (!nothing) expect(Token::integer, "a version: a number, or null for the initial one");
        version = doc_.scalar();
      } else {
        doc_.skip_next();
      }
    }
    if (!has_variable || !has_version)
      throw Fault{"an event without the field \"" + std::string(has_variable ? "version" : "variable") + "\"",
                  "both fields", fix, {}, line};
    if (write && nothing) throw Fault{"a write of the version null", "a number", fix, {}, line};
    mops_.add(write ? Mop::put : nothing ? Mop::absent : Mop::get, variable, version, line);
    if (doc_.next() != Token::close) doc_.fail("a second field in an event", "one Read or Write", fix);
  }

  // ["w", variable, version], as dbcop writes if it is built so.
  void compact() {
    const std::uint32_t line = doc_.line();
    doc_.next();
    const bool write = doc_.name() == "w";
    if (!write && doc_.name() != "r")
      doc_.fail(doc_.token() == Token::close ? "an empty event" : doc_.found(), "\"r\" or \"w\"", fix);
    doc_.next();
    if (doc_.token() == Token::close) doc_.fail("an event without its variable", "a variable and a version", fix);
    const Scalar variable = doc_.value("a variable", false);
    doc_.next();
    const bool nothing = doc_.token() == Token::null;
    if (!nothing) expect(Token::integer, "a version: a number, or null for the initial one");
    if (write && nothing) throw Fault{"a write of the version null", "a number", fix, {}, line};
    mops_.add(write ? Mop::put : nothing ? Mop::absent : Mop::get, variable, doc_.scalar(), line);
    if (doc_.next() != Token::close) doc_.fail("a fourth part of an event", "three", fix);
  }

  void finish() {
    if (wrapped_) {
      while (doc_.next() != Token::close) {
        if (doc_.name() == "data")
          doc_.fail("the field \"data\" twice in one object", "each field once", "remove one of the two");
        doc_.skip_next();
      }
    }
    if (doc_.next() != Token::end)
      doc_.fail(doc_.found() + " after the end of the history", "nothing more", "write one JSON document");
  }

  Document doc_{Dialect::json};
  Mops mops_;
  bool wrapped_ = false, in_session_ = false;
  std::int64_t session_ = 0, transaction_ = 0;
};

}  // namespace

std::unique_ptr<Format> make_dbcop_json() { return std::make_unique<DbcopJson>(); }

}  // namespace boomslang::trace
