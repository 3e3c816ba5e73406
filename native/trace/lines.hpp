// Lines of a text, counted and picked, for whoever carries lines from one part of a trace to the next.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace boomslang::trace {

// How many: the last one may lack its newline.
inline std::int64_t count_lines(std::string_view text) {
  std::int64_t count = 0;
  for (const char c : text) count += c == '\n';
  return count + (!text.empty() && text.back() != '\n');
}

// The lines with these numbers, which grow; the first line of the first part is 0, and a line is in one part.
inline std::string picked_lines(std::span<const std::string_view> parts, std::span<const std::int64_t> chosen) {
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
