// Trails: an order found by walking from value to value.
//
// Where values repeat, a trace says little about who read from whom, but that leaves freedom, too: a version is as good as any
// other of its value. Let a key's values be places, and each transaction that reads a and writes b a road from a to b. A serial
// order is a walk through all roads of all keys at once. With one key a transaction that is Euler's problem, and Hierholzer's
// method solves it ("Ueber die Moeglichkeit, einen Linienzug ohne Wiederholung und ohne Unterbrechung zu umfahren", 1873):
//
//   1. Walk. Take the transactions as the trace suggests; one whose reads do not match waits for a while, to go when they do,
//      and is then left for later. At the end, walk on with those that were left.
//   2. Splice. What is left goes where its reads match what the order shows, as a *detour*: further ones of what is left follow,
//      until each key is back at its value, or holds a version that nobody reads after this place. Then begin again with
//      the longer order, which shows more.
//
// Who writes without having read can go anywhere in a walk; who only reads is a detour of its own; one of unknown outcome is taken
// only if its value is missing somewhere. With several keys a transaction this is no longer complete, and finding nothing means
// nothing. What is found is a guess for the engine, which replays it and repairs what little may be wrong with it.
#pragma once
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "common/limits.hpp"
#include "problem.hpp"

namespace boomslang::engine {

class Trails {
public:
    Trails(const Problem& problem, Limits& limits);

    // `patience`: how many others may be placed while one waits in the walk. `stall`: how many in a row must find another value at
    // a key than they want, until somebody is looked for who would let them go on, wherever the trace suggests that one.
    void find(int64_t patience, int32_t stall);

    std::vector<int32_t> order;  // transactions
    std::vector<int32_t> left;   // those that should be in it and found no place
    int64_t rounds = 0, detours = 0;

private:
    static constexpr int32_t ANYTHING = -1;  // the value of a key that the trace leaves open

    // A *spot* is a key with a value; a read wants one, or "any value" of its key.
    int32_t spot_of_value(int32_t key, int32_t value) const;
    int32_t any(int32_t key) const { return groups_ + p_.keys + key; }
    bool matches_spot(int32_t wanted, int32_t shown) const {
        return shown == ANYTHING || wanted == shown || (wanted >= groups_ + p_.keys && present_[size_t(shown)]);
    }
    bool writes(int32_t t, int32_t key) const;

    // --- the walk
    void walk(int64_t patience, int32_t stall);
    void ready(int32_t unit);
    void try_place(int32_t t);
    bool take_back(int32_t t, int32_t wanted);
    bool help(int32_t t, int32_t wanted);
    void place(int32_t t);
    void park(int32_t t, int32_t spot);
    void wake(int32_t spot);

    // --- the splices
    struct Version {
        int32_t start;      // the place in the order of whoever wrote it; -1: initial
        int32_t end;        // of whoever overwrites it; else the end of the order
        int32_t last_read;  // of the last who reads it; -1: nobody
        int32_t spot;
        bool spent = false;  // a detour of this round has ended here with another value
    };
    void look_back();
    bool splice(int32_t t, bool needs_another);
    bool try_gap(int32_t t, int32_t gap, bool needs_another);
    int32_t gap_for(int32_t t, int32_t read, int32_t version);
    int32_t version_at(int32_t key, int32_t gap);
    bool follows(int32_t t, int32_t gap);
    bool allowed(int32_t t, int32_t gap) const;
    void step_into(int32_t t, int32_t gap);
    void undo_detour();

    const Problem& p_;
    Limits& limits_;
    int32_t groups_ = 0;  // spots: those that somebody writes, then one a key for another initial value, then "any value" of each key
    int32_t units_ = 0;   // transactions, then helper nodes of known edges
    std::vector<int32_t> group_start_, group_value_;
    std::vector<uint8_t> present_;
    std::vector<int32_t> spot_key_, read_spot_, initial_spot_;
    std::vector<int64_t> write_start_;
    std::vector<int32_t> write_key_, write_spot_;  // by transaction
    std::vector<int64_t> writer_start_;
    std::vector<int32_t> writers_;  // by spot, as the trace suggests; of unknown outcome, too
    std::vector<int64_t> next_start_, previous_start_;
    std::vector<int32_t> next_, previous_;
    bool any_edges_ = false;

    struct Waiting {
        bool writer;
        int64_t priority;
        int32_t txn;
        bool operator<(const Waiting& o) const {  // a max-heap; readers first, for they change nothing
            return writer != o.writer ? writer > o.writer : priority != o.priority ? priority > o.priority : txn > o.txn;
        }
    };
    struct Next {
        int64_t priority;
        int32_t txn;
        bool operator<(const Next& o) const { return priority != o.priority ? priority > o.priority : txn > o.txn; }
    };
    std::priority_queue<Next> heap_;
    std::vector<std::priority_queue<Waiting>> parked_;
    std::vector<int32_t> current_, missing_, woken_by_;
    std::vector<int64_t> since_;
    std::vector<uint8_t> placed_, is_ready_;
    std::vector<std::vector<std::pair<int32_t, int32_t>>> stalled_;  // by key: those who found another value in a row, and what they want
    struct Shown {
        int32_t writer, spot, reads;
    };
    std::vector<std::vector<Shown>> shown_;  // by key: what it has held so far
    std::vector<int32_t> late_;
    int32_t stall_ = 0;
    int64_t patience_ = 0, effort_ = 0;

    std::vector<int64_t> version_start_;
    std::vector<Version> versions_;
    std::vector<std::vector<int32_t>> visits_, wanting_;  // by spot: versions; those left that read it
    std::vector<int32_t> at_, earliest_, latest_;
    struct Touched {
        uint32_t stamp = 0;
        int32_t version = -1, spot = -1;
        bool open = false;
    };
    std::vector<Touched> touched_;
    uint32_t stamp_ = 0;
    std::vector<int32_t> touched_keys_, open_keys_, detour_;
    std::vector<std::vector<int32_t>> inserted_;  // by gap
};

}  // namespace boomslang::engine
