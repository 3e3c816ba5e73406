// Stitch: the orders of the windows, one after the other, replayed from the first point to the last.
//
// What windows were promised and what they were given is bookkeeping, and no answer rests on that: this looks only
// at the whole trace and the order.
//
// A long order is replayed in parts, on all cores. A part that begins in the middle does not know what is there: what it
// is told by reads, by writers that must not overlap with earlier ones, and by the clock, it writes down as *asked* of what
// came before. Once all parts are through, they are gone through in turn, and each is held against the state that those
// before it have left.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <unordered_map>

#include "common/parallel.hpp"
#include "windows.hpp"

namespace boomslang::windows {

namespace {

constexpr size_t SHORT_ORDER = 100'000;  // points: not worth a thread

// Of each clock a time; at most (or at least) that of those it was given.
using Clocks = std::unordered_map<int32_t, int64_t>;

void raise(Clocks& to, int32_t clock, int64_t time) {
    auto [found, fresh] = to.try_emplace(clock, time);
    if (!fresh) found->second = std::max(found->second, time);
}

void lower(Clocks& to, int32_t clock, int64_t time) {
    auto [found, fresh] = to.try_emplace(clock, time);
    if (!fresh) found->second = std::min(found->second, time);
}

bool passes(const Clocks& latest, int32_t clock, int64_t end) {
    const auto found = latest.find(clock);
    return found == latest.end() || found->second <= end;
}

// What is there at some place of the order.
struct Store {
    std::vector<int32_t> value;    // of each key
    std::vector<int32_t> written;  // where each key was last written, if that matters
    Clocks latest;                 // of each clock the latest begin so far
};

class Replayed {
public:
    // In place of a value: whatever those before have left.
    static constexpr int32_t UNSEEN = INT32_MIN;

    explicit Replayed(const Whole& whole) : w_(whole) {
        left.value.assign(size_t(w_.keys), UNSEEN);
        if (w_.overlap) left.written.assign(size_t(w_.keys), -1);
        asked_.assign(size_t(w_.keys), UNSEEN);
    }
    // What it leaves behind; UNSEEN, and -1, where it has changed nothing.
    Store left;

    // The points of an order from here to there. False: it can be seen already that they explain nothing.
    bool replay(std::span<const int32_t> order, size_t from, size_t until, std::span<const int32_t> at) {
        for (size_t i = from; i < until; ++i) {
            const int32_t point = order[i], t = point / w_.points;
            if (at[size_t(point)] != int32_t(i)) return false;  // it is there twice
            if (w_.is_begin(point) && !begin(t)) return false;
            if (w_.is_commit(point) && !commit(t, int32_t(i), at[size_t(w_.begin_of(t))])) return false;
        }
        return true;
    }

    // Does it fit behind what the others have left? Then this becomes what all of them leave.
    bool fits_behind(Store& before) const {
        for (auto [key, pattern] : values_)
            if (!matches(before.value[size_t(key)], pattern)) return false;
        for (auto [key, begun] : overlaps_)
            if (before.written[size_t(key)] > begun) return false;
        for (auto [clock, end] : ends_)
            if (!passes(before.latest, clock, end)) return false;
        for (size_t k = 0; k < left.value.size(); ++k)
            if (left.value[k] != UNSEEN) before.value[k] = left.value[k];
        for (size_t k = 0; k < left.written.size(); ++k) before.written[k] = std::max(before.written[k], left.written[k]);
        for (auto [clock, time] : left.latest) raise(before.latest, clock, time);
        return true;
    }

private:
    bool begin(int32_t t) {
        for (int64_t r = w_.read_start[t]; r < w_.read_start[t + 1]; ++r) {
            const int32_t key = w_.read_key[r], pattern = w_.read_value[r], value = left.value[size_t(key)];
            if (value != UNSEEN) {
                if (!matches(value, pattern)) return false;
            } else if (asked_[size_t(key)] != pattern) {
                asked_[size_t(key)] = pattern;
                values_.push_back({key, pattern});
            }
        }
        if (w_.real_time && w_.begin[t] != NO_TIME) raise(left.latest, w_.clock[t], w_.begin[t]);
        return true;
    }

    bool commit(int32_t t, int32_t place, int32_t begun) {
        for (int64_t j = w_.txn_write_start[size_t(t)]; j < w_.txn_write_start[size_t(t) + 1]; ++j) {
            const auto [key, value] = w_.txn_writes[size_t(j)];
            left.value[size_t(key)] = value;
            if (!w_.overlap) continue;
            int32_t& last = left.written[size_t(key)];
            if (last < 0) overlaps_.push_back({key, begun});
            else if (last > begun) return false;
            last = place;
        }
        if (w_.real_time && w_.returned[t] && w_.end[t] != NO_TIME) {
            if (!passes(left.latest, w_.clock[t], w_.end[t])) return false;
            lower(ends_, w_.clock[t], w_.end[t]);
        }
        return true;
    }

    const Whole& w_;
    std::vector<int32_t> asked_;                          // of each key the pattern that was asked last
    std::vector<std::pair<int32_t, int32_t>> values_;     // asked: key and pattern
    std::vector<std::pair<int32_t, int32_t>> overlaps_;   // asked: nobody has written this key since that place
    Clocks ends_;                                         // asked: nobody of this clock has begun after that time
};

}  // namespace

bool Windows::explains(const std::vector<int32_t>& order, const std::vector<std::pair<int32_t, int32_t>>& initial, int jobs) const {
    // What a part asks and leaves is as long as there are keys.
    const bool worth = order.size() >= SHORT_ORDER && size_t(whole_.keys) * 4 <= order.size();
    return explains_in_parts(order, initial, worth ? jobs : 1);
}

bool Windows::explains_in_parts(const std::vector<int32_t>& order, const std::vector<std::pair<int32_t, int32_t>>& initial, int jobs) const {
    const Whole& w = whole_;
    const size_t parts = size_t(std::max(1, jobs));
    std::atomic<bool> wrong = false;
    Limits none;
    auto share = [&](size_t count, auto&& work) {
        in_pieces(jobs, count, [&](size_t from, size_t until) {
            for (size_t i = from; i < until && !wrong; ++i)
                if (!work(i)) wrong = true;
        });
        return !wrong;
    };
    const size_t points = size_t(w.txns) * size_t(w.points);
    const auto at = std::make_unique_for_overwrite<int32_t[]>(points);  // of each point its place
    share(points, [&](size_t point) {
        at[point] = -1;
        return true;
    });
    auto place = [&](size_t i) {  // what is there twice shows when it is replayed
        std::atomic_ref(at[size_t(order[i])]).store(int32_t(i), std::memory_order_relaxed);
        return true;
    };
    share(order.size(), place);
    auto stands = [&](size_t i) {
        const auto t = int32_t(i);
        const int32_t b = at[size_t(w.begin_of(t))], c = at[size_t(w.commit_of(t))];
        if ((b < 0) != (c < 0) || b > c) return false;
        return w.state[t] == MUST ? b >= 0 : w.state[t] != OUT || b < 0;
    };
    if (!share(size_t(w.txns), stands)) return false;
    auto in_turn = [&](size_t e) {
        const int32_t a = at[size_t(w.edge_from[e])], b = at[size_t(w.edge_to[e])];
        return a < 0 || b < 0 || a <= b;
    };
    if (!share(w.edge_from.size(), in_turn)) return false;

    std::vector<std::optional<Replayed>> replayed(parts);
    in_parallel(jobs, parts, none, [&](size_t part, int, Limits&) {
        replayed[part].emplace(w);
        if (!replayed[part]->replay(order, order.size() * part / parts, order.size() * (part + 1) / parts, {at.get(), points})) wrong = true;
    });
    if (wrong) return false;
    Store state{{w.init.begin(), w.init.end()}, std::vector<int32_t>(w.overlap ? size_t(w.keys) : 0, -1), {}};
    for (auto [key, chosen] : initial)
        if (state.value[size_t(key)] == UNKNOWN_INIT) state.value[size_t(key)] = chosen == PRESENT ? w.unnamed : chosen;
    for (int32_t& v : state.value)
        if (v == UNKNOWN_INIT || v == NO_VALUE) v = ABSENT;
    return std::all_of(replayed.begin(), replayed.end(), [&](const auto& part) { return part->fits_behind(state); });
}

}  // namespace boomslang::windows
