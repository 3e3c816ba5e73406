// Lines of a text, counted and picked, for whoever carries lines from one part of a trace to the next.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace boomslang::trace {

// How many: the last one may lack its newline.
std::int64_t count_lines(std::string_view text);

// The lines with these numbers, which grow; the first line of the first part is 0, and a line is in one part.
std::string picked_lines(std::span<const std::string_view> parts, std::span<const std::int64_t> chosen);

}  // namespace boomslang::trace
