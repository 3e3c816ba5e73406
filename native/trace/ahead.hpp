// Lines that are parsed before it is known what stands before them.
//
// A slice needs no other line to be parsed, so that can be done while the part of the trace before it is being decided.
// What of them is applied, and to which history, a Reader hears later (Reader::take).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "trace/slice.hpp"

namespace boomslang::trace {

// The slices of a text, which must stay where it is until they are applied.
struct ParsedLines {
  std::vector<std::unique_ptr<Slice>> slices;
  std::size_t size = 0;    // bytes of the text that are in them: all whole lines
  std::int64_t lines = 0;  // of the text; -1: the last one has no end, or there is a mistake, so they were not counted
};

class Ahead {
 public:
  // How large a slice is changes nothing but the speed.
  explicit Ahead(std::size_t block = Slice::usual_size) : block_(block ? block : 1) {}
  ParsedLines parse(const char* data, std::size_t size);

 private:
  const std::size_t block_;
  Parser parser_{true};
};

}  // namespace boomslang::trace
