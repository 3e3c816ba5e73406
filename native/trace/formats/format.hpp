// Others' formats: what every tokenizer of them shares.
//
// A format reads one file that lies in memory, ended by zeros, or line by line, and says what happened through
// `Emit`, which makes the records of our own format from it. So all rules of a trace (one open transaction a
// session, times that run forwards, ...) hold for every format, and all end in the same columns. (The plainest
// formats fill the columns themselves: see History::access.) A format works in steps of about a megabyte: between two
// steps the caller looks at the clock, the memory and the keyboard.
#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "trace/history.hpp"

namespace boomslang::trace {

class Emit {
 public:
  explicit Emit(History& history) : history_(history) {}

  // All that follows stands in this file. What names no session belongs to `session`, if there is one.
  void begin_file(const std::string& name, const std::string* session) {
    file_ = name;
    history_.begin_file(name, session);
  }

  // `session` may be null: that of the file. A session of type null is none; then the name must stay valid until
  // the next begin. Operations that follow belong to the session that began last; resume() goes back to another
  // one's open transaction. `ctx` is a JSON object, or empty.
  void begin(const Scalar* session, const Scalar& name, std::uint32_t line, std::int64_t time = no_time,
             std::string_view ctx = {}) {
    resume(session);
    if (session && session->type == Type::null) session_ |= bit(Field::txn);
    set(Op::begin, bit(Field::txn) | (ctx.empty() ? 0 : bit(Field::ctx)));
    record_.txn = name;
    record_.invoke = time;
    record_.ctx = ctx;
    apply(line);
  }
  // A transaction whose puts are the initial state.
  void begin_load(const Scalar& name, std::uint32_t line) {
    resume(nullptr);
    set(Op::begin, bit(Field::txn) | bit(Field::initial));
    record_.txn = name;
    record_.txn_initial = true;
    apply(line);
  }
  void resume(const Scalar* session) {
    session_ = session ? bit(Field::session) : 0;
    if (session) record_.session = *session;
  }

  void put(const Scalar& key, const Scalar& value, std::uint32_t line) { pair(Op::put, key, value, line); }
  void get(const Scalar& key, const Scalar& value, std::uint32_t line) { pair(Op::get, key, value, line); }
  void append(const Scalar& key, const Scalar& value, std::uint32_t line) {
    pair(Op::append, key, value, line);
  }
  void get_absent(const Scalar& key, std::uint32_t line) {
    on_key(Op::get, bit(Field::absent), key);
    apply(line);
  }
  void del(const Scalar& key, std::uint32_t line) {
    on_key(Op::del, 0, key);
    apply(line);
  }
  void del(const Scalar& key, bool found, std::uint32_t line) {
    on_key(Op::del, bit(Field::found), key);
    record_.found = found;
    apply(line);
  }
  // Fill items() or elements() first.
  Items& items() { return record_.items; }
  std::vector<Scalar>& elements() { return record_.elements; }
  void list(const Scalar& key, std::uint32_t line) {
    on_key(Op::list, bit(Field::elements), key);
    apply(line);
  }
  // A bound may be null: there is none.
  void scan(const Scalar* from, const Scalar* to, std::uint32_t line) {
    set(Op::scan, bit(Field::items) | (from ? bit(Field::from) : 0) | (to ? bit(Field::to) : 0));
    if (from) record_.from = *from;
    if (to) record_.to = *to;
    apply(line);
  }
  // The operation failed: it saw and changed nothing. The key may be null.
  void failed(Op op, const Scalar* key, std::string_view error, std::uint32_t line) {
    set(op, bit(Field::error) | (key ? bit(Field::key) : 0));
    if (key) record_.key = *key, record_.key_code = Interner::code(*key);
    record_.error = text(error);
    apply(line);
  }

  // `ctx` is a JSON object, or empty. A transaction without an end is unknown.
  void commit(std::uint32_t line, std::int64_t time = no_time, std::string_view ctx = {}) {
    end(Op::commit, line, time, ctx);
  }
  void abort(std::uint32_t line, std::int64_t time = no_time, std::string_view ctx = {}) {
    end(Op::abort, line, time, ctx);
  }

  // Names the clock of the file's times. Before the first operation.
  void clock(std::string_view name) {
    record_.fields = bit(Field::boomslang) | bit(Field::clock);
    record_.clock = text(name);
    history_.apply(record_, 1, true);
  }
  void warn(std::string text) { history_.warnings.push_back(std::move(text)); }
  const std::string& file() const { return file_; }
  History& history() { return history_; }

  static Scalar text(std::string_view text) {
    return {Type::text, static_cast<std::uint32_t>(text.size()), text.data()};
  }
  // The slice must be a canonical integer: no leading zeros, no "-0", no plus.
  static Scalar integer(std::string_view digits) {
    return {Type::integer, static_cast<std::uint32_t>(digits.size()), digits.data()};
  }

 private:
  void set(Op op, std::uint32_t fields) {
    record_.op = op;
    record_.fields = bit(Field::op) | session_ | fields;
    record_.txn_initial = false;
    record_.invoke = record_.ret = no_time;
  }
  void on_key(Op op, std::uint32_t fields, const Scalar& key) {
    set(op, fields | bit(Field::key));
    record_.key = key;
    record_.key_code = Interner::code(key);
  }
  void pair(Op op, const Scalar& key, const Scalar& value, std::uint32_t line) {
    on_key(op, bit(Field::value), key);
    record_.value = value;
    record_.value_code = Interner::code(value);
    apply(line);
  }
  void end(Op op, std::uint32_t line, std::int64_t time, std::string_view ctx) {
    set(op, ctx.empty() ? 0 : bit(Field::ctx));
    record_.ret = time;
    record_.ctx = ctx;
    apply(line);
  }
  void apply(std::uint32_t line) {
    try {
      history_.apply(record_, line, false);
    } catch (Fault& f) {
      if (!f.line) f.file = file_, f.line = line;
      throw;
    }
  }

  History& history_;
  Record record_{};
  std::uint32_t session_ = 0;
  std::string file_;
};

// An integer as a scalar; the digits live as long as this does.
class Digits {
 public:
  template <class T>
  const Scalar& of(T number) {
    const auto end = std::to_chars(text_, text_ + sizeof text_, number).ptr;
    scalar_ = {Type::integer, static_cast<std::uint32_t>(end - text_), text_};
    return scalar_;
  }

 private:
  char text_[24];
  Scalar scalar_;
};

class Format {
 public:
  virtual ~Format() = default;
  // A new file.
  virtual void begin() {}
  // Formats of lines read them as they come, so that the file is never in memory as a whole: first all lines that
  // have a newline, in pieces of any size, then through start() what follows the last one.
  virtual bool takes_lines() const { return false; }
  virtual void lines(std::string_view, Emit&) {}
  // All data of the file, or what lines() has not had. It is followed by at least `slack` zero bytes. The Faults
  // thrown need no file.
  virtual void start(std::string_view data, Emit& emit) = 0;
  // A bounded piece of work; false when the file is done.
  virtual bool step(Emit& emit) = 0;

  static constexpr std::size_t slack = 16;
  static constexpr std::size_t stride = 1u << 20;  // bytes a step, about
};

// By name; null if there is no such format.
std::unique_ptr<Format> make_format(std::string_view name, std::string_view option);

}  // namespace boomslang::trace
