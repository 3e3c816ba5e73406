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
//   - with two points, where the level says so: writers of one key do not overlap,
//   - where the level says so: no strong read misses a writer that reaches it by a path (paths.cpp; then a strong read
//     need not see the last writer)?
//
// "May" transactions (outcome unknown) can be left out of the order; if they are in, their reads count.
#pragma once
#include <cstdint>
#include <span>

namespace boomslang::engine {

constexpr int32_t ABSENT = -1;        // a value: no such key
constexpr int32_t PRESENT = -2;       // a read's pattern: any value but ABSENT
constexpr int32_t UNKNOWN_INIT = -3;  // the initial value of a key is for the search to choose
constexpr int32_t NO_VALUE = -4;      // ... and has not been chosen yet

enum State : uint8_t { MUST = 0, MAY = 1, OUT = 2 };

struct PathRule {
    bool on = false;
    bool overwrites = false;  // steps may be overwrites, not only reads
    int32_t longest = 0;      // steps; 0: any number
    bool earlier = false;     // a step is a read that comes earlier in its transaction
};

// A literal of a clause that somebody added: negated?, and what it is about.
struct Given {
    enum Kind : int32_t { BEFORE, TAKES, COMMITTED } kind;  // node a before node b; read a takes transaction b; transaction a
    int32_t a, b;
    bool negated;
};

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
    std::span<const uint8_t> edge_path;    // of each known edge: is it a step of a path? (Empty if there is no such rule.)
    std::span<const int32_t> hint_next;    // empty, or for each node its hinted successor (-1: none)
    std::span<const int64_t> priority;     // of each transaction: where the guess would rather place it
    bool trusted = false;                  // is that an order worth following, whatever the reads say?
    std::span<const int32_t> read_step;    // of each read: its operation
    std::span<const int64_t> clause_start;  // clauses that somebody added: empty, or their number + 1
    std::span<const int32_t> clause_lits;   // four numbers a literal, see Given
    bool overlap = true;                    // with two points: may writers of one key not overlap?
    PathRule path;

    Given given(int64_t i) const {
        const int32_t* l = clause_lits.data() + 4 * i;
        return {Given::Kind(l[0]), l[1], l[2], l[3] != 0};
    }
};

inline bool matches(int32_t value, int32_t pattern) {
    return pattern == PRESENT ? value != ABSENT : value == pattern;
}

}  // namespace boomslang::engine
