// From columns to the Abstract Semantic Graph: what each transaction finally wrote and what it saw from outside.
//
// Two steps, each one pass over arrays. `extract` walks the operations and knows the meaning of each: own writes are
// seen by later own reads (and so tell nothing about others, or break the transaction), only the last write of a key
// counts for others, a scan is a read of every key it covers. `link` looks up who may have written what was read.
// Both are independent of the isolation level.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/limits.hpp"

namespace boomslang::asg {

constexpr int32_t ABSENT = -1, PRESENT = -2, UNKNOWN_INIT = -3, IMPOSSIBLE = -4;
enum Kind : uint8_t { PUT, GET, DELETE, SCAN, ITERATOR, NEXT, BEGIN, COMMIT, ABORT, APPEND, LIST, SELECT };
enum Flag : uint8_t { FOUND = 1, NOTHING = 2, ERROR = 4, END = 8 };
enum Outcome : uint8_t { COMMITTED, ABORTED, UNKNOWN };
constexpr uint8_t INTEGER = 2, FLOAT = 3;  // types of keys, as the trace numbers them
enum ReadKind : uint8_t { ITEM, PREDICATE };
// What a read sees of its own transaction's earlier writes: its own latest one; what others wrote, as if it had not
// written; or either.
enum OwnWrites : uint8_t { MUST_SEE, EXTERNAL, EITHER };

struct Columns {
    int32_t keys = 0;
    std::span<const int64_t> txn_ops;
    std::span<const uint8_t> txn_outcome;
    std::span<const uint8_t> op_kind, op_flags;
    std::span<const int32_t> op_key, op_value, op_range;
    std::span<const int32_t> range_lo, range_hi;
    std::span<const int64_t> range_items;
    std::span<const int32_t> item_key, item_value;
    std::span<const int64_t> key_rank;
    std::span<const uint8_t> key_type;
    std::span<const int32_t> init;  // of each key
    OwnWrites own_writes = MUST_SEE;
};

struct Writes {  // sorted by (key, value, transaction)
    std::vector<int32_t> txn, key, value;
    std::vector<int32_t> op;
};

struct Reads {  // grouped by transaction
    std::vector<int64_t> start;  // txns + 1
    std::vector<int32_t> key, value;
    std::vector<int32_t> op;
    std::vector<uint8_t> kind;
};

struct Internal {  // reads that contradict the transaction's own writes
    std::vector<int32_t> txn, key, seen, own;
    std::vector<int32_t> op;
};

// What list reads say about the order of appends (lists.cpp). A list that was read is a row of whole transactions, its
// *blocks*; most reads of a key see the same list, some less of it, so a read is a reference to a list and a length.
struct Lists {
    std::vector<int32_t> of, length;  // of each read: its list, or -1; and how many blocks of it. Empty if there are none
    std::vector<int32_t> key;         // of each list
    std::vector<int64_t> start;       // lists + 1
    std::vector<int32_t> txn;         // the blocks
};

struct ListRead {
    int64_t read;   // its number among the reads
    int32_t op;
    int32_t count;  // elements, without the transaction's own
};

struct Extracted {
    Writes final, intermediate;  // of the final ones, not the keys: they are
    std::vector<int64_t> key_start;  // where those of each key start; and their end
    Reads reads;
    Internal internal;
    Lists lists;
    int64_t own_seen = 0, own_missed = 0;  // reads of keys that the transaction had written: its own value, or another
};

Extracted extract(const Columns& columns, Limits& limits, int jobs = 1);
// Fills out.lists; a read of a list that no order of whole transactions makes gets the pattern IMPOSSIBLE.
void find_lists(const Columns& columns, const std::vector<ListRead>& found, Extracted& out, Limits& limits);

constexpr uint8_t ASSUMED = 3;  // in place of an outcome: unknown, but let us suppose that it committed

struct ListView {
    std::span<const int32_t> of, length, key;
    std::span<const int64_t> start;
    std::span<const int32_t> txn;
};

struct Links {
    std::vector<int32_t> writer;      // of each read: its only candidate, -1 the initial state, -2 several, -3 none
    std::vector<uint8_t> state;       // of each transaction: 0 in, 1 may be in, 2 out
    std::vector<int32_t> init;        // initial values, where the reads fix them
    std::vector<int64_t> orphans;     // reads of transactions that are in, without any candidate
    std::vector<int64_t> forced_by;   // of each transaction of unknown outcome that is in: the read that took its value, or -1
    std::vector<int32_t> list_from, list_to;  // the order of appends, as far as the list reads of transactions that are in show it
    std::vector<int64_t> list_read;           // of each of these edges: the read that shows it
    std::vector<int32_t> doubtful;            // transactions that may be in, and whose list reads would then say more
    std::vector<int64_t> init_by;     // of each key with unknown initial value: the read that fixed it, or -1 (empty if none unknown)
};

Links link(std::span<const uint8_t> outcome, std::span<const int64_t> read_start, std::span<const int32_t> read_key,
           std::span<const int32_t> read_value, std::span<const int64_t> key_start, std::span<const int32_t> write_txn,
           std::span<const int32_t> write_value, std::span<const int32_t> init, const ListView& lists, Limits& limits,
           int jobs = 1);
// The rest of link's work, where there are lists.
void order_appends(std::span<const int64_t> read_start, std::span<const int64_t> key_start,
                   std::span<const int32_t> write_txn, const ListView& lists, Links& out, Limits& limits);

}  // namespace boomslang::asg
