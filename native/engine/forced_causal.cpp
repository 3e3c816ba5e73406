// Forced edges of causal consistency: who is visible by a row of reads (see forced.hpp).
//
// Asking for every reader and every writer of its keys whether one reaches the other would be quadratic. But an order in
// which all reads see the last version, or miss only what is not visible to them, needs no forced edge at all. So
//
//   1. guess an order, the way a database would have made it: nobody overwrites what others have yet to read (guess.cpp does
//      the same for the engine, with more to look after);
//   2. walk through it, and note the reads that miss a version: t read x from w, and somebody between w and t wrote x too;
//   3. who of those in between reaches t? With session order: a clock for each transaction says how far of each session
//      reaches it (Mattern, "Virtual time and global states of distributed systems", 1989), 32 sessions at a time. Without: a
//      block of 512 transactions at a time, each one bit, handed on from transaction to transaction as far as a read goes
//      that may miss one of the block;
//   4. who reaches it must come before w. Add these edges, order anew, and go on with 2 until nothing visible is missed, or
//      the edges close a cycle. What reaches what never changes, so each round adds edges, and there is an end.
#include <algorithm>
#include <array>
#include <bit>
#include <deque>

#include "forced.hpp"

namespace boomslang::engine {

namespace {
constexpr int32_t BLOCK = 512;
using Mask = std::array<uint64_t, BLOCK / 64>;
constexpr int32_t WOKEN = 64;  // of those who wait for a key, so many are looked at together
constexpr int32_t FEW = 64;
constexpr int32_t HANDS = 32;
using Clock = std::array<int32_t, HANDS>;
constexpr size_t MOST_QUESTIONS = size_t(1) << 25;
}  // namespace

void Forced::find_versions() {
    const int32_t writes = int32_t(write_key_.size());
    version_.resize(p_.read_key.size());
    for (int32_t t = 0; t < p_.txns; ++t) {
        if (!in(t)) continue;
        limits_.step(8);
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
            int32_t w = p_.read_writer[r], key = p_.read_key[r];
            if (w < 0) {
                version_[size_t(r)] = writes + key;
                continue;
            }
            auto first = write_key_.begin() + write_start_[size_t(w)], last = write_key_.begin() + write_start_[size_t(w) + 1];
            version_[size_t(r)] = int32_t(std::lower_bound(first, last, key) - write_key_.begin());
        }
    }
}

// False: what is visible to whom goes around in a circle.
bool Forced::guess(std::vector<int32_t>& order) {
    const int32_t writes = int32_t(write_key_.size());
    // Who comes after whom by a read or another known edge, and (not a must) by the session.
    std::vector<int32_t> after_start(size_t(p_.txns) + 1, 0), missing(size_t(p_.txns), 0);
    std::vector<uint8_t> hinted(size_t(p_.txns), 0);
    auto each_edge = [&](auto&& edge) {
        for (int32_t t = 0; t < p_.txns; ++t)
            if (in(t)) predecessors(t, true, [&](const Step& s) { edge(s.from, t); });
    };
    each_edge([&](int32_t a, int32_t b) { ++after_start[size_t(a) + 1], ++missing[size_t(b)]; });
    for (int32_t t = 0; t < p_.txns; ++t) after_start[size_t(t) + 1] += after_start[size_t(t)];
    std::vector<int32_t> after(size_t(after_start.back()));
    each_edge([&](int32_t a, int32_t b) { after[size_t(after_start[size_t(a)]++)] = b; });
    for (int32_t t = p_.txns; t > 0; --t) after_start[size_t(t)] = after_start[size_t(t) - 1];
    after_start[0] = 0;
    if (!p_.hint_next.empty())
        for (int32_t t = 0; t < p_.txns; ++t)
            if (p_.hint_next[t] >= 0 && in(t) && in(p_.hint_next[t])) hinted[size_t(p_.hint_next[t])] = 1;

    std::vector<int32_t> pending(size_t(writes + p_.keys), 0), current(size_t(p_.keys));
    for (int32_t key = 0; key < p_.keys; ++key) current[size_t(key)] = writes + key;
    int32_t all = 0;
    for (int32_t t = 0; t < p_.txns; ++t) {
        if (!in(t)) continue;
        ++all;
        limits_.step(8);
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) ++pending[size_t(version_[size_t(r)])];
    }
    std::vector<int32_t> waits_head(size_t(p_.keys), -1), waits_next(size_t(p_.txns), -1);
    std::vector<uint8_t> placed(size_t(p_.txns), 0);
    // Who may go now; who may, but it seems wise to wait; and whose session has not come so far.
    std::deque<int32_t> ready, possible, early;

    auto waits_at = [&](int32_t t) -> int32_t {
        for (int32_t j = write_start_[size_t(t)]; j < write_start_[size_t(t) + 1]; ++j) {
            int32_t key = write_key_[size_t(j)], version = current[size_t(key)], readers = pending[size_t(version)];
            if (readers == 0) continue;
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) readers -= version_[size_t(r)] == version;
            if (readers > 0) return key;
        }
        return -1;
    };
    auto wake = [&](int32_t key) {
        for (int32_t n = 0; n < WOKEN && waits_head[size_t(key)] >= 0; ++n) {
            int32_t t = waits_head[size_t(key)];
            waits_head[size_t(key)] = waits_next[size_t(t)];
            if (!placed[size_t(t)]) ready.push_back(t);
        }
    };
    auto arrive = [&](int32_t t) {
        if (hinted[size_t(t)]) return early.push_back(t);
        ready.push_back(t), possible.push_back(t);
    };
    auto place = [&](int32_t t) {
        placed[size_t(t)] = 1;
        order.push_back(t);
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
            if (--pending[size_t(version_[size_t(r)])] <= 1) wake(p_.read_key[r]);
        for (int32_t j = write_start_[size_t(t)]; j < write_start_[size_t(t) + 1]; ++j) {
            current[size_t(write_key_[size_t(j)])] = j;
            wake(write_key_[size_t(j)]);
        }
        for (int32_t i = after_start[size_t(t)]; i < after_start[size_t(t) + 1]; ++i) {
            int32_t next = after[size_t(i)];
            if (--missing[size_t(next)] == 0) arrive(next);
        }
        if (p_.hint_next.empty() || p_.hint_next[t] < 0) return;
        int32_t next = p_.hint_next[t];
        hinted[size_t(next)] = 0;
        if (in(next) && missing[size_t(next)] == 0 && !placed[size_t(next)]) arrive(next);
    };
    for (int32_t t = 0; t < p_.txns; ++t)
        if (in(t) && missing[size_t(t)] == 0) arrive(t);
    order.reserve(size_t(all));
    while (true) {
        limits_.step(16);
        if (!ready.empty()) {
            int32_t t = ready.front(), key;
            ready.pop_front();
            if (placed[size_t(t)]) continue;
            if ((key = waits_at(t)) < 0) {
                place(t);
                continue;
            }
            waits_next[size_t(t)] = waits_head[size_t(key)];
            waits_head[size_t(key)] = t;
            continue;
        }
        for (auto* queue : {&possible, &early})
            while (!queue->empty() && placed[size_t(queue->front())]) queue->pop_front();
        if (!possible.empty()) place(possible.front());
        else if (!early.empty()) place(early.front());
        else break;
    }
    return int32_t(order.size()) == all;
}

// Who stands where, and which reads miss a version.
void Forced::replay(const std::vector<int32_t>& order) {
    const int32_t writes = int32_t(write_key_.size());
    std::vector<int32_t> current(size_t(p_.keys));
    for (int32_t key = 0; key < p_.keys; ++key) current[size_t(key)] = writes + key;
    writer_count_.assign(size_t(p_.keys), 0);
    misses_.clear();
    std::swap(place_, old_place_);
    place_.resize(size_t(p_.txns));
    for (int32_t i = 0; i < int32_t(order.size()); ++i) {
        int32_t t = order[size_t(i)];
        limits_.step(8);
        place_[size_t(t)] = i;
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
            if (int32_t w = p_.read_writer[r]; current[size_t(p_.read_key[r])] != version_[size_t(r)])
                misses_.push_back({int32_t(r), t, w < 0 ? -1 : place_[size_t(w)], i});
        for (int32_t j = write_start_[size_t(t)]; j < write_start_[size_t(t) + 1]; ++j) {
            int32_t key = write_key_[size_t(j)];
            current[size_t(key)] = j;
            writer_places_[size_t(p_.key_start[key] + writer_count_[size_t(key)]++)] = i;
        }
    }
}

// Was it asked in the round before whether who stands at this place is visible to the read?
bool Forced::known(const Miss& miss, int32_t p) const {
    if (old_place_.empty()) return false;
    int32_t w = p_.read_writer[miss.read], at = old_place_[size_t(p)];
    return (w < 0 || old_place_[size_t(w)] < at) && at < old_place_[size_t(miss.reader)];
}

// Step 3, without session order: how far the bits of each block must be handed on (-1: nowhere), and what that costs.
double Forced::find_reach(const std::vector<int32_t>& order, std::vector<int32_t>& until) {
    until.assign(order.size() / BLOCK + 1, -1);
    for (const Miss& m : misses_) {
        auto [from, to] = missed(m);
        limits_.step(uint32_t(std::min<int64_t>(to - from, FEW)) + 8);
        auto mark = [&](int32_t block) { until[size_t(block)] = std::max(until[size_t(block)], m.high); };
        if (to - from <= FEW) {
            for (auto it = from; it != to; ++it)
                if (!known(m, order[size_t(*it)])) mark(*it / BLOCK);
        } else {
            for (int32_t block = *from / BLOCK; block <= *(to - 1) / BLOCK; ++block) mark(block);
        }
    }
    double cost = 0;
    for (size_t block = 0; block < until.size(); ++block)
        if (until[block] >= 0) cost += double(until[block] - int32_t(block) * BLOCK) * sizeof(Mask);
    return cost;
}

std::pair<const int32_t*, const int32_t*> Forced::missed(const Miss& miss) const {
    int32_t key = p_.read_key[miss.read];
    const int32_t *first = writer_places_.data() + p_.key_start[key], *last = first + writer_count_[size_t(key)];
    const int32_t* from = std::upper_bound(first, last, miss.low);
    return {from, std::lower_bound(from, last, miss.high)};
}

// Step 3: forces those whom a read misses and who are visible to it. False: it read the initial version.
bool Forced::mask_misses(const std::vector<int32_t>& order, const std::vector<int32_t>& until, Answer& answer) {
    std::vector<Mask> reach, masks;
    struct Slot {
        int32_t block = -1, mask = -1;
    };
    std::vector<Slot> slots(size_t(p_.keys));  // of each key: those of the block who write it
    for (int32_t block = 0; block < int32_t(until.size()); ++block) {
        const int32_t low = block * BLOCK, high = low + BLOCK, end = until[size_t(block)];
        if (end < 0) continue;
        reach.resize(size_t(end - low + 1));
        masks.clear();
        auto miss = std::partition_point(misses_.begin(), misses_.end(), [&](const Miss& m) { return m.high <= low; });
        for (int32_t i = low; i <= end; ++i) {
            int32_t t = order[size_t(i)];
            limits_.step(8);
            Mask mine{};
            predecessors(t, false, [&](const Step& s) {
                int32_t at = place_[size_t(s.from)];
                if (at < low) return;
                const Mask& theirs = reach[size_t(at - low)];
                for (size_t word = 0; word < mine.size(); ++word) mine[word] |= theirs[word];
                if (at < high) mine[size_t(at - low) / 64] |= uint64_t(1) << ((at - low) % 64);
            });
            reach[size_t(i - low)] = mine;
            for (; miss != misses_.end() && miss->high == i; ++miss) {
                if (miss->low >= high - 1) continue;
                int32_t key = p_.read_key[miss->read];
                Slot& slot = slots[size_t(key)];
                if (slot.block != block) {
                    slot = {block, int32_t(masks.size())};
                    masks.push_back({});
                    auto first = writer_places_.begin() + p_.key_start[key], last = first + writer_count_[size_t(key)];
                    for (auto it = std::lower_bound(first, last, low); it != last && *it < high; ++it)
                        masks.back()[size_t(*it - low) / 64] |= uint64_t(1) << ((*it - low) % 64);
                }
                const Mask& theirs = masks[size_t(slot.mask)];
                for (size_t word = 0; word < mine.size(); ++word)
                    for (uint64_t bits = mine[word] & theirs[word]; bits; bits &= bits - 1) {
                        int32_t at = low + int32_t(word) * 64 + std::countr_zero(bits);
                        if (at <= miss->low) continue;
                        if (!force(order[size_t(at)], p_.read_writer[miss->read], miss->read, answer)) return false;
                        limits_.step();
                    }
            }
        }
    }
    return true;
}

// Rows of transactions of which each reaches the next: sessions, but for those of unknown outcome.
void Forced::find_chains() {
    chain_.assign(size_t(p_.txns), -1), chain_place_.assign(size_t(p_.txns), 0);
    std::vector<uint8_t> goes_on(size_t(p_.txns), 0);
    for (int32_t t = 0; t < p_.txns; ++t) {
        if (!in(t)) continue;
        int32_t before = previous_[size_t(t)];
        if (before >= 0 && !goes_on[size_t(before)]) {
            goes_on[size_t(before)] = 1;
            chain_[size_t(t)] = chain_[size_t(before)], chain_place_[size_t(t)] = chain_place_[size_t(before)] + 1;
        } else {
            chain_[size_t(t)] = chains_++;
        }
    }
}

// Step 3, with session order: the questions to the clocks, in groups of chains, and what to answer them costs.
double Forced::find_questions(const std::vector<int32_t>& order) {
    if (chain_.empty()) find_chains();
    hand_.assign(size_t(chains_), -1);  // of each chain that somebody who was missed is in
    std::vector<size_t> count;
    int32_t hands = 0;
    auto each = [&](auto&& ask) {
        for (size_t i = 0; i < misses_.size(); ++i) {
            auto [from, to] = missed(misses_[i]);
            for (auto it = from; it != to; ++it) {
                limits_.step();
                if (int32_t p = order[size_t(*it)]; !known(misses_[i], p)) ask(int32_t(i), *it, chain_[size_t(p)]);
            }
        }
    };
    size_t all = 0;
    each([&](int32_t, int32_t, int32_t chain) {
        if (++all > MOST_QUESTIONS) return;
        int32_t& h = hand_[size_t(chain)];
        if (h < 0) h = hands++;
        if (h / HANDS == int32_t(count.size())) count.push_back(0);
        ++count[size_t(h / HANDS)];
    });
    if (all > MOST_QUESTIONS) return 1e300;
    group_.assign(count.size() + 1, 0);
    for (size_t g = 0; g < count.size(); ++g) group_[g + 1] = group_[g] + count[g];
    questions_.resize(all);
    std::vector<size_t> next(group_.begin(), group_.end() - 1);
    each([&](int32_t miss, int32_t at, int32_t chain) { questions_[next[size_t(hand_[size_t(chain)] / HANDS)]++] = {miss, at}; });
    double cost = 0;
    for (size_t g = 0; g < count.size(); ++g) {
        auto [low, high] = span_of(g);
        cost += double(high - low) * sizeof(Clock);
    }
    return cost;
}

std::pair<int32_t, int32_t> Forced::span_of(size_t group) const {
    int32_t low = INT32_MAX;
    for (size_t q = group_[group]; q < group_[group + 1]; ++q) low = std::min(low, questions_[q].at);
    return {low, misses_[size_t(questions_[group_[group + 1] - 1].miss)].high};
}

bool Forced::clock_misses(const std::vector<int32_t>& order, Answer& answer) {
    std::vector<Clock> clocks;
    for (size_t group = 0; group + 1 < group_.size(); ++group) {
        auto question = questions_.begin() + int64_t(group_[group]), end = questions_.begin() + int64_t(group_[group + 1]);
        auto [low, high] = span_of(group);
        clocks.resize(size_t(high - low + 1));
        for (int32_t i = low; i <= high; ++i) {
            limits_.step(16);
            Clock mine;
            mine.fill(-1);
            predecessors(order[size_t(i)], false, [&](const Step& s) {
                int32_t at = place_[size_t(s.from)];
                if (at < low) return;
                const Clock& theirs = clocks[size_t(at - low)];
                for (size_t h = 0; h < mine.size(); ++h) mine[h] = std::max(mine[h], theirs[h]);
                int32_t h = hand_[size_t(chain_[size_t(s.from)])];
                if (h >= 0 && size_t(h / HANDS) == group)
                    mine[size_t(h % HANDS)] = std::max(mine[size_t(h % HANDS)], chain_place_[size_t(s.from)]);
            });
            clocks[size_t(i - low)] = mine;
            for (; question != end && misses_[size_t(question->miss)].high == i; ++question) {
                int32_t p = order[size_t(question->at)], read = misses_[size_t(question->miss)].read;
                if (mine[size_t(hand_[size_t(chain_[size_t(p)])] % HANDS)] < chain_place_[size_t(p)]) continue;
                if (!force(p, p_.read_writer[read], read, answer)) return false;
            }
        }
    }
    return true;
}

// Step 3, the cheaper way.
bool Forced::force_misses(const std::vector<int32_t>& order, Answer& answer) {
    std::vector<int32_t> until;
    double by_masks = find_reach(order, until), by_clocks = session_path_ ? find_questions(order) : 1e300;
    bool masks = way == MASKS || by_clocks == 1e300 || (way == CHEAPER && by_masks <= by_clocks);
    return masks ? mask_misses(order, until, answer) : clock_misses(order, answer);
}

bool Forced::causal(std::vector<int32_t>& order, Answer& answer) {
    find_versions();
    index_extra();
    writer_places_.resize(p_.write_txn.size());
    std::vector<int32_t> wish;
    if (!guess(wish)) {  // then there is a cycle, for `arrange` to find
        wish.clear();
        for (int32_t t = 0; t < p_.txns; ++t)
            if (in(t)) wish.push_back(t);
        return arrange(wish, order, answer);
    }
    order = wish;
    for (rounds = 1;;) {
        replay(order);
        if (rounds == 1) missing = int64_t(misses_.size());
        if (misses_.empty()) return true;
        size_t known = extra_.size();
        if (!force_misses(order, answer)) return false;
        if (extra_.size() == known) return true;
        std::swap(order, wish);
        if (!arrange(wish, order, answer)) return false;
    }
}

}  // namespace boomslang::engine
