// Bytes in, columns out: the streaming front of the trace reader.
//
// Input arrives in blocks, from a file descriptor or as bytes (what a decompressor made), and is cut at line ends into
// slices. A crew parses them (crew.hpp) and applies them to the history, in their order. Of a long file that several
// threads read, each reads the slices that it parses, and finds the line ends itself. Plain read() rather than a mapped
// file, so that the memory a trace takes is the memory of its columns. The caller owns the loop: after each block it may
// look at the clock, the memory and the keyboard.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "trace/ahead.hpp"
#include "trace/crew.hpp"
#include "trace/history.hpp"

namespace boomslang::trace {

class Reader {
 public:
  static constexpr std::size_t usual_block = Slice::usual_size;

  // Jobs are threads, the caller's included. How large a block is, and whether shapes of lines are predicted, changes
  // nothing but the speed.
  explicit Reader(int jobs = 1, std::size_t block = usual_block, bool shapes = true);

  // Lines count from first_line: 0 where a header was put before what the user wrote.
  void begin_file(const std::string& name, const std::string* session, std::uint32_t first_line = 1);
  // Reads one block. False at the end of the file.
  bool read(int descriptor);
  // The same again and again, until another thread says stop(). False at the end of the file.
  bool read_on(int descriptor);
  void stop() { stop_ = true; }
  void feed(const char* data, std::size_t size);
  // The same of bytes that stay where they are until settle().
  void borrow(const char* data, std::size_t size);
  // The same of a text whose lines are parsed already. A second time they are parsed anew.
  void take(ParsedLines& parsed, const char* data, std::size_t size);
  void end_file();
  // Applies all that was read. A mistake in the input is told here, or by any call that came before.
  void settle();
  // Of each file that has ended: it held a whole record, and part of one. After settle().
  const std::vector<std::pair<bool, bool>>& files() const { return ended_; }
  int jobs() const { return jobs_; }
  // Call until it says false.
  bool finish_step() {
    settle();
    return history.finish_step(jobs_);
  }

  History history;

 private:
  struct File {
    std::string name, session;
    bool has_session;
    std::uint32_t first_line;
    std::size_t slices;  // slices that were given before it began
  };

  bool read_apart(int descriptor);
  void cut();
  void give(std::size_t size, bool last);
  void refuse_long_line();
  void apply(const Slice& slice);
  void apply_lines(const Slice& slice);
  void fetch_ahead(const Slice& slice, std::size_t line) const;
  void enter_files();
  void leave_file();

  const int jobs_;
  const std::size_t block_;
  Column<char> buffer_;      // carried-over rest, then the new block
  std::size_t scanned_ = 0;  // no newline before this
  // A long file is read in stretches by whoever parses them.
  enum class Apart { unknown, no, first, yes };
  Apart apart_ = Apart::unknown;
  std::int64_t apart_at_ = 0, apart_end_ = 0;
  std::size_t given_ = 0, applied_ = 0;  // slices
  std::mutex files_mutex_;
  std::deque<File> files_;  // that began and of which nothing was applied yet
  std::string reading_;                  // the last one,
  bool open_ = false;                    // which has not ended
  std::atomic<bool> stop_ = false;

  // Of the file whose slices are being applied.
  std::string file_;
  std::uint32_t line_ = 0;
  bool in_file_ = false;
  bool first_ = true;  // no record of it seen yet
  bool torn_ = false;
  std::vector<std::int32_t> sessions_;  // number in the slice -> number in the history
  std::vector<std::pair<bool, bool>> ended_;

  Crew crew_;  // whose threads use all of this: they end first
};

}  // namespace boomslang::trace
