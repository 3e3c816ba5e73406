// The whole trace that is cut into windows: the arrays of the ASG, and what every window looks up in them.
//
// Only levels at which a read sees the last writer before it (serializable, snapshot isolation, prefix and their strong
// forms): there an order of the points settles everything, and orders of windows can be put one after the other.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/problem.hpp"

namespace boomslang::windows {

using namespace engine;  // whose problems these are, in parts

constexpr int64_t NO_TIME = INT64_MIN;

struct Whole {
    int32_t txns = 0;
    int32_t points = 1;
    int32_t keys = 0;
    int32_t unnamed = 0;   // a value that no read of the trace names
    bool overlap = false;  // with two points: may writers of one key not overlap?
    std::span<const uint8_t> state;
    std::span<const int64_t> read_start;
    std::span<const int32_t> read_key, read_value, read_writer;
    std::span<const int64_t> key_start;  // writes are sorted by (key, value, transaction)
    std::span<const int32_t> write_txn, write_value;
    std::span<const int32_t> init;
    std::span<const int32_t> edge_from, edge_to;  // between points: session order, the order of appends
    std::span<const int32_t> hint_next;           // of each point the one that its session suggests next, or -1; or empty
    // Of each transaction its times, and whether its end is a return that orders it before later ones. Empty: no times.
    std::span<const int64_t> begin, end;
    std::span<const int32_t> clock;
    std::span<const uint8_t> returned;
    bool real_time = false;  // does the level demand real-time order?
    bool in_time = false;    // shall windows be asked for it even so? (A stricter question, and an easier one.)

    // The writes once more, of each transaction side by side and by key: who looks up those of one finds them in one place.
    struct Write {
        int32_t key, value;
    };
    std::vector<int64_t> txn_write_start;
    std::unique_ptr<Write[]> txn_writes;
    bool certain = false;  // is of each read known who wrote it?
    std::vector<int64_t> edges_start;  // the edges into each transaction
    std::unique_ptr<int32_t[]> edges_in;  // null: there are no edges

    int32_t begin_of(int32_t txn) const { return txn * points; }
    int32_t commit_of(int32_t txn) const { return txn * points + points - 1; }
    bool is_begin(int32_t point) const { return points == 1 || point % 2 == 0; }
    bool is_commit(int32_t point) const { return points == 1 || point % 2 == 1; }

    // The row of a transaction's write of a key; -1: it has none. One transaction may load a million keys.
    int64_t write_of(int32_t txn, int32_t key) const {
        const Write *first = txn_writes.get() + txn_write_start[size_t(txn)], *last = txn_writes.get() + txn_write_start[size_t(txn) + 1];
        const Write* at = first;
        if (last - first <= 16) {
            for (const Write* w = first; w != last; ++w) at += w->key < key;  // nothing to mispredict
        } else {
            at = std::partition_point(first, last, [&](const Write& w) { return w.key < key; });
        }
        return at != last && at->key == key ? at - txn_writes.get() : -1;
    }

    void index(int jobs);
    // The writes of a key that match a pattern: first up to last.
    std::pair<int64_t, int64_t> candidates(int32_t key, int32_t pattern) const;
};

}  // namespace boomslang::windows
