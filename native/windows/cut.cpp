// Where to cut: a rank is close to the database's order, but not equal to it.
//
// Around each cut the transactions of the neighbourhood are ordered by the engine, as a part of its own with whatever start
// state its reads name. The middle of that order is the cut: what reads from each other, or overwrites each other, falls
// on sides that fit. A neighbourhood that cannot be ordered is cut by rank.
//
// Transactions of unknown outcome never cross a cut: half of one could be left out. They stand right before their first
// reader; without any reader they are left out of the order altogether, which breaks nothing.
#include <algorithm>

#include "common/parallel.hpp"
#include "windows.hpp"

namespace boomslang::windows {

Windows::Windows(Whole whole, std::span<const int32_t> sequence, std::span<const int32_t> after,
                 std::span<const uint8_t> uncertain, int jobs)
    : whole_(std::move(whole)), sequence_(sequence.size()), after_(after), uncertain_(uncertain.begin(), uncertain.end()) {
    in_pieces(jobs, sequence.size(), [&](size_t from, size_t until) {
        std::copy(sequence.begin() + int64_t(from), sequence.begin() + int64_t(until), sequence_.begin() + int64_t(from));
    });
    whole_.index(std::max(1, jobs));
    number(jobs);
    if (std::any_of(uncertain_.begin(), uncertain_.end(), [](uint8_t u) { return u != 0; })) place_uncertain(uncertain);
    bounds_ = {0, int32_t(sequence_.size())};
    windows_.resize(1);
}

void Windows::number(int jobs) {
    place_.resize(size_t(whole_.txns) * size_t(whole_.points));
    in_pieces(jobs, place_.size(), [&](size_t from, size_t until) {
        std::fill(place_.begin() + int64_t(from), place_.begin() + int64_t(until), -1);
    });
    in_pieces(jobs, sequence_.size(), [&](size_t from, size_t until) {
        for (size_t i = from; i < until; ++i) place_[size_t(sequence_[i])] = int32_t(i);
    });
}

void Windows::place_uncertain(std::span<const uint8_t> uncertain) {
    std::vector<int32_t> before(size_t(whole_.txns), INT32_MAX);
    struct Row {
        int32_t value, txn;
    };
    std::unordered_map<int32_t, std::vector<Row>> written;
    for (int32_t key = 0; key < whole_.keys; ++key)
        for (int64_t w = whole_.key_start[key]; w < whole_.key_start[key + 1]; ++w)
            if (int32_t t = whole_.write_txn[w]; uncertain[t] && whole_.state[t] != OUT)
                written[key].push_back({whole_.write_value[w], t});
    for (int32_t t = 0; t < whole_.txns && !written.empty(); ++t) {
        int32_t at = whole_.state[t] == OUT ? -1 : place_[size_t(whole_.begin_of(t))];
        if (at < 0) continue;
        for (int64_t r = whole_.read_start[t]; r < whole_.read_start[t + 1]; ++r) {
            auto found = written.find(whole_.read_key[r]);
            if (found == written.end()) continue;
            for (const Row& row : found->second) {
                if (row.txn == t || !matches(row.value, whole_.read_value[r])) continue;
                bool later = at > place_[size_t(whole_.begin_of(row.txn))] || whole_.read_writer[r] == row.txn;
                if (later) before[size_t(row.txn)] = std::min(before[size_t(row.txn)], at);
            }
        }
    }
    std::vector<std::pair<int32_t, int32_t>> moved;  // before which place, transaction
    for (int32_t t = 0; t < whole_.txns; ++t) {
        if (whole_.state[t] == OUT || !uncertain[t]) continue;
        if (before[size_t(t)] == INT32_MAX && whole_.state[t] == MAY) continue;  // nobody reads it: left out
        moved.push_back({before[size_t(t)] == INT32_MAX ? place_[size_t(whole_.commit_of(t))] : before[size_t(t)], t});
    }
    std::sort(moved.begin(), moved.end());
    Unset<int32_t> sequence;
    sequence.reserve(sequence_.size());
    auto put = [&](int32_t t) {
        sequence.push_back(whole_.begin_of(t));
        if (whole_.points == 2) sequence.push_back(whole_.commit_of(t));
    };
    size_t next = 0;
    for (size_t i = 0; i < sequence_.size(); ++i) {
        for (; next < moved.size() && moved[next].first <= int32_t(i); ++next) put(moved[next].second);
        if (!uncertain[sequence_[i] / whole_.points]) sequence.push_back(sequence_[i]);
    }
    for (; next < moved.size(); ++next) put(moved[next].second);
    sequence_.swap(sequence);
    number();
}

void Windows::keep_from_crossing() {
    if (whole_.points == 1) return;
    Unset<int32_t> sequence;
    sequence.reserve(sequence_.size());
    for (int32_t point : sequence_) {
        const int32_t t = point / 2;
        const bool writes = whole_.txn_write_start[size_t(t)] < whole_.txn_write_start[size_t(t) + 1];
        const bool turned = place_[size_t(2 * t)] > place_[size_t(2 * t + 1)];
        if (writes && !turned) sequence.push_back(point);
        else if (point % 2 == 0) sequence.push_back(point), sequence.push_back(point + 1);
    }
    sequence_.swap(sequence);
    number();
}

void Windows::last_readers(const std::vector<std::pair<int64_t, int64_t>>& hoods, int jobs, Limits& limits) {
    last_read_ = std::vector<std::atomic<int32_t>>(whole_.write_txn.size());  // 0: none; no reader stands first
    std::vector<uint8_t> near(size_t(whole_.txns), 0);
    for (auto [low, high] : hoods)
        for (int64_t i = low; i < high; ++i) near[size_t(sequence_[size_t(i)] / whole_.points)] = 1;
    constexpr int32_t chunk = 8192;
    parallel(jobs, size_t(whole_.txns / chunk + 1), limits, [&](size_t c, Scratch&, Limits& stop) {
        for (int32_t t = int32_t(c) * chunk; t < std::min(whole_.txns, int32_t(c + 1) * chunk); ++t) {
            int32_t at = whole_.state[t] == OUT ? -1 : place_[size_t(whole_.begin_of(t))];
            stop.step(4);
            for (int64_t r = whole_.read_start[t]; at >= 0 && r < whole_.read_start[t + 1]; ++r) {
                int32_t w = whole_.read_writer[r];
                if (w < 0 || !near[size_t(w)]) continue;
                const int64_t j = whole_.write_of(w, whole_.read_key[r]);
                if (j < 0) continue;
                std::atomic<int32_t>& last = last_read_[size_t(j)];
                int32_t seen = last.load(std::memory_order_relaxed);
                while (seen < at && !last.compare_exchange_weak(seen, at, std::memory_order_relaxed)) {
                }
            }
        }
    });
}

std::vector<Solved> Windows::cut(int32_t size, int32_t margin, int stop, int jobs, Options options, Limits& limits) {
    keep_from_crossing();
    const int64_t points = int64_t(sequence_.size()), width = int64_t(size) * whole_.points;
    const int64_t side = std::min(int64_t(margin) * whole_.points, width / 2);
    std::vector<int64_t> cuts;
    for (int64_t c = width; c + width / 2 < points; c += width) cuts.push_back(c);
    std::vector<std::pair<int64_t, int64_t>> hoods;
    for (int64_t c : cuts) hoods.push_back({c - side, std::min(points, c + side)});
    stats.cuts = int64_t(cuts.size());
    if (side > 0) last_readers(hoods, jobs, limits);

    struct Found {
        std::vector<int32_t> order;
        std::optional<Solved> refuted;
    };
    std::vector<Found> found(cuts.size());
    Refuted counts;
    parallel(jobs, side > 0 ? cuts.size() : 0, limits, [&](size_t c, Scratch& scratch, Limits& own) {
        if (counts.enough(stop) || hard_) return;
        auto [low, high] = hoods[c];
        std::span<const int32_t> here(sequence_.data() + low, size_t(high - low));
        Part part(whole_, here, {}, place_, scratch);
        // Of several values that are demanded, the one whose writer ranks highest.
        std::vector<int32_t> start(part.keys.size(), NO_DEMAND), rank(part.keys.size(), -2);
        std::vector<Demand> final;
        for (int64_t read : part.demands) {
            const Demand d = Demand::of(whole_, read);
            if (scratch.key_stamp[size_t(d.key)] != scratch.stamp) continue;
            size_t k = size_t(scratch.key_local[size_t(d.key)]);
            int32_t w = whole_.read_writer[d.read], placed = w >= 0 ? place_[size_t(whole_.commit_of(w))] : -1;
            if (placed > rank[k]) rank[k] = placed, start[k] = d.pattern;
        }
        for (int64_t read : part.likely) {
            int32_t& value = start[size_t(scratch.key_local[size_t(whole_.read_key[read])])];
            if (value == NO_DEMAND) value = whole_.read_value[read];
        }
        std::vector<int32_t> last(part.keys.size(), -1);
        std::vector<Demand> wanted(part.keys.size(), Demand{-1, NO_DEMAND, -1});
        for (int32_t point : here) {
            int32_t t = point / whole_.points;
            if (!whole_.is_commit(point) || whole_.state[t] != MUST) continue;
            for (int64_t j = whole_.txn_write_start[size_t(t)]; j < whole_.txn_write_start[size_t(t) + 1]; ++j) {
                if (last_read_[size_t(j)] < high) continue;
                auto [key, value] = whole_.txn_writes[size_t(j)];
                size_t k = size_t(scratch.key_local[size_t(key)]);
                if (place_[size_t(point)] > last[k])
                    last[k] = place_[size_t(point)], wanted[k] = {key, value, -1};
            }
        }
        for (const Demand& d : wanted)
            if (d.key >= 0) final.push_back(d);
        Solved solved = part.solve(whole_, start, final, place_, true, options, own, scratch);
        if (hopeless(solved.status == Answer::UNKNOWN)) return;
        ++counts.answers;
        if (solved.status == Answer::VALID) found[c].order = std::move(solved.order);
        if (stop > 0 && solved.status == Answer::INVALID) ++counts.refuted, found[c].refuted = std::move(solved);
    });
    if (hard_) return {};
    if (counts.enough(stop)) {
        std::vector<Solved> all;
        for (Found& f : found)
            if (f.refuted) all.push_back(std::move(*f.refuted));
        return all;
    }

    // Each neighbourhood in the order found, those left out of it behind; the cut in the middle.
    std::vector<int32_t> bounds{0};
    for (size_t c = 0; c < cuts.size(); ++c) {
        int64_t low = hoods[c].first, at = cuts[c];
        if (!found[c].order.empty()) {
            ++stats.refined;
            std::vector<int32_t> here(sequence_.begin() + low, sequence_.begin() + hoods[c].second);
            for (int32_t point : found[c].order) place_[size_t(point)] = -1;
            std::vector<int32_t> order = std::move(found[c].order);
            at = low + int64_t(order.size()) / 2;
            for (int32_t point : here)
                if (place_[size_t(point)] >= 0) order.push_back(point);
            std::copy(order.begin(), order.end(), sequence_.begin() + low);
            for (int64_t i = low; i < hoods[c].second; ++i) place_[size_t(sequence_[size_t(i)])] = int32_t(i);
        }
        bounds.push_back(int32_t(at));
    }
    bounds.push_back(int32_t(points));
    if (whole_.points == 2) {
        // No transaction of unknown outcome on both sides: its commit goes to its begin.
        bool moved = false;
        Unset<int32_t> sequence;
        sequence.reserve(sequence_.size());
        for (int32_t point : sequence_) {
            int32_t t = point / 2;
            bool apart = uncertain_[size_t(t)] && place_[size_t(2 * t + 1)] != place_[size_t(2 * t)] + 1;
            moved |= apart;
            if (!uncertain_[size_t(t)]) sequence.push_back(point);
            else if (point % 2 == 1) sequence.push_back(point - 1), sequence.push_back(point);
        }
        if (moved) sequence_.swap(sequence), number();
        for (size_t b = 1; b + 1 < bounds.size(); ++b) {
            int32_t left = sequence_[size_t(bounds[b]) - 1];
            if (left % 2 == 0 && uncertain_[size_t(left / 2)]) ++bounds[b];
        }
    }
    bounds_ = std::move(bounds);
    windows_.clear();
    windows_.resize(bounds_.size() - 1);
    last_read_ = std::vector<std::atomic<int32_t>>();
    follow_edges();
    return {};
}

}  // namespace boomslang::windows
