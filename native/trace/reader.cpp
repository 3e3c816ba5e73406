#include "trace/reader.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <unistd.h>

namespace boomslang {

void Reader::begin_file(const std::string& name, const std::string* session) {
  file_ = name;
  line_ = 0;
  first_ = true;
  buffer_.clear();
  scanned_ = 0;
  history.begin_file(name, session);
}

bool Reader::read(int descriptor) {
  const std::size_t before = buffer_.size();
  buffer_.resize(before + block);
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
  parse();
}

void Reader::parse() {
  const char* at = buffer_.data();
  const char* const end = at + buffer_.size();
  const char* search = at + scanned_;
  while (const void* newline = search < end ? std::memchr(search, '\n', static_cast<std::size_t>(end - search)) : nullptr) {
    const char* stop = static_cast<const char*>(newline);
    parse_line(at, static_cast<std::size_t>(stop - at));
    search = at = stop + 1;
  }
  const auto rest = static_cast<std::size_t>(end - at);
  if (rest > longest_line)
    throw Fault{"a line longer than 64 MB", "one operation a line", "end each line with a newline", file_, line_ + 1};
  std::memmove(buffer_.data(), at, rest);
  buffer_.resize(rest);
  scanned_ = rest;
}

// The byte after the line is '\n'.
void Reader::parse_line(const char* line, std::size_t size) {
  ++line_;
  try {
    if (size > longest_line) fault("a line longer than 64 MB", "one operation a line", "end each line with a newline");
    json_.start(line, size);
    if (json_.peek() == '\n') return;  // blank
    record_.read(json_);
    history.apply(record_, line_, first_);
    first_ = false;
  } catch (Fault& f) {
    if (!f.line) {
      f.file = file_;
      f.line = line_;
    }
    throw;
  }
}

void Reader::end_file() {
  if (!buffer_.empty()) {
    // The last line has no newline. Whole, it counts; torn, it is the mark of a crash and goes with a warning.
    const std::size_t size = buffer_.size();
    buffer_.push('\n');
    json_.start(buffer_.data(), size);
    if (json_.peek() == '\n' || well_formed(json_, buffer_.data(), size)) {
      parse_line(buffer_.data(), size);
    } else {
      ++line_;
      first_ = false;
      history.warnings.push_back(file_ + ":" + std::to_string(line_) +
                                 ": the last line is torn and was dropped; its transaction is unknown unless it had ended");
    }
    buffer_.clear();
  }
  empty = first_;
}

}  // namespace boomslang
