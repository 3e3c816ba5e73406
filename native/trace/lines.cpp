#include "trace/lines.hpp"

#include <cstring>

namespace boomslang::trace {

std::int64_t count_lines(std::string_view text) {
  std::int64_t count = !text.empty() && text.back() != '\n';
  const char *at = text.data(), *const end = at + text.size();
  // memchr looks at 32 bytes at a time, and a line is longer than that.
  for (; at != end && (at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)))); ++at)
    ++count;
  return count;
}

std::string picked_lines(std::span<const std::string_view> parts, std::span<const std::int64_t> chosen) {
  std::string found;
  std::int64_t line = 0;
  std::size_t next = 0;
  for (const std::string_view part : parts) {
    const char *at = part.data(), *const end = at + part.size();
    for (; at != end && next < chosen.size(); ++line) {
      const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
      const char* const after = newline ? static_cast<const char*>(newline) + 1 : end;
      if (line == chosen[next]) {
        found.append(at, after);
        ++next;
      }
      at = after;
    }
  }
  return found;
}

}  // namespace boomslang::trace
