#include "trace/history.hpp"

#include <algorithm>

#include "common/parallel.hpp"
#include "trace/brief.hpp"

namespace boomslang::trace {
namespace {

Scalar scalar(std::string_view text) {
  return {Type::text, static_cast<std::uint32_t>(text.size()), text.data()};
}

std::string op_text(Op op) { return std::string("\"") + op_name(op) + "\""; }

std::uint64_t hash_txn(std::int32_t session, std::int32_t name) {
  return mix((static_cast<std::uint64_t>(static_cast<std::uint32_t>(session)) << 32 |
              static_cast<std::uint32_t>(name)) ^
                 0xa0761d6478bd642full,
             0xe7037ed1a0b428dbull);
}

}  // namespace

History::History() { range_items.push(0); }

std::string History::txn_text(std::int32_t session, std::int32_t name) const {
  std::string text =
      names.type_of(name) == Type::null ? "the unnamed transaction" : "transaction " + show(names[name]);
  if (session >= 0) text += " of session " + show(sessions[session]);
  return text;
}

std::string History::place(std::int32_t file, std::uint32_t line) const {
  if (files[file].empty()) return "operation " + std::to_string(line);
  return file == file_ ? "line " + std::to_string(line) : files[file] + ":" + std::to_string(line);
}

void History::begin_file(const std::string& name, const std::string* session) {
  file_ = static_cast<std::int32_t>(files.size());
  files.push_back(name);
  clock_ = none;
  session_name_ = session ? *session : std::string();
  file_session_ = session ? unnamed : none;
}

std::int32_t History::session_of(const Scalar& name) {
  const std::int32_t session = sessions.intern(name);
  if (static_cast<std::size_t>(session) >= session_.size()) session_.resize(session + 1);
  return session;
}

std::int32_t History::null_name() {
  if (null_name_ == none) null_name_ = names.intern({Type::null, 0, ""});
  return null_name_;
}

std::int32_t History::name_of(const Scalar& name, Interner::Code code) {
  null_name();  // always the first
  return names.intern(name, code);
}

std::int32_t History::open(std::int32_t session, std::int32_t name, std::uint32_t line, std::int64_t time) {
  if (txn_name.size() >= 0x7fffffff) fault("more than 2147483647 transactions", "fewer", "split the trace");
  if (clock_ == none) clock_ = clocks.intern(scalar(""));
  const auto txn = static_cast<std::int32_t>(txn_name.size());
  txn_session.push(session);
  txn_name.push(name);
  txn_file.push(file_);
  txn_clock.push(clock_);
  txn_outcome.push(unknown);
  txn_begin_line.push(line);
  txn_end_line.push(0);
  txn_begin.push(time);
  txn_end.push(no_time);
  txn_ops.push(0);
  txn_state_.push(0);
  return txn;
}

// --- transactions by (session, name) ---

std::int32_t History::find_txn(std::int32_t session, std::int32_t name) {
  for (; static_cast<std::size_t>(txn_indexed_) < txn_name.size(); ++txn_indexed_)
    if (txn_name[txn_indexed_] != null_name_) index_txn(txn_indexed_);
  if (txn_slots_.empty()) return none;
  const std::size_t mask = txn_slots_.size() - 1;
  for (std::size_t at = hash_txn(session, name) & mask;; at = (at + 1) & mask) {
    const std::int32_t txn = txn_slots_[at];
    if (txn < 0 || (txn_name[txn] == name && txn_session[txn] == session)) return txn;
  }
}

void History::index_txn(std::int32_t txn) {
  if ((txn_named_ + 1) * 3 > txn_slots_.size() * 2) {
    const std::size_t count = txn_slots_.empty() ? 16 : txn_slots_.size() * 2;
    txn_slots_.discard();
    txn_slots_.pad(count, none);
    for (std::int32_t t = 0; t < txn; ++t) {
      if (txn_name[t] == null_name_) continue;
      std::size_t at = hash_txn(txn_session[t], txn_name[t]) & (count - 1);
      while (txn_slots_[at] >= 0) at = (at + 1) & (count - 1);
      txn_slots_[at] = t;
    }
  }
  const std::size_t mask = txn_slots_.size() - 1;
  std::size_t at = hash_txn(txn_session[txn], txn_name[txn]) & mask;
  while (txn_slots_[at] >= 0) at = (at + 1) & mask;
  txn_slots_[at] = txn;
  ++txn_named_;
}

std::int32_t History::find_load(std::int32_t session, std::int32_t name) const {
  for (std::size_t i = 0; i < loads.size(); ++i)
    if (loads[i].session == session && loads[i].name == name) return static_cast<std::int32_t>(i);
  return none;
}

// --- one line ---

void History::apply(const Record& r, std::uint32_t line, bool first) {
  if (r.is_header()) [[unlikely]] {
    if (!first)
      fault("a header after other lines", "the header, if any, as the first line of a file",
            "move it to the top, or start a new file");
    return header(r);
  }
  std::int32_t session = file_session_;
  if (r.has(Field::session)) {
    if (r.session.type == Type::null) {
      session = none;
    } else {
      session = last_session_;
      if (session < 0 || !sessions.is(session, r.session)) session = last_session_ = session_of(r.session);
    }
  } else if (session == unnamed) {
    session = file_session_ = session_of(scalar(session_name_));
  }
  apply_to(r, session, line);
}

void History::apply_to(const Record& r, std::int32_t session, std::uint32_t line) {
  if (clock_ == none) clock_ = clocks.intern(scalar(""));
  if (session < 0 && !r.has(Field::txn)) [[unlikely]]
    fault("no field txn in " + op_text(r.op) + " without a session", "the field txn",
          "name the transaction, or the session whose open transaction is meant");
  if (r.invoke != no_time || r.ret != no_time) check_time(r, session);
  if (r.op == Op::begin) return begin(r, session, line);
  std::int32_t load = none;
  const std::int32_t txn = transaction_of(r, session, load);
  if (txn == loading) [[unlikely]]
    return load_step(r, load, line);
  if (txn == none) [[unlikely]]
    return strays.push_back({file_, line});
  if ((r.op == Op::commit || r.op == Op::abort) && !r.has(Field::error)) return end(r, txn, line);
  operation(r, txn, line);
}

void History::apply(const Brief& l, const char* text, std::int32_t session, std::uint32_t number) {
  if (!l.has(Field::session)) {
    if (file_session_ == unnamed) file_session_ = session_of(scalar(session_name_));
    session = file_session_;
  }
  if (apply_usual(l, text, session, number)) [[likely]]
    return;
  Record& r = brief_;
  r.fields = l.fields;
  r.op = l.op;
  r.found = l.found;
  r.invoke = l.invoke;
  r.ret = l.ret;
  if (l.has(Field::txn)) r.txn = l.txn.scalar(text);
  if (l.has(Field::key)) r.key = l.key.scalar(text), r.key_code = l.key.code();
  if (l.has(Field::value)) r.value = l.value.scalar(text), r.value_code = l.value.code();
  apply_to(r, session, number);
}

// The usual line is an operation of the open transaction of a session. Nothing is wrong with it, or this says false
// and changes nothing: what is unusual, and what is wrong, is said in one place only.
bool History::apply_usual(const Brief& l, const char* text, std::int32_t session, std::uint32_t number) {
  if (session < 0 || clock_ == none || l.op == Op::begin || l.op == Op::commit || l.op == Op::abort) return false;
  Session& s = session_[session];
  const std::int32_t txn = s.txn;
  if (txn < 0 || txn_end_line[txn] || txn_file[txn] != file_) return false;
  if (l.has(Field::txn) && !(s.numbered && l.txn.code().number && s.number == l.txn.word)) return false;
  if (const std::int64_t first = l.invoke != no_time ? l.invoke : l.ret; first != no_time) {
    if (s.clock == clock_ && first < s.time) return false;
    s.clock = clock_;
    s.time = l.ret != no_time ? l.ret : l.invoke;
  }
  std::uint8_t flags = 0;
  if (l.has(Field::found)) flags = l.found ? flag_found : flag_nothing;
  lists_ |= l.op == Op::append;
  const std::int32_t key = keys.intern(l.key.scalar(text), l.key.code());
  const std::int32_t value = l.has(Field::value) ? values.intern(l.value.scalar(text), l.value.code()) : absent;
  const std::size_t row = op_kind.size();
  add_row(l.op, flags, txn, key, value, none, number);
  txn_state_[txn] |= used;
  add_times(row, l.invoke, l.ret);
  return true;
}

void History::check_time(const Record& r, std::int32_t session) {
  if (session < 0) return;
  Session& s = session_[session];
  const std::int64_t first = r.invoke != no_time ? r.invoke : r.ret;
  if (s.clock == clock_ && first < s.time && !times_may_run_back) [[unlikely]]
    fault((r.invoke != no_time ? "invoke " : "return ") + std::to_string(first) + " before " +
              std::to_string(s.time) + ", a time of the previous operation of session " +
              show(sessions[session]),
          "times that run forwards in a session",
          "read one monotonic clock, and name the clock in the header if it was another");
  s.clock = clock_;
  s.time = r.ret != no_time ? r.ret : r.invoke;
}

std::int32_t History::transaction_of(const Record& r, std::int32_t session, std::int32_t& load) {
  Session* s = session >= 0 ? &session_[session] : nullptr;
  std::int32_t txn = none;
  if (!r.has(Field::txn)) {
    txn = s->txn;
    load = s->load;
    if (txn == none && midway) return none;
    if (txn == none)
      fault(
          op_text(r.op) + " without a begin: session " + show(sessions[session]) + " has no open transaction",
          "a begin first", "record the begin, or name the transaction with \"txn\"");
  } else {
    if (s && s->txn >= 0 && names.is(txn_name[s->txn], r.txn)) {
      txn = s->txn;
    } else {
      const std::int32_t name = names.intern(r.txn);
      txn = find_txn(session, name);
      if (txn == none) {
        load = find_load(session, name);
        if (load == none && midway) return none;
        if (load == none)
          fault(op_text(r.op) + " without a begin of " + txn_text(session, name), "a begin first",
                "record the begin, or correct \"txn\"");
        txn = loading;
      }
      const bool left = s && (txn == loading ? s->load != load : s->txn != txn);
      const bool over = txn == loading ? loads[load].end_line : txn_state_[txn] & ended;
      const std::int32_t file = txn == loading ? loads[load].file : txn_file[txn];
      if (left && !over && file == file_)
        fault(op_text(r.op) + " of " + txn_text(session, name) + ", which the session has left",
              "operations of its open transaction, " +
                  txn_text(session, s->txn == loading ? loads[s->load].name : txn_name[s->txn]),
              "give each connection a session of its own: a session has one open transaction at a time");
    }
  }
  const bool is_load = txn == loading;
  const std::int32_t file = is_load ? loads[load].file : txn_file[txn];
  const std::int32_t name = is_load ? loads[load].name : txn_name[txn];
  if (file != file_) [[unlikely]]
    fault(op_text(r.op) + " of " + txn_text(session, name) + ", which began in " + files[file],
          "all operations of a transaction in one file",
          "keep each transaction in the file in which it began");
  const std::uint32_t end_line = is_load ? loads[load].end_line : txn_end_line[txn];
  if (end_line) [[unlikely]]
    fault(op_text(r.op) + " after the end of " + txn_text(session, name) + " at " + place(file_, end_line),
          "a begin of another transaction first", "record the begin, or correct \"txn\"");
  return txn;
}

void History::begin(const Record& r, std::int32_t session, std::uint32_t line) {
  Session* s = session >= 0 ? &session_[session] : nullptr;
  const bool failed = r.has(Field::error);
  std::int32_t name = null_name();
  std::int32_t txn = none;
  Interner::Code code{0, false};
  if (r.has(Field::txn)) {
    code = Interner::code(r.txn);
    const std::size_t known = names.size();
    name = names.intern(r.txn, code);
    if (names.size() == known) txn = find_txn(session, name);  // else nobody has this name
    const std::int32_t load = loads.empty() ? none : find_load(session, name);
    // A begin that failed may be tried again; any other second begin is a mistake.
    const bool retry = txn != none && !(txn_state_[txn] & (begun | ended | used)) && txn_file[txn] == file_ &&
                       (!s || s->txn == txn) && !r.has(Field::initial);
    if (load != none || (txn != none && !retry)) {
      const std::int32_t file = load != none ? loads[load].file : txn_file[txn];
      const std::uint32_t at = load != none ? loads[load].begin_line : txn_begin_line[txn];
      fault("a second begin of " + txn_text(session, name) + "; the first is at " + place(file, at),
            "each transaction to begin once" + std::string(file == file_ ? "" : ", in one file"),
            "give each transaction of a session an id of its own");
    }
  } else {
    const bool open =
        s->txn == loading ? !loads[s->load].end_line : s->txn >= 0 && !(txn_state_[s->txn] & ended);
    if (open) {
      const bool retry = s->txn >= 0 && txn_name[s->txn] == null_name_ && txn_file[s->txn] == file_ &&
                         !(txn_state_[s->txn] & (begun | used)) && !r.has(Field::initial);
      if (!retry)
        fault("a begin without txn while " +
                  txn_text(session, s->txn == loading ? loads[s->load].name : txn_name[s->txn]) + " is open",
              "its commit or abort first, or a txn id",
              "record the end, or name the new transaction with \"txn\"");
      txn = s->txn;
    }
  }
  if (r.has(Field::initial)) return begin_load(r, session, name, line);
  if (txn == none) {
    txn = open(session, name, line, r.invoke);
  } else {
    txn_begin_line[txn] = line;
    txn_begin[txn] = r.invoke;
  }
  if (s) {
    if (s->txn >= 0 && s->txn != txn) iterators_.erase(s->txn);
    s->txn = txn;
    s->load = none;
    s->numbered = code.number;
    s->number = code.word;
  }
  if (failed) return operation(r, txn, line);
  txn_state_[txn] |= begun;
  if (r.has(Field::ctx)) add_ctx(txn, r.ctx);
}

void History::end(const Record& r, std::int32_t txn, std::uint32_t line) {
  if (r.ret != no_time && txn_begin[txn] != no_time && r.ret < txn_begin[txn]) [[unlikely]]
    fault("return " + std::to_string(r.ret) + " before the begin at " + std::to_string(txn_begin[txn]),
          "times that run forwards", "read one monotonic clock before and after each call");
  txn_outcome[txn] = r.op == Op::commit ? committed : aborted;
  txn_end_line[txn] = line;
  txn_end[txn] = r.ret;
  txn_state_[txn] |= ended;
  if (r.has(Field::ctx)) add_ctx(txn, r.ctx);
  if (!iterators_.empty()) iterators_.erase(txn);
}

std::int32_t History::text_of(std::string_view text) { return texts.intern(scalar(text)); }

// The hints of begin and of the end are one object.
void History::add_ctx(std::int32_t txn, std::string_view ctx) {
  txn_ctx.pad(static_cast<std::size_t>(txn), none);
  if (txn_ctx.size() == static_cast<std::size_t>(txn)) txn_ctx.push(none);
  std::int32_t& place = txn_ctx[txn];
  if (place == none) {
    place = text_of(ctx);
    return;
  }
  const auto blank = [](std::string_view object) { return object.find('"') == std::string_view::npos; };
  const Scalar before = texts[place];
  const std::string_view old(before.data, before.size);
  if (blank(ctx)) return;
  if (blank(old)) {
    place = text_of(ctx);
    return;
  }
  const std::string joined = std::string(old.substr(0, old.rfind('}'))) + ", " + std::string(ctx.substr(1)) +
                             std::string(1 + Json::slack, '\n');
  Json json;
  json.start(joined.data(), joined.size());
  json.skip(1);  // refuses a field that both have
  place = text_of(std::string_view(joined).substr(0, joined.size() - 1 - Json::slack));
}

// --- operations inside a transaction ---

void History::operation(const Record& r, std::int32_t txn, std::uint32_t line) {
  const bool failed = r.has(Field::error);
  std::uint8_t flags = failed ? flag_error : 0;
  std::int32_t key = none, value = absent, range = none;
  switch (r.op) {
    case Op::put:
    case Op::get:
      if (r.has(Field::key)) key = keys.intern(r.key, r.key_code);
      if (r.has(Field::value)) value = values.intern(r.value, r.value_code);
      break;
    case Op::del:
      if (r.has(Field::key)) key = keys.intern(r.key, r.key_code);
      if (r.has(Field::found)) flags |= r.found ? flag_found : flag_nothing;
      break;
    case Op::scan:
      range = new_range(r, failed);
      if (r.has(Field::items)) scan_items(r, range, failed);
      break;
    case Op::select:
      range = new_range(r, failed);
      if (r.has(Field::items)) scan_items(r, range, failed);
      break;
    case Op::iterator: {
      const std::int32_t id = r.has(Field::id) ? iterator_ids_.intern(r.id) : none;
      if (id != none && find_iterator(txn, r.id) && !find_iterator(txn, r.id)->failed)
        fault("a second iterator " + show(r.id) + " in " + txn_text(txn_session[txn], txn_name[txn]),
              "a new id", "give each iterator of a transaction an id of its own");
      range = new_range(r, failed);
      if (id != none) {
        if (Iterator* again = find_iterator(txn, r.id)) {
          *again = {id, range, failed};
        } else {
          iterators_[txn].push_back({id, range, failed});
        }
      }
      break;
    }
    case Op::next:
      next(r, txn, key, range, failed);
      if (r.has(Field::value)) value = values.intern(r.value, r.value_code);
      if (r.has(Field::end)) flags |= flag_end;
      break;
    case Op::append:
      lists_ = true;
      if (r.has(Field::key)) key = keys.intern(r.key, r.key_code);
      if (r.has(Field::value)) value = values.intern(r.value, r.value_code);
      break;
    case Op::list:
      lists_ = true;
      if (r.has(Field::key)) key = keys.intern(r.key, r.key_code);
      if (r.has(Field::elements)) list_elements(r, key, range);
      break;
    default: break;  // begin, commit and abort that failed
  }
  const std::size_t row = op_kind.size();
  add_row(r.op, flags, txn, key, value, range, line);
  if (r.op != Op::begin) txn_state_[txn] |= used;
  add_times(row, r.invoke, r.ret);
  if (r.has(Field::ctx)) {
    op_ctx.pad(row, none);
    op_ctx.push(text_of(r.ctx));
  }
  if (r.op == Op::select && r.has(Field::table)) {
    op_where.pad(row, none);
    op_where.push(condition_of(r));
  }
  if (failed) {
    op_error.pad(row, none);
    op_error.push(texts.intern(r.error));
  }
}

std::int32_t History::new_range(const Record& r, bool failed) {
  const bool lower = r.has(Field::from) && r.from.type != Type::null;
  const bool upper = r.has(Field::to) && r.to.type != Type::null;
  if (lower && upper && !failed) {
    if (family(r.from.type) != family(r.to.type))
      fault("a range from a key of type " + std::string(family_name(r.from.type)) + " (" + show(r.from) +
                ") to one of type " + family_name(r.to.type) + " (" + show(r.to) + ")",
            "bounds of one type", "keys order within their type: scan each type by itself");
    if (compare(r.from, r.to) > 0)
      fault("a range from " + show(r.from) + " down to " + show(r.to), "from <= to",
            "a range is [from, to): write the smaller key as from, also for a reverse scan");
  }
  const auto range = static_cast<std::int32_t>(range_lo.size());
  range_lo.push(lower ? keys.intern(r.from) : none);
  range_hi.push(upper ? keys.intern(r.to) : none);
  range_items.push(static_cast<std::int64_t>(item_key.size()));
  return range;
}

void History::check_in_range(std::int32_t key, std::int32_t range, const char* what) const {
  const std::int32_t lo = range_lo[range], hi = range_hi[range];
  const std::int32_t bound = lo != none ? lo : hi;
  if (bound == none) return;
  const auto text = [&] {
    return std::string("[") + (lo == none ? "unbounded" : show(keys[lo])) + ", " +
           (hi == none ? "unbounded" : show(keys[hi])) + ")";
  };
  if (family(keys.type_of(key)) != family(keys.type_of(bound)))
    fault("the key " + show(keys[key]) + " of type " + family_name(keys[key].type) + " returned by " + what +
              " of the range " + text(),
          std::string("keys of type ") + family_name(keys[bound].type),
          "record keys as the database has them, with their type");
  if ((lo != none && compare(keys[key], keys[lo]) < 0) || (hi != none && compare(keys[key], keys[hi]) >= 0))
    fault("the key " + show(keys[key]) + " returned by " + what + " of the range " + text(),
          "keys inside the range",
          "record from as included and to as excluded; use a binary collation (strings order by their UTF-8 "
          "bytes)");
}

void History::scan_items(const Record& r, std::int32_t range, bool failed) {
  for (const auto& [k, v] : r.items) {
    const std::int32_t key = keys.intern(k);
    if (!failed) {
      check_in_range(key, range, "a scan");
      if (seen_in_.size() <= static_cast<std::size_t>(key)) seen_in_.pad(keys.size(), 0);
      if (seen_in_[key] == static_cast<std::uint32_t>(range) + 1)
        fault("the key " + show(k) + " twice in one scan", "each key once", "record each returned row once");
      seen_in_[key] = static_cast<std::uint32_t>(range) + 1;
    }
    item_key.push(key);
    item_value.push(values.intern(v));
  }
  range_items.back() = static_cast<std::int64_t>(item_key.size());
}

// What a select asked, as one text: [table, condition]. What it may say is looked at later (trace/conditions.py).
std::int32_t History::condition_of(const Record& r) {
  const std::string where(r.has(Field::where) ? r.where : std::string_view("true"));
  return text_of("[" + std::string(r.table) + ", " + where + "]");
}

History::Iterator* History::find_iterator(std::int32_t txn, const Scalar& id) {
  const auto found = iterators_.find(txn);
  if (found == iterators_.end()) return nullptr;
  const std::int32_t number = iterator_ids_.find(id);
  for (Iterator& it : found->second)
    if (it.id == number) return &it;
  return nullptr;
}

void History::next(const Record& r, std::int32_t txn, std::int32_t& key, std::int32_t& range, bool failed) {
  Iterator* it = nullptr;
  if (r.has(Field::id)) {
    it = find_iterator(txn, r.id);
    if (!it || it->failed)
      fault("next of iterator " + show(r.id) + (it ? ", which failed to open" : ", which is unknown in ") +
                (it ? "" : txn_text(txn_session[txn], txn_name[txn])),
            "the id of an iterator that this transaction opened",
            "record the iterator operation that opened it");
    range = it->range;
    if (it->ended)
      fault("next of iterator " + show(r.id) + " after its end", "no further next",
            "record each result once");
  }
  if (r.has(Field::key)) key = keys.intern(r.key, r.key_code);
  if (failed || !it) return;
  if (r.has(Field::end)) {
    it->ended = true;
    return;
  }
  check_in_range(key, range, "an iterator");
  // Between families the order is the database's.
  std::int32_t& last = it->last[static_cast<std::size_t>(family(keys.type_of(key)))];
  if (last != none && compare(keys[last], keys[key]) >= 0)
    fault(
        "the key " + show(keys[key]) + " after " + show(keys[last]) + " from one iterator",
        "keys in increasing order",
        "record a reverse iteration as a scan; use a binary collation (strings order by their UTF-8 bytes)");
  last = key;
}

// --- lists ---

// A list that was read takes a range's place, with one item for each element.
void History::list_elements(const Record& r, std::int32_t key, std::int32_t& range) {
  range = static_cast<std::int32_t>(range_lo.size());
  range_lo.push(none);
  range_hi.push(none);
  for (const Scalar& element : r.elements) {
    item_key.push(key);
    item_value.push(values.intern(element));
  }
  range_items.push(static_cast<std::int64_t>(item_key.size()));
}

// A key holds a list or a register, lists start empty, and an element is appended to a key once: only then does
// a list that was read tell which appends it holds.
void History::check_lists() const {
  const auto at = [&](std::size_t row, std::string found, std::string expected, std::string fix) {
    const auto txn = static_cast<std::size_t>(op_txn_[row]);
    throw Fault{std::move(found), std::move(expected), std::move(fix),
                files[txn_file[txn]].empty() ? std::string() : files[txn_file[txn]], op_line[row]};
  };
  std::vector<bool> is_list(keys.size());
  for (std::size_t row = 0; row < op_kind.size(); ++row)
    if (const auto op = static_cast<Op>(op_kind[row]);
        op_key[row] != none && (op == Op::append || op == Op::list) && !(op_flags[row] & flag_error))
      is_list[op_key[row]] = true;
  const auto both = [&](std::size_t row, std::int32_t key) {
    at(row, "a register operation on the key " + show(keys[key]) + ", which holds a list",
       "append and list operations only", "give lists and registers keys of their own");
  };
  struct Append {
    std::int32_t key, value;
    std::uint32_t row;
  };
  std::vector<Append> appends;
  for (std::size_t row = 0; row < op_kind.size(); ++row) {
    if (op_flags[row] & flag_error) continue;
    const std::int32_t key = op_key[row];
    switch (static_cast<Op>(op_kind[row])) {
      case Op::get:
        if (op_value[row] != absent && is_list[key]) both(row, key);
        break;
      case Op::put:
      case Op::del:
      case Op::next:
        if (key != none && is_list[key]) both(row, key);
        break;
      case Op::scan:
      case Op::select:
        for (std::int64_t i = range_items[op_range[row]]; i < range_items[op_range[row] + 1]; ++i)
          if (is_list[item_key[i]]) both(row, item_key[i]);
        break;
      case Op::append:
        appends.push_back({key, op_value[row], static_cast<std::uint32_t>(row)});
        break;
      default: break;
    }
  }
  std::sort(appends.begin(), appends.end(), [](const Append& a, const Append& b) {
    return a.key != b.key ? a.key < b.key : a.value != b.value ? a.value < b.value : a.row < b.row;
  });
  for (std::size_t i = 1; i < appends.size(); ++i) {
    const Append &a = appends[i - 1], &b = appends[i];
    if (a.key == b.key && a.value == b.value)
      at(b.row,
         "a second append of " + show(values[b.value]) + " to the key " + show(keys[b.key]) +
             "; the first is at " + place(txn_file[op_txn_[a.row]], op_line[a.row]),
         "each element to be appended to a key once", "let the workload number the elements of a key");
  }
  if (initial_mode == initial_unknown)
    throw Fault{"lists in a trace whose initial state is unknown", "lists that start empty",
                "write \"initial\": \"empty\" in the header if they did", files[0], 1};
  for (std::size_t i = 0; i < initial_key.size(); ++i)
    if (is_list[initial_key[i]])
      throw Fault{"an initial value of the key " + show(keys[initial_key[i]]) + ", which holds a list",
                  "lists that start empty", "append the elements in a transaction of their own", files[0], 1};
}

// --- the initial state ---

void History::give(const Scalar& k, const Scalar& v, std::int32_t owner) {
  const std::int32_t key = keys.intern(k), value = values.intern(v);
  initial_owner_.pad(keys.size(), none);
  initial_at_.pad(keys.size(), none);
  if (initial_owner_[key] == none) {
    initial_owner_[key] = owner;
    initial_at_[key] = static_cast<std::int32_t>(initial_key.size());
    initial_key.push(key);
    initial_value.push(value);
  } else if (initial_owner_[key] == owner && owner > 0) {
    initial_value[initial_at_[key]] = value;  // a later put of the same load
  } else {
    fault("the key " + show(k) + " twice in the initial state", "each key once", "remove one of the two");
  }
}

void History::header(const Record& r) {
  if (r.has(Field::clock)) clock_ = clocks.intern(r.clock);
  if (r.has(Field::session)) {  // a session that goes on in another file: its name is not that of the file
    file_session_ = r.session.type == Type::null ? none : unnamed;
    if (file_session_ == unnamed) session_name_.assign(r.session.data, r.session.size);
  }
  if (r.has(Field::unit)) {
    const std::string said(r.unit.data, r.unit.size);
    if (!unit.empty() && unit != said)
      fault("times in " + said + " where an earlier file has them in " + unit, "one unit for all files",
            "record all files in one unit, and say it in each header or in one only");
    unit = said;
  }
  if (r.has(Field::ctx)) {
    if (!notes.empty() && notes != r.ctx)
      fault("notes in \"ctx\" that differ from those of an earlier file", "one set of notes for the whole trace",
            "write the same \"ctx\" in each header, or in one only");
    notes = r.ctx;
  }
  if (!r.has(Field::initial)) return;
  const std::uint8_t mode = r.initial_unknown ? initial_unknown
                            : r.initial_given ? initial_given
                                              : initial_empty;
  const auto disagree = [&] {
    fault("an initial state that differs from that of an earlier file or loading transaction",
          "one initial state for all files", "write the same \"initial\" in each header, or in one only");
  };
  if (!initial_stated_) {
    if (mode == initial_unknown && !loads.empty()) disagree();
    initial_stated_ = true;
    if (mode != initial_empty || loads.empty()) initial_mode = mode;
    if (mode == initial_given) {
      for (const auto& [k, v] : r.items) give(k, v, 0);
      stated_items_ = r.items.size();
    }
    stated_mode_ = mode;
    return;
  }
  if (mode != stated_mode_ || (mode == initial_given && r.items.size() != stated_items_)) disagree();
  if (mode != initial_given) return;
  std::vector<std::int32_t> seen;
  for (const auto& [k, v] : r.items) {
    const std::int32_t key = keys.find(k), value = values.find(v);
    if (key == none || static_cast<std::size_t>(key) >= initial_owner_.size() || initial_owner_[key] != 0 ||
        initial_value[initial_at_[key]] != value)
      disagree();
    seen.push_back(key);
  }
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end())
    fault("a key twice in the initial state", "each key once", "remove one of the two");
}

void History::begin_load(const Record& r, std::int32_t session, std::int32_t name, std::uint32_t line) {
  if (r.has(Field::error))
    fault("a loading transaction that failed to begin", "a begin that succeeded",
          "record only the attempt that worked");
  if (initial_mode == initial_unknown)
    fault("a loading transaction where the header says that the initial state is unknown", "one of the two",
          "remove \"initial\" from the header or from the begin");
  initial_mode = initial_given;
  const auto load = static_cast<std::int32_t>(loads.size());
  loads.push_back({session, name, file_, line, 0});
  if (session >= 0) {
    if (session_[session].txn >= 0) iterators_.erase(session_[session].txn);
    session_[session].txn = loading;
    session_[session].load = load;
  }
}

void History::load_step(const Record& r, std::int32_t load, std::uint32_t line) {
  if (r.has(Field::error) || (r.op != Op::put && r.op != Op::commit))
    fault((r.has(Field::error) ? "a failed " : "") + op_text(r.op) + " in a loading transaction",
          "puts and a commit that succeeded",
          "record the load as it finally worked, or describe the initial state in the header");
  if (r.op == Op::commit) {
    loads[load].end_line = line;
  } else {
    give(r.key, r.value, load + 1);
  }
}

void History::check_loads() const {
  for (const Load& load : loads) {
    if (load.end_line || load.goes_on) continue;
    throw Fault{"a loading transaction without a commit (" + txn_text(load.session, load.name) + ")",
                "its commit: the initial state must be certain",
                "record the commit, or write \"initial\": \"unknown\" in the header", files[load.file],
                load.begin_line};
  }
}

// --- the end ---

namespace {

// No two rows go to the same place. What the column was is left in `spare`: fresh memory comes page by page, which takes
// longer than moving the rows.
template <class T>
void permute(Column<T>& column, const Column<std::uint32_t>& to, Column<T>& spare, int jobs) {
  if (column.empty()) return;
  spare.resize(column.size());
  in_pieces(jobs, column.size(), [&](std::size_t from, std::size_t until) {
    for (std::size_t i = from; i < until; ++i) spare[to[i]] = column[i];
  });
  column.swap(spare);
}

}  // namespace

// Operations of one transaction become neighbours: a counting sort whose counts are already there.
// Afterwards op_txn_ holds each operation's new row.
void History::group(int jobs) {
  const std::size_t n = txn_ops.size();
  std::int64_t sum = 0;
  for (std::size_t t = 0; t < n; ++t) {
    const std::int64_t count = txn_ops[t];
    txn_ops[t] = sum;
    sum += count;
  }
  txn_ops.push(sum);
  if (!interleaved_) return;
  // By two threads from both ends: the rows of the second half take what is left of each transaction, last ones first.
  const std::size_t rows = op_txn_.size(), half = jobs > 1 ? rows / 2 : rows;
  Limits none;
  in_parallel(jobs, half < rows ? 2 : 1, none, [&](std::size_t part, int, Limits&) {
    Column<std::uint32_t> next;
    next.resize(n);
    for (std::size_t t = 0; t < n; ++t) next[t] = static_cast<std::uint32_t>(txn_ops[t + part]);
    if (part == 0)
      for (std::size_t i = 0; i < half; ++i) op_txn_[i] = next[op_txn_[i]]++;
    else
      for (std::size_t i = rows; i-- > half;) op_txn_[i] = --next[op_txn_[i]];
  });
}

// A column with its rows where group() wants them.
template <class T>
void History::settle(Column<T>& column, Column<T>& spare, int jobs) {
  if (interleaved_) permute(column, op_txn_, spare, jobs);
}

// The same of a column of times, in half the memory if that can be.
void History::settle(Column<std::int64_t>& times, CloseTimes& close, int jobs) {
  const auto parts = [&](std::size_t rows, const auto& work) { in_pieces(jobs, rows, work); };
  if (interleaved_) {
    close.after.exchange(spare_);
    close.take(times, no_time, [&](std::size_t i) -> std::size_t { return op_txn_[i]; }, parts);
    if (close.base.empty()) close.after.exchange(spare_);  // they do not fit
    Column<std::int64_t> spare;
    settle(times, spare, jobs);
  } else {
    close.take(times, no_time, [](std::size_t i) { return i; }, parts);
  }
}

bool History::finish_step(int jobs) {
  const std::size_t rows = op_kind.size();
  switch (step_++) {
    case 0:
      check_loads();
      if (lists_) check_lists();
      for (Interner* table : {&keys, &values, &names, &texts, &sessions, &clocks}) table->drop_index();
      txn_slots_.discard();
      txn_state_.discard();
      iterators_.clear();
      if (!op_range.empty()) op_range.pad(rows, none);
      if (!op_invoke.empty()) op_invoke.pad(rows, no_time);
      if (!op_return.empty()) op_return.pad(rows, no_time);
      if (!op_ctx.empty()) op_ctx.pad(rows, none);
      if (!op_error.empty()) op_error.pad(rows, none);
      if (!op_where.empty()) op_where.pad(rows, none);
      if (!txn_ctx.empty()) txn_ctx.pad(txn_name.size(), none);
      return true;
    case 1: key_rank = rank(keys); return true;
    case 2: group(jobs); return true;
    case 3: {
      Column<std::uint8_t> spare;
      settle(op_kind, spare, jobs);
      settle(op_flags, spare, jobs);
      return true;
    }
    case 4: settle(op_key, spare_, jobs); return true;
    case 5: settle(op_value, spare_, jobs); return true;
    case 6: settle(op_range, spare_, jobs); return true;
    case 7: settle(op_ctx, spare_, jobs); return true;
    case 8: settle(op_error, spare_, jobs); return true;
    case 9: settle(op_where, spare_, jobs); return true;
    case 10: {
      Column<std::uint32_t> spare;
      spare.exchange(spare_);
      settle(op_line, spare, jobs);
      spare.exchange(spare_);
      return true;
    }
    case 11: settle(op_invoke, close_invoke, jobs); return true;
    case 12: settle(op_return, close_return, jobs); return true;
    default:
      op_txn_.discard();
      spare_.discard();
      return false;
  }
}

}  // namespace boomslang::trace
