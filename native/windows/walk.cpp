// Walk: the whole trace in one pass, by rank, before anything is cut.
//
// Most traces are what they look like: their rank, put right where two clients ran side by side, is an order that explains
// every read. So the points are taken as they come, with the store at hand, and a point waits while placing it would be a
// mistake that can be seen at once: a read, while the store does not show its value; a write, while somebody has yet to
// read the version that it would overwrite, or while another writer of the key has yet to come that ended before some reader
// of this one began; with two points, a begin, while an open transaction is about to write one of
// its keys; any point, while one is missing that a known edge, or the clock, puts before it. Who waits is looked at again
// when what it waits for has changed. That is the engine's guess (guess.cpp) without a graph: each point costs as much as
// the reads and writes it has.
//
// Where everybody waits, the oldest goes, and the place is marked. Most often it is a blind write that nobody has read, and
// that came a moment before the one that everybody has: then the store keeps the other. A few such places are put in order by
// the engine, each with its neighbourhood and the states before and behind it as the walk left them; if they are many,
// windows will do better. The order is replayed in any case (stitch.cpp), so nothing rests on what was assumed here: a walk
// that fails says nothing.
//
// On several cores each thread walks through a stretch of its own. It takes everything before its stretch as placed, and the
// store as what the reads of its stretch say of it. What it does at first is therefore a guess; but who waits for whom is
// settled within a few transactions, and then it goes on as a walk from the start would. So each walks a little way into the
// stretch of the next one, both write down who waits at the same places, and where that is the same their orders are joined.
//
// With two points a transaction the walk is tried twice: a database that is serializable has both side by side, which shows
// soon; one that shows snapshots has them where its clients saw them.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "common/parallel.hpp"
#include "windows.hpp"

namespace boomslang::windows {

namespace {

constexpr int32_t NOBODY = -1;

// What is known of the readers of each write, wherever they stand.
struct Readers {
    static constexpr uint16_t many = UINT16_MAX;  // or more
    static constexpr int16_t nobody = INT16_MIN, far = INT16_MAX;
    std::span<uint16_t> count;
    // How far behind the writer the last commit is that came before the begin of one of them, or as far as can be told.
    std::span<int16_t> latest;  // empty: there are no times

    Readers(size_t writes, bool times)
        : counts_(std::make_unique_for_overwrite<uint16_t[]>(writes)),
          latests_(std::make_unique_for_overwrite<int16_t[]>(times ? writes : 0)) {
        count = {counts_.get(), writes};
        latest = {latests_.get(), times ? writes : 0};
    }

    void clear(int64_t from, int64_t until) {
        std::fill(count.begin() + from, count.begin() + until, 0);
        if (!latest.empty()) std::fill(latest.begin() + from, latest.begin() + until, nobody);
    }

    void add(size_t write, int32_t behind) {
        count[write] = std::min<uint16_t>(count[write], many - 1) + 1;
        if (behind != nobody) latest[write] = std::max(latest[write], int16_t(std::clamp<int32_t>(behind, nobody + 1, far)));
    }

    void forget() {
        counts_.reset(), latests_.reset();
        count = {}, latest = {};
    }

private:
    std::unique_ptr<uint16_t[]> counts_;
    std::unique_ptr<int16_t[]> latests_;
};

// Where somebody went who should have waited, in places of the order: from the version that it should have come before.
struct Mark {
    size_t from, to;
};

// What a walk goes through. Its *nodes* are the points of the trace, or, if begin and commit are `together`, the
// transactions.
struct Nodes {
    int32_t points;                           // of a transaction
    std::span<const int32_t> sequence, place;  // by rank; and of each node where it is there, or -1
    std::vector<int32_t> own_sequence, own_place;

    Nodes(const Whole& whole, std::span<const int32_t> by_rank, std::span<const int32_t> places, bool together, int jobs, size_t shortest)
        : points(together ? 1 : whole.points), sequence(by_rank), place(places) {
        if (points == whole.points) return;
        own_sequence.resize(by_rank.size() / 2);
        own_place.assign(size_t(whole.txns), -1);
        const size_t parts = by_rank.size() < shortest ? 1 : size_t(std::max(1, jobs));
        auto bound = [&](size_t part) { return by_rank.size() * part / parts; };
        std::vector<size_t> commits(parts + 1, 0);  // before each part
        Limits none;
        in_parallel(jobs, parts, none, [&](size_t part, int, Limits&) {
            commits[part + 1] = size_t(std::count_if(by_rank.begin() + int64_t(bound(part)), by_rank.begin() + int64_t(bound(part + 1)),
                                                     [&](int32_t point) { return whole.is_commit(point); }));
        });
        for (size_t part = 0; part < parts; ++part) commits[part + 1] += commits[part];
        in_parallel(jobs, parts, none, [&](size_t part, int, Limits&) {
            size_t to = commits[part];
            for (int32_t point : by_rank.subspan(bound(part), bound(part + 1) - bound(part)))
                if (whole.is_commit(point)) {
                    own_place[size_t(point / 2)] = int32_t(to);
                    own_sequence[to++] = point / 2;
                }
        });
        sequence = own_sequence, place = own_place;
    }
    Nodes(const Nodes&) = delete;
};

// The places that one walk goes through. It writes down who waits every so many nodes, in what it shares with the walk
// before (from where it starts), and with the walk after.
struct Stretch {
    size_t from = 0, until = 0, shared_from = SIZE_MAX;
    size_t every = 1;
    // The store where it starts, of each key: how many are known to read what is there. Who would overwrite it waits.
    std::vector<int32_t> pending;
};

constexpr size_t CHECKPOINTS = 16;  // in what two walks share

// Who waits, when everything before this place has been looked at.
struct Checkpoint {
    size_t head, placed;  // points
    std::vector<int32_t> waiting;
};

// One pass through a stretch.
class Walk {
public:
    std::vector<int32_t> order;  // points
    std::vector<Mark> marks;
    std::vector<std::pair<int32_t, int32_t>> initial;
    std::unordered_set<int64_t> buried;  // writes that the store has not taken
    std::vector<Checkpoint> first, last;  // those shared with the walk before, and with the walk after

    Walk(const Whole& whole, const Nodes& nodes, std::span<const int32_t> place, std::span<const int32_t> after,
         Readers& readers, const Stretch& stretch)
        : w_(whole), points_(nodes.points), sequence_(nodes.sequence.first(stretch.until)), place_(nodes.place),
          from_(stretch.from), shared_from_(stretch.shared_from), every_(stretch.every), open_ended_(stretch.until < nodes.sequence.size()),
          whole_place_(place), after_(after), latest_(readers.latest), readers_(readers.count),
          keys_(size_t(whole.keys)), seen_(from_), low_(from_), low_commit_(from_) {
        // The first has room for all that the others will find.
        order.reserve((from_ == 0 ? nodes.sequence.size() : sequence_.size() - from_) * size_t(w_.points / points_));
        const size_t count = sequence_.size() - from_;
        waiting_.assign(count, NOBODY), next_.assign(count, NOBODY), placed_.assign(count, 0);
        for (int32_t k = 0; k < w_.keys; ++k)
            keys_[size_t(k)].value = from_ == 0 ? w_.init[k] : UNSEEN, keys_[size_t(k)].pending = stretch.pending[size_t(k)];
    }

    // False: there are more marks, or there is more waiting, than is worth it.
    bool go(Limits& limits) {
        const int64_t enough = 1000 + 20 * int64_t(w_.read_key.size() + w_.write_txn.size() + sequence_.size());
        for (size_t head = from_; head < sequence_.size() || low_ < sequence_.size();) {
            limits.step(8);
            while (points_ == 1 && !latest_.empty() && seen_ < std::min(sequence_.size(), head + foresight))
                expect(sequence_[seen_++]);
            if (head < sequence_.size()) {
                look_again(int32_t(head++));
                settle();
                write_down(head);
            }
            if (open_ended_ && head == sequence_.size()) return true;  // who still waits, the next walk has as well
            while (low_ < sequence_.size() && (low_ + furthest < head || head == sequence_.size())) {
                force();
                if (marks.size() > 20 + (head - from_) / 2000) return false;
            }
            if (work_ > enough) return false;
        }
        return true;
    }

    // Nobody has walked here: another walk may.
    void take_back() {
        for (int64_t write : given_up_) std::atomic_ref(readers_[size_t(write)]).fetch_add(1, std::memory_order_relaxed);
        given_up_.clear();
    }

private:
    // Nodes between the one that is taken next and the oldest that waits.
    static constexpr size_t furthest = 2048;
    // Nodes ahead of the next one whose writes are known to come.
    static constexpr size_t foresight = 512;
    // In place of a value: whatever was there when the stretch began.
    static constexpr int32_t UNSEEN = INT32_MIN;

    struct Key {
        int32_t value = ABSENT;
        int32_t pending = 0;      // known readers of the current version that are still to come
        int32_t own = 0;          // of these, reads of the transaction that is looked at now
        int32_t parked = NOBODY;  // nodes that wait here
        int32_t holder = NOBODY;  // who has begun and will write it
        int32_t expected = NOBODY;  // the first of those who will write it soon
        size_t since = 0;         // where in the order it was written
    };

    int32_t txn(int32_t node) const { return node / points_; }
    bool is_begin(int32_t node) const { return points_ == 1 || node % 2 == 0; }
    bool is_commit(int32_t node) const { return points_ == 1 || node % 2 == 1; }
    int32_t node_of(int32_t point) const { return points_ == w_.points ? point : point / 2; }
    // What comes before the stretch has its place, what comes behind it has none yet.
    bool placed(int32_t node) const {
        const auto place = size_t(place_[size_t(node)]);
        return place < from_ || (place < sequence_.size() && placed_[place - from_]);
    }
    bool placed_at(size_t place) const { return placed_[place - from_]; }
    size_t at(int32_t node) const { return size_t(place_[size_t(node)]) - from_; }

    void write_down(size_t head) {
        if (head % every_ != 0) return;
        const bool early = from_ > 0 && head - from_ <= every_ * CHECKPOINTS;
        if (!early && head < shared_from_) return;
        Checkpoint now{head, order.size(), {}};
        for (size_t place = low_; place < head; ++place)
            if (!placed_at(place)) now.waiting.push_back(sequence_[place]);
        (early ? first : last).push_back(std::move(now));
    }

    // Who will write a key soon: a list of each.
    struct Expected {
        int32_t txn, next;
    };

    void expect(int32_t t) {
        for_writes(t, [&](Key& key, int64_t) {
            if (spare_.empty()) spare_.push_back(int32_t(expected_.size())), expected_.push_back({});
            const int32_t entry = spare_.back();
            spare_.pop_back();
            expected_[size_t(entry)] = {t, key.expected};
            key.expected = entry;
        });
    }

    void expect_no_longer(Key& key, int32_t t) {
        for (int32_t* at = &key.expected; *at != NOBODY; at = &expected_[size_t(*at)].next)
            if (expected_[size_t(*at)].txn == t) {
                spare_.push_back(*at);
                *at = expected_[size_t(*at)].next;
                return;
            }
    }

    int32_t ended(int32_t t) const { return whole_place_[size_t(w_.commit_of(t))]; }

    // Another writer of one of its keys that must come first: it was there when this one ended, and ended itself before a
    // reader of this one's version began.
    int32_t missing_writer(int32_t t) {
        int32_t missing = NOBODY;
        for_writes(t, [&](Key& key, int64_t j) {
            if (missing != NOBODY || latest_[size_t(j)] == Readers::nobody) return;
            const int32_t latest = ended(t) + latest_[size_t(j)];
            for (int32_t at = key.expected; at != NOBODY; at = expected_[size_t(at)].next) {
                const int32_t other = expected_[size_t(at)].txn;
                if (other == t || latest < ended(other)) continue;
                if (after_[size_t(other)] < 0 || ended(after_[size_t(other)]) < ended(t)) missing = other;
            }
        });
        return missing;
    }

    // Whoever may have to wait no longer, by rank.
    void settle() {
        while (!woken_.empty()) {
            std::pop_heap(woken_.begin(), woken_.end(), std::greater<>());
            const int32_t node = sequence_[size_t(woken_.back())];
            woken_.pop_back();
            if (!placed(node)) try_to_place(node);
        }
    }

    void look_again(int32_t place) {
        woken_.push_back(place);
        std::push_heap(woken_.begin(), woken_.end(), std::greater<>());
    }

    void wake(int32_t& head) {
        for (int32_t node = std::exchange(head, NOBODY); node != NOBODY; node = next_[at(node)])
            look_again(place_[size_t(node)]);
    }

    void park(int32_t& head, int32_t node) {
        next_[at(node)] = head;
        head = node;
    }

    void park_behind(int32_t missing, int32_t node) {
        if (size_t(place_[size_t(missing)]) < sequence_.size()) park(waiting_[at(missing)], node);
    }

    void try_to_place(int32_t node) {
        const int32_t t = txn(node);
        work_ += 1 + (w_.read_start[t + 1] - w_.read_start[t]) + (w_.txn_write_start[size_t(t) + 1] - w_.txn_write_start[size_t(t)]);
        if (int32_t missing = missing_before(node, t); missing != NOBODY) return park_behind(missing, node);
        if (Key* key = blocked_at(node, t)) return park(key->parked, node);
        if (points_ == 1 && !latest_.empty())
            if (int32_t missing = missing_writer(t); missing != NOBODY) return park_behind(missing, node);
        put(node, t);
    }

    template <class F>
    void for_writes(int32_t t, F&& each) {
        for (int64_t j = w_.txn_write_start[size_t(t)]; j < w_.txn_write_start[size_t(t) + 1]; ++j)
            each(keys_[size_t(w_.txn_writes[size_t(j)].key)], j);
    }

    // A node that comes before this one by the clock or by a known edge, and is not placed yet.
    int32_t missing_before(int32_t node, int32_t t) const {
        if (points_ == 2 && node % 2 == 1) {
            if (!placed(node - 1)) return node - 1;
        } else if (!after_.empty() && low_commit_ < sequence_.size()) {
            // With two points the sequence has the begins as well: all that ended before stands before.
            int32_t ended = place_[size_t(node)];
            if (points_ == 1) ended = after_[size_t(t)] < 0 ? 0 : std::min(ended, place_[size_t(after_[size_t(t)])] + 1);
            if (int32_t(low_commit_) < ended) return sequence_[low_commit_];
        }
        if (w_.edges_in)
            for (int64_t j = w_.edges_start[size_t(t)]; j < w_.edges_start[size_t(t) + 1]; ++j) {
                const int32_t e = w_.edges_in[size_t(j)], from = node_of(w_.edge_from[size_t(e)]);
                if (node_of(w_.edge_to[size_t(e)]) == node && from != node && place_[size_t(from)] >= 0 && !placed(from))
                    return from;
            }
        return NOBODY;
    }

    // The key that does not allow it, or null.
    Key* blocked_at(int32_t node, int32_t t) {
        Key* blocked = nullptr;
        if (is_begin(node)) {
            for (int64_t r = w_.read_start[t]; r < w_.read_start[t + 1]; ++r)
                if (Key& key = keys_[size_t(w_.read_key[r])]; !shows(key, r)) return &key;
            if (w_.overlap && points_ == 2)
                for_writes(t, [&](Key& key, int64_t) { blocked = key.holder != NOBODY ? &key : blocked; });
        }
        if (is_commit(node)) for_awaited(t, [&](Key& key, int64_t) { blocked = &key; });
        return blocked;
    }

    bool shows(const Key& key, int64_t read) const {
        const int32_t writer = w_.read_writer[read];
        if (key.value == UNKNOWN_INIT) return writer < 0;
        if (key.value == UNSEEN) return writer < 0 || size_t(place_[size_t(node_of(w_.commit_of(writer)))]) < from_;
        return matches(key.value, w_.read_value[read]);
    }

    // Its keys of whose current version there are readers to come, other than the transaction itself.
    template <class F>
    void for_awaited(int32_t t, F&& each) {
        const auto own_reads = [&](int32_t more) {
            for (int64_t r = w_.read_start[t]; points_ == 1 && r < w_.read_start[t + 1]; ++r)
                if (w_.read_writer[r] >= -1) keys_[size_t(w_.read_key[r])].own += more;
        };
        bool some = false;
        for_writes(t, [&](Key& key, int64_t) { some |= key.pending > 0; });
        if (!some) return;
        own_reads(1);
        for_writes(t, [&](Key& key, int64_t j) {
            if (key.pending > key.own) each(key, j);
        });
        own_reads(-1);
    }

    void put(int32_t node, int32_t t) {
        placed_[at(node)] = 1;
        if (points_ == w_.points) order.push_back(node);
        else order.push_back(w_.begin_of(t)), order.push_back(w_.commit_of(t));
        while (low_ < sequence_.size() && placed_at(low_)) ++low_;
        low_commit_ = std::max(low_commit_, low_);
        while (low_commit_ < sequence_.size() &&
               (placed_at(low_commit_) || !is_commit(sequence_[low_commit_])))
            ++low_commit_;
        if (is_begin(node)) {
            for (int64_t r = w_.read_start[t]; r < w_.read_start[t + 1]; ++r) {
                Key& key = keys_[size_t(w_.read_key[r])];
                const int32_t pattern = w_.read_value[r];
                if (key.value == UNKNOWN_INIT && w_.read_writer[r] < 0) {
                    key.value = pattern == PRESENT ? w_.unnamed : pattern;
                    initial.push_back({w_.read_key[r], pattern});
                    wake(key.parked);
                }
                if (w_.read_writer[r] >= -1 && shows(key, r) && --key.pending <= (points_ == 1)) wake(key.parked);
            }
            if (w_.overlap && points_ == 2)
                for_writes(t, [&](Key& key, int64_t) { key.holder = t; });
        }
        if (is_commit(node))
            for_writes(t, [&](Key& key, int64_t j) {
                if (key.holder == t) key.holder = NOBODY;
                expect_no_longer(key, t);
                if (!buried.empty() && buried.count(j)) return wake(key.parked);
                key.value = w_.txn_writes[size_t(j)].value;
                key.pending = known_readers(j);
                key.since = order.size();
                wake(key.parked);
            });
        wake(waiting_[at(node)]);
    }

    // Stretches share the readers; who wrote what they read may stand in another one.
    int32_t known_readers(int64_t write) const {
        return std::atomic_ref(readers_[size_t(write)]).load(std::memory_order_relaxed);
    }
    void give_up(int64_t write) {
        std::atomic_ref(readers_[size_t(write)]).fetch_sub(1, std::memory_order_relaxed);
        given_up_.push_back(write);
    }

    // The oldest that waits goes.
    void force() {
        const int32_t node = sequence_[low_], t = txn(node);
        Mark mark{order.size(), order.size() + 1};
        if (is_begin(node))
            for (int64_t r = w_.read_start[t]; r < w_.read_start[t + 1]; ++r) {
                const Key& key = keys_[size_t(w_.read_key[r])];
                if (shows(key, r)) continue;
                mark.from = std::min(mark.from, key.since);
                // Nobody waits for it where it belongs.
                if (const int32_t writer = w_.read_writer[r]; writer >= 0 && !placed(node_of(w_.commit_of(writer))))
                    if (const int64_t j = w_.write_of(writer, w_.read_key[r]); j >= 0 && known_readers(j) > 0) give_up(j);
            }
        if (is_commit(node))
            for_awaited(t, [&](Key& key, int64_t j) {
                mark.from = std::min(mark.from, key.since);
                if (known_readers(j) == 0) buried.insert(j);
            });
        marks.push_back(mark);
        put(node, t);
        settle();
    }

    const Whole& w_;
    const int32_t points_;
    std::span<const int32_t> sequence_, place_;  // up to where the stretch ends; and of all
    const size_t from_, shared_from_, every_;
    const bool open_ended_;  // another walk goes on
    std::span<const int32_t> whole_place_, after_;
    std::span<const int16_t> latest_;
    std::span<uint16_t> readers_;  // of each write, how many are known to have read it and are not placed
    std::vector<Key> keys_;
    // Of each node, by its place in the stretch: the first that waits for it; the next in the list that it is in.
    std::vector<int32_t> waiting_, next_;
    std::vector<uint8_t> placed_;
    std::vector<Expected> expected_;
    std::vector<int32_t> spare_;
    std::vector<int64_t> given_up_;  // writes that some reader is not waited for
    size_t seen_;                    // nodes whose writes are expected, or were
    std::vector<int32_t> woken_;     // places, a heap
    size_t low_, low_commit_;        // the oldest that is not placed; the oldest such commit
    int64_t work_ = 0;
};

// A place that is put in order by the engine: where it is, and what it must leave as it found it.
struct Region {
    size_t from, to;
    Part part;
    std::vector<int32_t> start;
    std::vector<Demand> final;
};

}  // namespace

namespace {

// Their orders as one, if each can go on where the one before it has arrived; into the first of them.
bool put_together(std::vector<std::optional<Walk>>& walks) {
    size_t taken_from = 0;  // of the order of the one before
    for (size_t i = 0; i + 1 < walks.size(); ++i) {
        Walk &all = *walks.front(), &before = *walks[i], &after = *walks[i + 1];
        const Checkpoint *left = nullptr, *right = nullptr;
        for (const Checkpoint& one : before.last)
            for (const Checkpoint& other : after.first)
                if (one.head == other.head && one.waiting == other.waiting) left = &one, right = &other;
        if (left == nullptr || left->placed < taken_from) return false;
        // Places that were marked in what is dropped: who went there, and why, is not known any more.
        if (!before.marks.empty() && before.marks.back().to > left->placed) return false;
        for (const Mark& mark : after.marks)
            if (mark.from < right->placed) return false;
        const size_t end = all.order.size() - (before.order.size() - left->placed);
        all.order.resize(end);
        for (const Mark& mark : after.marks)
            all.marks.push_back({mark.from - right->placed + all.order.size(), mark.to - right->placed + all.order.size()});
        all.order.insert(all.order.end(), after.order.begin() + int64_t(right->placed), after.order.end());
        all.buried.merge(after.buried);
        taken_from = right->placed;
    }
    return true;
}

}  // namespace

Windows::Step Windows::walk(int32_t margin, int32_t shortest, int jobs, Options options, Limits& limits) {
    Readers readers(whole_.write_txn.size(), !after_.empty());
    // Stretches are told by where commits are: these are all there is where begin and commit are together, or one.
    // A walk through a part must know what it finds there.
    const bool known = whole_.certain && std::find(whole_.init.begin(), whole_.init.end(), UNKNOWN_INIT) == whole_.init.end();
    const size_t commits = sequence_.size() / size_t(whole_.points);
    const bool worth = known && !after_.empty() && size_t(whole_.keys) * 4 <= commits + size_t(shortest);
    std::vector<Stretch> stretches(worth ? std::clamp<size_t>(commits / size_t(std::max(1, shortest)), 1, size_t(jobs)) : 1);
    std::vector<int32_t> starts(stretches.size());  // in the sequence
    for (size_t i = 0, point = 0, commit = 0; i < stretches.size(); ++i) {
        stretches[i].from = commits * i / stretches.size();
        stretches[i].every = std::clamp<size_t>(size_t(shortest) / 128, 1, 512);
        for (; commit < stretches[i].from; ++point) commit += whole_.is_commit(sequence_[point]);
        starts[i] = int32_t(point);
    }
    for (Stretch& stretch : stretches) stretch.pending.assign(size_t(whole_.keys), 0);
    // Each thread counts for the writes of some transactions. What it meets of others, which are neighbours as a rule and are
    // not where a session has a file, it tells those who have them.
    struct Told {
        int32_t write, behind;
    };
    const size_t parts = whole_.txns < shortest ? 1 : size_t(std::max(1, jobs));
    std::vector<std::vector<std::vector<Told>>> told(parts, std::vector<std::vector<Told>>(parts));
    std::vector<int32_t> bounds;
    for (size_t part = 1; part <= parts; ++part) bounds.push_back(int32_t(int64_t(whole_.txns) * int64_t(part) / int64_t(parts)));
    in_parallel(jobs, parts, limits, [&](size_t part, int, Limits& own) {
        const int32_t low = part == 0 ? 0 : bounds[part - 1], high = bounds[part];
        readers.clear(whole_.txn_write_start[size_t(low)], whole_.txn_write_start[size_t(high)]);
        for (int32_t t = low; t < high; ++t) {
            own.step(4);
            const int32_t at = place_[size_t(whole_.commit_of(t))];
            if (at < 0) continue;
            const bool any = !after_.empty() && after_[size_t(t)] >= 0;
            const int32_t last = any ? place_[size_t(whole_.commit_of(after_[size_t(t)]))] : -1;
            for (int64_t r = whole_.read_start[t]; r < whole_.read_start[t + 1]; ++r) {
                const int32_t w = whole_.read_writer[r], key = whole_.read_key[r];
                if (w < -1) continue;
                const int32_t from = w < 0 ? -1 : place_[size_t(whole_.commit_of(w))];
                for (size_t i = 0; i < stretches.size() && (i == 0 || at >= starts[i]); ++i)
                    if (from < starts[i] && (i > 0 || w < 0))
                        std::atomic_ref(stretches[i].pending[size_t(key)]).fetch_add(1, std::memory_order_relaxed);
                if (w < 0) continue;
                const int64_t j = whole_.write_of(w, key);
                if (j < 0) continue;
                const int32_t behind = any ? last - from : Readers::nobody;
                if (w >= low && w < high) readers.add(size_t(j), behind);
                else told[part][size_t(std::upper_bound(bounds.begin(), bounds.end(), w) - bounds.begin())].push_back({int32_t(j), behind});
            }
        }
    });
    in_parallel(jobs, parts, limits, [&](size_t part, int, Limits& own) {
        for (auto& from : told)
            for (const auto [write, behind] : std::exchange(from[part], {})) own.step(), readers.add(size_t(write), behind);
    });
    bool last = false;
    for (bool together : {true, false}) {
        if (together && whole_.points == 1) continue;
        if (last) break;
        Step step;
        std::vector<std::pair<size_t, size_t>> regions;
        std::unordered_set<int64_t> buried;
        {
            const Nodes nodes(whole_, sequence_, place_, together, jobs, size_t(shortest));
            // Several walks for the first try; then one through all of it.
            std::vector<std::optional<Walk>> walks;
            for (bool alone : {false, true}) {
                if (!alone && (stretches.size() == 1 || nodes.sequence.size() != commits)) continue;
                const size_t count = alone ? 1 : stretches.size();
                for (size_t i = 0; i < count; ++i) {
                    Stretch& stretch = stretches[i];
                    stretch.until = nodes.sequence.size(), stretch.shared_from = SIZE_MAX;
                    if (i + 1 == count) continue;
                    stretch.shared_from = stretches[i + 1].from + 1;
                    stretch.until = std::min(stretch.until, stretches[i + 1].from + stretch.every * CHECKPOINTS);
                }
                walks.clear();
                walks.resize(count);
                std::atomic<bool> failed = false;
                in_parallel(jobs, count, limits, [&](size_t i, int, Limits& own) {
                    walks[i].emplace(whole_, nodes, place_, after_, readers, stretches[i]);
                    if (!walks[i]->go(own)) failed = true;
                });
                if (!failed && put_together(walks)) break;
                for (auto& walk : walks) walk->take_back();
                walks.clear();
            }
            if (walks.empty()) continue;
            Walk& walk = *walks.front();
            last = !together || walk.marks.empty();
            step.order = std::move(walk.order), step.initial = std::move(walk.initial), buried = std::move(walk.buried);
            stats.walked = int64_t(step.order.size()) / whole_.points;
            stats.marks = int64_t(walk.marks.size()), stats.stretches = int64_t(walks.size());
            const size_t side = size_t(margin) * size_t(whole_.points);
            for (const Mark& mark : walk.marks) {
                const size_t from = mark.from - std::min(mark.from, side), to = std::min(step.order.size(), mark.to + side);
                while (!regions.empty() && from < regions.back().first) regions.pop_back();
                if (!regions.empty() && from <= regions.back().second) regions.back().second = to;
                else regions.push_back({from, to});
            }
            for (auto& each : walks) each->take_back();
            if (last) readers.forget();  // nobody walks again, and they take memory
        }
        if (!regions.empty() && !mend(step, regions, buried, jobs, options, limits)) continue;
        if (!explains(step.order, step.initial, jobs)) continue;
        step.status = Answer::VALID;
        return step;
    }
    return {};
}

bool Windows::mend(Step& step, const std::vector<std::pair<size_t, size_t>>& places, const std::unordered_set<int64_t>& buried, int jobs,
                   Options options, Limits& limits) {
    // Half of a transaction of unknown outcome must not be left out, and what was chosen to start with must not be forgotten.
    if (std::any_of(uncertain_.begin(), uncertain_.end(), [](uint8_t u) { return u != 0; }) || !step.initial.empty()) return false;
    std::vector<Region> regions;
    for (auto [from, to] : places) regions.push_back({from, to, {}, {}, {}});
    std::vector<int32_t> at(place_.size(), -1);
    for (size_t i = 0; i < step.order.size(); ++i) at[size_t(step.order[i])] = int32_t(i);

    // Once more through the order, for the states before and behind each region.
    std::vector<int32_t> value(whole_.init.begin(), whole_.init.end()), left_by(size_t(whole_.keys), -1);
    std::vector<int32_t> open;
    Scratch scratch(whole_);
    size_t next = 0;
    for (size_t i = 0; i < step.order.size(); ++i) {
        limits.step(8);
        if (next < regions.size() && regions[next].from == i) {
            Region& region = regions[next];
            std::erase_if(open, [&](int32_t t) { return at[size_t(whole_.commit_of(t))] < int32_t(i); });
            std::vector<int32_t> spanning;
            for (int32_t t : open)
                if (at[size_t(whole_.commit_of(t))] >= int32_t(region.to)) spanning.push_back(t);
            region.part = Part(whole_, {step.order.data() + region.from, region.to - region.from}, spanning, at, scratch);
            for (const Part::Key& key : region.part.keys) region.start.push_back(value[size_t(key.key)]);
        }
        const int32_t point = step.order[i], t = point / whole_.points;
        if (whole_.is_begin(point)) {
            if (whole_.overlap) open.push_back(t);
            for (int64_t r = whole_.read_start[t]; r < whole_.read_start[t + 1]; ++r) {
                const int32_t key = whole_.read_key[r], region = left_by[size_t(key)];
                if (region < 0 || !matches(value[size_t(key)], whole_.read_value[r])) continue;
                regions[size_t(region)].final.push_back({key, value[size_t(key)], -1});
                left_by[size_t(key)] = -1;
            }
        }
        if (whole_.is_commit(point))
            for (int64_t j = whole_.txn_write_start[size_t(t)]; j < whole_.txn_write_start[size_t(t) + 1]; ++j) {
                if (buried.count(j)) continue;
                const auto [key, written] = whole_.txn_writes[size_t(j)];
                value[size_t(key)] = written, left_by[size_t(key)] = -1;
            }
        if (next < regions.size() && regions[next].to == i + 1) {
            for (const Part::Key& key : regions[next].part.keys)
                if (key.visible) left_by[size_t(key.key)] = int32_t(next);
            ++next;
        }
    }

    std::vector<Solved> solved(regions.size());
    std::atomic<bool> failed = false;
    parallel(jobs, regions.size(), limits, [&](size_t i, Scratch& own_scratch, Limits& own) {
        if (failed) return;
        const Region& region = regions[i];
        solved[i] = region.part.solve(whole_, region.start, region.final, at, false, options, own, own_scratch);
        if (solved[i].status != Answer::VALID) failed = true;
    });
    for (const Solved& one : solved) stats.conflicts += one.stats.conflicts, stats.decisions += one.stats.decisions;
    if (failed) return false;
    std::vector<int32_t> order;
    order.reserve(step.order.size());
    size_t done = 0;
    for (size_t i = 0; i < regions.size(); ++i) {
        order.insert(order.end(), step.order.begin() + int64_t(done), step.order.begin() + int64_t(regions[i].from));
        order.insert(order.end(), solved[i].order.begin(), solved[i].order.end());
        step.initial.insert(step.initial.end(), solved[i].initial.begin(), solved[i].initial.end());
        done = regions[i].to;
    }
    order.insert(order.end(), step.order.begin() + int64_t(done), step.order.end());
    step.order = std::move(order);
    return true;
}

}  // namespace boomslang::windows
