// A slice of a trace: whole lines, parsed without knowing any other line.
//
// This is the part of reading that needs no order, so slices can be parsed by many threads at a time. What joins lines
// to each other (numbers of keys, values and transactions, and all rules between lines) happens when slices are
// applied to the History, one after the other: so it does not matter how the input was cut, or by how many threads it
// was read. A mistake waits in its slice until all lines before it have been applied, for one of them may have a
// mistake of its own, which then is the one to report.
#pragma once

#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "trace/column.hpp"
#include "trace/brief.hpp"
#include "trace/shapes.hpp"

namespace boomslang::trace {

// The lines of a file that start in a stretch of it. Where these are, only whoever reads it sees.
struct Stretch {
  int descriptor = -1;
  std::int64_t from = 0, to = 0;
  bool whole = false;  // a line starts right at its beginning
};

struct Slice {
  static constexpr std::size_t longest_line = 64u << 20;
  static constexpr std::size_t usual_size = 1u << 18;

  // A line that is more than a Brief, with the tokenizer that holds what it decoded.
  struct Full {
    Json json;
    Record record{};
  };

  // Lines that each end with '\n', and Json::slack bytes more that may be read: in `text`, or where somebody else keeps
  // them until they are applied.
  const char* data = nullptr;
  Column<char> text;
  std::size_t size = 0;
  Stretch stretch;  // of a file, from which whoever parses the slice reads them first
  bool last = false;  // the one line in it has no end: it is whole, or torn

  Column<Brief> lines;  // blank ones are left out
  std::vector<std::unique_ptr<Full>> full;
  std::vector<Scalar> sessions;
  std::uint32_t count = 0;  // lines, blank ones too
  bool words = false;  // some key or value is not a number that is looked up by itself
  bool torn = false;
  std::optional<Fault> fault;  // in the line `count`
  std::exception_ptr failure;  // anything else that went wrong, such as no memory

  // Forgets the lines, and keeps the room they took.
  void clear();
  // Reads the lines of the stretch into `text`.
  void load();
  // Takes the first whole lines of a text that somebody keeps, about `most` bytes of it. None of it is copied but its end,
  // behind which nothing may be read. False: it has no whole line.
  bool borrow(const char* from, std::size_t length, std::size_t most);
  Full& add_full();

 private:
  std::vector<std::unique_ptr<Full>> spare_;
};

// Parses slices; each thread has one.
class Parser {
 public:
  // Without shapes every line goes through the tokenizer, which makes no difference but in speed.
  explicit Parser(bool shapes) : predict_(shapes) {}
  void parse(Slice& slice) noexcept;

 private:
  // A session that was named in this slice. Found by the hash of its name; a second one in the same place drives it
  // out, and if it comes again it gets a second number, which does no harm.
  struct Known {
    std::uint32_t slice = 0;
    std::int32_t number = 0;
  };

  void lines(Slice& slice);
  void line(Slice& slice, const char* at, std::size_t size);
  std::int32_t session(Slice& slice, const Scalar& name);
  void shorten(const Record& record, Slice& slice, Brief& line);

  const bool predict_;
  Shapes shapes_;
  Slice::Full general_;
  Places places_;
  std::array<Known, 1024> sessions_;
  std::int32_t last_session_ = -1;
  std::uint32_t slice_ = 0;
};

}  // namespace boomslang::trace
