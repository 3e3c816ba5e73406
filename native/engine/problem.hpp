// What the engine is asked: arrays, and nothing that knows of databases or file formats.
//
// A *problem* is the IR in the shape the search wants. Transactions own one point (serializability:
// reading and writing happen at once) or two (snapshot isolation: begin, then commit). Known edges
// order points. Every key has its writers; a read names the value it saw, so its candidate writers are
// those that wrote this value. The question: is there a total order of the points in which
//
//   - every known edge points forward,
//   - every strong read sees a candidate as the last writer before it,
//   - every weak read has some candidate before it,
//   - with two points: writers of one key do not overlap?
//
// "May" transactions (outcome unknown) can be left out of the order; if they are in, their reads count.
#pragma once
#include <cstdint>
#include <span>

namespace boomslang {

constexpr int32_t ABSENT = -1;        // a value: no such key
constexpr int32_t PRESENT = -2;       // a read's pattern: any value but ABSENT
constexpr int32_t UNKNOWN_INIT = -3;  // the initial value of a key is for the search to choose
constexpr int32_t NO_VALUE = -4;      // ... and has not been chosen yet

enum State : uint8_t { MUST = 0, MAY = 1, OUT = 2 };

struct Problem {
    int32_t txns = 0;
    int32_t points = 1;   // points a transaction
    int32_t helpers = 0;  // further nodes (the time line of real-time order), numbered after all points
    int32_t keys = 0;
    std::span<const uint8_t> state;        // of each transaction
    std::span<const int64_t> read_start;   // txns + 1; reads are grouped by transaction
    std::span<const int32_t> read_key;
    std::span<const int32_t> read_value;   // value, ABSENT or PRESENT
    std::span<const int32_t> read_writer;  // the only candidate of a MUST read; -1 the initial state; -2 several
    std::span<const uint8_t> read_strong;
    std::span<const int64_t> key_start;    // keys + 1; writes are sorted by (key, value, transaction)
    std::span<const int32_t> write_txn;
    std::span<const int32_t> write_value;
    std::span<const int32_t> init;         // of each key: a value, ABSENT or UNKNOWN_INIT
    std::span<const int32_t> edge_from;    // known edges between nodes, besides those of read_writer
    std::span<const int32_t> edge_to;
    std::span<const int32_t> hint_next;    // empty, or for each node its hinted successor (-1: none)
    std::span<const int64_t> priority;     // of each transaction: where the guess would rather place it
};

inline bool matches(int32_t value, int32_t pattern) {
    return pattern == PRESENT ? value != ABSENT : value == pattern;
}

}  // namespace boomslang
