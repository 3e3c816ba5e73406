#include "trace/slice.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <unistd.h>

namespace boomslang::trace {
namespace {

// Does the text of the line hold this, and not what the tokenizer decoded?
bool lies_in(const Scalar& scalar, const char* line, std::size_t size) {
  const auto at = reinterpret_cast<std::uintptr_t>(scalar.data), from = reinterpret_cast<std::uintptr_t>(line);
  return at >= from && at <= from + size;
}

// Reads until there are `size` bytes, or the file ends.
void read_up_to(std::size_t size, const Stretch& stretch, std::int64_t start, Column<char>& text) {
  std::size_t have = text.size();
  text.resize(size);
  while (have < size) {
    const ssize_t got = ::pread(stretch.descriptor, text.data() + have, size - have,
                                static_cast<off_t>(start + static_cast<std::int64_t>(have)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), "reading the file");
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
}

}  // namespace

void Slice::load() {
  // The byte before it says whether a line starts at its beginning; the one before its end, whether one starts there.
  const std::int64_t start = stretch.whole ? stretch.from : stretch.from - 1;
  const auto last = static_cast<std::size_t>(stretch.to - 1 - start);
  text.clear();
  read_up_to(last + 512, stretch, start, text);
  const auto newline = [&](std::size_t at) -> std::size_t {
    for (;;) {
      if (at < text.size())
        if (const void* found = std::memchr(text.data() + at, '\n', text.size() - at))
          return static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
      const std::size_t before = text.size();
      if (before > last + longest_line + 1) {  // longer than a line may be: whoever parses it says so
        text.push('\n');
        return before;
      }
      read_up_to(2 * before, stretch, start, text);
      if (text.size() == before) throw std::system_error(EIO, std::generic_category(), "the file became shorter");
      at = std::max(at, before);
    }
  };
  const std::size_t first = stretch.whole ? 0 : newline(0) + 1;
  size = first > last ? 0 : newline(last) + 1 - first;
  text.resize(std::max(text.size(), first + size));
  text.pad(first + size + Json::slack, '\n');
  data = text.data() + first;
}

bool Slice::borrow(const char* from, std::size_t length, std::size_t most) {
  std::size_t end = std::min(most, length);
  while (end && from[end - 1] != '\n') --end;
  if (!end && length > most) {  // a long line
    const void* newline = std::memchr(from + most, '\n', length - most);
    if (newline) end = static_cast<std::size_t>(static_cast<const char*>(newline) + 1 - from);
  }
  if (!end) return false;
  data = from;
  size = end;
  if (length - end < Json::slack) {
    text.clear();
    text.append(from, end);
    text.pad(end + Json::slack, '\n');
    data = text.data();
  }
  return true;
}

void Slice::clear() {
  lines.clear();
  stretch = {};
  data = nullptr;
  for (auto& one : full) spare_.push_back(std::move(one));
  full.clear();
  sessions.clear();
  count = 0;
  size = 0;
  last = torn = words = false;
  fault.reset();
  failure = nullptr;
}

Slice::Full& Slice::add_full() {
  if (spare_.empty()) {
    full.push_back(std::make_unique<Full>());
  } else {
    full.push_back(std::move(spare_.back()));
    spare_.pop_back();
  }
  return *full.back();
}

void Parser::parse(Slice& slice) noexcept {
  try {
    lines(slice);
  } catch (Fault& f) {
    slice.fault = std::move(f);
  } catch (...) {
    slice.failure = std::current_exception();
  }
}

void Parser::lines(Slice& slice) {
  ++slice_;
  last_session_ = -1;
  if (slice.stretch.descriptor >= 0) slice.load();
  const char* const text = slice.data;
  const char* const end = text + slice.size;
  if (slice.last) {
    // The last line has no newline of its own. Whole, it counts; torn, it is the mark of a crash and goes with a
    // warning.
    const std::size_t size = slice.size - 1;
    Json& json = general_.json;
    json.start(text, size);
    if (json.peek() == '\n' || well_formed(json, text, size)) {
      line(slice, text, size);
    } else {
      ++slice.count;
      slice.torn = true;
    }
    return;
  }
  for (const char* at = text; at < end;) {
    const std::size_t place = slice.lines.size();
    slice.lines.resize(place + 1);
    Brief& brief = slice.lines[place];
    Scalar named;
    const char* stop = shapes_.match(at, text, brief, named);
    if (stop && static_cast<std::size_t>(stop - at) <= Slice::longest_line) [[likely]] {
      brief.number = ++slice.count;
      brief.session = brief.has(Field::session) ? session(slice, named) : Brief::none;
      slice.words |= (brief.has(Field::key) && !brief.key.code().number) ||
                     (brief.has(Field::value) && !brief.value.code().number);
      at = stop + 1;
      continue;
    }
    slice.lines.resize(place);
    stop = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    line(slice, at, static_cast<std::size_t>(stop - at));
    at = stop + 1;
  }
}

// The byte after the line is '\n'.
void Parser::line(Slice& slice, const char* at, std::size_t size) {
  ++slice.count;
  if (size > Slice::longest_line)
    fault("a line longer than 64 MB", "one operation a line", "end each line with a newline");
  general_.json.start(at, size);
  if (general_.json.peek() == '\n') return;  // blank
  Record& r = general_.record;
  r.read(general_.json, places_);
  Brief made{};
  made.number = slice.count;
  made.record = made.session = Brief::none;
  made.fields = r.fields;
  made.op = r.op;
  bool plain = !(r.fields & ~Brief::plain);
  for (const auto& [field, scalar] : {std::pair(Field::session, &r.session), std::pair(Field::txn, &r.txn),
                                      std::pair(Field::key, &r.key), std::pair(Field::value, &r.value)})
    plain = plain && (!r.has(field) || lies_in(*scalar, at, size));
  if (plain) {
    shorten(r, slice, made);
    if (predict_) shapes_.learn(at, size, r, places_);
  } else {
    made.record = static_cast<std::int32_t>(slice.full.size());
    std::swap(slice.add_full(), general_);  // with it goes what its tokens point to
  }
  slice.lines.push(made);
}

void Parser::shorten(const Record& r, Slice& slice, Brief& line) {
  const char* const text = slice.data;
  line.found = r.found;
  line.invoke = r.invoke;
  line.ret = r.ret;
  if (r.has(Field::session)) line.session = session(slice, r.session);
  if (r.has(Field::txn)) line.txn = Part::of(r.txn, Interner::code(r.txn), text);
  if (r.has(Field::key)) line.key = Part::of(r.key, r.key_code, text);
  if (r.has(Field::value)) line.value = Part::of(r.value, r.value_code, text);
}

std::int32_t Parser::session(Slice& slice, const Scalar& name) {
  const auto is = [&](std::int32_t number) {
    const Scalar& known = slice.sessions[static_cast<std::size_t>(number)];
    return known.size == name.size && equal_bytes(known.data, name.data, name.size);
  };
  if (last_session_ >= 0 && is(last_session_)) return last_session_;
  Known& known = sessions_[hash_bytes(name.data, name.size, 0) % sessions_.size()];
  if (known.slice != slice_ || !is(known.number)) {
    known = {slice_, static_cast<std::int32_t>(slice.sessions.size())};
    slice.sessions.push_back(name);
  }
  return last_session_ = known.number;
}

}  // namespace boomslang::trace
