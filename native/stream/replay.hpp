// The order of a window, walked through from its first point to its last.
//
// A window that goes forward is taken because an order explains its reads. This walk is what says so: it looks at the reads
// and writes of the window and at the order, and knows nothing of how that was found. On its way it sees what the windows
// behind will be told of this one: who wrote each key last, of which keys the state at the start was read, and who wrote a key
// last, one after the other, without anybody having read what the very last wrote.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace boomslang::stream {

// A window's reads and writes, as its ASG has them: reads by transaction, writes by key.
struct Window {
    int32_t points = 1, keys = 0, txns = 0;
    bool apart = false;  // may writers of a key not overlap?
    std::span<const int64_t> read_start;
    std::span<const int32_t> read_key, read_value;
    std::span<const int64_t> key_start;
    std::span<const int32_t> write_txn, write_value;
    std::span<const int32_t> initial;   // of each key its value at the start
    std::span<const uint8_t> pinned;    // of each transaction: did it begin before the window?
};

struct Replayed {
    enum Problem { NONE, TWICE, READ, OVERLAP };
    Problem problem = NONE;
    std::vector<int64_t> seen;      // keys of which what stood at the start was read
    std::vector<int64_t> last;      // of each key that was written: the row of the last write
    std::vector<int64_t> first;     // with `apart`: rows of pinned writers that are the first of their key
    // Of those who began here: rows of the last write of a key, if nobody has read it, and of writes before it,
    // the nearest first; a pair for each.
    std::vector<int64_t> early, late;
    std::vector<uint8_t> matters;   // of each row: has anybody read it, or is it what is left?
};

// `order`: the points that are taken.
Replayed replay(const Window& window, std::span<const int64_t> order);

}  // namespace boomslang::stream
