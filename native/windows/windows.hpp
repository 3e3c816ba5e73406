// Windows: a long trace decided in parts that fit together.
//
// A database's order is local: what a transaction depends on happened around it. So the points are ranked by what the trace
// suggests, cut into windows (cut.cpp), each window says what it needs of the state at its start and the windows before
// it are asked to leave just that (fit.cpp), and each is solved alone, on all cores (part.cpp).
//
// Why the answer is sound: let every window have an order in which its reads see the start state or a writer of the
// window, and its final reader what later windows demand. Put these orders one after the other. A read sees the last
// writer of its key before it: one in its own window, where the engine has looked; or none there, and then the state at
// the window's start, which by the demands is what the last window that wrote the key left behind. Writers of a key in
// different windows overlap only if one of them crosses a cut, and then it is in every window that it touches, pinned
// where it is elsewhere. Known edges never lead back to an earlier window; that is checked, and windows that break it
// are joined. In the end the whole order is replayed all the same (stitch.cpp).
//
// A window that fails shows nothing by itself: the state at its start was a choice, and so were the cuts. The caller may
// ask whether its core refutes the whole trace, or have it joined with its neighbours: in the limit that is the whole.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/limits.hpp"
#include "common/unset.hpp"
#include "part.hpp"
#include "whole.hpp"

namespace boomslang::windows {

struct WindowStats {
    int64_t cuts = 0, refined = 0, joined = 0, windows = 0, solved = 0, largest = 0;
    int64_t conflicts = 0, decisions = 0;
    int64_t walked = 0, marks = 0, stretches = 0;
};

class Windows {
public:
    // `sequence`: all points of transactions that are not out, by rank. `after`: of each transaction the last one that
    // ended before it began, or -1; empty: nobody knows when. `uncertain`: whose outcome is unknown.
    Windows(Whole whole, std::span<const int32_t> sequence, std::span<const int32_t> after, std::span<const uint8_t> uncertain,
            int jobs);

    // Of each point the one that its session suggests next, or -1: for whoever asks the engine.
    void hint(std::span<const int32_t> next) { whole_.hint_next = next; }

    // Cuts the sequence after every `size` transactions, each cut moved to where an order of its neighbourhood (`margin`
    // transactions either side) has its middle. `stop`: once so many neighbourhoods are refuted (0: never),
    // and they are no rare exception; and return them.
    // `hard()`, afterwards: so many came to no end that windows will not help.
    std::vector<Solved> cut(int32_t size, int32_t margin, int stop, int jobs, Options options, Limits& limits);

    struct Step {
        Answer::Status status = Answer::UNKNOWN;  // valid: all of it; otherwise windows that failed, and why
        std::vector<int32_t> order;
        std::vector<std::pair<int32_t, int32_t>> initial;
        std::vector<int32_t> failed;
        std::vector<Solved> why;
        bool broken = false;  // were enough refuted to stop?
        bool misfit = false;  // every window holds and the replay of all of them does not: a bug
    };
    // All of it in one pass, without cutting: an order, or nothing. Each job takes a stretch, of at least so many
    // transactions. Where it does not go on, the engine is asked about `margin` transactions either side.
    // Is this order of points, with these initial values of keys, one that the trace allows? Looked at in so many parts.
    bool explains_in_parts(const std::vector<int32_t>& order, const std::vector<std::pair<int32_t, int32_t>>& initial, int jobs) const;
    Step walk(int32_t margin, int32_t shortest, int jobs, Options options, Limits& limits);
    // Solves what is not solved yet. `stop`: once so many windows are refuted (0: never), and they are no rare exception.
    Step solve(int stop, int jobs, Options options, Limits& limits);
    // Joins each of these windows with as much again on either side. False: there is nothing left to join.
    bool join(const std::vector<int32_t>& failed);

    bool hard() const { return hard_; }

    WindowStats stats;
    int32_t windows() const { return int32_t(bounds_.size()) - 1; }

private:
    struct Window {
        // Kept from fit() to solve() only where fit() looks back into it: parts of all windows are as large as the trace.
        Part part;
        bool made = false, solved = false;
        int32_t size = 0;  // transactions
        std::vector<int32_t> start;
        // What the final reader demands: what these reads saw, and a few patterns that no single read stands for.
        std::vector<int64_t> final_reads;
        std::vector<Demand> final_others;
        uint64_t given = 0;  // a hash of all of these, as they were when it was solved
        uint64_t hash(const Whole& whole) const;
        void leave(const Whole& whole, const Demand& demand);
        std::vector<Demand> final(const Whole& whole) const;
        std::vector<int32_t> order;
        std::vector<std::pair<int32_t, int32_t>> initial;
    };
    // --- walk.cpp
    // Has the engine put these places of the order right? Writes that are `buried` the store has not taken.
    bool mend(Step& step, const std::vector<std::pair<size_t, size_t>>& places, const std::unordered_set<int64_t>& buried, int jobs,
              Options options, Limits& limits);
    // --- cut.cpp
    void place_uncertain(std::span<const uint8_t> uncertain);
    // A transaction that writes nothing commits where it begins; nobody begins behind its own commit.
    void keep_from_crossing();
    void number(int jobs = 1);
    void last_readers(const std::vector<std::pair<int64_t, int64_t>>& hoods, int jobs, Limits& limits);
    // --- fit.cpp
    int32_t window_at(int32_t place) const;
    void follow_edges();
    bool fit(int jobs, Limits& limits);
    void fit(int32_t window, const Part& part);
    Part part_of(int32_t window, Scratch& scratch) const;
    void settle(int32_t key);
    void demand(int32_t window, const Demand& demand);
    // Does the window, or the initial state, leave this pattern? `read`: one that saw it, or -1.
    bool supplied(int32_t key, int32_t pattern, int64_t read) const;
    bool leaves(int32_t window, int32_t local, int32_t key, int32_t pattern, bool sure, int64_t read) const;
    void conflict(int32_t from, int32_t to);
    bool apply_joins();
    void find_spanning();
    // --- stitch.cpp
    bool explains(const std::vector<int32_t>& order, const std::vector<std::pair<int32_t, int32_t>>& initial, int jobs) const;
    // --- windows.cpp
    void parallel(int jobs, size_t count, Limits& limits, const std::function<void(size_t, Scratch&, Limits&)>& work);

    Whole whole_;
    Unset<int32_t> sequence_, place_;
    std::span<const int32_t> after_;
    std::vector<uint8_t> uncertain_;
    std::vector<int32_t> bounds_;  // where in the sequence each window starts; then its end
    std::vector<Window> windows_;
    // Counts answers, and says whether too many of the first ones were none.
    bool hopeless(bool unknown);
    std::atomic<int32_t> answers_ = 0, unknown_ = 0;
    // Are so many refuted that it is not for where they were cut?
    struct Refuted {
        std::atomic<int32_t> answers = 0, refuted = 0;
        bool enough(int stop) const { return stop > 0 && refuted >= stop && refuted * 20 > answers; }
    };
    std::atomic<bool> hard_ = false;
    std::vector<std::vector<int32_t>> spanning_;  // of each window: who begins before it and commits behind it
    std::vector<std::unique_ptr<Scratch>> scratch_;  // one a thread
    std::vector<uint8_t> joins_;  // of each inner bound: must it go?
    bool unmet_ = false;  // the one window there is demands what nothing before it leaves: who wrote that was left out
    std::vector<std::atomic<int32_t>> last_read_;  // of each write near a cut: the place of its last known reader

    // What fit() knows of each key on its way through the windows.
    struct State {
        int32_t owner = -1, local = -1;  // the last window with a sure writer, and the key's number there
        int32_t last = ABSENT;           // the value of the last of these
        int32_t pattern = NO_DEMAND, demander = -1;
        int64_t read = -1;
    };
    std::vector<State> state_;
    std::unordered_map<int32_t, std::vector<std::pair<int32_t, int32_t>>> perhaps_;  // windows since that may write it
    std::vector<std::pair<int32_t, int32_t>> chosen_;  // initial values that were chosen
};

}  // namespace boomslang::windows
