// What is wrong with a trace: always what was found, what was expected, and what to do about it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace boomslang::trace {

struct Fault {
  std::string found;
  std::string expected;
  std::string fix;
  std::string file = {};  // filled in by the reader, which knows where it is
  std::int64_t line = 0;
};

[[noreturn]] inline void fault(std::string found, std::string expected, std::string fix) {
  throw Fault{std::move(found), std::move(expected), std::move(fix)};
}

}  // namespace boomslang::trace
