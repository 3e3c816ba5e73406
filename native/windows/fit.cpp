// Fit: what each window needs of the state at its start, and which window has to leave it.
//
// One pass through the windows in order, with the last window that surely wrote each key at hand, its *owner*. What a
// window demands of a key it cannot explain itself is demanded of the owner's final reader; every window between the two
// sees the same. Where a read could be explained both inside and by the start, the rank decides: the first read of the key
// in the window, if it stands before all its writers. Windows in which only transactions of unknown outcome write the
// key let its state pass, unless they alone can have left what is demanded. What cannot be met joins windows.
#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "windows.hpp"

namespace boomslang::windows {

int32_t Windows::window_at(int32_t place) const {
    return int32_t(std::upper_bound(bounds_.begin(), bounds_.end(), place) - bounds_.begin()) - 1;
}

void Windows::conflict(int32_t from, int32_t to) {
    unmet_ |= windows() == 1;
    from = std::max(from, 0);
    if (from == to) from > 0 ? --from : ++to;
    if (from > to) std::swap(from, to);
    for (int32_t b = from + 1; b <= std::min(to, windows() - 1); ++b) joins_[size_t(b)] = 1;
}

bool Windows::apply_joins() {
    bool some = false;
    std::vector<int32_t> bounds{0};
    std::vector<Window> kept;
    for (int32_t w = 0; w < windows(); ++w) {
        bool first = w == 0 || !joins_[size_t(w)];
        if (first) {
            if (w > 0) bounds.push_back(bounds_[size_t(w)]);
            kept.push_back(std::move(windows_[size_t(w)]));
        } else {
            some = true;
            ++stats.joined;
            kept.back() = Window{};
        }
    }
    bounds.push_back(bounds_.back());
    bounds_.swap(bounds);
    windows_.swap(kept);
    joins_.assign(bounds_.size(), 0);
    return some;
}

// Known edges lead forward, or stay in a window.
void Windows::follow_edges() {
    joins_.assign(bounds_.size(), 0);
    auto check = [&](int32_t from, int32_t to) {
        int32_t a = place_[size_t(from)], b = place_[size_t(to)];
        if (a < b || a < 0 || b < 0) return;
        int32_t later = window_at(a), earlier = window_at(b);
        if (later > earlier) conflict(earlier, later);
    };
    for (size_t e = 0; e < whole_.edge_from.size(); ++e) check(whole_.edge_from[e], whole_.edge_to[e]);
    for (int32_t t = 0; t < whole_.txns; ++t) {
        if (whole_.state[t] != MUST) continue;
        for (int64_t r = whole_.read_start[t]; r < whole_.read_start[t + 1]; ++r)
            if (int32_t w = whole_.read_writer[r]; w >= 0) check(whole_.commit_of(w), whole_.begin_of(t));
    }
    if (whole_.real_time) {
        // Of each clock and window the earliest return, there or later: nothing that began after it may be in a window before.
        std::unordered_map<int32_t, std::vector<int64_t>> earliest;
        for (int32_t w = 0; w < windows(); ++w)
            for (int32_t i = bounds_[size_t(w)]; i < bounds_[size_t(w) + 1]; ++i) {
                int32_t point = sequence_[size_t(i)], t = point / whole_.points;
                if (!whole_.is_commit(point) || !whole_.returned[t] || whole_.end[t] == NO_TIME) continue;
                auto& of = earliest[whole_.clock[t]];
                if (of.empty()) of.assign(size_t(windows()) + 1, INT64_MAX);
                of[size_t(w)] = std::min(of[size_t(w)], whole_.end[t]);
            }
        for (auto& [clock, of] : earliest)
            for (int32_t w = windows(); w-- > 0;) of[size_t(w)] = std::min(of[size_t(w)], of[size_t(w) + 1]);
        for (int32_t w = 0; w < windows(); ++w)
            for (int32_t i = bounds_[size_t(w)]; i < bounds_[size_t(w) + 1]; ++i) {
                int32_t point = sequence_[size_t(i)], t = point / whole_.points;
                if (!whole_.is_begin(point) || whole_.begin[t] == NO_TIME) continue;
                auto of = earliest.find(whole_.clock[t]);
                if (of == earliest.end()) continue;
                int32_t last = w;
                while (last + 1 < windows() && of->second[size_t(last) + 1] < whole_.begin[t]) ++last;
                if (last > w) conflict(w, last);
            }
    }
    apply_joins();
}

void Windows::find_spanning() {
    spanning_.assign(size_t(windows()), {});
    if (!whole_.overlap) return;
    for (int32_t t = 0; t < whole_.txns; ++t) {
        int32_t b = place_[size_t(whole_.begin_of(t))], c = place_[size_t(whole_.commit_of(t))];
        if (b < 0 || c - b < 2) continue;
        int32_t first = window_at(b);
        if (c < bounds_[size_t(first) + 1]) continue;
        for (int32_t w = first + 1, last = window_at(c); w < last; ++w) spanning_[size_t(w)].push_back(t);
    }
}

Part Windows::part_of(int32_t window, Scratch& scratch) const {
    int32_t low = bounds_[size_t(window)], high = bounds_[size_t(window) + 1];
    return Part(whole_, {sequence_.data() + low, size_t(high - low)}, spanning_[size_t(window)], place_, scratch);
}

bool Windows::leaves(int32_t window, int32_t local, int32_t key, int32_t pattern, bool sure, int64_t read) const {
    auto commits_there = [&](int32_t t) {
        int32_t at = place_[size_t(whole_.commit_of(t))];
        return at >= bounds_[size_t(window)] && at < bounds_[size_t(window) + 1] && (whole_.state[t] == MUST) == sure;
    };
    if (read >= 0 && whole_.read_value[read] == pattern && whole_.read_writer[read] >= -1) {
        int32_t writer = whole_.read_writer[read];
        return writer >= 0 && commits_there(writer);
    }
    if (windows_[size_t(window)].made) return windows_[size_t(window)].part.leaves(local, pattern, sure);
    auto [low, high] = whole_.candidates(key, pattern);
    for (int64_t w = low; w < high; ++w)
        if (int32_t t = whole_.write_txn[w]; whole_.state[t] != OUT && commits_there(t)) return true;
    return false;
}

bool Windows::supplied(int32_t key, int32_t pattern, int64_t read) const {
    const State& s = state_[size_t(key)];
    if (s.owner >= 0) return leaves(s.owner, s.local, key, pattern, true, read);
    return whole_.init[key] == UNKNOWN_INIT || matches(whole_.init[key], pattern);
}

// What stands in `key` since its owner is fixed now: tell the owner, and the windows that let it pass.
void Windows::settle(int32_t key) {
    State& s = state_[size_t(key)];
    auto passing = perhaps_.find(key);
    int32_t stands = s.pattern;
    if (s.owner >= 0) {
        if (stands != NO_DEMAND) windows_[size_t(s.owner)].leave(whole_, {key, stands, s.read});
    } else if (whole_.init[key] != UNKNOWN_INIT) {
        stands = whole_.init[key];
    } else if (stands != NO_DEMAND) {
        chosen_.push_back({key, stands});
    } else {
        stands = passing == perhaps_.end() ? UNKNOWN_INIT : ABSENT;
    }
    if (passing != perhaps_.end()) {
        for (auto [window, local] : passing->second) {
            windows_[size_t(window)].start[size_t(local)] = stands;
            if (s.pattern != NO_DEMAND) windows_[size_t(window)].leave(whole_, {key, s.pattern, s.read});
            else stands = NO_DEMAND;  // it may have been written there
        }
        perhaps_.erase(passing);
    }
    s.pattern = stands;
}

void Windows::demand(int32_t window, const Demand& d) {
    State& s = state_[size_t(d.key)];
    int32_t both = d.pattern;
    if (s.pattern != NO_DEMAND && s.pattern != d.pattern) {
        bool fits = (s.pattern == PRESENT && d.pattern != ABSENT) || (d.pattern == PRESENT && s.pattern != ABSENT);
        if (!fits) return conflict(std::min(s.owner, s.demander), window);
        if (d.pattern == PRESENT) both = s.pattern;
    }
    const int64_t seen_by = both == d.pattern ? d.read : s.read;
    if (!supplied(d.key, both, seen_by)) {
        auto passing = perhaps_.find(d.key);
        size_t at = passing == perhaps_.end() ? 0 : passing->second.size();
        for (; at > 0; --at) {
            auto [w, local] = passing->second[at - 1];
            if (s.demander < w && leaves(w, local, d.key, both, false, seen_by)) break;
        }
        if (at == 0) return conflict(s.owner, window);
        // Only a transaction of unknown outcome can have left it: its window owns the key from here on.
        auto [w, local] = passing->second[at - 1];
        std::vector<std::pair<int32_t, int32_t>> rest(passing->second.begin() + int64_t(at), passing->second.end());
        passing->second.resize(at - 1);
        if (at == 1) perhaps_.erase(passing);
        settle(d.key);
        windows_[size_t(w)].start[size_t(local)] = state_[size_t(d.key)].pattern;
        // (No sure writer there: what its last one left is not asked for, as a demand stands.)
        state_[size_t(d.key)] = {w, local};
        if (!rest.empty()) perhaps_[d.key] = std::move(rest);
    }
    State& now = state_[size_t(d.key)];
    if (now.pattern == NO_DEMAND || now.pattern != both) now.read = d.read;
    now.pattern = both, now.demander = window;
}

bool Windows::fit(int jobs, Limits& limits) {
    joins_.assign(bounds_.size(), 0);
    unmet_ = false;
    state_.assign(size_t(whole_.keys), State{});
    perhaps_.clear(), chosen_.clear();
    find_spanning();
    for (Window& w : windows_) w.final_reads.clear(), w.final_others.clear();
    // Parts are made by all threads, and looked at in order, by whoever has made the one that is next. Nobody goes so far
    // ahead that parts of much of the trace are there at a time.
    const int32_t ahead = 4 * std::max(2, jobs);
    struct Made {
        Part part;
        bool ready = false;
    };
    std::vector<Made> made(size_t(std::min(ahead, windows())));
    std::mutex mutex;
    std::condition_variable moved;
    int32_t next = 0;
    bool looking = false, failed = false;  // is somebody looking, and has somebody failed?
    auto look_at = [&](int32_t w, Made& one) {
        Window& window = windows_[size_t(w)];
        if (!window.made) window.part = std::move(one.part), window.made = true;
        window.size = int32_t(window.part.size());
        fit(w, window.part);
        if (whole_.certain) window.part = Part(), window.made = false;
    };
    parallel(jobs, size_t(windows()), limits, [&](size_t i, Scratch& scratch, Limits& own) {
        const auto w = int32_t(i);
        std::unique_lock lock(mutex, std::defer_lock);
        try {
            Part part;
            if (!windows_[i].made) part = part_of(w, scratch);
            lock.lock();
            while (w >= next + ahead) {  // the one that is next is in the hands of somebody who does not wait
                if (failed) return;
                moved.wait_for(lock, std::chrono::milliseconds(1));
                own.step(20001);
            }
            made[i % made.size()] = {std::move(part), true};
            if (looking) return;
            looking = true;
            for (Made* one; next < windows() && (one = &made[size_t(next) % made.size()])->ready; ++next, moved.notify_all()) {
                lock.unlock();
                look_at(next, *one);
                lock.lock();
                one->ready = false;
            }
            looking = false;
        } catch (...) {
            if (!lock) lock.lock();
            failed = true;
            throw;
        }
    });
    for (int32_t k = 0; k < whole_.keys; ++k)
        if (state_[size_t(k)].pattern != NO_DEMAND || perhaps_.count(k)) settle(k);
    return !apply_joins();
}

void Windows::fit(int32_t w, const Part& part) {
    Window& window = windows_[size_t(w)];
    window.start.assign(part.keys.size(), NO_DEMAND);
    for (int64_t read : part.demands) demand(w, Demand::of(whole_, read));
    for (int64_t read : part.likely) {
        const Demand d = Demand::of(whole_, read);
        State& s = state_[size_t(d.key)];
        if (s.pattern == NO_DEMAND && supplied(d.key, d.pattern, read)) s.pattern = d.pattern, s.read = read, s.demander = w;
    }
    for (size_t k = 0; k < part.keys.size(); ++k) {
        const Part::Key& key = part.keys[k];
        if (!key.visible && !key.read) continue;
        State& s = state_[size_t(key.key)];
        if (s.pattern == NO_DEMAND && key.any_value) {
            // Some read would take any value, so "nobody looks" will not do.
            bool passing = perhaps_.count(key.key) > 0;
            int32_t value = s.owner >= 0                            ? s.last
                            : whole_.init[key.key] != UNKNOWN_INIT ? whole_.init[key.key]
                                                                    : ABSENT;
            if (s.owner >= 0 || passing) s.pattern = value, s.demander = w;
        }
        if (key.sure) {
            settle(key.key);
            window.start[k] = s.pattern;
            s = {w, int32_t(k), key.last};
        } else {
            perhaps_[key.key].push_back({w, int32_t(k)});
        }
    }
}

}  // namespace boomslang::windows
