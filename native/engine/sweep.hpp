// A sweep along the clock: the order in real time of a trace whose values say little.
//
// At any moment only a few transactions are under way. Go through invocations and returns as the clock has them: until a
// transaction returns it must have had its place, so what is to be decided at a return is who of those under way goes
// before it. Where that leads nowhere, go back to the last choice; and remember who was where with which values, for
// another way to the same place leads nowhere, too. That is how linearizability is checked (Wing and Gong, "Testing and
// verifying concurrent objects", 1993; Lowe, "Testing for linearizability", 2017, whose just-in-time rule says that
// nobody needs a place before somebody returns), with begin and commit as two places at snapshot isolation.
//
// Places that lead nowhere are remembered through a hash: two that are confused cost an order, and never give a wrong one,
// for each step is made only where the reads of the one that is placed match the values that are there.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "common/limits.hpp"

namespace boomslang::engine {

struct SweepProblem {
    int32_t txns = 0, points = 1, keys = 0;
    std::span<const int64_t> read_start;
    std::span<const int32_t> read_key, read_value;  // a value, -1 absent, -2 present
    std::span<const int64_t> key_start;
    std::span<const int32_t> write_txn, write_value;
    std::span<const int32_t> init;    // a value, or -1 absent
    std::span<const int32_t> before;  // of each transaction: who must have its place first, or -1
    std::span<const int32_t> events;  // as the clock has them: 2 t when t is invoked, 2 t + 1 when it returns
    int64_t most_places = 0;          // that may be tried, in all
};

class Sweep {
public:
    Sweep(const SweepProblem& problem, Limits& limits);
    // Is there an order? Then `order` has the points of all transactions, and `read_writer` whom each read saw (-1: the
    // initial state; -2: it does not count).
    bool run();

    std::vector<int32_t> order, read_writer;
    int64_t places = 0;  // tried

private:
    enum Status : uint8_t { WAITING, BEGUN, DONE };
    struct Write {
        int32_t key, value;
    };
    struct Choice {
        std::vector<int32_t> moves;
        size_t event, placed, tried = 0;
        uint64_t place;
    };
    std::span<const Write> writes(int32_t t) const {
        return {writes_.data() + write_start_[size_t(t)], size_t(write_start_[size_t(t) + 1] - write_start_[size_t(t)])};
    }
    bool at_once(int32_t t) const { return p_.points == 1 || writes(t).empty(); }
    bool share_key(int32_t a, int32_t b) const;
    bool fits(int32_t t, std::span<const Write> changes) const;
    int32_t go_on();
    void go_back(const Choice& choice);
    void put(int32_t t);
    void set(int32_t key, int32_t value);
    uint64_t place() const;
    void moves(int32_t returning, std::vector<int32_t>& found);
    void first(int32_t t, std::vector<int32_t>& found);
    void tell();

    const SweepProblem& p_;
    Limits& limits_;
    std::vector<int64_t> write_start_;
    std::vector<Write> writes_;
    std::vector<int32_t> values_;
    std::vector<Status> status_;
    std::vector<int32_t> under_way_, placed_, ready_, begun_;
    std::vector<Write> undo_;  // what was overwritten, in the order of `placed_`
    size_t event_ = 0;
    uint64_t mixed_ = 0;
};

}  // namespace boomslang::engine
