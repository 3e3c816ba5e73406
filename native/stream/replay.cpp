#include "replay.hpp"

#include "engine/problem.hpp"

namespace boomslang::stream {

using namespace engine;  // for what a read may have seen

namespace {

struct Write {
    int32_t key, value;
    int64_t row;
};

// The writes of each transaction side by side.
struct ByTransaction {
    std::vector<int64_t> start;
    std::vector<Write> writes;

    explicit ByTransaction(const Window& w) : start(size_t(w.txns) + 1), writes(w.write_txn.size()) {
        for (int32_t t : w.write_txn) ++start[size_t(t) + 1];
        for (size_t t = 0; t < size_t(w.txns); ++t) start[t + 1] += start[t];
        std::vector<int64_t> at(start.begin(), start.end() - 1);
        for (int32_t key = 0; key < w.keys; ++key)
            for (int64_t row = w.key_start[size_t(key)]; row < w.key_start[size_t(key) + 1]; ++row)
                writes[size_t(at[size_t(w.write_txn[size_t(row)])]++)] = {key, w.write_value[size_t(row)], row};
    }
};

struct Key {
    int32_t value = 0;
    bool seen = false;
    int64_t last = -1;         // row of its last write
    int64_t late = -1;         // of those who began here
    bool read_since = false;   // the latter
};

// Of the last writers of a key, those that are told before the very last.
constexpr int MOST = 6;

}  // namespace

Replayed replay(const Window& w, std::span<const int64_t> order) {
    Replayed found;
    const ByTransaction by(w);
    std::vector<Key> keys(size_t(w.keys));
    for (size_t k = 0; k < keys.size(); ++k) keys[k].value = w.initial[k];
    std::vector<int64_t> place(size_t(w.txns) * size_t(w.points), -1);
    std::vector<int64_t> before(w.write_txn.size(), -1);  // the write of that key before each
    found.matters.assign(w.write_txn.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) {
        const auto point = size_t(order[i]);
        const auto t = point / size_t(w.points);
        if (place[point] >= 0) return found.problem = Replayed::TWICE, found;
        place[point] = int64_t(i);
        if (w.points == 1 || point % 2 == 0)
            for (int64_t r = w.read_start[t]; r < w.read_start[t + 1]; ++r) {
                Key& key = keys[size_t(w.read_key[size_t(r)])];
                if (!matches(key.value, w.read_value[size_t(r)])) return found.problem = Replayed::READ, found;
                key.seen |= key.last < 0;
                if (key.last >= 0) found.matters[size_t(key.last)] = 1;
                key.read_since = true;
            }
        if (w.points == 2 && point % 2 == 0) continue;
        for (int64_t j = by.start[t]; j < by.start[t + 1]; ++j) {
            const Write& write = by.writes[size_t(j)];
            Key& key = keys[size_t(write.key)];
            if (w.apart && key.last >= 0) {
                const auto before = size_t(w.write_txn[size_t(key.last)]);
                if (w.pinned[t] || place[2 * before + 1] > place[2 * t]) return found.problem = Replayed::OVERLAP, found;
            } else if (w.apart && w.pinned[t]) {
                found.first.push_back(write.row);
            }
            key.last = write.row, key.value = write.value;
            if (w.pinned[t]) continue;
            before[size_t(write.row)] = key.late;
            key.late = write.row, key.read_since = false;
        }
    }
    for (size_t k = 0; k < keys.size(); ++k) {
        const Key& key = keys[k];
        if (key.seen) found.seen.push_back(int64_t(k));
        if (key.last >= 0) found.last.push_back(key.last), found.matters[size_t(key.last)] = 1;
        if (key.late < 0 || key.read_since) continue;
        int64_t early = before[size_t(key.late)];
        for (int n = 0; n < MOST && early >= 0; ++n, early = before[size_t(early)])
            found.early.push_back(early), found.late.push_back(key.late);
    }
    return found;
}

}  // namespace boomslang::stream
