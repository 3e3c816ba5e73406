#include "trails.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

namespace boomslang::engine {

namespace {
constexpr int64_t MOST_ROUNDS = 64;
constexpr int FREE_TRIES = 16;    // versions that nobody reads on from, at each of which a detour is tried
constexpr int NEAR_TRIES = 24;    // and of the others, those nearest to where the trace suggests
constexpr int FOLLOWERS = 32;     // of those that might go on with a detour
constexpr int HELPERS = 32;
constexpr int NARROWINGS = 16;
constexpr int64_t EFFORT = 10;    // looks at a transaction, for each operation: a bound on the whole
constexpr size_t MANY = 256;      // with more than these left, a round must place a good part of them
constexpr int32_t NEVER = std::numeric_limits<int32_t>::max();
}  // namespace

Trails::Trails(const Problem& problem, Limits& limits) : p_(problem), limits_(limits) {
    const size_t keys = size_t(p_.keys), writes = p_.write_txn.size();
    // Writes are sorted by key and value, so spots are stretches of them.
    group_start_.assign(keys + 1, 0);
    std::vector<int32_t> group_of(writes);
    for (int32_t k = 0; k < p_.keys; ++k) {
        group_start_[size_t(k)] = groups_;
        for (int64_t w = p_.key_start[k]; w < p_.key_start[k + 1]; ++w) {
            limits_.step();
            if (w == p_.key_start[k] || p_.write_value[w] != p_.write_value[w - 1]) {
                group_value_.push_back(p_.write_value[w]);
                spot_key_.push_back(k);
                ++groups_;
            }
            group_of[size_t(w)] = groups_ - 1;
        }
    }
    group_start_[keys] = groups_;
    const size_t spots = size_t(groups_) + 2 * keys;
    present_.assign(spots, 1);
    spot_key_.resize(spots);
    for (int32_t g = 0; g < groups_; ++g) present_[size_t(g)] = group_value_[size_t(g)] != ABSENT;
    initial_spot_.resize(keys);
    for (int32_t k = 0; k < p_.keys; ++k) {
        spot_key_[size_t(groups_ + k)] = spot_key_[size_t(any(k))] = k;
        present_[size_t(groups_ + k)] = p_.init[k] != ABSENT;
        initial_spot_[size_t(k)] = p_.init[k] == UNKNOWN_INIT ? ANYTHING : spot_of_value(k, p_.init[k]);
    }
    read_spot_.resize(p_.read_key.size());
    for (size_t r = 0; r < read_spot_.size(); ++r) {
        limits_.step();
        int32_t key = p_.read_key[r];
        read_spot_[r] = p_.read_value[r] == PRESENT ? any(key) : spot_of_value(key, p_.read_value[r]);
    }
    write_start_.assign(size_t(p_.txns) + 1, 0);
    for (int32_t t : p_.write_txn) ++write_start_[size_t(t) + 1];
    std::partial_sum(write_start_.begin(), write_start_.end(), write_start_.begin());
    write_key_.resize(writes), write_spot_.resize(writes);
    std::vector<int64_t> at(write_start_.begin(), write_start_.end() - 1);
    for (size_t w = 0; w < writes; ++w) {
        limits_.step();
        size_t place = size_t(at[size_t(p_.write_txn[w])]++);
        write_key_[place] = spot_key_[size_t(group_of[w])], write_spot_[place] = group_of[w];
    }
    writer_start_.assign(spots + 1, 0);
    for (size_t w = 0; w < writes; ++w)
        if (p_.state[p_.write_txn[w]] != OUT) ++writer_start_[size_t(group_of[w]) + 1];
    std::partial_sum(writer_start_.begin(), writer_start_.end(), writer_start_.begin());
    writers_.reserve(size_t(writer_start_.back()));
    for (size_t w = 0; w < writes; ++w)
        if (p_.state[p_.write_txn[w]] != OUT) writers_.push_back(p_.write_txn[w]);
    for (int32_t g = 0; g < groups_; ++g) {
        auto first = writers_.begin() + writer_start_[size_t(g)], last = writers_.begin() + writer_start_[size_t(g) + 1];
        limits_.step(uint32_t(last - first));
        std::stable_sort(first, last, [&](int32_t x, int32_t y) { return p_.priority[x] < p_.priority[y]; });
    }

    // Both points of a transaction are one here.
    units_ = p_.txns + p_.helpers;
    auto unit = [&](int32_t node) { return node < p_.points * p_.txns ? node / p_.points : node - (p_.points - 1) * p_.txns; };
    next_start_.assign(size_t(units_) + 1, 0), previous_start_.assign(size_t(units_) + 1, 0);
    for (size_t e = 0; e < p_.edge_from.size(); ++e) {
        limits_.step();
        ++next_start_[size_t(unit(p_.edge_from[e])) + 1], ++previous_start_[size_t(unit(p_.edge_to[e])) + 1];
    }
    any_edges_ = !p_.edge_from.empty();
    std::partial_sum(next_start_.begin(), next_start_.end(), next_start_.begin());
    std::partial_sum(previous_start_.begin(), previous_start_.end(), previous_start_.begin());
    next_.resize(p_.edge_from.size()), previous_.resize(p_.edge_from.size());
    std::vector<int64_t> out(next_start_.begin(), next_start_.end() - 1), in(previous_start_.begin(), previous_start_.end() - 1);
    for (size_t e = 0; e < p_.edge_from.size(); ++e) {
        limits_.step();
        int32_t a = unit(p_.edge_from[e]), b = unit(p_.edge_to[e]);
        next_[size_t(out[size_t(a)]++)] = b, previous_[size_t(in[size_t(b)]++)] = a;
    }
}

int32_t Trails::spot_of_value(int32_t key, int32_t value) const {
    auto first = group_value_.begin() + group_start_[size_t(key)], last = group_value_.begin() + group_start_[size_t(key) + 1];
    auto found = std::lower_bound(first, last, value);
    return found != last && *found == value ? int32_t(found - group_value_.begin()) : groups_ + key;
}

bool Trails::writes(int32_t t, int32_t key) const {
    for (int64_t w = write_start_[size_t(t)]; w < write_start_[size_t(t) + 1]; ++w)
        if (write_key_[size_t(w)] == key) return true;
    return false;
}

void Trails::find(int64_t patience, int32_t stall) {
    walk(patience, stall);
    for (; rounds < MOST_ROUNDS; ++rounds) {
        left.clear();
        for (int32_t t = 0; t < p_.txns; ++t)
            if (p_.state[t] == MUST && !placed_[size_t(t)]) left.push_back(t);
        if (left.empty() || effort_ < 0) return;
        std::stable_sort(left.begin(), left.end(), [&](int32_t a, int32_t b) { return p_.priority[a] < p_.priority[b]; });
        look_back();
        effort_ -= int64_t(order.size()) / 2;
        int64_t before = detours;
        for (int32_t t : left)
            if (!placed_[size_t(t)] && splice(t, false)) ++detours;
        for (size_t i = 0; i < left.size() && detours == before; ++i)
            for (int64_t r = p_.read_start[left[i]]; r < p_.read_start[left[i] + 1] && detours == before; ++r) {
                size_t spot = size_t(read_spot_[size_t(r)]);
                for (int64_t w = writer_start_[spot]; w < writer_start_[spot + 1] && detours == before; ++w) {
                    int32_t other = writers_[size_t(w)];
                    if (p_.state[other] == MAY && !placed_[size_t(other)] && splice(other, true)) ++detours;
                }
            }
        if (detours == before || (left.size() > MANY && (detours - before) * 32 < int64_t(left.size()))) return;
        std::vector<int32_t> longer;
        for (size_t gap = 0; gap <= order.size(); ++gap) {
            longer.insert(longer.end(), inserted_[gap].begin(), inserted_[gap].end());
            if (gap < order.size()) longer.push_back(order[gap]);
        }
        order.swap(longer);
    }
}

// --- the walk

void Trails::walk(int64_t patience, int32_t stall) {
    patience_ = patience, stall_ = stall;
    effort_ = EFFORT * int64_t(p_.read_key.size() + p_.write_txn.size() + size_t(units_));
    current_ = initial_spot_;
    missing_.assign(size_t(units_), 0);
    for (int32_t u = 0; u < units_; ++u) missing_[size_t(u)] = int32_t(previous_start_[size_t(u) + 1] - previous_start_[size_t(u)]);
    woken_by_.assign(size_t(p_.txns), -1), since_.assign(size_t(p_.txns), -1);
    placed_.assign(size_t(p_.txns), 0), is_ready_.assign(size_t(p_.txns), 0);
    parked_.assign(spot_key_.size(), {});
    stalled_.assign(size_t(p_.keys), {});
    shown_.assign(size_t(p_.keys), {});
    for (size_t k = 0; k < shown_.size(); ++k) shown_[k].push_back({-1, initial_spot_[k], 0});
    std::vector<int32_t> first;
    for (int32_t u = 0; u < units_; ++u)
        if (missing_[size_t(u)] == 0) first.push_back(u);
    for (int32_t u : first) ready(u);
    for (bool again = true; again;) {
        while (!heap_.empty()) {
            limits_.step(4);
            int32_t t = heap_.top().txn;
            heap_.pop();
            if (!placed_[size_t(t)]) try_place(t);
        }
        // Nothing new comes: walk on with those that were left, however late they are.
        again = patience_ != NEVER;
        patience_ = NEVER;
        if (!again) break;
        for (int32_t t : late_) heap_.push({p_.priority[t], t});
        late_.clear();
        for (auto& parked : parked_)
            for (; !parked.empty(); parked.pop()) heap_.push({p_.priority[parked.top().txn], parked.top().txn});
    }
    // What was taken back has left its place.
    std::vector<uint8_t> seen(size_t(p_.txns), 0);
    size_t kept = order.size();
    for (size_t i = order.size(); i-- > 0;)
        if (int32_t t = order[i]; placed_[size_t(t)] && !seen[size_t(t)]) seen[size_t(t)] = 1, order[--kept] = t;
    order.erase(order.begin(), order.begin() + int64_t(kept));
}

// All before it are placed.
void Trails::ready(int32_t unit) {
    std::vector<int32_t> stack{unit};
    while (!stack.empty()) {
        int32_t u = stack.back();
        stack.pop_back();
        if (u < p_.txns) is_ready_[size_t(u)] = 1;
        if (u < p_.txns && p_.state[u] == MUST) heap_.push({p_.priority[u], u});
        if (u < p_.txns && p_.state[u] != OUT) continue;
        for (int64_t e = next_start_[size_t(u)]; e < next_start_[size_t(u) + 1]; ++e)
            if (--missing_[size_t(next_[size_t(e)])] == 0) stack.push_back(next_[size_t(e)]);
    }
}

void Trails::try_place(int32_t t) {
    --effort_;
    int32_t wanted = -1;
    for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1] && wanted < 0; ++r)
        if (!matches_spot(read_spot_[size_t(r)], current_[size_t(p_.read_key[r])])) wanted = read_spot_[size_t(r)];
    int32_t waker = std::exchange(woken_by_[size_t(t)], -1);
    if (wanted < 0) {
        place(t);
    } else {
        park(t, wanted);
        // Many in a row who cannot go on from here: somebody is missing, who stands elsewhere in the trace.
        size_t key = size_t(spot_key_[size_t(wanted)]);
        if (waker < 0) stalled_[key].push_back({t, wanted});
        if (int32_t(stalled_[key].size()) >= (patience_ == NEVER ? 1 : stall_)) {
            auto stalled = std::move(stalled_[key]);
            stalled_[key].clear();
            for (auto [other, spot] : stalled)
                if (!placed_[size_t(other)] && (take_back(other, spot) || help(other, spot))) break;
        }
    }
    if (waker >= 0 && matches_spot(waker, current_[size_t(spot_key_[size_t(waker)])])) wake(waker);
}

// Was the last who wrote this key out of place? It is taken out again, if nobody has read what it wrote and t can go then.
bool Trails::take_back(int32_t t, int32_t wanted) {
    int32_t last = shown_[size_t(spot_key_[size_t(wanted)])].back().writer;
    if (last < 0 || next_start_[size_t(last)] < next_start_[size_t(last) + 1]) return false;
    --effort_;
    auto before = [&](int32_t key) {
        const auto& shown = shown_[size_t(key)];
        return shown.back().writer == last ? shown[shown.size() - 2].spot : shown.back().spot;
    };
    for (int64_t w = write_start_[size_t(last)]; w < write_start_[size_t(last) + 1]; ++w) {
        const Shown& mine = shown_[size_t(write_key_[size_t(w)])].back();
        if (mine.writer != last || mine.reads > 0) return false;
    }
    for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
        if (!matches_spot(read_spot_[size_t(r)], before(p_.read_key[r]))) return false;
    for (int64_t w = write_start_[size_t(last)]; w < write_start_[size_t(last) + 1]; ++w) {
        size_t key = size_t(write_key_[size_t(w)]);
        shown_[key].pop_back();
        current_[key] = shown_[key].back().spot;
    }
    for (int64_t r = p_.read_start[last]; r < p_.read_start[last + 1]; ++r) {
        auto& shown = shown_[size_t(p_.read_key[r])];
        if (writes(last, p_.read_key[r])) --shown.back().reads;
    }
    placed_[size_t(last)] = 0;
    late_.push_back(last);
    place(t);
    return true;
}

// Looks for another who writes what t waits for, could go now, and lets t go next: nearest in the trace first.
bool Trails::help(int32_t t, int32_t wanted) {
    auto first = writers_.begin() + writer_start_[size_t(wanted)], last = writers_.begin() + writer_start_[size_t(wanted) + 1];
    auto up = std::lower_bound(first, last, p_.priority[t], [&](int32_t x, int64_t at) { return p_.priority[x] < at; }), down = up;
    auto fits = [&](int32_t other) {
        --effort_;
        for (int64_t r = p_.read_start[other]; r < p_.read_start[other + 1]; ++r)
            if (!matches_spot(read_spot_[size_t(r)], current_[size_t(p_.read_key[r])])) return false;
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
            int32_t shown = current_[size_t(p_.read_key[r])];
            for (int64_t w = write_start_[size_t(other)]; w < write_start_[size_t(other) + 1]; ++w)
                if (write_key_[size_t(w)] == p_.read_key[r]) shown = write_spot_[size_t(w)];
            if (!matches_spot(read_spot_[size_t(r)], shown)) return false;
        }
        return true;
    };
    for (int tries = 0; tries < HELPERS && effort_ > 0 && (down != first || up != last); ++tries) {
        bool later = down == first || (up != last && p_.priority[*up] - p_.priority[t] < p_.priority[t] - p_.priority[*(down - 1)]);
        int32_t other = later ? *up++ : *--down;
        if (other == t || placed_[size_t(other)] || !is_ready_[size_t(other)]) continue;
        if (!fits(other)) continue;
        place(other);
        place(t);
        return true;
    }
    return false;
}

void Trails::place(int32_t t) {
    placed_[size_t(t)] = 1;
    order.push_back(t);
    for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
        size_t key = size_t(p_.read_key[r]);
        if (current_[key] == ANYTHING) shown_[key].back().spot = current_[key] = initial_spot_[key] = read_spot_[size_t(r)];
        stalled_[key].clear();
        ++shown_[key].back().reads;
    }
    for (int64_t w = write_start_[size_t(t)]; w < write_start_[size_t(t) + 1]; ++w) {
        int32_t key = write_key_[size_t(w)], spot = write_spot_[size_t(w)];
        current_[size_t(key)] = spot;
        stalled_[size_t(key)].clear();
        shown_[size_t(key)].push_back({t, spot, 0});
        wake(spot);
        if (present_[size_t(spot)]) wake(any(key));
    }
    if (p_.state[t] != MUST) return;
    for (int64_t e = next_start_[size_t(t)]; e < next_start_[size_t(t) + 1]; ++e)
        if (--missing_[size_t(next_[size_t(e)])] == 0) ready(next_[size_t(e)]);
}

void Trails::park(int32_t t, int32_t spot) {
    if (since_[size_t(t)] < 0) since_[size_t(t)] = int64_t(order.size());
    parked_[size_t(spot)].push({writes(t, spot_key_[size_t(spot)]), p_.priority[t], t});
}

// One at a time: the next is woken when this one went and the value is still there.
void Trails::wake(int32_t spot) {
    auto& parked = parked_[size_t(spot)];
    while (!parked.empty() && effort_ > 0) {
        int32_t t = parked.top().txn;
        parked.pop();
        --effort_;
        if (placed_[size_t(t)]) continue;
        if (patience_ != NEVER && int64_t(order.size()) - since_[size_t(t)] > patience_) {
            late_.push_back(t);
            continue;
        }
        woken_by_[size_t(t)] = spot;
        heap_.push({p_.priority[t], t});
        return;
    }
}

// --- the splices. A gap is a place between two of the order: gap g is before the g-th.

void Trails::look_back() {
    const int32_t n = int32_t(order.size());
    std::vector<int32_t> count(size_t(p_.keys) + 1, 1);
    for (int32_t t : order)
        for (int64_t w = write_start_[size_t(t)]; w < write_start_[size_t(t) + 1]; ++w) ++count[size_t(write_key_[size_t(w)])];
    version_start_.assign(size_t(p_.keys) + 1, 0);
    for (int32_t k = 0; k < p_.keys; ++k) version_start_[size_t(k) + 1] = version_start_[size_t(k)] + count[size_t(k)];
    versions_.resize(size_t(version_start_.back()));
    std::vector<int64_t> now(version_start_.begin(), version_start_.end() - 1);
    for (int32_t k = 0; k < p_.keys; ++k) versions_[size_t(now[size_t(k)])] = {-1, n, -1, initial_spot_[size_t(k)]};
    at_.assign(size_t(p_.txns), -1);
    for (int32_t i = 0; i < n; ++i) {
        int32_t t = order[size_t(i)];
        limits_.step(4);
        at_[size_t(t)] = i;
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) versions_[size_t(now[size_t(p_.read_key[r])])].last_read = i;
        for (int64_t w = write_start_[size_t(t)]; w < write_start_[size_t(t) + 1]; ++w) {
            int64_t& version = now[size_t(write_key_[size_t(w)])];
            versions_[size_t(version)].end = i;
            versions_[size_t(++version)] = {i, n, -1, write_spot_[size_t(w)]};
        }
    }
    // Only what somebody who is left wants to read is of interest.
    visits_.assign(spot_key_.size(), {});
    wanting_.assign(spot_key_.size(), {});
    auto wants = [&](int32_t t) {
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) wanting_[size_t(read_spot_[size_t(r)])].push_back(t);
    };
    for (int32_t t : left) wants(t);
    for (int32_t t = 0; t < p_.txns; ++t)
        if (p_.state[t] == MAY && !placed_[size_t(t)]) wants(t);
    for (int32_t k = 0; k < p_.keys; ++k)
        for (int64_t v = version_start_[size_t(k)]; v < version_start_[size_t(k) + 1]; ++v) {
            limits_.step();
            int32_t spot = versions_[size_t(v)].spot;
            if (spot == ANYTHING) continue;
            if (!wanting_[size_t(spot)].empty()) visits_[size_t(spot)].push_back(int32_t(v));
            if (present_[size_t(spot)] && !wanting_[size_t(any(k))].empty()) visits_[size_t(any(k))].push_back(int32_t(v));
        }
    inserted_.assign(size_t(n) + 1, {});
    touched_.resize(size_t(p_.keys));
    earliest_.assign(size_t(units_), 0), latest_.assign(size_t(units_), NEVER);
    if (!any_edges_) return;
    // Between which gaps known edges leave room: through helper nodes, which stand nowhere themselves.
    std::vector<int32_t> missing(size_t(units_), 0), sorted;
    for (int32_t u = 0; u < units_; ++u) {
        missing[size_t(u)] = int32_t(previous_start_[size_t(u) + 1] - previous_start_[size_t(u)]);
        if (missing[size_t(u)] == 0) sorted.push_back(u);
    }
    auto is_left = [&](int32_t u) { return u < p_.txns && p_.state[u] == MUST && at_[size_t(u)] < 0; };
    for (size_t i = 0; i < sorted.size(); ++i) {
        int32_t u = sorted[i];
        limits_.step();
        int32_t from = u >= p_.txns ? earliest_[size_t(u)] : is_left(u) ? NEVER : at_[size_t(u)] + 1;
        for (int64_t e = next_start_[size_t(u)]; e < next_start_[size_t(u) + 1]; ++e) {
            int32_t v = next_[size_t(e)];
            earliest_[size_t(v)] = std::max(earliest_[size_t(v)], from);
            if (--missing[size_t(v)] == 0) sorted.push_back(v);
        }
    }
    for (size_t i = sorted.size(); i-- > 0;) {
        int32_t u = sorted[i];
        int32_t until = u >= p_.txns ? latest_[size_t(u)] : at_[size_t(u)] < 0 ? NEVER : at_[size_t(u)];
        for (int64_t e = previous_start_[size_t(u)]; e < previous_start_[size_t(u) + 1]; ++e)
            latest_[size_t(previous_[size_t(e)])] = std::min(latest_[size_t(previous_[size_t(e)])], until);
    }
}

int32_t Trails::version_at(int32_t key, int32_t gap) {
    auto first = versions_.begin() + version_start_[size_t(key)], last = versions_.begin() + version_start_[size_t(key) + 1];
    return int32_t(std::partition_point(first, last, [&](const Version& v) { return v.start < gap; }) - versions_.begin()) - 1;
}

bool Trails::allowed(int32_t t, int32_t gap) const { return earliest_[size_t(t)] <= gap && gap <= latest_[size_t(t)]; }

// Finds a place for one that is left, and a detour from there.
bool Trails::splice(int32_t t, bool needs_another) {
    const int32_t n = int32_t(order.size());
    int64_t first = p_.read_start[t], last = p_.read_start[t + 1], rarest = first;
    if (first == last) return try_gap(t, n, needs_another) || try_gap(t, std::min(n, latest_[size_t(t)]), needs_another);
    for (int64_t r = first; r < last; ++r)
        if (visits_[size_t(read_spot_[size_t(r)])].size() < visits_[size_t(read_spot_[size_t(rarest)])].size()) rarest = r;
    const auto& visits = visits_[size_t(read_spot_[size_t(rarest)])];
    auto attempt = [&](int32_t v) {
        if (effort_ < 0) return false;
        int32_t gap = gap_for(t, int32_t(rarest), v);
        return gap >= 0 && try_gap(t, gap, needs_another);
    };
    // Versions that nobody reads on from first: there a detour may end anywhere.
    int tries = 0;
    for (size_t i = visits.size(); i-- > 0 && tries < FREE_TRIES;) {
        const Version& v = versions_[size_t(visits[i])];
        effort_ -= (i & 15) == 0;
        if (v.last_read >= v.end) continue;
        ++tries;
        if (attempt(visits[i])) return true;
    }
    // Then those nearest to where the trace suggests.
    auto by_time = [&](int32_t v, int64_t priority) {
        int32_t start = versions_[size_t(v)].start;
        return start < 0 || p_.priority[order[size_t(start)]] < priority;
    };
    int64_t up = std::lower_bound(visits.begin(), visits.end(), p_.priority[t], by_time) - visits.begin(), down = up - 1;
    for (int i = 0; i < NEAR_TRIES; ++i) {
        int64_t& at = i & 1 ? up : down;
        if (at < 0 || at >= int64_t(visits.size())) continue;
        if (attempt(visits[size_t(i & 1 ? at++ : at--)])) return true;
    }
    return false;
}

// The last gap of this version in which all reads match; -1: none.
int32_t Trails::gap_for(int32_t t, int32_t read, int32_t version) {
    const Version& v = versions_[size_t(version)];
    int32_t low = std::max(v.start + 1, earliest_[size_t(t)]), high = std::min(v.end, latest_[size_t(t)]);
    if (v.spent) return -1;
    for (int i = 0; i < NARROWINGS && low <= high; ++i) {
        bool narrowed = false;
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1] && low <= high; ++r) {
            if (r == read) continue;
            --effort_;
            const Version& other = versions_[size_t(version_at(p_.read_key[r], high))];
            if (!other.spent && matches_spot(read_spot_[size_t(r)], other.spot)) continue;
            high = other.start;
            narrowed = true;
        }
        if (!narrowed) return low <= high ? high : -1;
    }
    return -1;
}

// May it go here, after what the detour has done so far?
bool Trails::follows(int32_t t, int32_t gap) {
    --effort_;
    if (!allowed(t, gap)) return false;
    auto base = [&](int32_t key) -> const Version& { return versions_[size_t(version_at(key, gap))]; };
    auto untouched = [&](int32_t key) { return touched_[size_t(key)].stamp != stamp_; };
    for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
        int32_t key = p_.read_key[r];
        if (untouched(key) && base(key).spent) return false;
        if (!matches_spot(read_spot_[size_t(r)], untouched(key) ? base(key).spot : touched_[size_t(key)].spot)) return false;
    }
    for (int64_t w = write_start_[size_t(t)]; w < write_start_[size_t(t) + 1]; ++w)
        if (untouched(write_key_[size_t(w)]) && base(write_key_[size_t(w)]).spent) return false;
    return true;
}

void Trails::step_into(int32_t t, int32_t gap) {
    detour_.push_back(t);
    placed_[size_t(t)] = 1;
    auto touch = [&](int32_t key) -> Touched& {
        Touched& x = touched_[size_t(key)];
        if (x.stamp != stamp_) {
            int32_t version = version_at(key, gap);
            x = {stamp_, version, versions_[size_t(version)].spot, false};
            touched_keys_.push_back(key);
        }
        return x;
    };
    for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) touch(p_.read_key[r]);
    for (int64_t w = write_start_[size_t(t)]; w < write_start_[size_t(t) + 1]; ++w) {
        Touched& x = touch(write_key_[size_t(w)]);
        const Version& v = versions_[size_t(x.version)];
        x.spot = write_spot_[size_t(w)];
        x.open = x.spot != v.spot && v.last_read >= gap;
        if (x.open) open_keys_.push_back(write_key_[size_t(w)]);
    }
}

bool Trails::try_gap(int32_t t, int32_t gap, bool needs_another) {
    ++stamp_;
    touched_keys_.clear(), open_keys_.clear(), detour_.clear();
    if (!follows(t, gap)) return false;
    step_into(t, gap);
    auto find_next = [&](int32_t spot) {
        int seen = 0;
        for (int32_t other : wanting_[size_t(spot)]) {
            if (placed_[size_t(other)]) continue;
            if (++seen > FOLLOWERS || effort_ < 0) break;
            if (follows(other, gap)) return other;
        }
        return -1;
    };
    while (true) {
        limits_.step(4);
        while (!open_keys_.empty() && !touched_[size_t(open_keys_.back())].open) open_keys_.pop_back();
        if (open_keys_.empty()) break;
        int32_t key = open_keys_.back(), spot = touched_[size_t(key)].spot;
        int32_t next = find_next(spot);
        if (next < 0 && present_[size_t(spot)]) next = find_next(any(key));
        if (next < 0) {
            undo_detour();
            return false;
        }
        step_into(next, gap);
    }
    if (needs_another && std::none_of(detour_.begin(), detour_.end(), [&](int32_t x) { return p_.state[x] == MUST; })) {
        undo_detour();
        return false;
    }
    for (int32_t key : touched_keys_) {
        Touched& x = touched_[size_t(key)];
        Version& v = versions_[size_t(x.version)];
        v.last_read = std::max(v.last_read, gap - 1);
        v.spent = v.spot != x.spot || v.spot == ANYTHING;
    }
    for (int32_t d : detour_)
        for (int64_t r = p_.read_start[d]; r < p_.read_start[d + 1]; ++r) {
            size_t key = size_t(p_.read_key[r]);
            if (initial_spot_[key] == ANYTHING && touched_[key].version == version_start_[key]) initial_spot_[key] = read_spot_[size_t(r)];
        }
    auto& here = inserted_[size_t(gap)];
    here.insert(here.end(), detour_.begin(), detour_.end());
    return true;
}

void Trails::undo_detour() {
    for (int32_t t : detour_) placed_[size_t(t)] = 0;
}

}  // namespace boomslang::engine
