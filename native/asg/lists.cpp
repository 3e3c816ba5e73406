// What list reads say: who appended, and in which order.
//
// A key that is only appended to keeps its whole history in its value. A read of [e1 .. en] names the transactions that
// had appended, in the order of their versions; it holds all of their appends and nobody else's. So a list that was
// read is a row of *blocks*: all appends of one transaction to the key, in program order. Anything else (half a block, two
// blocks interleaved, an element twice or from nowhere) is no version of the key in any order of whole transactions.
//
// From the lists that are known to have been read follows the order of the key's writers, as far as the longest list goes;
// whoever is not in it comes after it (Kingsbury and Alvaro, Elle, VLDB 2020, section 4.3).
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analyse.hpp"

namespace boomslang::asg {

namespace {

// The appends to one key, as blocks.
struct Blocks {
    struct Append {
        int32_t txn, op, value;
    };
    std::vector<Append> appends;  // by transaction, then in program order
    std::unordered_map<int32_t, int64_t> at;  // element -> its append

    void finish() {
        std::sort(appends.begin(), appends.end(),
                  [](const Append& a, const Append& b) { return a.txn != b.txn ? a.txn < b.txn : a.op < b.op; });
        for (size_t i = 0; i < appends.size(); ++i) at[appends[i].value] = int64_t(i);
    }
};

struct List {
    int64_t first;  // where its elements lie among the items
    int32_t count;
    std::vector<int32_t> txn, end;  // blocks, and where each ends
};

// As many whole blocks as the elements begin with.
void split(const int32_t* element, int32_t count, const Blocks& blocks, List& list) {
    std::unordered_set<int32_t> seen;
    for (int32_t i = 0; i < count;) {
        auto found = blocks.at.find(element[i]);
        if (found == blocks.at.end()) return;
        int64_t from = found->second;
        int32_t txn = blocks.appends[size_t(from)].txn;
        if (from > 0 && blocks.appends[size_t(from) - 1].txn == txn) return;  // not the first of its block
        if (!seen.insert(txn).second) return;
        for (; from < int64_t(blocks.appends.size()) && blocks.appends[size_t(from)].txn == txn; ++from, ++i)
            if (i == count || element[i] != blocks.appends[size_t(from)].value) return;
        list.txn.push_back(txn), list.end.push_back(i);
    }
}

// Lists of one key that do not begin alike: so many are compared, any further one stands alone.
constexpr size_t most_alternatives = 4;

}  // namespace

void find_lists(const Columns& c, const std::vector<ListRead>& found, Extracted& out, Limits& limits) {
    Lists& lists = out.lists;
    lists.of.assign(out.reads.key.size(), -1), lists.length.assign(out.reads.key.size(), 0);
    lists.start.push_back(0);

    std::unordered_map<int32_t, Blocks> blocks;
    for (const ListRead& r : found) blocks[c.op_key[r.op]];
    const int32_t txns = int32_t(c.txn_ops.size()) - 1;
    for (int32_t t = 0; t < txns; ++t)
        for (int64_t o = c.txn_ops[t]; o < c.txn_ops[t + 1]; ++o) {
            if (c.op_kind[o] != APPEND || c.op_flags[o] & ERROR) continue;
            auto here = blocks.find(c.op_key[o]);
            if (here != blocks.end()) here->second.appends.push_back({t, int32_t(o), c.op_value[o]});
        }
    for (auto& [key, b] : blocks) b.finish();

    // Longest first: what follows is then a comparison with something that has been looked at.
    std::vector<size_t> order(found.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        int32_t ka = c.op_key[found[a].op], kb = c.op_key[found[b].op];
        return ka != kb ? ka < kb : found[a].count != found[b].count ? found[a].count > found[b].count : a < b;
    });
    std::vector<List> known;  // of the key at hand
    size_t base = 0;
    int32_t key = -1;
    for (size_t i : order) {
        const ListRead& r = found[i];
        if (r.count == 0) continue;  // the initial state: says nothing about the order
        if (c.op_key[r.op] != key) key = c.op_key[r.op], known.clear(), base = lists.key.size();
        const int64_t first = c.range_items[c.op_range[r.op]];
        const int32_t* element = c.item_value.data() + first;
        limits.step(uint32_t(r.count) / 8 + 1);
        size_t l = 0;
        while (l < known.size() && !std::equal(element, element + r.count, c.item_value.data() + known[l].first)) ++l;
        if (l == known.size()) {
            if (known.size() == most_alternatives) known.pop_back(), --l;
            List list{first, r.count, {}, {}};
            split(element, r.count, blocks[key], list);
            lists.key.push_back(key);
            lists.txn.insert(lists.txn.end(), list.txn.begin(), list.txn.end());
            lists.start.push_back(int64_t(lists.txn.size()));
            known.push_back(std::move(list));
        }
        const List& list = known[l];
        auto end = std::lower_bound(list.end.begin(), list.end.end(), r.count);
        const int32_t length = int32_t(end - list.end.begin()) + 1;
        const int32_t reader = int32_t(std::upper_bound(out.reads.start.begin(), out.reads.start.end(), r.read) -
                                       out.reads.start.begin()) - 1;
        bool whole = end != list.end.end() && *end == r.count;
        if (whole) whole = std::find(list.txn.begin(), list.txn.begin() + length, reader) == list.txn.begin() + length;
        if (!whole) {
            out.reads.value[size_t(r.read)] = IMPOSSIBLE;
            continue;
        }
        lists.of[size_t(r.read)] = l + 1 == known.size() ? int32_t(lists.key.size()) - 1 : int32_t(base + l);
        lists.length[size_t(r.read)] = length;
    }
}

void order_appends(std::span<const int64_t> read_start, std::span<const int64_t> key_start,
                   std::span<const int32_t> write_txn, const ListView& lists, Links& out, Limits& limits) {
    // The longest read of each list by a transaction that is in.
    std::vector<int64_t> longest(lists.key.size(), -1);
    const int32_t txns = int32_t(read_start.size()) - 1;
    for (int32_t t = 0; t < txns; ++t) {
        if (out.state[size_t(t)] != 0) continue;
        for (int64_t r = read_start[t]; r < read_start[t + 1]; ++r)
            if (int32_t l = lists.of[r]; l >= 0 && out.writer[size_t(r)] != -3 && (longest[size_t(l)] < 0 || lists.length[longest[size_t(l)]] < lists.length[r]))
                longest[size_t(l)] = r;
    }
    auto blocks = [&](int64_t r) { return lists.txn.subspan(size_t(lists.start[lists.of[r]]), size_t(lists.length[r])); };
    auto begins_with = [&](int64_t whole, int64_t r) {
        auto a = blocks(whole), b = blocks(r);
        return a.size() >= b.size() && std::equal(b.begin(), b.end(), a.begin());
    };
    std::vector<int64_t> best(key_start.size() - 1, -1);  // of each key, the read of its longest list
    for (int64_t r : longest)
        if (r >= 0) {
            int64_t& b = best[size_t(lists.key[lists.of[r]])];
            if (b < 0 || blocks(b).size() < blocks(r).size()) b = r;
        }
    std::vector<int64_t> mark(size_t(txns), -1);
    auto edge = [&](int32_t a, int32_t b, int64_t r) { out.list_from.push_back(a), out.list_to.push_back(b), out.list_read.push_back(r); };
    auto tell = [&](int64_t r) {
        auto row = blocks(r);
        limits.step(uint32_t(row.size()) + 1);
        for (size_t i = 0; i < row.size(); ++i) {
            mark[size_t(row[i])] = r;
            if (i) edge(row[i - 1], row[i], r);
        }
        int32_t key = lists.key[lists.of[r]];
        for (int64_t i = key_start[key]; i < key_start[key + 1]; ++i)
            if (int32_t f = write_txn[i]; mark[size_t(f)] != r && out.state[size_t(f)] != 2) edge(row.back(), f, r);
    };
    std::vector<bool> contradicted(best.size());
    for (int64_t r : best)
        if (r >= 0) tell(r);
    // A list that does not begin like the longest contradicts it; one such list is enough.
    for (int64_t r : longest)
        if (r >= 0) {
            size_t key = size_t(lists.key[lists.of[r]]);
            if (!contradicted[key] && !begins_with(best[key], r)) tell(r), contradicted[key] = true;
        }
    for (int32_t t = 0; t < txns; ++t) {
        if (out.state[size_t(t)] != 1) continue;
        for (int64_t r = read_start[t]; r < read_start[t + 1]; ++r)
            if (lists.of[r] >= 0 && (best[size_t(lists.key[lists.of[r]])] < 0 || !begins_with(best[size_t(lists.key[lists.of[r]])], r))) {
                out.doubtful.push_back(t);
                break;
            }
    }
}

}  // namespace boomslang::asg
