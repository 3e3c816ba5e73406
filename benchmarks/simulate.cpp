// A small multi-version database, run by many sessions at once, that writes down what they saw.
//
// A benchmark needs histories whose verdict is known beforehand and whose size has no limit. Here
// the sessions take turns in simulated time: every operation is invoked, takes effect a little
// later and returns a little after that, so the transactions of different sessions truly overlap.
// What the database does with the overlap is its isolation level, and each of the four is a few
// lines (see `Database::certify`):
//
//   ser   reads see the newest committed state; a commit is refused if anything that was read, the
//         gaps of a range included, has changed since (optimistic concurrency control with backward
//         validation: Kung & Robinson, ACM TODS 1981). Commit order is a serial order.
//   rr    the same, but the gaps are not looked at: phantoms (Adya's PL-2.99).
//   si    reads see the state at begin; of two overlapping writers of a key the first to commit
//         wins (Berenson et al., SIGMOD 1995). Write skew happens.
//   rc    reads see the newest committed state, and no commit is refused. Updates get lost.
//
// A refused transaction is recorded as aborted and tried again after a random pause that doubles
// with each refusal, as a client would; without the pause a contended run would never end.
//
// All parameters come as name=value, and all of them must be given: simulate.py, which calls this
// program, holds the defaults and the documentation. Statistics go to the standard output.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using Time = std::int64_t;
using Stamp = std::int64_t;  // the number of a commit; the state after it
using Value = std::int64_t;
constexpr Value kAbsent = std::numeric_limits<Value>::min();
constexpr Value kFresh = kAbsent + 1;  // a program's "some value never written before"

// ---------------------------------------------------------------- parameters

enum class Level { ser, rr, si, rc };

struct Options {
  Level level;
  std::int64_t transactions, operations, sessions, keys, values, span, take, seed;
  double theta, writes, deletes, scans, iterators, rmw, unknown, plant_at;
  bool times, folder;
  std::string plant, out, witness;
};

Options parse(int count, char** words) {
  std::map<std::string, std::string> given;
  for (int i = 1; i < count; ++i) {
    std::string word = words[i];
    auto equals = word.find('=');
    if (equals == std::string::npos) throw std::runtime_error("expected name=value, found " + word);
    given[word.substr(0, equals)] = word.substr(equals + 1);
  }
  auto text = [&](const char* name) {
    auto found = given.find(name);
    if (found == given.end()) throw std::runtime_error(std::string("missing parameter ") + name);
    return found->second;
  };
  auto integer = [&](const char* name) { return std::int64_t{std::stoll(text(name))}; };
  auto real = [&](const char* name) { return std::stod(text(name)); };
  const std::map<std::string, Level> levels = {
      {"ser", Level::ser}, {"rr", Level::rr}, {"si", Level::si}, {"rc", Level::rc}};
  return Options{levels.at(text("level")), integer("transactions"), integer("operations"),
                 integer("sessions"),      integer("keys"),         integer("values"),
                 integer("span"),          integer("take"),         integer("seed"),
                 real("theta"),            real("writes"),          real("deletes"),
                 real("scans"),            real("iterators"),       real("rmw"),
                 real("unknown"),          real("plant_at"),        integer("times") != 0,
                 integer("folder") != 0,   text("plant"),           text("out"),
                 text("witness")};
}

// ---------------------------------------------------------------- chance

// SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): the same numbers on every machine, which the
// distributions of the standard library do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  // 1..most; the bias of the plain remainder is below 2^-40 for every range used here.
  std::int64_t upto(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(most));
  }

 private:
  std::uint64_t state_;
};

// Keys 0..n-1, uniform (theta = 0) or Zipf: key k has weight 1 / (k+1)^theta.
class KeyChoice {
 public:
  KeyChoice(std::int64_t keys, double theta) : keys_(keys) {
    if (theta == 0) return;
    double sum = 0;
    for (std::int64_t k = 1; k <= keys; ++k) {
      cumulative_.push_back(sum += 1 / std::pow(static_cast<double>(k), theta));
    }
  }
  std::int64_t draw(Random& random) const {
    if (cumulative_.empty()) return random.upto(keys_) - 1;
    double point = random.unit() * cumulative_.back();
    auto above = std::upper_bound(cumulative_.begin(), cumulative_.end(), point);
    return std::min<std::int64_t>(above - cumulative_.begin(), keys_ - 1);
  }

 private:
  std::int64_t keys_;
  std::vector<double> cumulative_;
};

// ---------------------------------------------------------------- what clients do

enum class Op { begin, get, put, del, scan, iterator, next, commit, abort, told_get, told_put };

// `told_` steps belong to a planted violation: they are written down as they stand and never reach
// the database. `to` is the end of a range; `number` the iterator's, unique in its transaction.
struct Step {
  Op op;
  std::int64_t key = 0, to = 0;
  Value value = kFresh;
  int number = 0;
};
using Program = std::vector<Step>;

Program make_program(const Options& o, const KeyChoice& keys, Random& random) {
  Program program{{Op::begin}};
  auto value = [&] { return o.values == 0 ? kFresh : random.upto(o.values); };
  int iterators = 0;
  for (std::int64_t i = 0; i < o.operations; ++i) {
    std::int64_t key = keys.draw(random);
    double kind = random.unit();
    auto is = [&kind](double share) { return (kind -= share) < 0; };
    if (is(o.writes)) {
      program.push_back({Op::put, key, 0, value()});
    } else if (is(o.deletes)) {
      program.push_back({Op::del, key});
    } else if (is(o.rmw)) {
      program.push_back({Op::get, key});
      program.push_back({Op::put, key, 0, value()});
    } else if (is(o.scans)) {
      program.push_back({Op::scan, key, std::min(key + random.upto(o.span), o.keys)});
    } else if (is(o.iterators)) {
      std::int64_t to = std::min(key + random.upto(o.span), o.keys);
      program.push_back({Op::iterator, key, to, kFresh, ++iterators});
      for (std::int64_t left = random.upto(o.take); left > 0; --left) {
        program.push_back({Op::next, 0, 0, kFresh, iterators});
      }
    } else {
      program.push_back({Op::get, key});
    }
  }
  program.push_back({Op::commit});
  return program;
}

// ---------------------------------------------------------------- planted violations

// A violation is a script of a few roles. Ordinary transactions play them: a role's steps are put
// in front of a transaction's own, on keys that nothing else uses and with values that nothing
// else writes (so that duplicate values cannot explain the violation away). The roles of a stage
// start when those of the stage before have committed. Several roles of one stage overlap: each
// waits with its commit until all have begun, and writes nothing but its script, so that a
// snapshot-isolated database has no reason to refuse it (then write skew is all that is wrong).
// An `aborts` role ends in an abort.
struct Role {
  int stage;
  Program steps;
  bool aborts = false;
};
struct Script {
  std::vector<Role> roles;
  bool one_session = false;
};

Script script_of(const std::string& name, std::int64_t x) {
  const std::int64_t y = x + 1;
  auto put = [](std::int64_t key, Value value) { return Step{Op::told_put, key, 0, value}; };
  auto get = [](std::int64_t key, Value value) { return Step{Op::told_get, key, 0, value}; };
  const Role both_zero{0, {put(x, -1), put(y, -1)}};
  if (name == "none") return {};
  if (name == "lost-update") {
    return {{both_zero, {1, {get(x, -1), put(x, -2)}}, {1, {get(x, -1), put(x, -3)}}}};
  }
  if (name == "write-skew") {
    return {{both_zero,
             {1, {get(x, -1), get(y, -1), put(x, -2)}},
             {1, {get(x, -1), get(y, -1), put(y, -2)}}}};
  }
  if (name == "read-skew") {
    return {{both_zero, {1, {put(x, -2), put(y, -2)}}, {2, {get(x, -1), get(y, -2)}}}};
  }
  if (name == "long-fork") {
    return {{both_zero,
             {1, {get(x, -1), put(x, -2)}},
             {1, {get(y, -1), put(y, -2)}},
             {2, {get(x, -2), get(y, -1)}},
             {2, {get(x, -1), get(y, -2)}}}};
  }
  if (name == "stale-read") {
    return {{both_zero, {1, {get(x, -1), put(x, -2)}}, {2, {get(x, -1)}}}, true};
  }
  if (name == "aborted-read") {
    return {{both_zero, {1, {put(x, -2)}, true}, {2, {get(x, -2)}}}};
  }
  if (name == "intermediate-read") {
    return {{both_zero, {1, {put(x, -2), put(x, -3)}}, {2, {get(x, -2)}}}};
  }
  if (name == "thin-air") return {{both_zero, {1, {get(x, -2)}}}};
  throw std::runtime_error("no such violation to plant: " + name);
}

// Hands the script's roles to transactions that are about to begin.
class Director {
 public:
  explicit Director(const Options& o)
      : script_(script_of(o.plant, o.keys)),
        due_(static_cast<std::int64_t>(o.plant_at * static_cast<double>(o.transactions))),
        begun_(script_.roles.size()),
        played_(script_.roles.size()) {}

  // The role this session's next transaction shall play, or -1.
  int cast(std::int64_t committed, std::size_t session) {
    if (committed < due_ || given_ == script_.roles.size()) return -1;
    const Role& role = script_.roles[given_];
    if (role.stage > 0 && !stage_over(role.stage - 1)) return -1;
    if (script_.one_session && given_ > 0 && session != session_) return -1;
    session_ = session;
    return static_cast<int>(given_++);
  }
  const Role& role(int number) const { return script_.roles[static_cast<std::size_t>(number)]; }
  void begun(int number) { begun_[static_cast<std::size_t>(number)] = true; }
  void played(int number) { played_[static_cast<std::size_t>(number)] = true; }
  bool alone(int number) const {
    auto same = [&](const Role& other) { return other.stage == role(number).stage; };
    return std::count_if(script_.roles.begin(), script_.roles.end(), same) == 1;
  }
  bool may_commit(int number) const {
    for (std::size_t i = 0; i < script_.roles.size(); ++i) {
      if (script_.roles[i].stage == role(number).stage && !begun_[i]) return false;
    }
    return true;
  }
  bool finished() const { return std::find(played_.begin(), played_.end(), false) == played_.end(); }

 private:
  bool stage_over(int stage) const {
    for (std::size_t i = 0; i < script_.roles.size(); ++i) {
      if (script_.roles[i].stage <= stage && !played_[i]) return false;
    }
    return true;
  }
  Script script_;
  std::int64_t due_;
  std::size_t given_ = 0, session_ = 0;
  std::vector<bool> begun_, played_;
};

// ---------------------------------------------------------------- the database

struct Version {
  Stamp stamp;
  Value value;
};
struct ItemRead {
  std::int64_t key;
  Stamp at;
};
struct RangeRead {
  std::int64_t from, to;
  Stamp at;
};

struct Transaction {
  Stamp snapshot = 0;
  std::vector<ItemRead> items;
  std::vector<RangeRead> ranges;
  std::vector<std::pair<std::int64_t, Value>> writes;  // one entry a key: the last value

  void reset(Stamp now) {
    snapshot = now;
    items.clear();
    ranges.clear();
    writes.clear();
  }
  const Value* own(std::int64_t key) const {
    for (const auto& write : writes) {
      if (write.first == key) return &write.second;
    }
    return nullptr;
  }
  void write(std::int64_t key, Value value) {
    for (auto& write : writes) {
      if (write.first == key) {
        write.second = value;
        return;
      }
    }
    writes.emplace_back(key, value);
  }
};

class Database {
 public:
  Database(Level level, std::int64_t keys) : level_(level), versions_(static_cast<std::size_t>(keys)) {}

  Stamp now() const { return now_; }
  void begin(Transaction& t) const { t.reset(now_); }

  // What t sees of one key, without a note of it: for the inside of ranges.
  Value peek(const Transaction& t, std::int64_t key) const {
    if (const Value* own = t.own(key)) return *own;
    const auto& chain = versions_[static_cast<std::size_t>(key)];
    Stamp seen = level_ == Level::si ? t.snapshot : now_;
    for (auto v = chain.rbegin(); v != chain.rend(); ++v) {
      if (v->stamp <= seen) return v->value;
    }
    return kAbsent;
  }
  Value get(Transaction& t, std::int64_t key) const {
    if (!t.own(key)) t.items.push_back({key, now_});
    return peek(t, key);
  }
  void saw_range(Transaction& t, std::int64_t from, std::int64_t to) const {
    if (from < to) t.ranges.push_back({from, to, now_});
  }

  // May t commit? This is the whole of each isolation level.
  bool certify(const Transaction& t) const {
    auto unchanged = [this](std::int64_t key, Stamp since) { return newest(key) <= since; };
    switch (level_) {
      case Level::rc:
        return true;
      case Level::si:
        return std::all_of(t.writes.begin(), t.writes.end(),
                           [&](const auto& write) { return unchanged(write.first, t.snapshot); });
      case Level::ser:
        for (const RangeRead& range : t.ranges) {
          for (std::int64_t key = range.from; key < range.to; ++key) {
            if (!unchanged(key, range.at)) return false;
          }
        }
        [[fallthrough]];
      case Level::rr:
        return std::all_of(t.items.begin(), t.items.end(),
                           [&](const ItemRead& read) { return unchanged(read.key, read.at); });
    }
    return false;
  }

  // `oldest`: no running transaction looks behind the state after this commit.
  void commit(const Transaction& t, Stamp oldest) {
    ++now_;
    for (const auto& [key, value] : t.writes) {
      auto& chain = versions_[static_cast<std::size_t>(key)];
      if (chain.size() >= 8) {
        std::size_t keep = chain.size() - 1;
        while (keep > 0 && chain[keep].stamp > oldest) --keep;
        chain.erase(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(keep));
      }
      chain.push_back({now_, value});
    }
  }

 private:
  Stamp newest(std::int64_t key) const {
    const auto& chain = versions_[static_cast<std::size_t>(key)];
    return chain.empty() ? 0 : chain.back().stamp;
  }
  Level level_;
  Stamp now_ = 0;
  std::vector<std::vector<Version>> versions_;
};

// ---------------------------------------------------------------- writing it down

class File {
 public:
  File(const std::string& path, std::size_t buffer) : file_(std::fopen(path.c_str(), "wb")), limit_(buffer) {
    if (!file_) throw std::runtime_error("cannot write " + path);
    text_.reserve(limit_ + 4096);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_) std::fclose(file_);
  }
  void append(std::string_view line) {
    text_ += line;
    if (text_.size() >= limit_) flush();
  }
  std::int64_t close() {
    flush();
    if (std::fclose(std::exchange(file_, nullptr)) != 0) throw std::runtime_error("the disk is full");
    return bytes_;
  }

 private:
  void flush() {
    if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) {
      throw std::runtime_error("the disk is full");
    }
    bytes_ += static_cast<std::int64_t>(text_.size());
    text_.clear();
  }
  std::FILE* file_;
  std::size_t limit_;
  std::string text_;
  std::int64_t bytes_ = 0;
};

// One line of the trace. Written by hand: a million transactions are ten million lines.
class Line {
 public:
  void start(std::string_view session, std::int64_t txn, std::string_view op) {
    text_.assign(R"({"session":")").append(session).append(R"(","txn":)");
    number(txn);
    text_.append(R"(,"op":")").append(op).append("\"");
  }
  Line& field(std::string_view name, std::int64_t value) {
    text_.append(",\"").append(name).append("\":");
    number(value);
    return *this;
  }
  void result(Value value) {
    if (value == kAbsent) raw(R"(,"absent":true)");
    else field("value", value);
  }
  Line& raw(std::string_view text) {
    text_ += text;
    return *this;
  }
  Line& number(std::int64_t value) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return *this;
  }
  std::string_view finish(bool times, Time invoke, Time back) {
    if (times) field("invoke", invoke).field("return", back);
    text_ += "}\n";
    return text_;
  }
  std::string_view text() const { return text_; }

 private:
  std::string text_;
};

// ---------------------------------------------------------------- the run

struct OpenIterator {
  std::int64_t at = 0, to = 0;
  bool ended = false;
};

struct Session {
  std::string name;
  Program program;
  std::size_t step = 0;
  std::int64_t txn = 0;
  int refusals = 0, role = -1;
  bool returning = false, running = false;  // has a line to write; is inside a transaction
  Time invoke = 0;
  Transaction state;
  OpenIterator iterator;
  Line line;
};

class Simulation {
 public:
  explicit Simulation(const Options& options)
      : o_(options),
        keys_(o_.keys, o_.theta),
        db_(o_.level, o_.keys),
        director_(o_),
        chance_(static_cast<std::uint64_t>(o_.seed)),
        sessions_(static_cast<std::size_t>(o_.sessions)) {
    const std::string header =
        o_.times ? "{\"boomslang\":1,\"clock\":\"sim\"}\n" : "{\"boomslang\":1}\n";
    if (o_.folder) std::filesystem::create_directories(o_.out);
    for (std::size_t s = 0; s < sessions_.size(); ++s) {
      sessions_[s].name = "c" + std::to_string(s + 1);
      if (o_.folder) add_file(o_.out + "/" + sessions_[s].name + ".jsonl", 1 << 16);
    }
    if (!o_.folder) add_file(o_.out, 1 << 20);
    for (auto& file : files_) file->append(header);
    if (!o_.witness.empty()) witness_ = std::make_unique<File>(o_.witness, 1 << 20);
  }

  void run() {
    for (std::size_t s = 0; s < sessions_.size(); ++s) invoke_at(s, chance_.upto(100));
    while (!agenda_.empty()) {
      const auto [time, s] = agenda_.top();
      agenda_.pop();
      Session& session = sessions_[s];
      if (session.returning) {
        session.returning = false;
        files_[o_.folder ? s : 0]->append(session.line.text());
        ++lines_;
        invoke_at(s, time + pause(session));
      } else if (session.running || !over()) {
        take_effect(s, time);
      }
    }
    std::int64_t bytes = 0;
    for (auto& file : files_) bytes += file->close();
    if (witness_) witness_->close();
    std::printf("{\"committed\":%lld,\"aborted\":%lld,\"unknown\":%lld,\"lines\":%lld,\"bytes\":%lld}\n",
                static_cast<long long>(committed_), static_cast<long long>(aborted_),
                static_cast<long long>(unknown_), static_cast<long long>(lines_),
                static_cast<long long>(bytes));
  }

 private:
  // Sessions wake up twice for each operation: when it takes effect, and when it returns. Equal
  // times go by session number, so that a run depends on the seed alone.
  using Wake = std::pair<Time, std::size_t>;

  bool over() const { return committed_ >= o_.transactions && director_.finished(); }

  void add_file(const std::string& path, std::size_t buffer) {
    files_.push_back(std::make_unique<File>(path, buffer));
  }

  void invoke_at(std::size_t s, Time time) {
    sessions_[s].invoke = time;
    agenda_.emplace(time + chance_.upto(20), s);
  }

  // How long a client waits between an answer and its next call: longer after refusals.
  Time pause(const Session& session) {
    if (session.running || session.refusals == 0) return chance_.upto(20);
    return chance_.upto((o_.operations * 10) << std::min(session.refusals, 8));
  }

  // Carry out the session's next step now, and let it return a little later. Once the run is over
  // the transactions still running are rolled back by their clients.
  void take_effect(std::size_t s, Time now) {
    Session& me = sessions_[s];
    if (!me.running) begin_program(me, s);
    if (me.role >= 0 && me.running && me.program[me.step].op == Op::commit && !director_.may_commit(me.role)) {
      agenda_.emplace(now + 1, s);
      return;
    }
    const Step step = over() && me.step > 0 ? Step{Op::abort} : me.program[me.step];
    ++me.step;
    switch (step.op) {
      case Op::begin: begin(me); break;
      case Op::get: get(me, step); break;
      case Op::put: put(me, step); break;
      case Op::del: remove(me, step); break;
      case Op::scan: scan(me, step); break;
      case Op::iterator: open(me, step); break;
      case Op::next: next(me, step); break;
      case Op::commit: commit(me); break;
      case Op::abort: roll_back(me); break;
      case Op::told_get: say(me, "get").field("key", step.key).field("value", step.value); break;
      case Op::told_put: say(me, "put").field("key", step.key).field("value", step.value); break;
    }
    const Time back = now + chance_.upto(20);
    me.line.finish(o_.times, me.invoke, back);
    me.returning = true;
    agenda_.emplace(back, s);
  }

  Line& say(Session& me, std::string_view op) {
    me.line.start(me.name, me.txn, op);
    return me.line;
  }

  // A refused transaction is tried again as it was.
  void begin_program(Session& me, std::size_t s) {
    me.step = 0;
    if (me.refusals > 0) return;
    me.program = make_program(o_, keys_, chance_);
    me.role = director_.cast(committed_, s);
    if (me.role < 0) return;
    const Role& role = director_.role(me.role);
    if (!director_.alone(me.role)) {
      std::erase_if(me.program, [](const Step& step) { return step.op == Op::put || step.op == Op::del; });
    }
    me.program.insert(me.program.begin() + 1, role.steps.begin(), role.steps.end());
    if (role.aborts) me.program.back().op = Op::abort;
  }

  void begin(Session& me) {
    me.txn = ++begun_;
    me.running = true;
    db_.begin(me.state);
    if (me.role >= 0) director_.begun(me.role);
    say(me, "begin");
    note("begin ", me.txn);
  }

  void get(Session& me, const Step& step) {
    say(me, "get").field("key", step.key).result(db_.get(me.state, step.key));
  }

  void put(Session& me, const Step& step) {
    const Value value = step.value == kFresh ? ++fresh_ : step.value;
    me.state.write(step.key, value);
    say(me, "put").field("key", step.key).field("value", value);
  }

  void remove(Session& me, const Step& step) {
    const bool found = db_.get(me.state, step.key) != kAbsent;
    if (found) me.state.write(step.key, kAbsent);
    say(me, "delete").field("key", step.key).raw(found ? R"(,"found":true)" : R"(,"found":false)");
  }

  void scan(Session& me, const Step& step) {
    Line& line = say(me, "scan").field("from", step.key).field("to", step.to).raw(R"(,"items":[)");
    bool first = true;
    for (std::int64_t key = step.key; key < step.to; ++key) {
      if (db_.peek(me.state, key) == kAbsent) continue;
      const Value value = db_.get(me.state, key);
      line.raw(first ? "[" : ",[").number(key).raw(",").number(value).raw("]");
      first = false;
    }
    line.raw("]");
    db_.saw_range(me.state, step.key, step.to);
  }

  void open(Session& me, const Step& step) {
    me.iterator = {step.key, step.to, false};
    say(me, "iterator").field("id", step.number).field("from", step.key).field("to", step.to);
  }

  void next(Session& me, const Step& step) {
    OpenIterator& it = me.iterator;
    const std::int64_t from = it.at;
    while (it.at < it.to && db_.peek(me.state, it.at) == kAbsent) ++it.at;
    Line& line = say(me, "next").field("id", step.number);
    if (it.at < it.to) {
      line.field("key", it.at).field("value", db_.get(me.state, it.at));
      ++it.at;
    } else {
      line.raw(R"(,"end":true)");
      while (me.program[me.step].op == Op::next) ++me.step;
    }
    db_.saw_range(me.state, from, it.at);
  }

  void commit(Session& me) {
    const bool allowed = db_.certify(me.state);
    const bool lost = me.role < 0 && o_.unknown > 0 && chance_.unit() < o_.unknown;
    if (!allowed && !lost) {
      ++me.refusals;
      ++aborted_;
      end(me, "abort");
      return;
    }
    // A lost answer tells the client nothing: the commit may have been carried out or not.
    if (allowed && (!lost || chance_.unit() < 0.5)) {
      if (committed_ % 32 == 0) oldest_ = oldest_snapshot();
      db_.commit(me.state, o_.level == Level::si ? oldest_ : db_.now());
      note("commit ", me.txn);
    }
    me.refusals = 0;
    ++(lost ? unknown_ : committed_);
    if (me.role >= 0) director_.played(me.role);
    end(me, "commit");
    if (lost) me.line.raw(R"(,"error":"connection lost")");
  }

  void roll_back(Session& me) {
    me.refusals = 0;
    ++aborted_;
    if (me.role >= 0) director_.played(me.role);
    end(me, "abort");
  }

  void end(Session& me, std::string_view op) {
    me.running = false;
    say(me, op);
  }

  Stamp oldest_snapshot() const {
    Stamp oldest = db_.now();
    for (const Session& session : sessions_) {
      if (session.running) oldest = std::min(oldest, session.state.snapshot);
    }
    return oldest;
  }

  void note(std::string_view what, std::int64_t txn) {
    if (!witness_) return;
    witness_->append(what);
    witness_->append(std::to_string(txn) + "\n");
  }

  Options o_;
  KeyChoice keys_;
  Database db_;
  Director director_;
  Random chance_;
  std::vector<Session> sessions_;
  std::vector<std::unique_ptr<File>> files_;
  std::unique_ptr<File> witness_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<>> agenda_;
  std::int64_t begun_ = 0, committed_ = 0, aborted_ = 0, unknown_ = 0, lines_ = 0;
  Value fresh_ = 0;
  Stamp oldest_ = 0;
};

}  // namespace

int main(int count, char** words) {
  try {
    Simulation(parse(count, words)).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "simulate: %s\n", error.what());
    return 1;
  }
}
