// Rank: begins and ends of transactions in one row, by when they happened.
//
// A log has its begins in order, nearly, and its ends: each is sorted by itself, which takes a moment, and then they are
// merged. Sorted as one they would be far from any order.
#include "rank.hpp"

#include <algorithm>

#include "common/parallel.hpp"
#include "whole.hpp"

namespace boomslang::windows {

namespace {

constexpr size_t FEW = 100'000;  // not worth a thread

// These transactions by their times; those of one time as they stand.
template <class Time>
std::vector<int32_t> sorted(std::span<const int32_t> of, Time time_of) {
    std::vector<int32_t> order(of.begin(), of.end());
    int64_t moves = 32 * int64_t(order.size());  // insertion, as long as that is not far
    for (size_t i = 1; i < order.size(); ++i) {
        const int32_t t = order[i];
        const int64_t time = time_of(t);
        size_t to = i;
        for (; to > 0 && time_of(order[to - 1]) > time && moves > 0; --to, --moves) order[to] = order[to - 1];
        order[to] = t;
        if (moves > 0) continue;
        order.assign(of.begin(), of.end());
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return time_of(a) < time_of(b); });
        break;
    }
    return order;
}

}  // namespace

Turns in_turn(std::span<const int64_t> begins, std::span<const int64_t> ends, std::span<const uint8_t> state, int32_t points,
              int jobs) {
    const auto txns = int32_t(state.size());
    std::vector<int32_t> of;
    of.reserve(size_t(txns));
    for (int32_t t = 0; t < txns; ++t)
        if (state[size_t(t)] != OUT) of.push_back(t);
    auto ended_at = [&](int32_t t) {
        const int64_t end = ends[size_t(t)], begin = begins[size_t(t)];
        return end != NO_TIME ? end : begin != NO_TIME ? begin : INT64_MAX;
    };
    auto begun_at = [&](int32_t t) {  // never behind its own end
        const int64_t begin = begins[size_t(t)], end = ended_at(t);
        return begin == NO_TIME ? end : std::min(begin, end);
    };
    std::vector<int32_t> first, last;
    Limits none;
    in_parallel(of.size() < FEW ? 1 : jobs, 2, none, [&](size_t i, int, Limits&) {
        if (i == 0) first = sorted(of, begun_at);
        else last = sorted(of, ended_at);
    });
    Turns turns;
    turns.points.reserve(size_t(points) * of.size());
    turns.after.assign(size_t(txns), -1);
    size_t b = 0, e = 0;
    int32_t ended = -1;
    auto begin = [&] {
        const int32_t t = first[b++];
        turns.after[size_t(t)] = ended;
        if (points == 2) turns.points.push_back(2 * t);
    };
    while (e < last.size()) {
        const int32_t next = b < first.size() ? first[b] : -1, t = last[e];
        const int64_t begun = next < 0 ? 0 : begun_at(next), end = ended_at(t);
        if (next >= 0 && (begun < end || (begun == end && next <= t))) {
            begin();
        } else {
            ended = t, ++e;
            turns.points.push_back(points == 2 ? 2 * ended + 1 : ended);
        }
    }
    while (b < first.size()) begin();
    return turns;
}

}  // namespace boomslang::windows
