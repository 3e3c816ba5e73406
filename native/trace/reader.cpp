#include "trace/reader.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <unistd.h>

namespace boomslang {

void Reader::begin_file(const std::string& name, const std::string* session, std::uint32_t first_line) {
  file_ = name;
  line_ = first_line - 1;
  first_ = true;
  buffer_.clear();
  scanned_ = 0;
  history.begin_file(name, session);
}

bool Reader::read(int descriptor) {
  const std::size_t before = buffer_.size();
  buffer_.resize(before + block + Json::slack);
  const ssize_t got = ::read(descriptor, buffer_.data() + before, block);
  buffer_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got < 0) {
    if (errno == EINTR) return true;  // the caller looks for signals before it calls again
    throw std::system_error(errno, std::generic_category(), "reading " + file_);
  }
  parse();
  return got > 0;
}

void Reader::feed(const char* data, std::size_t size) {
  buffer_.append(data, size);
  buffer_.resize(buffer_.size() + Json::slack);
  buffer_.resize(buffer_.size() - Json::slack);
  parse();
}

void Reader::parse() {
  const char* at = buffer_.data();
  const char* const end = at + buffer_.size();
  const char* search = at + scanned_;
  while (const void* newline =
             search < end ? std::memchr(search, '\n', static_cast<std::size_t>(end - search)) : nullptr) {
    const char* stop = static_cast<const char*>(newline);
    parse_line(at, static_cast<std::size_t>(stop - at));
    search = at = stop + 1;
  }
  drain();
  const auto rest = static_cast<std::size_t>(end - at);
  if (rest > longest_line)
    throw Fault{"a line longer than 64 MB", "one operation a line", "end each line with a newline", file_,
                line_ + 1};
  std::memmove(buffer_.data(), at, rest);
  buffer_.resize(rest);
  scanned_ = rest;
}

// The byte after the line is '\n'.
void Reader::parse_line(const char* line, std::size_t size) {
  ++line_;
  Pending& now = pending(parsed_);
  try {
    if (size > longest_line)
      fault("a line longer than 64 MB", "one operation a line", "end each line with a newline");
    now.json.start(line, size);
    if (now.json.peek() == '\n') return;  // blank
    now.record.read(now.json);
  } catch (Fault& f) {
    drain();  // an earlier line may have a fault of its own, which then is the one to report
    f.file = file_;
    f.line = line_;
    throw;
  }
  now.line = line_;
  now.first = first_;
  first_ = false;

  History& h = history;
  const auto each = [&](const Record& r, auto fetch) {
    if (r.has(Field::key)) fetch(h.keys, r.key_code);
    if (r.has(Field::value)) fetch(h.values, r.value_code);
  };
  each(now.record, [](const Interner& t, Interner::Code code) { t.fetch_slot(code); });
  if (parsed_ >= applied_ + stage)
    each(pending(parsed_ - stage).record, [](const Interner& t, Interner::Code code) { t.fetch_entry(code); });
  if (parsed_ >= applied_ + 2 * stage)
    each(pending(parsed_ - 2 * stage).record,
         [](const Interner& t, Interner::Code code) { t.fetch_content(code); });
  ++parsed_;
  if (parsed_ - applied_ > waiting) apply(pending(applied_++));
}

void Reader::apply(Pending& p) {
  try {
    history.apply(p.record, p.line, p.first);
  } catch (Fault& f) {
    applied_ = parsed_;  // the rest is not wanted any more
    if (!f.line) {
      f.file = file_;
      f.line = p.line;
    }
    throw;
  }
}

// Waiting lines point into the buffer: none may wait when it moves.
void Reader::drain() {
  while (applied_ < parsed_) apply(pending(applied_++));
}

void Reader::end_file() {
  torn = false;
  if (!buffer_.empty()) {
    // The last line has no newline. Whole, it counts; torn, it is the mark of a crash and goes with a
    // warning.
    const std::size_t size = buffer_.size();
    buffer_.push('\n');
    buffer_.pad(buffer_.size() + Json::slack, '\n');
    Json json;
    json.start(buffer_.data(), size);
    if (json.peek() == '\n' || well_formed(json, buffer_.data(), size)) {
      parse_line(buffer_.data(), size);
      drain();
    } else {
      ++line_;
      torn = true;
      history.warnings.push_back(
          file_ + ":" + std::to_string(line_) +
          ": the last line is torn and was dropped; its transaction is unknown unless it had ended");
    }
    buffer_.clear();
  }
  whole = !first_;
}

}  // namespace boomslang
