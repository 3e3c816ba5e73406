// Jepsen's and Elle's histories, in EDN or JSON: transactions on registers and on lists, and sets.
//
// A history is a sequence of operations, as maps: a process invokes a transaction, and later the same process's
// next operation says how it ended: ok (committed), fail (aborted) or info (unknown). So an invocation waits,
// with the place of its value in the document, until its completion comes, and the transaction is made then.
// An operation's place in the history is its index: the recorder saw one after the other, so indices are the
// times.
//
// What an operation is called (:f) matters little: a value that is a list of [:f key value] is a transaction, also as
// the :read or :write of the workload long-fork. In set and comments an element is added (or written) by itself, and a
// read returns all that are there: each element is a key, an add its put, and a read a scan of all keys. A bank's
// transfer does not say which balances it wrote, so nothing can be said about what others read: it is refused.
#include <algorithm>
#include <charconv>

#include "trace/formats/document.hpp"
#include "trace/formats/format.hpp"
#include "trace/formats/mops.hpp"

namespace boomslang::trace {
namespace {

enum class Completion : std::uint8_t { invoke, ok, fail, info };
enum class Function : std::uint8_t { unsaid, txn, init, read, write, add, transfer, other };

class Jepsen : public Format {
 public:
  explicit Jepsen(Dialect dialect) : doc_(dialect), later_(dialect), json_(dialect == Dialect::json) {}

  void start(std::string_view data, Emit& emit) override {
    data_ = data;
    doc_.start(data);
    emit.clock("jepsen index");
    if (doc_.next() == Token::array) {
      wrapped_ = true;
      doc_.next();
    }
  }

  bool step(Emit& emit) override {
    const char* const until = doc_.at() + stride;
    while (doc_.at() < until) {
      if (doc_.token() == (wrapped_ ? Token::close : Token::end)) {
        if (wrapped_ && doc_.next() != Token::end)
          doc_.fail(doc_.found() + " after the end of the history", "nothing more",
                    "write all operations in one " + std::string(json_ ? "array" : "vector"));
        finish(emit);
        return false;
      }
      operation(emit);
      doc_.forget();
      doc_.next();
    }
    return true;
  }

 private:
  struct Operation {
    std::uint32_t line;
    bool typed, has_index, has_time, has_process, nemesis, has_value, parsed;
    Completion type;
    Function function;
    Scalar process;
    std::int64_t index, time;
    Document::Mark value;
  };
  struct Invocation {
    bool open = false, has_time = false, has_value = false;
    Function function = Function::unsaid;
    std::uint32_t line = 0;
    std::int64_t index = 0, time = 0;
    Document::Mark value;
  };

  std::string field(std::string_view name) const {
    std::string text(json_ ? "\"" : ":");
    text += name;
    if (json_) text += '"';
    return text;
  }

  [[noreturn]] void fail_at(std::uint32_t line, std::string found, std::string expected, std::string fix) const {
    throw Fault{std::move(found), std::move(expected), std::move(fix), {}, line};
  }

  // --- one operation's fields, in any order ---

  void operation(Emit& emit) {
    if (doc_.token() != Token::object)
      doc_.fail(doc_.found() + " in place of an operation",
                json_ ? "an object with the fields \"type\", \"process\" and \"value\""
                      : "a map with the keys :type, :process and :value",
                "write one operation after the other, or all in one " + std::string(json_ ? "array" : "vector"));
    Operation op{};
    op.line = doc_.line();
    mops_.clear();
    unsigned seen = 0;
    while (doc_.next() != Token::close) {
      const std::string_view name = doc_.name();
      const auto once = [&](unsigned bit) {
        if (seen & bit)
          doc_.fail("the field " + field(name) + " twice in one operation", "each field once",
                    "remove one of the two");
        seen |= bit;
        doc_.next();
      };
      if (name == "type") {
        once(1);
        read_type(op);
      } else if (name == "f") {
        once(2);
        op.function = function();
      } else if (name == "process") {
        once(4);
        read_process(op);
      } else if (name == "index") {
        once(8);
        op.has_index = number("index", op.index);
      } else if (name == "time") {
        once(16);
        op.has_time = number("time", op.time);
      } else if (name == "value") {
        once(32);
        op.has_value = doc_.token() != Token::null;
        op.value = doc_.mark();
        // What is certain to be a transaction's result is read at once; for all else it is too early.
        op.parsed = op.typed && op.type != Completion::invoke && op.function == Function::txn && op.has_value;
        if (op.parsed) {
          read_mops(doc_);
        } else {
          doc_.skip();
        }
      } else {
        doc_.skip();  // the key, which may be of any shape
        doc_.skip_next();
      }
    }
    accept(op, emit);
  }

  void read_type(Operation& op) {
    const std::string_view type = doc_.name();
    op.typed = true;
    if (type == "ok") {
      op.type = Completion::ok;
    } else if (type == "invoke") {
      op.type = Completion::invoke;
    } else if (type == "fail") {
      op.type = Completion::fail;
    } else if (type == "info") {
      op.type = Completion::info;
    } else {
      doc_.fail(doc_.found() + " as " + field("type"), "invoke, ok, fail or info",
                "write how the operation began or ended");
    }
  }

  Function function() {
    const std::string_view name = doc_.name();
    doc_.skip();
    if (name == "txn") return Function::txn;
    if (name == "init") return Function::init;
    if (name == "read") return Function::read;
    if (name == "write") return Function::write;
    if (name == "add") return Function::add;
    if (name == "transfer") return Function::transfer;
    return Function::other;
  }

  void read_process(Operation& op) {
    if (doc_.token() == Token::null) return;
    if (doc_.token() != Token::integer && doc_.token() != Token::text && doc_.token() != Token::keyword)
      doc_.fail(doc_.found() + " as " + field("process"), "a number or a name", "number the processes");
    op.has_process = true;
    op.nemesis = doc_.name() == "nemesis";
    op.process = doc_.scalar();
    op.process.type = Type::text;
  }

  bool number(const char* name, std::int64_t& number) {
    if (doc_.token() == Token::null) return false;
    const Scalar& s = doc_.scalar();
    if (doc_.token() == Token::integer) {
      const auto [end, error] = std::from_chars(s.data, s.data + s.size, number);
      if (error == std::errc{} && end == s.data + s.size && number != no_time) return true;
    }
    doc_.fail(doc_.found() + " as " + field(name), "an integer of 64 bits",
              std::string("leave ") + field(name) + " out if it is not known");
  }

  // --- the value: a list of [:f key value], an element, or a set of them ---

  void read_value(Document& doc, Function function) {
    if (function != Function::read && function != Function::write && function != Function::add) return read_mops(doc);
    if (doc.token() == Token::array || doc.token() == Token::set) {
      const bool set = doc.token() == Token::set;
      const std::uint32_t line = doc.line();
      if (doc.next() == Token::array && !set && function != Function::add) {  // long-fork
        workload(line, Function::txn);
        do read_mop(doc);
        while (doc.next() != Token::close);
        return;
      }
      workload(line, function);
      if (function != Function::read)
        doc.fail("several values as what was added", "one element",
                 "a history of many keys (jepsen.independent) is read key by key: split it first");
      mops_.add_set(line);
      for (; doc.token() != Token::close; doc.next()) {
        if (doc.token() == Token::array || doc.token() == Token::set)
          doc.fail("a list among the elements that were read", "elements",
                   "a history of many keys (jepsen.independent) is read key by key: split it first");
        mops_.add_element(plain(doc, "an element of a set", false));
      }
      return;
    }
    if (function == Function::read) {
      if (doc.token() == Token::object) refuse_bank(doc.line(), "a map as what was read");
      doc.fail(doc.found() + " as what was read", json_ ? "an array of elements" : "a set or vector of elements",
               "a read of one register or counter does not say its key: record transactions, as rw-register does");
    }
    workload(doc.line(), function);
    const Scalar element = plain(doc, "an element", false);
    mops_.add(Mop::put, element, element, doc.line());
  }

  // Transactions, or one way to fill a set: the keys of two workloads would be mixed up.
  void workload(std::uint32_t line, Function function) {
    if (function == Function::read) {
      read_sets_ = true;
    } else {
      (function == Function::txn ? txns_ : function == Function::add ? adds_ : writes_) = true;
    }
    if (txns_ + adds_ + writes_ > 1 || (txns_ && read_sets_))
      fail_at(line, "operations of two workloads", "transactions, or elements and sets of them, in one history",
              "give each workload's history by itself");
  }

  [[noreturn]] void refuse_bank(std::uint32_t line, const std::string& found) const {
    fail_at(line, found + ", as in the workload bank", "operations that say what was written",
            "a transfer says what was moved and not which balances it wrote, so nobody can tell whose write a read "
            "saw: record the transactions' reads and writes, as rw-register does");
  }

  // --- a transaction's operations ---

  void read_mops(Document& doc) {
    workload(doc.line(), Function::txn);
    if (doc.token() != Token::array)
      doc.fail(doc.found() + " as a transaction's " + field("value"),
               json_ ? "an array of operations such as [\"append\", 1, 2]"
                     : "a vector of operations such as [:append 1 2]",
               "only transactions of registers and lists can be checked: rw-register and list-append");
    while (doc.next() != Token::close) read_mop(doc);
  }

  void read_mop(Document& doc) {
    const std::uint32_t line = doc.line();
    const auto shape = [&](const char* expected) {
      doc.fail(doc.found() + " in an operation of a transaction", expected,
               json_ ? "write [\"r\", key, value], [\"w\", key, value] or [\"append\", key, element]"
                     : "write [:r key value], [:w key value] or [:append key element]");
    };
    if (doc.token() != Token::array) shape("each operation in brackets of its own");
    doc.next();
    const std::string_view name = doc.name();
    const Mop kind = name == "r" ? Mop::get : name == "w" ? Mop::put : Mop::append;
    if (kind == Mop::append && name != "append") unknown(doc);
    if (doc.next() == Token::close) shape("a key");
    const Scalar key = plain(doc, "a key", true);
    if (doc.next() == Token::close) shape("a value after the key");
    if (kind == Mop::put) {
      if (doc.token() == Token::null)
        doc.fail("a write of " + doc.found(), "some value: a read of it could not be told from one of nothing",
                 "let the workload write numbers");
      mops_.add(kind, key, plain(doc, "a value", false), line);
    } else if (kind == Mop::append) {
      mops_.add(kind, key, plain(doc, "an element", false), line);
    } else if (doc.token() == Token::null) {
      mops_.add(Mop::absent, key, {}, line);
    } else if (doc.token() == Token::array) {
      mops_.add_list(key, line);
      while (doc.next() != Token::close) mops_.add_element(plain(doc, "an element of a list", false));
    } else if (doc.token() == Token::set) {
      doc.fail("a set as what was read", "a list, in the order of its elements",
               "read lists: what order a set's elements were added in cannot be told");
    } else {
      mops_.add(kind, key, plain(doc, "a value", false), line);
    }
    if (doc.next() != Token::close) shape("a closing bracket after the value");
  }

  [[noreturn]] void unknown(Document& doc) const {
    const std::string_view name = doc.name();
    if (name == "rp" || name == "insert" || name == "delete") closed_predicate(doc.line(), doc.found());
    doc.fail(doc.token() == Token::close ? "an empty operation" : "the operation " + doc.found(),
             json_ ? "\"r\", \"w\" or \"append\"" : ":r, :w or :append",
             "only transactions of registers and lists can be checked: rw-register and list-append");
  }

  [[noreturn]] void closed_predicate(std::uint32_t line, const std::string& found) const {
    fail_at(line, found + ", an operation of Elle's closed-predicate workload",
            json_ ? "\"r\", \"w\" or \"append\"" : ":r, :w or :append",
            "histories with predicates are not read from this format: record scans in boomslang's own");
  }

  // Keywords and composites become texts; where a string in the file already is such a text, the two could not
  // be told apart any more.
  Scalar plain(Document& doc, const char* what, bool composite) {
    const Token token = doc.token();
    const Scalar value = doc.value(what, composite);
    if (value.type != Type::text || !value.size) return value;
    const char mark = value.data[0];
    if (mark != ':' && mark != '[') return value;
    const unsigned bit = (token == Token::text ? 1u : 2u) << (mark == ':' ? 0 : 2);
    if (bit == 1 && !Document::spells_keyword({value.data, value.size})) return value;
    alike_ |= bit;
    if ((alike_ & 3) == 3 || (alike_ & 12) == 12)
      doc.fail(show(value) + " as " + what + ", both as a string and as a " + (mark == ':' ? "keyword" : "vector"),
               "one of the two", "use numbers or strings as keys and values");
    return value;
  }

  // --- whose operation it is ---

  void accept(const Operation& op, Emit& emit) {
    ++position_;
    if (op.nemesis || op.function == Function::other) {
      ++skipped_;
      if (!op.nemesis && !foreign_) foreign_ = op.line;
      return;
    }
    if (op.function == Function::transfer) refuse_bank(op.line, field("f") + (json_ ? " \"transfer\"" : " :transfer"));
    if (op.function == Function::init) closed_predicate(op.line, field("f") + (json_ ? " \"init\"" : " :init"));
    if (!op.typed)
      fail_at(op.line, "an operation without " + field("type"), "invoke, ok, fail or info",
              "write how the operation began or ended");
    const std::int64_t index = index_of(op);
    const std::int32_t process = processes_.intern(op.has_process ? op.process : Scalar{Type::null, 0, ""});
    if (static_cast<std::size_t>(process) >= waiting_.size()) waiting_.resize(process + 1);
    Invocation& invoked = waiting_[process];
    if (op.type == Completion::invoke) {
      if (invoked.open)
        fail_at(op.line,
                "a second invocation by " + who(process) + ", whose first, at line " +
                    std::to_string(invoked.line) + ", has not completed",
                "its ok, fail or info first",
                "write an info for what never completed, and give concurrent clients processes of their own");
      invoked = {true, op.has_time, op.has_value, op.function, op.line, index, op.time, op.value};
      return;
    }
    if (op.type == Completion::ok && !op.has_value)
      fail_at(op.line, "an ok without " + field("value"), "what the transaction did and read",
              "write the completed operations");
    const bool from_invocation = !op.has_value && invoked.open && invoked.has_value;
    if (from_invocation) {
      parse_later(invoked.value, invoked.function);
    } else if (op.has_value && !op.parsed) {
      parse_later(op.value, op.function);
    }
    begin(emit, process, invoked, &op, index);
    if (from_invocation) {
      mops_.emit_writes(emit);
    } else {
      mops_.emit(emit, op.type == Completion::ok);
    }
    if (op.type == Completion::ok) emit.commit(op.line, index);
    if (op.type == Completion::fail) emit.abort(op.line, index);
    invoked = {};
  }

  std::string who(std::int32_t process) const {
    const Scalar name = processes_[process];
    if (name.type == Type::null) return "operations without a process";
    return "process " + std::string(name.data, name.size);
  }

  std::int64_t index_of(const Operation& op) {
    if (!began_) indexed_ = op.has_index;
    if (op.has_index != indexed_)
      fail_at(op.line, "an operation " + std::string(op.has_index ? "with " : "without ") + field("index"),
              "it in all operations or in none", "number all operations, or remove the numbers");
    const std::int64_t index = op.has_index ? op.index : position_ - 1;
    if (began_ && index <= last_index_)
      fail_at(op.line, field("index") + " " + std::to_string(index) + " after " + std::to_string(last_index_),
              "indices that grow", "write the operations in the order of their indices");
    began_ = true;
    return last_index_ = index;
  }

  void parse_later(const Document::Mark& mark, Function function) {
    mops_.clear();
    later_.start(data_, mark);
    later_.next();
    read_value(later_, function);
  }

  void begin(Emit& emit, std::int32_t process, const Invocation& invoked, const Operation* completion,
             std::int64_t index) {
    std::string ctx;
    if (invoked.has_time || (completion && completion->has_time)) {
      ctx = "{\"time\": [" + (invoked.has_time ? std::to_string(invoked.time) : "null");
      if (completion && completion->has_time) ctx += ", " + std::to_string(completion->time);
      ctx += "]}";
    }
    const Scalar session = processes_[process];
    if (invoked.open) {
      emit.begin(&session, name_.of(invoked.index), invoked.line, invoked.index, ctx);
    } else {
      emit.begin(&session, name_.of(index), completion->line, no_time, ctx);
    }
    ++transactions_;
  }

  // What never completed is unknown.
  void finish(Emit& emit) {
    std::vector<std::int32_t> open;
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      if (waiting_[i].open) open.push_back(static_cast<std::int32_t>(i));
    std::sort(open.begin(), open.end(),
              [&](std::int32_t a, std::int32_t b) { return waiting_[a].index < waiting_[b].index; });
    for (const std::int32_t process : open) {
      const Invocation& invoked = waiting_[process];
      mops_.clear();
      if (invoked.has_value) parse_later(invoked.value, invoked.function);
      begin(emit, process, invoked, nullptr, 0);
      mops_.emit_writes(emit);
    }
    if (foreign_ && (adds_ || writes_ || read_sets_))
      fail_at(foreign_, "an operation that neither adds nor reads, in a history of sets",
              json_ ? "\"add\" (or \"write\") and \"read\" as \"f\"" : ":add (or :write) and :read as :f",
              "what it wrote would be missing: give histories of growing sets only");
    if (!transactions_ && skipped_)
      fail_at(1, std::to_string(skipped_) + " operations, none of them a transaction",
              json_ ? "operations whose \"f\" is \"txn\"" : "operations whose :f is :txn",
              "only transactions of registers and lists can be checked: rw-register and list-append");
  }

  Document doc_, later_;
  bool json_;
  std::string_view data_;
  bool wrapped_ = false, began_ = false, indexed_ = false;
  std::int64_t position_ = 0, last_index_ = 0;
  std::uint64_t transactions_ = 0, skipped_ = 0;
  std::uint32_t foreign_ = 0;  // the line of a client's operation that was skipped
  bool txns_ = false, adds_ = false, writes_ = false, read_sets_ = false;
  unsigned alike_ = 0;
  Mops mops_;
  Interner processes_;
  std::vector<Invocation> waiting_;  // by process
  Digits name_;
};

}  // namespace

std::unique_ptr<Format> make_jepsen_edn() { return std::make_unique<Jepsen>(Dialect::edn); }
std::unique_ptr<Format> make_jepsen_json() { return std::make_unique<Jepsen>(Dialect::json); }

}  // namespace boomslang::trace
