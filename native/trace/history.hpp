// From records to columns: who did what, in which transaction, and may that be?
//
// Here are the rules that join one line to others: a transaction begins once and ends at most once, a session
// has one open transaction at a time, an iterator goes forwards, time does not run backwards. Every rule that
// is broken is a Fault; nothing is repaired in silence, because a verdict on a misread trace is worth
// nothing.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/close_times.hpp"
#include "trace/column.hpp"
#include "trace/intern.hpp"
#include "trace/record.hpp"

namespace boomslang::trace {

struct Brief;

enum Flag : std::uint8_t { flag_found = 1, flag_nothing = 2, flag_error = 4, flag_end = 8 };
enum Outcome : std::uint8_t { committed = 0, aborted = 1, unknown = 2 };
enum Initial : std::uint8_t { initial_empty = 0, initial_given = 1, initial_unknown = 2 };
constexpr std::int32_t absent = -1;
constexpr std::int32_t none = -1;

class History {
 public:
  History();

  // All that follows stands in this file. Operations that name no session belong to `session`, if there is
  // one.
  void begin_file(const std::string& name, const std::string* session);
  void apply(const Record& record, std::uint32_t line, bool first);
  // A line in brief. Its tokens point into `text`; `session` is what session_of() gave for the one it names.
  void apply(const Brief& line, const char* text, std::int32_t session, std::uint32_t number);

  // The short way, for formats of nothing but reads and writes whose reader keeps the rules above itself: it knows
  // which transaction is open, gives each name of a session once, and asks for no transaction by its name.
  std::int32_t session_of(const Scalar& name);
  std::int32_t name_of(const Scalar& name, Interner::Code code);
  std::int32_t open(std::int32_t session, std::int32_t name, std::uint32_t line, std::int64_t time = no_time);
  void close(std::int32_t txn, Outcome outcome, std::uint32_t line) {
    txn_outcome[txn] = outcome;
    txn_end_line[txn] = line;
  }
  void access(Op op, std::int32_t txn, std::int32_t key, std::int32_t value, std::uint32_t line) {
    add_row(op, 0, txn, key, value, none, line);
  }
  std::int32_t null_name();

  // Room for the operations of so many more lines. A column that grows is copied each time, unless it is very large.
  void make_room(std::size_t lines) {
    const std::size_t rows = op_kind.size() + lines;
    op_kind.make_room(rows);
    op_flags.make_room(rows);
    for (Column<std::int32_t>* column : {&op_key, &op_value}) column->make_room(rows);
    for (Column<std::uint32_t>* column : {&op_line, &op_txn_}) column->make_room(rows);
    for (Column<std::int64_t>* column : {&op_invoke, &op_return}) column->make_room(rows);
  }

  // After the last line. Call finish_step() until it says false: each step is short, so that the caller may
  // look for an interrupt between them.
  bool finish_step(int jobs = 1);

  // Some formats have a database's time stamps, which a broken database may hand out in any order: then time
  // that runs backwards in a session is a finding, and no mistake of the recorder.
  bool times_may_run_back = false;

  // The lines start in the middle of a trace: operations of transactions that began before are no mistake, but strays,
  // which are put aside by file and line for whoever has the begin.
  bool midway = false;
  std::vector<std::pair<std::int32_t, std::uint32_t>> strays;

  Interner keys, values, names, texts, sessions, clocks;
  std::vector<std::string> files, warnings;
  std::string unit;  // of all times; empty: nobody said
  std::string notes;  // of the whole trace, as JSON; empty: none
  Column<std::int64_t> key_rank;

  Column<std::int32_t> txn_session, txn_name, txn_file, txn_clock, txn_ctx;
  Column<std::uint8_t> txn_outcome;
  Column<std::uint32_t> txn_begin_line, txn_end_line;
  Column<std::int64_t> txn_begin, txn_end, txn_ops;

  Column<std::uint8_t> op_kind, op_flags;
  Column<std::int32_t> op_key, op_value, op_range, op_ctx, op_error, op_where;
  Column<std::uint32_t> op_line;
  Column<std::int64_t> op_invoke, op_return;
  CloseTimes close_invoke, close_return;  // in their place, once all is read, where that is shorter

  Column<std::int32_t> range_lo, range_hi, item_key, item_value;
  Column<std::int64_t> range_items;

  std::uint8_t initial_mode = initial_empty;
  Column<std::int32_t> initial_key, initial_value;

  // A begin with "initial": true. Its puts become the initial state; it never becomes a transaction.
  struct Load {
    std::int32_t session, name, file;
    std::uint32_t begin_line, end_line;  // 0: it has no end
    bool goes_on = false;                // more of it will come, in lines that are read apart from these
  };
  std::vector<Load> loads;
  // Of each initial value: the load that gave it, or -1 for a header.
  std::vector<std::int32_t> initial_by() const {
    std::vector<std::int32_t> found;
    found.reserve(initial_key.size());
    for (std::size_t i = 0; i < initial_key.size(); ++i) found.push_back(initial_owner_[initial_key[i]] - 1);
    return found;
  }

 private:
  static constexpr std::int32_t loading = -2;  // in place of a transaction: see Load

  struct Session {
    std::int32_t txn = none;  // the open or last transaction, or `loading`
    std::int32_t load = none;
    bool numbered = false;     // the name of txn is a whole number,
    std::uint64_t number = 0;  // this one
    std::int64_t time = no_time;  // the latest time recorded in it, and by which clock
    std::int32_t clock = none;
  };

  struct Iterator {
    std::int32_t id, range;
    bool failed, ended = false;
    std::array<std::int32_t, 6> last = {none, none, none, none, none, none};  // the last key of each family
  };

  enum State : std::uint8_t { begun = 1, ended = 2, used = 4 };

  void header(const Record& record);
  void apply_to(const Record& record, std::int32_t session, std::uint32_t line);
  bool apply_usual(const Brief& line, const char* text, std::int32_t session, std::uint32_t number);
  void check_time(const Record& record, std::int32_t session);
  void begin(const Record& record, std::int32_t session, std::uint32_t line);
  void begin_load(const Record& record, std::int32_t session, std::int32_t name, std::uint32_t line);
  void end(const Record& record, std::int32_t txn, std::uint32_t line);
  std::int32_t transaction_of(const Record& record, std::int32_t session, std::int32_t& load);
  void load_step(const Record& record, std::int32_t load, std::uint32_t line);
  void give(const Scalar& key, const Scalar& value, std::int32_t owner);
  void operation(const Record& record, std::int32_t txn, std::uint32_t line);
  void add_row(Op op, std::uint8_t flags, std::int32_t txn, std::int32_t key, std::int32_t value,
               std::int32_t range, std::uint32_t line) {
    if (op_kind.size() >= 0xffffffff)
      fault("more than 4294967295 operations", "fewer", "split the trace");
    op_kind.push(static_cast<std::uint8_t>(op));
    op_flags.push(flags);
    op_key.push(key);
    op_value.push(value);
    if (range != none) {
      op_range.pad(op_kind.size() - 1, none);
      op_range.push(range);
    }
    op_line.push(line);
    op_txn_.push(static_cast<std::uint32_t>(txn));
    ++txn_ops[txn];
    interleaved_ |= static_cast<std::uint32_t>(txn) < last_op_txn_;
    last_op_txn_ = static_cast<std::uint32_t>(txn);
  }
  // Columns that most traces do not need start with the first row that does.
  void add_times(std::size_t row, std::int64_t invoke, std::int64_t ret) {
    if (invoke != no_time) {
      op_invoke.pad(row, no_time);
      op_invoke.push(invoke);
    }
    if (ret != no_time) {
      op_return.pad(row, no_time);
      op_return.push(ret);
    }
  }
  std::int32_t new_range(const Record& record, bool failed);
  void check_in_range(std::int32_t key, std::int32_t range, const char* what) const;
  void scan_items(const Record& record, std::int32_t range, bool failed);
  std::int32_t condition_of(const Record& record);
  Iterator* find_iterator(std::int32_t txn, const Scalar& id);
  void next(const Record& record, std::int32_t txn, std::int32_t& key, std::int32_t& range, bool failed);
  std::int32_t text_of(std::string_view text);
  void add_ctx(std::int32_t txn, std::string_view ctx);
  void check_loads() const;
  void list_elements(const Record& record, std::int32_t key, std::int32_t& range);
  void check_lists() const;
  void group(int jobs);
  template <class T>
  void settle(Column<T>& column, Column<T>& spare, int jobs);
  void settle(Column<std::int64_t>& times, CloseTimes& close, int jobs);

  std::int32_t find_txn(std::int32_t session, std::int32_t name);
  std::int32_t find_load(std::int32_t session, std::int32_t name) const;
  void index_txn(std::int32_t txn);
  std::string place(std::int32_t file, std::uint32_t line) const;
  std::string txn_text(std::int32_t session, std::int32_t name) const;

  static constexpr std::int32_t unnamed = -3;  // the file's own session, as long as nothing was in it

  std::string session_name_;
  std::int32_t file_ = none, clock_ = none, file_session_ = none, last_session_ = none, null_name_ = none;
  std::vector<Session> session_;
  std::unordered_map<std::int32_t, std::vector<Iterator>> iterators_;  // of open transactions
  Interner iterator_ids_;
  Column<std::int32_t>
      txn_slots_;  // (session, name) -> transaction: open addressing, compared in the columns
  std::size_t txn_named_ = 0;
  std::int32_t txn_indexed_ = 0;  // those before it are in the slots: they go there when somebody looks
  Column<std::uint8_t> txn_state_;
  Record brief_{};  // what a line in brief would have been
  Column<std::uint32_t> op_txn_;
  Column<std::int32_t> spare_;  // the memory of a column that was put in order, for the next one
  std::uint32_t last_op_txn_ = 0;
  bool interleaved_ = false;
  bool lists_ = false;  // some key holds a list
  Column<std::uint32_t> seen_in_;  // key -> the last scan that returned it, plus one
  Column<std::int32_t>
      initial_owner_;  // key -> who gave its initial value: the header (0) or a load (1 + index)
  Column<std::int32_t> initial_at_;  // key -> its place in initial_key
  bool initial_stated_ = false;
  std::uint8_t stated_mode_ = initial_empty;
  std::size_t stated_items_ = 0;
  int step_ = 0;
};

// Positions of all keys in the order of keys (order.cpp).
Column<std::int64_t> rank(const Interner& keys);

}  // namespace boomslang::trace
