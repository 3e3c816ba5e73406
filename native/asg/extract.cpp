// The meaning of each operation: own writes, final writes, and what was seen from outside.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "analyse.hpp"
#include "common/parallel.hpp"

namespace boomslang::asg {

namespace {

constexpr int64_t few = 100'000;  // operations: not worth a thread

struct Walk {
    const Columns& c;
    Limits& limits;
    Extracted out;
    // The latest own write of each key, valid while own_txn says it is this transaction's.
    std::vector<int32_t> own_txn, own_value, own_op;
    std::vector<int32_t> written;  // keys this transaction has written
    // All keys that occur in the trace, in key order: a range read says something about each that it covers. Keys that
    // hold lists are not among them: no item of a scan can say what a list holds, so not returning one says nothing.
    std::vector<int32_t> ordered;
    std::vector<int64_t> ordered_rank;
    // An iterator goes through each family of key types in our order, and through the families in the database's: a key
    // that it returns tells of the smaller ones of its own family only. So it has a place in each.
    static constexpr size_t families = 6;
    struct Open {
        int32_t op;
        std::array<int64_t, families> cursor{}, end{};  // ranks
    };
    std::map<int32_t, Open> iterators;  // of this transaction, by range
    int32_t txn = 0;
    bool observing = true;
    std::array<int64_t, families> first{}, last{};  // ranks of each family: first up to last

    Walk(const Columns& columns, Limits& stop) : c(columns), limits(stop) {
        own_txn.assign(size_t(c.keys), -1);
        own_value.resize(size_t(c.keys));
        own_op.resize(size_t(c.keys));
    }

    // Integers and floats are numbers, and order by size.
    size_t family(int32_t key) const { return c.key_type[key] == FLOAT ? INTEGER : c.key_type[key]; }

    void prepare_ranges() {
        if (c.range_lo.empty()) return;
        std::vector<bool> holds_list(size_t(c.keys), false);
        for (size_t o = 0; o < c.op_kind.size(); ++o)
            if ((c.op_kind[o] == APPEND || c.op_kind[o] == LIST) && !(c.op_flags[o] & ERROR))
                holds_list[size_t(c.op_key[o])] = true;
        first.fill(INT64_MAX);
        for (int32_t k = 0; k < c.keys; ++k) {
            if (!holds_list[size_t(k)]) ordered.push_back(k);
            int64_t& from = first[family(k)];
            int64_t& to = last[family(k)];
            from = std::min(from, c.key_rank[k]), to = std::max(to, c.key_rank[k] + 1);
        }
        std::sort(ordered.begin(), ordered.end(), [&](int32_t a, int32_t b) { return c.key_rank[a] < c.key_rank[b]; });
        for (int32_t k : ordered) ordered_rank.push_back(c.key_rank[k]);
    }

    // The ranks a range covers. One bound missing: to the end of the other's family. Both missing: everything.
    void bounds(int32_t range, int64_t& low, int64_t& high) const {
        int32_t lo = c.range_lo[range], hi = c.range_hi[range];
        low = lo >= 0 ? c.key_rank[lo] : hi >= 0 ? first[family(hi)] : 0;
        high = hi >= 0 ? c.key_rank[hi] : lo >= 0 ? last[family(lo)] : c.keys;
    }

    Open opened(int32_t op) const {
        int32_t range = c.op_range[op], bound = std::max(c.range_lo[range], c.range_hi[range]);
        Open it{op};
        if (bound < 0) {
            it.cursor = first, it.end = last;
        } else {
            bounds(range, it.cursor[family(bound)], it.end[family(bound)]);
        }
        return it;
    }

    void write(int32_t key, int32_t value, int32_t op) {
        if (own_txn[size_t(key)] == txn) {
            add(out.intermediate, txn, key, own_value[size_t(key)], own_op[size_t(key)]);
        } else {
            own_txn[size_t(key)] = txn;
            written.push_back(key);
        }
        own_value[size_t(key)] = value, own_op[size_t(key)] = op;
    }
    static void add(Writes& w, int32_t txn, int32_t key, int32_t value, int32_t op) {
        w.txn.push_back(txn), w.key.push_back(key), w.value.push_back(value), w.op.push_back(op);
    }

    static bool fits(int32_t value, int32_t pattern) { return pattern == PRESENT ? value != ABSENT : value == pattern; }

    void external(int32_t key, int32_t pattern, ReadKind kind, int32_t op) {
        limits.step();
        out.reads.key.push_back(key), out.reads.value.push_back(pattern);
        out.reads.op.push_back(op), out.reads.kind.push_back(kind);
    }
    void broken(int32_t key, int32_t pattern, int32_t own, int32_t op) {
        auto& i = out.internal;
        i.txn.push_back(txn), i.key.push_back(key), i.seen.push_back(pattern), i.own.push_back(own), i.op.push_back(op);
    }

    void observe(int32_t key, int32_t pattern, ReadKind kind, int32_t op) {
        if (!observing) return;
        if (own_txn[size_t(key)] != txn) return external(key, pattern, kind, op);
        after_own(key, pattern, kind, op, own_value[size_t(key)]);
    }

    // A read of a key that the transaction had written.
    void after_own(int32_t key, int32_t pattern, ReadKind kind, int32_t op, int32_t own) {
        bool seen = fits(own, pattern);
        ++(seen ? out.own_seen : out.own_missed);
        if (c.own_writes == EXTERNAL || (c.own_writes == EITHER && !seen)) return external(key, pattern, kind, op);
        if (!seen) broken(key, pattern, own, op);
    }

    // An own write made while the iterator is open may or may not be seen by it.
    void observe_open(int32_t key, int32_t pattern, ReadKind kind, int32_t op, int32_t opened) {
        if (!observing) return;
        if (own_txn[size_t(key)] != txn || own_op[size_t(key)] < opened) return observe(key, pattern, kind, op);
        bool before = false;
        int32_t value_before = ABSENT;
        for (int64_t o = c.txn_ops[txn]; o < op; ++o) {
            if (c.op_flags[o] & ERROR || c.op_key[o] != key) continue;
            bool deletes = c.op_kind[o] == DELETE && !(c.op_flags[o] & NOTHING);
            if (c.op_kind[o] != PUT && !deletes) continue;
            int32_t value = deletes ? ABSENT : c.op_value[o];
            if (o < opened) {
                before = true, value_before = value;
            } else if (fits(value, pattern)) {
                return;
            }
        }
        if (!before) return external(key, pattern, kind, op);
        after_own(key, pattern, kind, op, value_before);
    }

    template <class F>
    void covered(int64_t low, int64_t high, F&& f) const {
        auto it = std::lower_bound(ordered_rank.begin(), ordered_rank.end(), low);
        for (; it != ordered_rank.end() && *it < high; ++it) f(ordered[size_t(it - ordered_rank.begin())]);
    }

    void scan(int32_t op) {
        int32_t range = c.op_range[op];
        int64_t low, high;
        bounds(range, low, high);
        std::vector<std::pair<int64_t, int32_t>> items;  // by rank
        for (int64_t i = c.range_items[range]; i < c.range_items[range + 1]; ++i)
            items.push_back({c.key_rank[c.item_key[i]], c.item_value[i]});
        std::sort(items.begin(), items.end());
        size_t next = 0;
        for (int64_t i = c.range_items[range]; i < c.range_items[range + 1]; ++i)
            observe(c.item_key[i], c.item_value[i], ITEM, op);
        covered(low, high, [&](int32_t key) {
            while (next < items.size() && items[next].first < c.key_rank[key]) ++next;
            if (next < items.size() && items[next].first == c.key_rank[key]) return;
            observe(key, ABSENT, PREDICATE, op);
        });
    }

    // Own appends end the list; what comes before them was read from others.
    std::vector<ListRead> lists;
    void list(int32_t op) {
        int32_t key = c.op_key[op], range = c.op_range[op];
        int64_t first = c.range_items[range], last = c.range_items[range + 1];
        limits.step(uint32_t(last - first) / 8 + 1);
        if (own_txn[size_t(key)] == txn) {
            int64_t all = last;
            bool ends_with_own = true;
            for (int64_t o = op; ends_with_own && o-- > c.txn_ops[txn];) {
                if (c.op_kind[o] != APPEND || c.op_key[o] != key || c.op_flags[o] & ERROR) continue;
                ends_with_own = last > first && c.item_value[last - 1] == c.op_value[o];
                if (ends_with_own) --last;
            }
            ++(ends_with_own ? out.own_seen : out.own_missed);
            // An element is appended once, so a list that ends with one's own appends shows them.
            if (ends_with_own ? c.own_writes == EXTERNAL : c.own_writes == MUST_SEE)
                return broken(key, last == first ? ABSENT : c.item_value[last - 1], own_value[size_t(key)], op);
            if (!ends_with_own) last = all;
        }
        lists.push_back({int64_t(out.reads.key.size()), op, int32_t(last - first)});
        external(key, last == first ? ABSENT : c.item_value[last - 1], ITEM, op);
    }

    void advance(int32_t op) {
        auto found = iterators.find(c.op_range[op]);
        if (found == iterators.end()) return;  // its open failed: nothing is known
        Open& it = found->second;
        auto pass = [&](size_t f, int64_t until) {
            covered(it.cursor[f], until, [&](int32_t key) { observe_open(key, ABSENT, PREDICATE, op, it.op); });
            it.cursor[f] = until;
        };
        if (c.op_flags[op] & END) {
            for (size_t f = 0; f < families; ++f) pass(f, it.end[f]);
            return;
        }
        int32_t key = c.op_key[op];
        pass(family(key), c.key_rank[key]);
        observe_open(key, c.op_value[op], ITEM, op, it.op);
        ++it.cursor[family(key)];
    }

    void operation(int32_t o) {
        if (c.op_flags[o] & ERROR) return;
        switch (c.op_kind[o]) {
            case PUT:
            case APPEND:
                return write(c.op_key[o], c.op_value[o], o);
            case GET:
                return observe(c.op_key[o], c.op_value[o], ITEM, o);
            case DELETE:
                if (c.op_flags[o] & NOTHING) return observe(c.op_key[o], ABSENT, ITEM, o);
                if (c.op_flags[o] & FOUND) observe(c.op_key[o], PRESENT, ITEM, o);
                return write(c.op_key[o], ABSENT, o);
            case SCAN:
                return observing ? scan(o) : void();
            case SELECT:  // what it asked of its rows is looked at later (asg/predicates.py)
                for (int64_t i = c.range_items[c.op_range[o]]; i < c.range_items[c.op_range[o] + 1]; ++i)
                    observe(c.item_key[i], c.item_value[i], ITEM, o);
                return;
            case ITERATOR:
                iterators.insert_or_assign(c.op_range[o], opened(o));
                return;
            case NEXT:
                return observing ? advance(o) : void();
            case LIST:
                return observing ? list(o) : void();
            default:
                return;
        }
    }

    // Room for so many: what grows is copied again and again.
    void make_room(int64_t txns, int64_t writes, int64_t reads) {
        for (std::vector<int32_t>* column : {&out.final.txn, &out.final.key, &out.final.value, &out.final.op})
            column->reserve(size_t(writes));
        for (std::vector<int32_t>* column : {&out.reads.key, &out.reads.value, &out.reads.op}) column->reserve(size_t(reads));
        out.reads.kind.reserve(size_t(reads));
        out.reads.start.reserve(size_t(txns) + 1);
    }

    // The transactions from `first` up to `last`.
    void walk(int32_t first, int32_t last) {
        out.reads.start.assign(1, 0);
        for (txn = first; txn < last; ++txn) {
            observing = c.txn_outcome[txn] != ABORTED;
            limits.step(uint32_t(c.txn_ops[txn + 1] - c.txn_ops[txn]) + 1);
            written.clear();
            if (!iterators.empty()) iterators.clear();
            for (int64_t o = c.txn_ops[txn]; o < c.txn_ops[txn + 1]; ++o) operation(int32_t(o));
            for (int32_t key : written) add(out.final, txn, key, own_value[size_t(key)], own_op[size_t(key)]);
            out.reads.start.push_back(int64_t(out.reads.key.size()));
        }
    }
};

// By key (a counting sort, which keeps the order of transactions), then by value within the key: what parts of the trace,
// one behind the other, have `made`, and lose. Returns where each key starts; `keys_too`: and keeps of each write its key.
std::vector<int64_t> sort(const std::vector<Writes*>& made, Writes& sorted, int32_t keys, bool keys_too, int jobs, Limits& limits) {
    struct Row {
        int32_t value, txn, op;
        bool operator<(const Row& o) const {
            return value != o.value ? value < o.value : txn != o.txn ? txn < o.txn : op < o.op;
        }
    };
    int64_t writes = 0;
    for (const Writes* w : made) writes += int64_t(w->key.size());
    // Each thread has some of the rows: a part of the trace, or a piece of the only one.
    const size_t pieces = made.size() > 1 ? made.size() : size_t(std::clamp<int64_t>(writes / few, 1, jobs));
    auto share = [&](auto&& work) {
        in_parallel(jobs, pieces, limits, [&](size_t piece, int, Limits& own) {
            if (made.size() > 1) return work(piece, *made[piece], size_t(0), made[piece]->key.size(), own);
            work(piece, *made[0], size_t(writes) * piece / pieces, size_t(writes) * (piece + 1) / pieces, own);
        });
    };
    std::vector<std::vector<int64_t>> at(pieces);  // of each key: how many of its rows are in the piece; then where they go
    share([&](size_t piece, const Writes& w, size_t from, size_t until, Limits&) {
        at[piece].assign(size_t(keys), 0);
        for (size_t i = from; i < until; ++i) ++at[piece][size_t(w.key[i])];
    });
    std::vector<int64_t> start(size_t(keys) + 1, 0);
    for (size_t k = 0, sum = 0; k < size_t(keys); ++k) {
        start[k] = int64_t(sum);
        for (std::vector<int64_t>& of : at) sum += size_t(std::exchange(of[k], int64_t(sum)));
    }
    start[size_t(keys)] = writes;
    const auto rows = std::make_unique_for_overwrite<Row[]>(size_t(writes));
    share([&](size_t piece, const Writes& w, size_t from, size_t until, Limits&) {
        for (size_t i = from; i < until; ++i) rows[size_t(at[piece][size_t(w.key[i])]++)] = {w.value[i], w.txn[i], w.op[i]};
    });
    // The first has room for all: see make_room.
    std::vector<int32_t>* const columns[] = {&sorted.txn, &sorted.value, &sorted.op, &sorted.key};
    std::vector<int32_t>* const first[] = {&made[0]->txn, &made[0]->value, &made[0]->op, &made[0]->key};
    in_parallel(pieces > 1 ? jobs : 1, keys_too ? 4 : 3, limits, [&](size_t i, int, Limits&) {
        columns[i]->swap(*first[i]);
        columns[i]->resize(size_t(writes));
    });
    for (Writes* w : made) *w = {};
    // Each thread has some of the keys.
    in_parallel(jobs, pieces, limits, [&](size_t piece, int, Limits& own) {
        auto key_at = [&](size_t of) {
            if (of == pieces) return size_t(keys);
            return size_t(std::lower_bound(start.begin(), start.end(), writes * int64_t(of) / int64_t(pieces)) - start.begin());
        };
        for (size_t k = piece == 0 ? 0 : key_at(piece); k < key_at(piece + 1); ++k) {
            Row *from = rows.get() + start[k], *until = rows.get() + start[k + 1];
            own.step(uint32_t(until - from) + 1);
            if (!std::is_sorted(from, until)) std::sort(from, until);
            for (int64_t i = start[k]; i < start[k + 1]; ++i) {
                const Row& row = rows[size_t(i)];
                sorted.txn[size_t(i)] = row.txn, sorted.value[size_t(i)] = row.value, sorted.op[size_t(i)] = row.op;
                if (keys_too) sorted.key[size_t(i)] = int32_t(k);
            }
        }
    });
    return start;
}

// One column of all parts, which lose it.
template <class T>
void join(Extracted& all, std::vector<Extracted>& parts, std::vector<T>& (*of)(Extracted&)) {
    std::vector<T>& whole = of(all);
    whole.swap(of(parts[0]));  // which has room for the others
    for (size_t i = 1; i < parts.size(); ++i) {
        std::vector<T> own;
        own.swap(of(parts[i]));
        whole.insert(whole.end(), own.begin(), own.end());
    }
}

// The reads of all parts, one after the other, some columns at a time; the parts lose theirs.
Extracted joined(std::vector<Extracted>& parts, int jobs, Limits& limits) {
    Extracted all;
    if (parts.size() == 1) {
        std::swap(all.reads, parts[0].reads), std::swap(all.internal, parts[0].internal);
        all.own_seen = parts[0].own_seen, all.own_missed = parts[0].own_missed;
        return all;
    }
    int64_t reads = 0;
    for (Extracted& part : parts) {
        const int64_t before = reads;
        reads += int64_t(part.reads.key.size());
        for (int64_t& start : part.reads.start) start += before;
        if (&part != &parts[0]) part.reads.start.erase(part.reads.start.begin());
        all.own_seen += part.own_seen, all.own_missed += part.own_missed;
    }
    using Column = std::vector<int32_t>& (*)(Extracted&);
    static constexpr Column columns[] = {
        [](Extracted& e) -> auto& { return e.reads.key; },     [](Extracted& e) -> auto& { return e.reads.value; },
        [](Extracted& e) -> auto& { return e.reads.op; },      [](Extracted& e) -> auto& { return e.internal.txn; },
        [](Extracted& e) -> auto& { return e.internal.key; },  [](Extracted& e) -> auto& { return e.internal.seen; },
        [](Extracted& e) -> auto& { return e.internal.own; },  [](Extracted& e) -> auto& { return e.internal.op; },
    };
    constexpr size_t count = std::size(columns);
    in_parallel(jobs, count + 2, limits, [&](size_t i, int, Limits&) {
        if (i < count) return join(all, parts, columns[i]);
        if (i == count) return join<int64_t>(all, parts, [](Extracted& e) -> auto& { return e.reads.start; });
        join<uint8_t>(all, parts, [](Extracted& e) -> auto& { return e.reads.kind; });
    });
    return all;
}

}  // namespace

Extracted extract(const Columns& columns, Limits& limits, int jobs) {
    const int32_t txns = int32_t(columns.txn_ops.size()) - 1;
    // Each transaction is walked through on its own. (With ranges there is more to prepare than is won.)
    const bool alone = columns.range_lo.empty();
    const size_t parts = alone ? size_t(std::clamp<int64_t>(int64_t(columns.op_kind.size()) / few, 1, jobs)) : 1;
    // What each part will write and read, or most of it.
    struct Share {
        int32_t first = 0, last = 0;
        int64_t writes = 0, reads = 0;
    };
    std::vector<Share> shares(parts);
    in_parallel(jobs, parts, limits, [&](size_t part, int, Limits&) {
        Share& share = shares[part];
        share.first = int32_t(int64_t(txns) * int64_t(part) / int64_t(parts));
        share.last = int32_t(int64_t(txns) * int64_t(part + 1) / int64_t(parts));
        for (int64_t o = columns.txn_ops[share.first], end = columns.txn_ops[share.last]; o < end;) {
            uint32_t writes = 0, reads = 0;  // a block's, so that the compiler counts many at a time
            for (const int64_t until = std::min<int64_t>(end, o + 65536); o < until; ++o) {
                const uint8_t kind = columns.op_kind[o];
                writes += uint32_t(kind == PUT) | uint32_t(kind == APPEND) | uint32_t(kind == DELETE);
                reads += uint32_t(kind == GET) | uint32_t(kind == LIST) | uint32_t(kind == DELETE);
            }
            share.writes += writes, share.reads += reads;
        }
    });
    for (size_t part = 1; part < parts; ++part)  // which the first one will hold in the end
        shares[0].writes += shares[part].writes, shares[0].reads += shares[part].reads;
    std::vector<Extracted> made(parts);
    std::vector<ListRead> lists;
    in_parallel(jobs, parts, limits, [&](size_t part, int, Limits& own) {
        const Share& share = shares[part];
        Walk walk(columns, own);
        walk.prepare_ranges();
        walk.make_room(part == 0 ? txns : share.last - share.first, share.writes, share.reads);
        walk.walk(share.first, share.last);
        made[part] = std::move(walk.out);
        if (parts == 1) lists = std::move(walk.lists);
    });
    Extracted all = joined(made, jobs, limits);
    std::vector<Writes*> final, intermediate;
    for (Extracted& part : made) final.push_back(&part.final), intermediate.push_back(&part.intermediate);
    all.key_start = sort(final, all.final, columns.keys, false, jobs, limits);
    sort(intermediate, all.intermediate, columns.keys, true, jobs, limits);
    if (!lists.empty()) find_lists(columns, lists, all, limits);
    return all;
}

}  // namespace boomslang::asg
