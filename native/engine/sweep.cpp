#include "sweep.hpp"

#include <algorithm>
#include <numeric>

#include "problem.hpp"

namespace boomslang::engine {

namespace {
bool allows(int32_t seen, int32_t value) { return seen == value || (seen == PRESENT && value > ABSENT); }

uint64_t spread(uint64_t z) {  // splitmix64
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t both(int32_t a, int32_t b) { return spread((uint64_t(uint32_t(a)) << 32) | uint32_t(b)); }
}  // namespace

Sweep::Sweep(const SweepProblem& problem, Limits& limits) : p_(problem), limits_(limits) {
    write_start_.assign(size_t(p_.txns) + 1, 0);
    for (int32_t t : p_.write_txn) ++write_start_[size_t(t) + 1];
    std::partial_sum(write_start_.begin(), write_start_.end(), write_start_.begin());
    writes_.resize(p_.write_txn.size());
    std::vector<int64_t> next(write_start_.begin(), write_start_.end() - 1);
    for (int32_t key = 0; key < p_.keys; ++key)
        for (int64_t w = p_.key_start[size_t(key)]; w < p_.key_start[size_t(key) + 1]; ++w)
            writes_[size_t(next[size_t(p_.write_txn[size_t(w)])]++)] = {key, p_.write_value[size_t(w)]};
    values_.assign(p_.init.begin(), p_.init.end());
    status_.assign(size_t(p_.txns), WAITING);
}

bool Sweep::run() {
    std::unordered_set<uint64_t> dead;
    std::vector<Choice> choices;
    for (int32_t returning; (returning = go_on()) >= 0;) {
        Choice& here = choices.emplace_back(Choice{{}, event_, placed_.size(), 0, place()});
        if (!dead.contains(here.place)) moves(returning, here.moves);
        while (choices.back().tried == choices.back().moves.size()) {  // it leads nowhere
            dead.insert(choices.back().place);
            choices.pop_back();
            if (choices.empty()) return false;
            go_back(choices.back());
            limits_.step(16);
        }
        Choice& choice = choices.back();
        put(choice.moves[choice.tried++]);
        limits_.step(16);
        if (++places > p_.most_places) return false;
    }
    tell();
    return true;
}

// --- forth and back

// To the next return of one that has no place yet: that one; -1 at the end.
int32_t Sweep::go_on() {
    for (; event_ < p_.events.size(); ++event_) {
        int32_t t = p_.events[event_] >> 1;
        if ((p_.events[event_] & 1) == 0)
            under_way_.push_back(t);
        else if (status_[size_t(t)] != DONE)
            return t;
        else
            std::erase(under_way_, t);
    }
    return -1;
}

void Sweep::go_back(const Choice& choice) {
    while (event_ > choice.event) {
        int32_t event = p_.events[--event_], t = event >> 1;
        if (event & 1)
            under_way_.push_back(t);
        else
            std::erase(under_way_, t);
    }
    while (placed_.size() > choice.placed) {
        int32_t t = placed_.back();
        placed_.pop_back();
        if (status_[size_t(t)] == BEGUN) {
            status_[size_t(t)] = WAITING;
            continue;
        }
        for (size_t n = writes(t).size(); n-- > 0; undo_.pop_back()) set(undo_.back().key, undo_.back().value);
        status_[size_t(t)] = at_once(t) ? WAITING : BEGUN;
    }
}

// Begins it; or commits it, if it has begun. Both at once, where nothing can be in between that matters.
void Sweep::put(int32_t t) {
    placed_.push_back(t);
    if (!at_once(t) && status_[size_t(t)] == WAITING) {
        status_[size_t(t)] = BEGUN;
        return;
    }
    status_[size_t(t)] = DONE;
    for (const Write& w : writes(t)) {
        undo_.push_back({w.key, values_[size_t(w.key)]});
        set(w.key, w.value);
    }
}

void Sweep::set(int32_t key, int32_t value) {
    mixed_ ^= both(key, values_[size_t(key)]) ^ both(key, value);
    values_[size_t(key)] = value;
}

// Who was where, with which values.
uint64_t Sweep::place() const {
    uint64_t there = 0;
    for (int32_t t : under_way_)
        if (status_[size_t(t)] != WAITING) there += both(t, status_[size_t(t)]);
    return spread(spread(spread(uint64_t(event_)) ^ mixed_) ^ there);
}

// --- what may come next

// Who may go next; the likely ones first.
void Sweep::moves(int32_t returning, std::vector<int32_t>& found) {
    ready_.clear(), begun_.clear();
    for (int32_t t : under_way_) {
        if (status_[size_t(t)] == BEGUN) begun_.push_back(t);
        if (status_[size_t(t)] == WAITING && fits(t, {})) ready_.push_back(t);
    }
    if (std::find(ready_.begin(), ready_.end(), returning) != ready_.end()) first(returning, found);
    auto helps = [&](int32_t t) {  // with what it writes, somebody is nearer who has to go now
        if (status_[size_t(returning)] == BEGUN) return false;
        for (int64_t r = p_.read_start[size_t(returning)]; r < p_.read_start[size_t(returning) + 1]; ++r) {
            int32_t key = p_.read_key[size_t(r)], seen = p_.read_value[size_t(r)];
            if (allows(seen, values_[size_t(key)])) continue;
            for (const Write& w : writes(t))
                if (w.key == key && allows(seen, w.value)) return true;
        }
        return false;
    };
    auto away = [&](int32_t t) { return t == returning ? 0 : helps(t) ? 1 : 2; };
    auto by_distance = [&](std::vector<int32_t>& who) {
        std::vector<std::pair<int, int32_t>> sorted;
        for (size_t n = 0; n < who.size(); ++n) sorted.emplace_back(away(who[n]), int32_t(n));
        std::sort(sorted.begin(), sorted.end());
        std::vector<int32_t> kept(who);
        for (size_t n = 0; n < who.size(); ++n) who[n] = kept[size_t(sorted[n].second)];
    };
    by_distance(begun_);
    for (int32_t t : begun_)
        if (std::none_of(begun_.begin(), begun_.end(), [&](int32_t u) { return u != t && share_key(t, u); }))
            first(t, found);
    std::vector<int32_t> others(ready_);
    by_distance(others);
    for (int32_t t : others) first(t, found);
}

// It; but if it changes what others see who could begin now, these first.
void Sweep::first(int32_t t, std::vector<int32_t>& found) {
    auto add = [&](int32_t u) {
        if (std::find(found.begin(), found.end(), u) == found.end()) found.push_back(u);
    };
    if (!writes(t).empty() && (p_.points == 1 || status_[size_t(t)] == BEGUN))
        for (int32_t u : ready_) {
            if (u == t || fits(u, writes(t))) continue;
            // One that writes is no longer to be overwritten once it has begun.
            bool free = p_.points == 1 ? writes(u).empty() : !share_key(t, u);
            if (free) add(u);
        }
    add(t);
}

bool Sweep::share_key(int32_t a, int32_t b) const {
    for (const Write& x : writes(a))
        for (const Write& y : writes(b))
            if (x.key == y.key) return true;
    return false;
}

// Do its reads match, with these changes?
bool Sweep::fits(int32_t t, std::span<const Write> changes) const {
    int32_t earlier = p_.before[size_t(t)];
    if (earlier >= 0 && status_[size_t(earlier)] != DONE) return false;
    for (int64_t r = p_.read_start[size_t(t)]; r < p_.read_start[size_t(t) + 1]; ++r) {
        int32_t key = p_.read_key[size_t(r)], value = values_[size_t(key)];
        for (const Write& w : changes)
            if (w.key == key) value = w.value;
        if (!allows(p_.read_value[size_t(r)], value)) return false;
    }
    return true;
}

// --- the answer

void Sweep::tell() {
    std::vector<int32_t> writer(size_t(p_.keys), -1);
    std::vector<uint8_t> begun(size_t(p_.txns), 0);
    read_writer.assign(p_.read_key.size(), -2);
    for (int32_t t : placed_) {
        if (!begun[size_t(t)]) {
            begun[size_t(t)] = 1;
            order.push_back(p_.points * t);
            for (int64_t r = p_.read_start[size_t(t)]; r < p_.read_start[size_t(t) + 1]; ++r)
                read_writer[size_t(r)] = writer[size_t(p_.read_key[size_t(r)])];
            if (!at_once(t)) continue;
        }
        for (const Write& w : writes(t)) writer[size_t(w.key)] = t;
        if (p_.points == 2) order.push_back(2 * t + 1);
    }
}

}  // namespace boomslang::engine
