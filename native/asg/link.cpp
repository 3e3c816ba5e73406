// Who may have written what was read: the read lineage.
//
// A read with one candidate is a known dependency. If that candidate's outcome is unknown, the read shows that it
// committed, and then its own reads count too, and so on. Where the initial value of a key is unknown, a read that
// nobody else can explain fixes it.
#include <algorithm>
#include <memory>

#include "analyse.hpp"
#include "common/parallel.hpp"

namespace boomslang::asg {

namespace {

constexpr size_t too_few = 50'000;  // reads or writes: not worth a thread

// Of each value who wrote it, and to which key, if it was written once.
class Once {
public:
    enum Found { NOBODY, ONE, LOOK };

    Once(std::span<const int64_t> key_start, std::span<const int32_t> write_txn, std::span<const int32_t> write_value,
         int jobs, Limits& limits) {
        int32_t most = -1;
        for (int32_t value : write_value) most = std::max(most, value);
        // A part of a trace may have few writes and large numbers: no table is made for those.
        if (most < 0 || size_t(most) / 4 > write_value.size()) return;
        size_ = size_t(most) + 1;
        of_ = std::make_unique_for_overwrite<Row[]>(size_);
        // Each thread has some of the values.
        const int64_t parts = write_value.size() < too_few ? 1 : std::max(1, jobs), values = int64_t(most) + 1;
        in_parallel(jobs, size_t(parts), limits, [&](size_t part, int, Limits&) {
            const int64_t low = values * int64_t(part) / parts, high = values * int64_t(part + 1) / parts;
            std::fill(of_.get() + low, of_.get() + high, Row{nobody, -1});
            for (int32_t key = 0; key + 1 < int32_t(key_start.size()); ++key)
                for (int64_t w = key_start[key]; w < key_start[key + 1]; ++w) {
                    if (write_value[w] < low || write_value[w] >= high) continue;
                    Row& row = of_[size_t(write_value[w])];
                    row = row.key == nobody ? Row{key, write_txn[w]} : Row{several, -1};
                }
        });
    }

    // Whose write of this key matches the pattern? LOOK: the table does not say.
    Found find(int32_t key, int32_t pattern, int32_t& txn) const {
        if (of_ == nullptr || pattern < 0) return LOOK;
        if (size_t(pattern) >= size_) return NOBODY;
        const Row row = of_[size_t(pattern)];
        if (row.key == several) return LOOK;
        if (row.key != key) return NOBODY;
        txn = row.txn;
        return ONE;
    }

private:
    static constexpr int32_t nobody = -1, several = -2;
    struct Row {
        int32_t key, txn;
    };
    size_t size_ = 0;
    std::unique_ptr<Row[]> of_;
};

}  // namespace

Links link(std::span<const uint8_t> outcome, std::span<const int64_t> read_start, std::span<const int32_t> read_key,
           std::span<const int32_t> read_value, std::span<const int64_t> key_start, std::span<const int32_t> write_txn,
           std::span<const int32_t> write_value, std::span<const int32_t> init, const ListView& lists, Limits& limits, int jobs) {
    const int32_t txns = int32_t(outcome.size());
    Links out;
    out.init.assign(init.begin(), init.end());
    bool open_init = std::find(init.begin(), init.end(), UNKNOWN_INIT) != init.end();
    if (open_init) out.init_by.assign(init.size(), -1);
    auto fits = [](int32_t value, int32_t pattern) { return pattern == PRESENT ? value != ABSENT : value == pattern; };

    // Writes are sorted by key and value, so those of one value are found by halving; but that is ten steps through
    // main memory for each read. Where each value was written once, as in most workloads, a table has them at once.
    const Once once(key_start, write_txn, write_value, jobs, limits);
    // How many candidates this read of transaction t has (up to two), and the last of them.
    auto look = [&](int32_t t, int64_t r, int32_t& only) {
        const int32_t key = read_key[r], pattern = read_value[r];
        int found = 0;
        auto consider = [&](int32_t w) {
            if (w != t && out.state[size_t(w)] != 2) ++found, only = w;
        };
        int32_t writer = -1;
        if (auto known = once.find(key, pattern, writer); known == Once::ONE) {
            consider(writer);
        } else if (known == Once::LOOK) {
            auto first = write_value.begin() + key_start[key], last = write_value.begin() + key_start[key + 1];
            auto low = pattern == PRESENT ? std::upper_bound(first, last, ABSENT) : std::lower_bound(first, last, pattern);
            for (auto it = low; it != last && fits(*it, pattern) && found < 2; ++it)
                consider(write_txn[it - write_value.begin()]);
        }
        return found;
    };

    // Fixing an initial value can turn reads seen earlier into known ones; repeat until nothing is fixed any more. The
    // first reason for each fact is the one that is kept: it rests on earlier facts only, never on the fact itself.
    out.forced_by.assign(size_t(txns), -1);
    for (bool again = true; again;) {
        again = false;
        out.orphans.clear();
        std::vector<int32_t> work;
        in_parallel(read_key.size() < too_few ? 1 : jobs, 2, limits, [&](size_t i, int, Limits&) {
            if (i == 0) return out.writer.assign(read_key.size(), -2);
            out.state.assign(size_t(txns), 0);
            work.reserve(size_t(txns));
            for (int32_t t = 0; t < txns; ++t) {
                bool in = outcome[t] == COMMITTED || outcome[t] == ASSUMED;
                out.state[size_t(t)] = in ? 0 : outcome[t] == UNKNOWN ? 1 : 2;
                if (in) work.push_back(t);
            }
        });
        std::vector<int64_t> shown(lists.key.begin(), lists.key.end());  // of each list, where its unseen part starts
        for (size_t l = 0; l < shown.size(); ++l) shown[l] = lists.start[l];
        auto force = [&](int32_t w, int64_t r) {
            if (out.state[size_t(w)] != 1) return;
            out.state[size_t(w)] = 0;
            if (out.forced_by[size_t(w)] < 0) out.forced_by[size_t(w)] = r;
            work.push_back(w);
        };
        const bool settled = !open_init && lists.of.empty() && std::find(out.state.begin(), out.state.end(), 1) == out.state.end();
        if (settled && jobs > 1 && read_key.size() >= too_few) {
            // No read decides anything about another one: each thread takes some transactions.
            constexpr size_t chunk = 1 << 14;
            std::vector<std::vector<int64_t>> orphans(work.size() / chunk + 1);
            in_parallel(jobs, orphans.size(), limits, [&](size_t part, int, Limits& own) {
                for (size_t i = part * chunk; i < std::min(work.size(), (part + 1) * chunk); ++i)
                    for (int64_t r = read_start[work[i]]; r < read_start[work[i] + 1]; ++r) {
                        own.step(4);
                        int32_t only = -1;
                        const int found = look(work[i], r, only);
                        const bool from_init = fits(out.init[size_t(read_key[r])], read_value[r]);
                        int32_t& writer = out.writer[size_t(r)];
                        if (found == 0) writer = from_init ? -1 : -3;
                        else if (found == 1 && !from_init) writer = only;
                        if (writer == -3) orphans[part].push_back(r);
                    }
            });
            for (const auto& some : orphans) out.orphans.insert(out.orphans.end(), some.begin(), some.end());
            break;
        }
        for (size_t i = 0; i < work.size(); ++i) {
            int32_t t = work[i];
            for (int64_t r = read_start[t]; r < read_start[t + 1]; ++r) {
                limits.step(4);
                int32_t key = read_key[r], pattern = read_value[r];
                int32_t only = -1;
                const int found = look(t, r, only);
                int32_t& start = out.init[size_t(key)];
                bool open = start == UNKNOWN_INIT;
                bool from_init = open || fits(start, pattern);
                int32_t& writer = out.writer[size_t(r)];
                if (found == 0 && open && pattern != PRESENT) {
                    start = pattern;
                    out.init_by[size_t(key)] = r;
                    writer = -1;
                    again = true;
                } else if (found == 0 && !open) {
                    writer = from_init ? -1 : -3;
                    if (!from_init) out.orphans.push_back(r);
                } else if (found == 1 && !from_init) {
                    writer = only;
                    force(only, r);
                }
                if (lists.of.empty() || lists.of[r] < 0 || writer == -3) continue;
                // A list shows every transaction in it. (If one of them cannot be in, that is found here once, and
                // once is enough.)
                int64_t& at = shown[size_t(lists.of[r])];
                for (int64_t end = lists.start[lists.of[r]] + lists.length[r]; at < end; ++at) {
                    int32_t w = lists.txn[at];
                    if (out.state[size_t(w)] == 2) {
                        writer = -3;
                        out.orphans.push_back(r);
                        break;
                    }
                    force(w, r);
                }
            }
        }
    }
    std::sort(out.orphans.begin(), out.orphans.end());
    if (!lists.of.empty()) order_appends(read_start, key_start, write_txn, lists, out, limits);
    return out;
}

}  // namespace boomslang::asg
