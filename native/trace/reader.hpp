// Bytes in, lines out: the streaming front of the trace reader.
//
// Input arrives in blocks, from a file descriptor or as bytes (what a decompressor made); whole lines are
// parsed where they lie, and the rest of a block is carried over to the next. Plain read() rather than a
// mapped file, so that the memory a trace takes is the memory of its columns. The caller owns the loop: after
// each block it may look at the clock, the memory and the keyboard.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "trace/history.hpp"

namespace boomslang {

class Reader {
 public:
  static constexpr std::size_t block = 1u << 18;
  static constexpr std::size_t longest_line = 64u << 20;

  // Lines count from first_line: 0 where a header was put before what the user wrote.
  void begin_file(const std::string& name, const std::string* session, std::uint32_t first_line = 1);
  // Reads and parses one block. False at the end of the file.
  bool read(int descriptor);
  void feed(const char* data, std::size_t size);
  void end_file();
  // Call until it says false.
  bool finish_step() { return history.finish_step(); }

  History history;
  bool whole = false, torn = false;  // of the file that just ended: it held a whole record, and part of one

 private:
  // A line waits between being parsed and being applied, while the processor fetches what it will look up:
  // the tables of a large trace lie in main memory, and three accesses in a row would cost more than parsing.
  struct Pending {
    Json json;
    Record record;
    std::uint32_t line;
    bool first;
  };
  static constexpr std::size_t stage = 8, waiting = 3 * stage;

  void parse();
  void parse_line(const char* line, std::size_t size);
  void apply(Pending& pending);
  void drain();
  Pending& pending(std::size_t number) { return pending_[number % pending_.size()]; }

  std::array<Pending, 32> pending_;
  std::size_t parsed_ = 0, applied_ = 0;
  Column<char> buffer_;      // carried-over rest, then the new block
  std::size_t scanned_ = 0;  // no newline before this
  std::string file_;
  std::uint32_t line_ = 0;
  bool first_ = true;  // no record of this file seen yet
};

}  // namespace boomslang
