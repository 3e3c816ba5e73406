// Rank: begins and ends of transactions in one row, by when they happened.
//
// A log has its begins in order, nearly, and its ends: each is sorted by itself, which takes a moment, and then they are
// merged. Sorted as one they would be far from any order.
#include "rank.hpp"

#include <algorithm>
#include <numeric>

namespace boomslang::windows {

namespace {

// The numbers of these times in their order; those of one time as they stand.
std::vector<int32_t> sorted(std::span<const int64_t> times) {
    std::vector<int32_t> order(times.size());
    std::iota(order.begin(), order.end(), 0);
    int64_t moves = 32 * int64_t(times.size());  // insertion, as long as that is not far
    for (size_t i = 1; i < order.size(); ++i) {
        const int64_t time = times[i];
        size_t to = i;
        for (; to > 0 && times[size_t(order[to - 1])] > time && moves > 0; --to, --moves) order[to] = order[to - 1];
        order[to] = int32_t(i);
        if (moves > 0) continue;
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return times[size_t(a)] < times[size_t(b)]; });
        break;
    }
    return order;
}

}  // namespace

Turns in_turn(std::span<const int64_t> begins, std::span<const int64_t> ends, std::span<const int64_t> of, int32_t points,
              int32_t txns) {
    const std::vector<int32_t> first = sorted(begins), last = sorted(ends);
    Turns turns;
    turns.points.reserve(size_t(points) * of.size());
    turns.after.assign(size_t(txns), -1);
    size_t b = 0, e = 0;
    int32_t ended = -1;
    auto begin = [&] {
        const auto t = int32_t(of[size_t(first[b++])]);
        turns.after[size_t(t)] = ended;
        if (points == 2) turns.points.push_back(2 * t);
    };
    while (e < last.size()) {
        const auto j = b < first.size() ? size_t(first[b]) : 0, i = size_t(last[e]);
        if (b < first.size() && (begins[j] < ends[i] || (begins[j] == ends[i] && j <= i))) {
            begin();
        } else {
            ended = int32_t(of[i]), ++e;
            turns.points.push_back(points == 2 ? 2 * ended + 1 : ended);
        }
    }
    while (b < first.size()) begin();
    return turns;
}

}  // namespace boomslang::windows
