// Lines that have been read and not yet acted on.
//
// The tables of a large trace lie in main memory. A line that waits while others are read gives the processor the time
// to fetch what it will look up.
#pragma once

#include <array>
#include <cstddef>

#include "trace/fault.hpp"

namespace boomslang::trace {

// A Step has the number of its line.
template <class Step>
class Lookahead {
 public:
  // The place for the next step; add() it when it is whole.
  Step& next() { return steps_[count_]; }
  bool add() { return ++count_ == steps_.size(); }  // full: settle()

  template <class F>
  void settle(F&& act) {
    const std::size_t count = count_;
    count_ = 0;
    for (std::size_t i = 0; i < count; ++i) {
      try {
        act(steps_[i]);
      } catch (Fault& f) {
        if (!f.line) f.line = steps_[i].line;
        throw;
      }
    }
  }

 private:
  std::array<Step, 32> steps_;
  std::size_t count_ = 0;
};

}  // namespace boomslang::trace
