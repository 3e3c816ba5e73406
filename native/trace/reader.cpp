#include "trace/reader.hpp"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace boomslang::trace {

Reader::Reader(int jobs, std::size_t block, bool shapes)
    : jobs_(jobs < 1 ? 1 : jobs), block_(block ? block : 1), crew_(jobs, shapes, [this](const Slice& slice) {
        enter_files();
        apply(slice);
        ++applied_;
      }) {}

void Reader::begin_file(const std::string& name, const std::string* session, std::uint32_t first_line) {
  {
    const std::lock_guard lock(files_mutex_);
    files_.push_back({name, session ? *session : std::string(), session != nullptr, first_line, given_});
  }
  reading_ = name;
  open_ = true;
  buffer_.clear();
  scanned_ = 0;
  apart_ = Apart::unknown;
}

bool Reader::read(int descriptor) {
  if (jobs_ > 1 && read_apart(descriptor)) return true;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + block_ + Json::slack);
  const ssize_t got = ::read(descriptor, buffer_.data() + before, block_);
  buffer_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
  if (got < 0) {
    if (errno == EINTR) return true;  // the caller looks for signals before it calls again
    const int problem = errno;
    settle();  // a mistake in what came before is told first
    throw std::system_error(problem, std::generic_category(), "reading " + reading_);
  }
  cut();
  return got > 0;
}

bool Reader::read_on(int descriptor) {
  while (!stop_)
    if (!read(descriptor)) return false;
  return true;
}

// A stretch of a long file, which whoever parses it reads. False: there is none left, or it is no such file; what is not
// read then begins with a line.
bool Reader::read_apart(int descriptor) {
  if (apart_ == Apart::no) return false;
  const auto stretch = static_cast<std::int64_t>(block_);
  if (apart_ == Apart::unknown) {
    apart_ = Apart::no;
    struct stat about;
    const off_t at = ::lseek(descriptor, 0, SEEK_CUR);
    if (at < 0 || ::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    apart_at_ = at - static_cast<std::int64_t>(buffer_.size());
    const std::int64_t tail = about.st_size - 4 * stretch;
    if (apart_at_ >= tail) return false;
    // The last line may have no end. What is read apart lies before a line's end, so that each line in it has one.
    std::string end(static_cast<std::size_t>(4 * stretch), '\0');
    const ssize_t got = ::pread(descriptor, end.data(), end.size(), static_cast<off_t>(tail));
    const std::size_t newline = end.rfind('\n');
    if (got != static_cast<ssize_t>(end.size()) || newline == std::string::npos) return false;
    apart_end_ = tail + static_cast<std::int64_t>(newline) + 1 - stretch;
    if (apart_at_ >= apart_end_) return false;
    buffer_.clear();
    scanned_ = 0;
    apart_ = Apart::first;
  }
  if (apart_at_ < apart_end_) {
    crew_.give(Stretch{descriptor, apart_at_, apart_at_ + stretch, apart_ == Apart::first});
    apart_ = Apart::yes;
    apart_at_ += stretch;
    ::lseek(descriptor, static_cast<off_t>(apart_at_), SEEK_SET);  // for whoever shows how far it has come
    ++given_;
    crew_.go_on(false);
    return true;
  }
  apart_ = Apart::no;
  settle();  // the file may be closed from now on, and a line that is too long is found
  std::int64_t at = apart_at_ - 1;
  for (char text[512];;) {  // to the end of the last line of the stretches
    const ssize_t got = ::pread(descriptor, text, sizeof text, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    const void* newline = std::memchr(text, '\n', static_cast<std::size_t>(got));
    at += newline ? static_cast<const char*>(newline) + 1 - text : got;
    if (newline) break;
  }
  ::lseek(descriptor, static_cast<off_t>(at), SEEK_SET);
  return false;
}

// What the caller keeps until it is applied, so that none of it is copied but its end.
void Reader::borrow(const char* data, std::size_t size) {
  while (buffer_.empty() && size) {
    std::unique_ptr<Slice> slice = crew_.fresh();
    if (!slice->borrow(data, size, block_)) {
      crew_.give_back(std::move(slice));
      break;
    }
    data += slice->size;
    size -= slice->size;
    crew_.give(std::move(slice));
    ++given_;
    crew_.go_on(false);
  }
  if (size) feed(data, size);
}

void Reader::take(ParsedLines& parsed, const char* data, std::size_t size) {
  if (!buffer_.empty() || parsed.slices.empty()) return borrow(data, size);
  crew_.go_on(true);  // whoever applies adds rows
  if (parsed.lines > 0) history.make_room(static_cast<std::size_t>(parsed.lines));
  for (std::unique_ptr<Slice>& slice : std::exchange(parsed.slices, {})) {
    crew_.give_parsed(std::move(slice));
    ++given_;
    crew_.go_on(false);
  }
  borrow(data + parsed.size, size - parsed.size);
}

void Reader::feed(const char* data, std::size_t size) {
  do {
    const std::size_t part = size < block_ ? size : block_;
    buffer_.append(data, part);
    cut();
    data += part;
    size -= part;
  } while (size);
}

// All whole lines of the buffer become a slice.
void Reader::cut() {
  std::size_t end = buffer_.size();
  while (end > scanned_ && buffer_[end - 1] != '\n') --end;
  if (end > scanned_) {
    give(end, false);
    crew_.go_on(false);
  }
  scanned_ = buffer_.size();
  if (scanned_ > Slice::longest_line) refuse_long_line();
}

// The first `size` bytes of the buffer.
void Reader::give(std::size_t size, bool last) {
  std::unique_ptr<Slice> slice = crew_.fresh();
  slice->text.clear();
  slice->text.append(buffer_.data() + size, buffer_.size() - size);  // the rest, for the next one
  slice->text.swap(buffer_);
  slice->text.resize(size);
  slice->text.pad(size + Json::slack, '\n');
  slice->data = slice->text.data();
  slice->size = size;
  slice->last = last;
  crew_.give(std::move(slice));
  ++given_;
}

void Reader::refuse_long_line() {
  std::unique_ptr<Slice> slice = crew_.fresh();
  slice->count = 1;
  slice->data = "";
  slice->fault = Fault{"a line longer than 64 MB", "one operation a line", "end each line with a newline"};
  crew_.give(std::move(slice));
  ++given_;
  settle();
}

void Reader::end_file() {
  if (!buffer_.empty()) {
    buffer_.push('\n');
    give(buffer_.size(), true);
    buffer_.clear();
    scanned_ = 0;
  }
  open_ = false;
  crew_.go_on(false);
}

// --- in order ---

void Reader::settle() {
  crew_.go_on(true);
  enter_files();
  if (in_file_ && !open_) leave_file();
}

// Those that begin before the next slice.
void Reader::enter_files() {
  const std::lock_guard lock(files_mutex_);
  while (!files_.empty() && files_.front().slices <= applied_) {
    if (in_file_) leave_file();
    const File& file = files_.front();
    file_ = file.name;
    line_ = file.first_line - 1;
    in_file_ = first_ = true;
    torn_ = false;
    history.begin_file(file.name, file.has_session ? &file.session : nullptr);
    files_.pop_front();
  }
}

void Reader::leave_file() {
  ended_.emplace_back(!first_, torn_);
  in_file_ = false;
}

void Reader::apply(const Slice& slice) {
  apply_lines(slice);
  if (slice.failure) std::rethrow_exception(slice.failure);
  line_ += slice.count;
  if (slice.fault) {
    Fault f = *slice.fault;
    f.file = file_;
    f.line = line_;
    throw f;
  }
  if (slice.torn) {
    torn_ = true;
    history.warnings.push_back(
        file_ + ":" + std::to_string(line_) +
        ": the last line is torn and was dropped; its transaction is unknown unless it had ended");
  }
}

// The tables of a large trace lie in main memory, and three accesses in a row would cost more than parsing: so the
// processor is asked for what a line will look up some lines before it does.
inline void Reader::fetch_ahead(const Slice& slice, std::size_t line) const {
  constexpr std::size_t stage = 8;
  // Most values are new: their text is kept. Where it was parsed long ago, it lies in main memory by now.
  if (line + 3 * stage < slice.lines.size())
    if (const Brief& l = slice.lines[line + 3 * stage]; l.record == Brief::none && l.has(Field::value))
      fetch(slice.data + l.value.at);
  const auto each = [&](std::size_t ahead, auto fetch) {
    if (line + ahead >= slice.lines.size()) return;
    const Brief& l = slice.lines[line + ahead];
    if (l.record != Brief::none) return;
    if (l.has(Field::key)) fetch(history.keys, l.key.code());
    if (l.has(Field::value)) fetch(history.values, l.value.code());
  };
  each(3 * stage, [](const Interner& t, Interner::Code code) { t.fetch_slot(code); });
  if (!slice.words) return;  // numbers are found at once
  each(2 * stage, [](const Interner& t, Interner::Code code) { t.fetch_entry(code); });
  each(stage, [](const Interner& t, Interner::Code code) { t.fetch_content(code); });
}

void Reader::apply_lines(const Slice& slice) {
  const char* const text = slice.data;
  sessions_.assign(slice.sessions.size(), none);
  for (std::size_t i = 0; i < slice.lines.size(); ++i) {
    const Brief& line = slice.lines[i];
    const std::uint32_t number = line_ + line.number;
    fetch_ahead(slice, i);
    try {
      if (line.record != Brief::none) {
        history.apply(slice.full[static_cast<std::size_t>(line.record)]->record, number, first_);
      } else {
        std::int32_t session = none;
        if (line.session != Brief::none) {
          std::int32_t& known = sessions_[static_cast<std::size_t>(line.session)];
          if (known == none) known = history.session_of(slice.sessions[static_cast<std::size_t>(line.session)]);
          session = known;
        }
        history.apply(line, text, session, number);
      }
    } catch (Fault& f) {
      if (!f.line) {
        f.file = file_;
        f.line = number;
      }
      throw;
    }
    first_ = false;
  }
}

}  // namespace boomslang::trace
