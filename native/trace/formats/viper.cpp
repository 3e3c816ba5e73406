// Viper's JSON logs: one file a session, one committed transaction a line.
//
//     {"value": [mop, ...], "preBeginTS": ns, "postCommitTS": ns, "isInitial": bool, "isFinal": bool}
//
// of which only "value" must be there. A mop is an array or, in Viper's second form, an object:
//
//     ["r", key, value, isDead]                     {"opType": "r", "key", "value", "isDead"}
//     ["w", key, value, succ]                       {"opType": "w", "key", "value", "succ"}
//     ["i", key, value, readValue, isDead, succ]    {"opType": "i", ... "readValue", "isDead", "succ"}
//     ["d", key, value, readValue, isDead, succ]    {"opType": "d", ... "readValue", "isDead", "succ"}
//     ["range", low, high, [live], [dead]]          {"opType": "range", "key1", "key2", "liveKVs", "deadKVs"}
//
// A row is {"id": key, "sk": ..., "val": value}, a range includes both of its bounds, "nil" is no bound.
// Viper marks deleted rows instead of removing them: a dead row is absent here, and so is one whose value is
// null. An insert is a read and then a write. A delete reads too: it is a get and then a delete that found
// something, or a delete of nothing. What did not succeed is a failed operation.
//
// IsoVista writes the same arrays with another meaning: the fourth field of "r" and "w" says whether the
// transaction committed. Python looks which of the two it is, and says "success" as an option (see viper.py).
#include "trace/formats/lines.hpp"

namespace boomslang::trace {
namespace {

constexpr const char* viper_form = "write each transaction as Viper's logger does; see docs/formats.md";

class Viper final : public LineFormat {
 public:
  explicit Viper(bool flags_are_success) : flags_are_success_(flags_are_success) {}

  void begin() override {
    LineFormat::begin();
    transaction_ = 0;
  }

 private:
  struct Mop {
    std::string_view op;
    Scalar key, value, read, low, high;
    bool has_key, has_value, has_read, has_low, has_high, has_live, has_dead, has_succ;
    bool dead, succ;
  };

  void line(Line at, Emit& emit) override {
    at.space();
    if (at.done()) return;
    const char* text = at.from;
    const auto size = static_cast<std::size_t>(at.end - at.from);
    if (!ends_with_newline(at.end)) {  // the last line of the file
      last_line_.assign(text, size);
      last_line_.append(1 + Json::slack, '\n');
      text = last_line_.data();
    }
    transaction(text, size, emit);
  }

  void finish(Emit&) override {}

  static bool ends_with_newline(const char* p) {
    while (*p == ' ' || *p == '\t' || *p == '\r') ++p;
    return *p == '\n';
  }

  // The fields may come in any order, so those beside "value" are read first.
  void transaction(const char* text, std::size_t size, Emit& emit) {
    const char* value = nullptr;
    std::int64_t begin = no_time, end = no_time;
    bool initial = false, final = false;
    json_.start(text, size);
    json_.expect('{', "'{' of a transaction");
    if (!json_.accept('}')) {
      do {
        const std::string_view name = field();
        if (name == "value") {
          if (value) fault("the field \"value\" twice", "it once", viper_form);
          json_.space();
          value = json_.p;
          json_.skip(1);
        } else if (name == "preBeginTS") {
          begin = time();
        } else if (name == "postCommitTS") {
          end = time();
        } else if (name == "isInitial") {
          initial = flag();
        } else if (name == "isFinal") {
          final = flag();
        } else {
          json_.skip(1);
        }
      } while (json_.accept(','));
      json_.expect('}', "',' or '}' after the field");
    }
    json_.expect_end();
    if (!value) fault("no field \"value\"", "the operations of the transaction", viper_form);

    json_.start(text, size);
    json_.p = value;
    ++transaction_;
    if (initial) {
      emit.begin_load(name_.of(transaction_), line_);
    } else {
      emit.begin(nullptr, name_.of(transaction_), line_, begin);
    }
    bool success = true;
    json_.expect('[', "'[' of the operations");
    if (!json_.accept(']')) {
      do {
        emit.items().clear();
        Mop mop = read_mop(emit);
        if (flags_are_success_) {
          success &= mop.op == "w" ? mop.succ : mop.dead;
          mop.succ = true;
          mop.dead = false;
        }
        initial ? load(mop, emit) : operation(mop, emit);
      } while (json_.accept(','));
      json_.expect(']', "',' or ']' after the operation");
    }
    if (success) {
      emit.commit(line_, initial ? no_time : end, final ? R"({"isFinal": true})" : "");
    } else {
      emit.abort(line_, end);
    }
  }

  std::string_view field() {
    if (json_.peek() != '"') json_.syntax("a field name in double quotes");
    const Scalar name = json_.string();
    json_.expect(':', "':' after the field name");
    return {name.data, name.size};
  }

  bool flag() {
    const char c = json_.peek();
    if (c != 't' && c != 'f') fault(json_.here(), "true or false", viper_form);
    return json_.boolean();
  }

  // -1 is the logger's way to say that it did not look at the clock.
  std::int64_t time() {
    json_.space();
    const std::string found = json_.here();
    const Scalar number = json_.scalar();
    std::int64_t time = 0;
    if (number.type == Type::integer) {
      const auto parsed = std::from_chars(number.data, number.data + number.size, time);
      if (parsed.ec == std::errc{}) return time == -1 ? no_time : time;
    }
    fault(found, "a time: a whole number of 64 bits", viper_form);
  }

  Scalar scalar(const char* what) {
    const char c = json_.peek();
    if (c == '[' || c == '{') fault(json_.here(), std::string(what) + ": a number or a string", viper_form);
    return json_.scalar();
  }

  // --- the two forms of a mop ---

  Mop read_mop(Emit& emit) {
    Mop mop{};
    const char c = json_.peek();
    if (c == '[') {
      read_array(mop, emit);
    } else if (c == '{') {
      read_object(mop, emit);
    } else {
      json_.syntax("'[' or '{' of an operation");
    }
    check(mop);
    return mop;
  }

  void next(const char* what) {
    if (!json_.accept(',')) json_.syntax(what);
  }

  void read_array(Mop& mop, Emit& emit) {
    json_.expect('[', "'['");
    if (json_.peek() != '"') json_.syntax("the operation's name in double quotes");
    const Scalar op = json_.string();
    mop.op = {op.data, op.size};
    if (mop.op == "range") {
      next("',' and the lower bound");
      mop.low = scalar("the lower bound"), mop.has_low = true;
      next("',' and the upper bound");
      mop.high = scalar("the upper bound"), mop.has_high = true;
      next("',' and the rows");
      rows(emit.items()), mop.has_live = true;
      next("',' and the dead rows");
      dead_rows_.clear();
      rows(dead_rows_), mop.has_dead = true;
    } else {
      next("',' and the key");
      mop.key = scalar("the key"), mop.has_key = true;
      next("',' and the value");
      mop.value = scalar("the value"), mop.has_value = true;
      if (mop.op == "r") {
        next("',' and isDead");
        mop.dead = flag();
      } else if (mop.op == "w") {
        next("',' and succ");
        mop.succ = flag(), mop.has_succ = true;
      } else if (mop.op == "i" || mop.op == "d") {
        next("',' and readValue");
        mop.read = scalar("readValue"), mop.has_read = true;
        next("',' and isDead");
        mop.dead = flag();
        next("',' and succ");
        mop.succ = flag(), mop.has_succ = true;
      }
    }
    while (json_.accept(',')) json_.skip(2);  // later versions add fields at the end
    json_.expect(']', "',' or ']' after the field");
  }

  void read_object(Mop& mop, Emit& emit) {
    json_.expect('{', "'{'");
    bool typed = false;
    do {
      const std::string_view name = field();
      if (name == "opType") {
        if (json_.peek() != '"') json_.syntax("the operation's name in double quotes");
        const Scalar op = json_.string();
        mop.op = {op.data, op.size}, typed = true;
      } else if (name == "key") {
        mop.key = scalar("the key"), mop.has_key = true;
      } else if (name == "value") {
        mop.value = scalar("the value"), mop.has_value = true;
      } else if (name == "readValue") {
        mop.read = scalar("readValue"), mop.has_read = true;
      } else if (name == "isDead") {
        mop.dead = flag();
      } else if (name == "succ") {
        mop.succ = flag(), mop.has_succ = true;
      } else if (name == "key1") {
        mop.low = scalar("the lower bound"), mop.has_low = true;
      } else if (name == "key2") {
        mop.high = scalar("the upper bound"), mop.has_high = true;
      } else if (name == "liveKVs") {
        rows(emit.items()), mop.has_live = true;
      } else if (name == "deadKVs") {
        dead_rows_.clear();
        rows(dead_rows_), mop.has_dead = true;
      } else {
        json_.skip(2);
      }
    } while (json_.accept(','));
    json_.expect('}', "',' or '}' after the field");
    if (!typed) fault("an operation without opType", "opType: r, w, i, d or range", viper_form);
  }

  void rows(Items& into) {
    json_.expect('[', "'[' of the rows");
    if (json_.accept(']')) return;
    do {
      Scalar key, value;
      bool has_key = false, has_value = false;
      json_.expect('{', "'{' of a row");
      do {
        const std::string_view name = field();
        if (name == "id") {
          key = scalar("the key"), has_key = true;
        } else if (name == "val") {
          value = scalar("the value"), has_value = true;
        } else {
          json_.skip(4);
        }
      } while (json_.accept(','));
      json_.expect('}', "',' or '}' after the field");
      if (!has_key || !has_value) fault("a row without id or val", "both", viper_form);
      into.emplace_back(key, value);
    } while (json_.accept(','));
    json_.expect(']', "',' or ']' after the row");
  }

  void check(Mop& mop) const {
    const auto need = [&](bool has, const char* what) {
      if (!has)
        fault("an operation \"" + std::string(mop.op) + "\" without " + what,
              std::string("the field ") + what, viper_form);
    };
    if (mop.op == "range") {
      need(mop.has_low, "key1");
      need(mop.has_high, "key2");
      need(mop.has_live, "liveKVs");
    } else if (mop.op == "r" || mop.op == "w" || mop.op == "i" || mop.op == "d") {
      need(mop.has_key, "key");
      if (mop.op != "d") need(mop.has_value, "value");
      if (mop.op == "i") need(mop.has_read, "readValue");
      if (mop.op == "d" && !mop.has_read) need(mop.has_succ, "readValue or succ");
    } else {
      fault("the operation " + show(Emit::text(mop.op)), "r, w, i, d or range", viper_form);
    }
    if (!mop.has_succ) mop.succ = true;
  }

  // --- what they mean ---

  static bool is_zero(const Scalar& s) { return s.type == Type::integer && s.size == 1 && *s.data == '0'; }

  void operation(const Mop& mop, Emit& emit) {
    if (mop.op == "r") {
      read(mop.key, mop.value, mop.dead, emit);
    } else if (mop.op == "w") {
      write(mop, emit);
    } else if (mop.op == "i") {
      read(mop.key, mop.read, mop.dead || is_zero(mop.read), emit);
      write(mop, emit);
    } else if (mop.op == "d") {
      remove(mop, emit);
    } else {
      scan(mop, emit);
    }
  }

  void read(const Scalar& key, const Scalar& value, bool dead, Emit& emit) {
    dead || value.type == Type::null ? emit.get_absent(key, line_) : emit.get(key, value, line_);
  }

  void write(const Mop& mop, Emit& emit) {
    mop.succ ? emit.put(mop.key, mop.value, line_)
             : emit.failed(Op::put, &mop.key, "did not succeed", line_);
  }

  void remove(const Mop& mop, Emit& emit) {
    if (!mop.has_read) return emit.del(mop.key, mop.succ, line_);
    const bool found = !mop.dead && !is_zero(mop.read) && mop.read.type != Type::null;
    if (!found) return emit.del(mop.key, false, line_);
    emit.get(mop.key, mop.read, line_);
    mop.succ ? emit.del(mop.key, true, line_) : emit.failed(Op::del, &mop.key, "did not succeed", line_);
  }

  // Viper's ranges include their upper bound, ours do not: the end is the next key after it.
  void scan(const Mop& mop, Emit& emit) {
    Scalar low = mop.low, high = mop.high;
    const bool bounded_below = is_bound(low), bounded_above = is_bound(high);
    if (bounded_above) {
      if (high.type == Type::integer) {
        std::int64_t number = 0;
        const auto parsed = std::from_chars(high.data, high.data + high.size, number);
        if (parsed.ec != std::errc{} || number == std::numeric_limits<std::int64_t>::max())
          fault("the bound " + show(high), "a whole number of 64 bits", viper_form);
        high = bound_.of(number + 1);
      } else if (high.type == Type::text) {
        text_bound_.assign(high.data, high.size);
        text_bound_.push_back('\0');
        high = Emit::text(text_bound_);
      } else {
        fault("the bound " + show(high), "a whole number or a string", viper_form);
      }
    }
    emit.scan(bounded_below ? &low : nullptr, bounded_above ? &high : nullptr, line_);
  }

  // The first form writes "nil", the second the smallest or largest 64-bit number.
  static bool is_bound(const Scalar& s) {
    const std::string_view text(s.data, s.size);
    if (s.type == Type::integer) return text != "-9223372036854775808" && text != "9223372036854775807";
    return s.type != Type::null && !(s.type == Type::text && text == "nil");
  }

  // The initial state: writes, or one range over everything.
  void load(const Mop& mop, Emit& emit) {
    if (mop.op == "w" || mop.op == "i") {
      if (mop.succ) emit.put(mop.key, mop.value, line_);
    } else if (mop.op == "range") {
      rows_.swap(emit.items());
      for (const auto& [key, value] : rows_) emit.put(key, value, line_);
      rows_.clear();
    } else {
      fault("the operation \"" + std::string(mop.op) + "\" in the initial transaction", "writes, or a range",
            viper_form);
    }
  }

  const bool flags_are_success_;
  Json json_;
  std::string last_line_, text_bound_;
  std::uint64_t transaction_ = 0;
  Digits name_, bound_;
  Items dead_rows_, rows_;
};

}  // namespace

std::unique_ptr<Format> make_viper(std::string_view option) {
  return std::make_unique<Viper>(option == "success");
}

}  // namespace boomslang::trace
