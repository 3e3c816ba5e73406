// Every violation that what is known shows, in one pass over the trace.
//
// All points are kept in one order. The edges that are known go into it one by one (those that rest on no read first,
// then read by read), and the order follows (Pearce and Kelly, "A dynamic topological sort algorithm for directed
// acyclic graphs", 2006). Then the order is simulated: where it says that another writer p of the key stands between
// a read and the writer w that it saw, p must be after the reader if w is known to be before p, and before w if p is
// known to be before the reader. That is a new edge, which rests on the read and on the path that was found. What is
// not known either way is left alone: only search can tell.
//
// An edge that closes a cycle shows a violation. Its read is taken out, with all that was derived from it, and the
// pass goes on where it was. So each violation has a read of its own (or, if it rests on no read, a transaction), no
// work is done twice, and in the end nothing that is known contradicts itself.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/limits.hpp"

namespace boomslang::explain {

enum Kind : uint8_t { WW, WR, PWR, RW, PRW, SO, RT, INSIDE };  // INSIDE: from begin to commit
constexpr uint8_t IN = 0;
constexpr int32_t NOBODY = -1;  // as a writer: the initial state

struct Given {
    int32_t txns = 0, points = 1, nodes = 0;
    std::span<const uint8_t> state;
    std::span<const int64_t> read_start;
    std::span<const int32_t> read_key, read_writer, read_step;
    std::span<const uint8_t> read_predicate, read_strong;
    std::span<const int64_t> key_start;
    std::span<const int32_t> write_txn;
    std::span<const int32_t> edge_from, edge_to, edge_read;  // nodes; the read that shows it, or -1
    std::span<const uint8_t> edge_kind, edge_path;           // edge_path: a step of a forbidden cycle with one rw
    std::span<const int64_t> hint;                           // of each node: smaller is earlier
    bool overlap = true;                                     // may writers of a key not overlap?
    bool once = false, once_ww = false, once_earlier = false;
    int32_t once_longest = 0;
    int64_t most = 0;  // violations; 0: all
};

struct Known {
    // Of each violation: the edges of its cycle, the reads and transactions that it rests on, and what was taken out.
    std::vector<int64_t> cycle_start{0}, reads_start{0}, txns_start{0};
    std::vector<int32_t> from, to, key;
    std::vector<uint8_t> kind;
    std::vector<int32_t> reads, txns;
    std::vector<int32_t> out_read, out_txn;
    bool all = true;  // false: `most` were found, and there may be more
};

// What was found before a limit is in `found`.
void known_violations(const Given& given, Known& found, Limits& limits);

}  // namespace boomslang::explain
