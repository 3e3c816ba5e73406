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
              int jobs, size_t least) {
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
    in_parallel(of.size() < least ? 1 : jobs, 2, none, [&](size_t i, int, Limits&) {
        if (i == 0) first = sorted(of, begun_at);
        else last = sorted(of, ended_at);
    });
    // Does this begin come before that end? Of those that come at the same time, begins do, but not those of later ones.
    auto precedes = [&](int32_t next, int32_t t) {
        const int64_t begun = begun_at(next), end = ended_at(t);
        return begun < end || (begun == end && next <= t);
    };
    // Merged in parts, each with some of the ends and the begins since the end before them.
    const size_t parts = of.size() < least ? 1 : size_t(std::max(1, jobs));
    Turns turns;
    turns.points.resize(size_t(points) * of.size());
    turns.after.resize(size_t(txns));
    in_pieces(parts > 1 ? jobs : 1, size_t(txns), [&](size_t from, size_t until) {
        std::fill(turns.after.begin() + int64_t(from), turns.after.begin() + int64_t(until), -1);
    });
    in_parallel(jobs, parts, none, [&](size_t part, int, Limits&) {
        size_t e = last.size() * part / parts;
        const size_t until = last.size() * (part + 1) / parts;
        auto begins_before = [&](size_t end) -> size_t {  // how many
            if (end == 0) return 0;
            if (end == last.size()) return first.size();
            return size_t(std::partition_point(first.begin(), first.end(), [&](int32_t t) { return precedes(t, last[end - 1]); }) - first.begin());
        };
        size_t b = begins_before(e);
        const size_t begins_until = begins_before(until);
        int32_t ended = e == 0 ? -1 : last[e - 1];
        size_t to = e + (points == 2 ? b : 0);
        while (e < until || b < begins_until) {
            if (b < begins_until && (e == until || precedes(first[b], last[e]))) {
                const int32_t t = first[b++];
                turns.after[size_t(t)] = ended;
                if (points == 2) turns.points[to++] = 2 * t;
            } else {
                ended = last[e++];
                turns.points[to++] = points == 2 ? 2 * ended + 1 : ended;
            }
        }
    });
    return turns;
}

}  // namespace boomslang::windows
