// Which of these texts are JSON objects?
//
// Hints that come in columns are texts that somebody else wrote, and a trace of a million transactions has a million of
// them. Our tokenizer is stricter than most and says "yes" in passing; what it does not like is for the caller to
// judge, one by one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/json.hpp"

namespace boomslang::trace {

// Longer texts are always left to the caller: the tokenizer knows no limit to the digits of a number, others do.
constexpr std::int64_t longest_plain_object = 4096;

// Those of the texts numbered `ids` that are not surely objects. Text i is data[offset[i]] up to data[offset[i + 1]].
inline std::vector<std::int64_t> not_surely_objects(std::span<const std::int64_t> offset,
                                                    std::span<const std::uint8_t> data,
                                                    std::span<const std::int64_t> ids) {
  std::vector<std::int64_t> others;
  std::string line;
  Json json;
  for (const std::int64_t id : ids) {
    const std::int64_t from = offset[static_cast<std::size_t>(id)], to = offset[static_cast<std::size_t>(id) + 1];
    bool sure = to - from <= longest_plain_object;
    if (sure) {
      line.assign(reinterpret_cast<const char*>(data.data()) + from, static_cast<std::size_t>(to - from));
      line.append(Json::slack, '\n');
      try {
        json.start(line.data(), static_cast<std::size_t>(to - from));
        sure = json.peek() == '{';
        if (sure) json.skip(2);
        sure = sure && json.peek() == '\n' && json.p == line.data() + (to - from);
      } catch (const Fault&) {
        sure = false;
      }
    }
    if (!sure) others.push_back(id);
  }
  return others;
}

}  // namespace boomslang::trace
