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

std::vector<int32_t> in_turn(std::span<const int64_t> begins, std::span<const int64_t> ends, std::span<const int64_t> of) {
    const std::vector<int32_t> first = sorted(begins), last = sorted(ends);
    std::vector<int32_t> points;
    points.reserve(2 * of.size());
    size_t b = 0, e = 0;
    while (e < last.size()) {
        const auto j = b < first.size() ? size_t(first[b]) : 0, i = size_t(last[e]);
        if (b < first.size() && (begins[j] < ends[i] || (begins[j] == ends[i] && j <= i))) {
            points.push_back(int32_t(2 * of[j])), ++b;
        } else {
            points.push_back(int32_t(2 * of[i] + 1)), ++e;
        }
    }
    for (; b < first.size(); ++b) points.push_back(int32_t(2 * of[size_t(first[b])]));
    return points;
}

}  // namespace boomslang::windows
