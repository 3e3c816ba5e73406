#include "trace/scalar.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace boomslang::trace {

std::optional<double> to_double(const char* from, const char* to) {
  double value = 0;
#if defined(__cpp_lib_to_chars)
  const bool fits = std::from_chars(from, to, value).ec == std::errc{};
#else
  value = std::strtod(std::string(from, to).c_str(), nullptr);
  const bool fits = std::isfinite(value);
#endif
  if (!fits) return std::nullopt;
  return value == 0 ? 0.0 : value;
}

int compare_numbers(const Scalar& integer, const Scalar& real) {
  double value;
  std::memcpy(&value, real.data, 8);
  if (std::isinf(value)) return value < 0 ? 1 : -1;
  // Whole doubles have an exact decimal text, which compares with the integer's like any other.
  const double whole = std::floor(value) + 0.0;
  char text[330];
  const int size = std::snprintf(text, sizeof text, "%.0f", whole);
  const int c = compare_integers(integer, {Type::integer, static_cast<std::uint32_t>(size), text});
  return c > 0 ? 1 : -1;
}

std::string show(const Scalar& scalar) {
  constexpr std::size_t most = 60;
  std::string text;
  switch (scalar.type) {
    case Type::null: return "null";
    case Type::boolean: return scalar.data[0] ? "true" : "false";
    case Type::integer: text.assign(scalar.data, scalar.size); break;
    case Type::real: {
      double value;
      std::memcpy(&value, scalar.data, 8);
      char buffer[40];
      std::snprintf(buffer, sizeof buffer, "%.17g", value);
      text = buffer;
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      break;
    }
    case Type::text: text.append("\"").append(scalar.data, scalar.size).append("\""); break;
    case Type::bytes:
      text = "{\"bytes\": \"";
      for (std::uint32_t i = 0; i < scalar.size && i < most; ++i) {
        char hex[3];
        std::snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(scalar.data[i]));
        text += hex;
      }
      text += "\"}";
  }
  if (text.size() > most) {
    std::size_t cut = most;
    while (cut && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;  // not inside a character
    text.resize(cut);
    text += "...";
  }
  return text;
}

}  // namespace boomslang::trace
