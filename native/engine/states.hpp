// Which states can be reached: an argument for traces whose values repeat.
//
// Take a few keys and forget all others. Let every transaction that did not abort happen any number of times, wherever what
// it read of these keys fits (its *guard*), with its final writes as effect. Whatever a serial order can show of these keys
// is among the states reached that way; so a committed transaction whose reads match none of them refutes the trace, with no
// search. It is what a person would say: "nobody was on call, and whoever went off had seen somebody else on call".
//
// Where values repeat, transactions are few once those that saw and did the same are one, and states are few as well: single keys
// first, then keys that were read together. All of it is bounded by numbers, so the answer is the same each time.
// (An abstraction in the sense of Cousot and Cousot, POPL 1977: the set is an inductive invariant.)
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/limits.hpp"

namespace boomslang::engine {

struct StatesProblem {
    int32_t txns = 0, keys = 0;
    std::span<const uint8_t> outcome;  // 0 committed, 1 aborted, 2 unknown
    std::span<const int64_t> read_start;
    std::span<const int32_t> read_key, read_value;  // a value, -1 absent, -2 present
    std::span<const uint8_t> read_use;              // 1: a guard of what the transaction writes, 2: must match a state
    std::span<const int64_t> key_start;
    std::span<const int32_t> write_txn, write_value;
    std::span<const int32_t> init;      // a value, -1 absent, -3 unknown
    std::span<const uint8_t> left_out;  // of each key: not one of a group
    bool own_guards = false;            // only reads of keys that the transaction also writes are guards
    bool single = false;                // one key at a time

    int32_t most_states = 4096, most_keys = 8, most_groups = 1000;
    int64_t most_steps = 0;
};

struct StatesFound {
    std::vector<int32_t> keys;    // the group; empty: no refutation
    std::vector<int32_t> states;  // its values, state by state; `unnamed` is a value that the trace does not name
    int32_t txn = -1;             // committed, and its reads match none of them
    int64_t groups = 0, steps = 0, largest = 0;
    int64_t too_large = 0;  // groups of too many keys or states
    static constexpr int32_t unnamed = -5;
};

StatesFound find_unreachable(const StatesProblem& problem, Limits& limits);

}  // namespace boomslang::engine
