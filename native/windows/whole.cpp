#include "whole.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "common/parallel.hpp"

namespace boomslang::windows {

namespace {

// What belongs to each transaction, side by side and in the order in which it was given: `each(from, until, told)` tells
// some of the `count` rows, as told(transaction, row). Rows that go anywhere in an array that is larger than the cache
// wait for memory one by one; so they are first put where their *bucket* of neighbouring transactions will be, with
// the transaction's number in it beside them, and then each bucket is put in order on its own.
template <class Row, class Each>
void by_transaction(int32_t txns, int jobs, size_t count, std::vector<int64_t>& start, std::unique_ptr<Row[]>& rows,
                    Each&& each) {
    constexpr int32_t most = 1 << 16;  // transactions of a bucket, so that a number in it has 16 bits
    int32_t width = 1 << 13;
    while (width < most && txns / width > 512) width *= 2;
    const size_t buckets = size_t(txns / width) + 1;
    if (count < 100'000) jobs = 1;  // not worth a thread
    const auto parts = size_t(jobs > 1 ? 4 * jobs : 1);  // one thread may be slower than another
    Limits none;
    auto share = [&](auto&& work) {
        in_parallel(jobs, parts, none, [&](size_t part, int, Limits&) {
            work(part, count * part / parts, count * (part + 1) / parts);
        });
    };
    std::vector<std::vector<size_t>> at(parts, std::vector<size_t>(buckets, 0));  // of each part and bucket
    share([&](size_t part, size_t from, size_t until) {
        each(from, until, [&](int32_t t, const Row&) { ++at[part][size_t(t / width)]; });
    });
    std::vector<size_t> first(buckets + 1, 0);
    for (size_t b = 0, sum = 0; b < buckets; ++b) {
        for (std::vector<size_t>& of : at) sum += std::exchange(of[b], sum);
        first[b + 1] = sum;
    }
    rows = std::make_unique_for_overwrite<Row[]>(count);
    auto within = std::make_unique_for_overwrite<uint16_t[]>(count);
    share([&](size_t part, size_t from, size_t until) {
        each(from, until, [&](int32_t t, const Row& row) {
            const size_t place = at[part][size_t(t / width)]++;
            rows[place] = row, within[place] = uint16_t(t % width);
        });
    });
    start.assign(size_t(txns) + 1, int64_t(count));
    in_parallel(jobs, buckets, none, [&](size_t b, int, Limits&) {
        const size_t low = first[b], high = first[b + 1];
        const int32_t txn = int32_t(b) * width, here = std::min(width, txns - txn);
        const std::vector<Row> own(rows.get() + low, rows.get() + high);
        std::vector<size_t> next(size_t(here) + 1, 0);
        for (size_t i = low; i < high; ++i) ++next[size_t(within[i]) + 1];
        next[0] = low;
        for (int32_t t = 0; t < here; ++t) {
            start[size_t(txn + t)] = int64_t(next[size_t(t)]);
            next[size_t(t) + 1] += next[size_t(t)];
        }
        for (size_t i = low; i < high; ++i) rows[next[within[i]]++] = own[i - low];
    });
}

}  // namespace

void Whole::index(int jobs) {
    by_transaction(txns, jobs, write_txn.size(), txn_write_start, txn_writes, [&](size_t from, size_t until, auto&& told) {
        auto key = int32_t(std::upper_bound(key_start.begin(), key_start.end(), int64_t(from)) - key_start.begin()) - 1;
        for (auto w = int64_t(from); w < int64_t(until); ++w) {
            while (key_start[key + 1] <= w) ++key;
            told(write_txn[w], Write{key, write_value[w]});
        }
    });
    constexpr int32_t chunk = 1 << 14;
    std::atomic<bool> all = true;
    Limits none;
    in_parallel(jobs, size_t(txns / chunk + 1), none, [&](size_t c, int, Limits&) {
        for (int32_t t = int32_t(c) * chunk; t < std::min(txns, int32_t(c + 1) * chunk) && all; ++t)
            for (int64_t r = read_start[t]; state[t] != OUT && r < read_start[t + 1]; ++r)
                if (read_writer[r] < -1) all = false;
    });
    certain = all;
    if (edge_to.empty()) return;
    by_transaction(txns, jobs, edge_to.size(), edges_start, edges_in, [&](size_t from, size_t until, auto&& told) {
        for (size_t e = from; e < until; ++e) told(edge_to[e] / points, int32_t(e));
    });
}

std::pair<int64_t, int64_t> Whole::candidates(int32_t key, int32_t pattern) const {
    auto first = write_value.begin() + key_start[key], last = write_value.begin() + key_start[key + 1];
    auto low = pattern == PRESENT ? std::upper_bound(first, last, ABSENT) : std::lower_bound(first, last, pattern);
    auto high = pattern == PRESENT ? last : std::upper_bound(low, last, pattern);
    return {low - write_value.begin(), high - write_value.begin()};
}

}  // namespace boomslang::windows
