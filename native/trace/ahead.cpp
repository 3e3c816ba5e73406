#include "trace/ahead.hpp"

namespace boomslang::trace {

ParsedLines Ahead::parse(const char* data, std::size_t size) {
  ParsedLines parsed;
  for (;;) {
    auto slice = std::make_unique<Slice>();
    if (!parsed.slices.empty()) slice->lines.make_room(parsed.slices.back()->lines.size() * 9 / 8);
    if (!slice->borrow(data + parsed.size, size - parsed.size, block_)) {
      if (parsed.size < size) parsed.lines = -1;
      return parsed;
    }
    parser_.parse(*slice);
    parsed.size += slice->size;
    if (slice->fault || slice->failure) parsed.lines = -1;
    if (parsed.lines >= 0) parsed.lines += slice->count;
    parsed.slices.push_back(std::move(slice));
  }
}

}  // namespace boomslang::trace
