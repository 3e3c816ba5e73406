// Stitch: the orders of the windows, one after the other, replayed from the first point to the last.
//
// What windows were promised and what they were given is bookkeeping, and no answer rests on that: this walk looks only
// at the whole trace and the order.
#include <algorithm>

#include "windows.hpp"

namespace boomslang::windows {

bool Windows::explains(const std::vector<int32_t>& order, const std::vector<std::pair<int32_t, int32_t>>& initial) const {
    const Whole& w = whole_;
    std::vector<int32_t> at(size_t(w.txns) * size_t(w.points), -1);
    for (size_t i = 0; i < order.size(); ++i) {
        if (at[size_t(order[i])] >= 0) return false;
        at[size_t(order[i])] = int32_t(i);
    }
    for (int32_t t = 0; t < w.txns; ++t) {
        int32_t b = at[size_t(w.begin_of(t))], c = at[size_t(w.commit_of(t))];
        if ((b < 0) != (c < 0) || b > c) return false;
        if (w.state[t] == MUST ? b < 0 : w.state[t] == OUT && b >= 0) return false;
    }
    for (size_t e = 0; e < w.edge_from.size(); ++e) {
        int32_t a = at[size_t(w.edge_from[e])], b = at[size_t(w.edge_to[e])];
        if (a >= 0 && b >= 0 && a > b) return false;
    }
    std::vector<int32_t> value(w.init.begin(), w.init.end());
    for (auto [key, chosen] : initial)
        if (value[size_t(key)] == UNKNOWN_INIT) value[size_t(key)] = chosen == PRESENT ? w.unnamed : chosen;
    for (int32_t& v : value)
        if (v == UNKNOWN_INIT || v == NO_VALUE) v = ABSENT;
    std::vector<int32_t> written(w.overlap ? size_t(w.keys) : 0, -1);  // where each key was last written
    std::unordered_map<int32_t, int64_t> latest;                       // of each clock the latest begin so far
    for (int32_t point : order) {
        int32_t t = point / w.points;
        if (w.is_begin(point)) {
            for (int64_t r = w.read_start[t]; r < w.read_start[t + 1]; ++r)
                if (!matches(value[size_t(w.read_key[r])], w.read_value[r])) return false;
            if (w.real_time && w.begin[t] != NO_TIME) {
                auto [found, fresh] = latest.try_emplace(w.clock[t], w.begin[t]);
                if (!fresh) found->second = std::max(found->second, w.begin[t]);
            }
        }
        if (!w.is_commit(point)) continue;
        for (int64_t j = w.txn_write_start[size_t(t)]; j < w.txn_write_start[size_t(t) + 1]; ++j) {
            auto [key, written_value] = w.txn_writes[size_t(j)];
            if (w.overlap) {
                if (written[size_t(key)] > at[size_t(w.begin_of(t))]) return false;
                written[size_t(key)] = at[size_t(point)];
            }
            value[size_t(key)] = written_value;
        }
        if (w.real_time && w.returned[t] && w.end[t] != NO_TIME) {
            auto found = latest.find(w.clock[t]);
            if (found != latest.end() && found->second > w.end[t]) return false;
        }
    }
    return true;
}

}  // namespace boomslang::windows
