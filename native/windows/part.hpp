// A part: some neighbouring points of the whole, as a problem of their own for the engine.
//
// What came before the part is a *start state*, which its reads see like an initial state; what comes after it is a *final
// reader*, a transaction behind all others that demands the values later windows read. Reads belong to the part that has
// their transaction's begin, writes take effect in that of its commit. A transaction may have only one of its points
// here, or none and yet be open all the time: then it is kept for the one rule that it can still break, that writers
// of a key do not overlap, with its other points *pinned* before or behind everything here. A key that nobody writes
// here needs no search: all that is read of it is a demand on the start state.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/limits.hpp"
#include "engine/engine.hpp"
#include "whole.hpp"

namespace boomslang::windows {

constexpr int32_t NO_DEMAND = -5;

// What the state at the start of a part must show: a value, ABSENT or PRESENT; and a read that says so.
struct Demand {
    int32_t key, pattern;
    int64_t read;
    static Demand of(const Whole& whole, int64_t read) { return {whole.read_key[read], whole.read_value[read], read}; }
    bool operator==(const Demand& o) const { return key == o.key && pattern == o.pattern; }
};

// Lookups from the whole's numbers to a part's, one a thread; an entry counts if it bears the stamp.
struct Scratch {
    explicit Scratch(const Whole& whole);
    uint32_t stamp = 0;
    std::vector<uint32_t> key_stamp, txn_stamp, demand_stamp;
    std::vector<int32_t> key_local, txn_local, demand_pattern;
};

struct Solved {
    Answer::Status status = Answer::UNKNOWN;
    std::string reason;                          // of unknown
    std::vector<int32_t> order;                  // valid: the points of the whole that are in the part, in order
    std::vector<std::pair<int32_t, int32_t>> initial;  // valid: (key, value) that was chosen where nothing was said
    std::vector<int32_t> core_txns;              // invalid: transactions and reads of the whole
    std::vector<int64_t> core_reads;
    Stats stats;
};

class Part {
public:
    Part() = default;
    // `points` in the order of their places; `spanning`: transactions that begin before the part and commit behind it.
    Part(const Whole& whole, std::span<const int32_t> points, std::span<const int32_t> spanning,
         std::span<const int32_t> place, Scratch& scratch);

    // `start`: of each key here its value at the start, NO_DEMAND if nobody may see it, or UNKNOWN_INIT. `final`: what
    // the final reader demands. `lenient`: where the part ends is arbitrary, so leave out reads that nothing explains, and pins.
    Solved solve(const Whole& whole, std::span<const int32_t> start, std::span<const Demand> final,
                 std::span<const int32_t> place, bool lenient, Options options, Limits& limits, Scratch& scratch) const;

    struct Key {
        int32_t key;               // of the whole
        bool visible = false;      // does somebody who writes it commit here?
        bool sure = false;         // ... who is in, whatever we choose?
        bool read = false;         // is it looked at here? (If it is not visible: by a transaction of unknown outcome.)
        bool any_value = false;    // ... by a read that any value would satisfy?
        int32_t last = ABSENT;     // the value of the sure writer that is placed last
    };
    std::vector<Key> keys;
    // Reads. Of some keys the first one here, if it stands before all writers here; and those whose values must stand at
    // the start, whatever the order here: one a key, unless they differ.
    std::vector<int64_t> likely, demands;
    // Can a writer that commits here leave this pattern for a key? Only sure ones count, or only the others.
    bool leaves(int32_t key, int32_t pattern, bool sure) const;
    size_t size() const { return txn_.size(); }

private:
    enum Has : uint8_t { BEGIN = 1, COMMIT = 2 };
    struct Write {
        int32_t value, txn;
        bool operator<(const Write& o) const { return value != o.value ? value < o.value : txn < o.txn; }
    };
    bool explained_here(int32_t key, int32_t pattern, int32_t reader) const;
    // The number here of a transaction that commits here, or -1.
    int32_t commits_here(int32_t txn, const Scratch& scratch) const;
    std::pair<int64_t, int64_t> matching(int32_t key, int32_t pattern) const;

    std::vector<int32_t> txn_;
    std::vector<uint8_t> has_;
    std::vector<uint8_t> may_;
    std::vector<int32_t> key_start_;
    std::vector<Write> writes_;  // by key, value, transaction; of who does not commit here with a value that nobody reads
};

}  // namespace boomslang::windows
