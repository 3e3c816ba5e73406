// Simulate: replay the current order, and after a change only the part of each key's life that changed.
//
// The first replay is one sweep over the whole order with the last writer of each key at hand. Should it find
// violations, every key gets its writers and readers as lists sorted by position. A move permutes nodes inside
// one window of positions, so of a touched key only the stretch inside the window is sorted again, and only
// these reads are looked at again: those in the window, and, if another writer is now the last one in it, those
// up to the next writer.
#include <algorithm>
#include <tuple>

#include "engine.hpp"

namespace boomslang::engine {

void Engine::candidates(int32_t r, int64_t& low, int64_t& high) const {
    int32_t key = p_.read_key[r], pattern = p_.read_value[r];
    auto first = p_.write_value.begin() + p_.key_start[key], last = p_.write_value.begin() + p_.key_start[key + 1];
    if (pattern == PRESENT) {
        low = std::upper_bound(first, last, ABSENT) - p_.write_value.begin();
        high = p_.key_start[key + 1];
    } else {
        auto range = std::equal_range(first, last, pattern);
        low = range.first - p_.write_value.begin(), high = range.second - p_.write_value.begin();
    }
}

// Does the initial value of the key match? Where it is to be chosen and still open, this chooses it.
bool Engine::initial_matches(int32_t key, int32_t pattern) {
    int32_t init = p_.init[key];
    if (init != UNKNOWN_INIT) return matches(init, pattern);
    int32_t& now = chosen_init_[size_t(key)];
    if (now == NO_VALUE || (now == PRESENT && pattern >= 0)) {
        // Not against what has been decided about this key.
        if (int32_t group = initial_group_.get(uint64_t(uint32_t(key))); group >= 0)
            for (int32_t v : initial_vars_of_[size_t(group)]) {
                int32_t its = vars_[size_t(v)].b;
                bool together = its == pattern || (its == PRESENT && pattern >= 0) || (pattern == PRESENT && its >= 0);
                bool implied = its == pattern || (its == PRESENT && pattern >= 0);
                if (vars_[size_t(v)].value > 0 && !together) return false;
                if (vars_[size_t(v)].value < 0 && implied) return false;
            }
        now = pattern;
        return true;
    }
    return matches(now, pattern);
}

// Replays the whole order, and lines up what is wrong.
void Engine::sweep() {
    queue_.clear();
    read_queued_.assign(size_t(reads_), 0);
    write_queued_.assign(p_.points == 2 ? size_t(writes_) : 0, 0);
    if (p_.path.on) return sweep_paths();
    std::vector<int32_t> last(size_t(p_.keys), -1);
    for (int32_t i = 0; i < order_.nodes(); ++i) {
        int32_t node = order_.at[size_t(i)], t = order_.txn_of(node);
        if (t < 0 || p_.state[t] == OUT || !active(t)) continue;
        limits_.step(8);
        bool reads_here = node == order_.begin_of(t), writes_here = node == order_.commit_of(t);
        if (reads_here)
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
                int32_t key = p_.read_key[r], w = last[size_t(key)];
                bool fits = w >= 0 ? matches(p_.write_value[w], p_.read_value[r])
                                   : initial_matches(key, p_.read_value[r]);
                int32_t ignored;
                bool holds = given_.empty() ? fits || (!p_.read_strong[r] && read_holds(int32_t(r), ignored))
                                            : read_holds(int32_t(r), ignored);
                if (!holds) dirty_read(int32_t(r));
            }
        if (writes_here)
            for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j) {
                int32_t w = txn_writes_[size_t(j)];
                int32_t& before = last[size_t(write_key_[size_t(w)])];
                if (p_.points == 2 && p_.overlap && before >= 0 && write_pos(before) > order_.pos[order_.begin_of(t)]) dirty_write(w);
                before = w;
            }
    }
}

void Engine::build_lists() {
    lists_ = dig_ = true;
    writers_.resize(size_t(writes_));
    writer_count_.assign(size_t(p_.keys), 0);
    reader_start_.assign(size_t(p_.keys) + 1, 0);
    for (int32_t r = 0; r < reads_; ++r) ++reader_start_[size_t(p_.read_key[r]) + 1];
    for (int32_t k = 0; k < p_.keys; ++k) reader_start_[size_t(k) + 1] += reader_start_[size_t(k)];
    readers_.resize(size_t(reads_));
    std::vector<int64_t> next(reader_start_.begin(), reader_start_.end() - 1);
    for (int32_t i = 0; i < order_.nodes(); ++i) {
        int32_t node = order_.at[size_t(i)], t = order_.txn_of(node);
        if (t < 0 || p_.state[t] == OUT) continue;
        limits_.step(8);
        if (node == order_.begin_of(t))
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
                readers_[size_t(next[size_t(p_.read_key[r])]++)] = int32_t(r);
        if (node == order_.commit_of(t))
            for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j) {
                int32_t w = txn_writes_[size_t(j)], k = write_key_[size_t(w)];
                writers_[size_t(p_.key_start[k] + writer_count_[size_t(k)]++)] = w;
            }
    }
    // Transactions that are out have no place in the lists; close the gap their reads would leave.
    for (int32_t k = 0; k < p_.keys; ++k) scratch_.push_back(int32_t(next[size_t(k)] - reader_start_[size_t(k)]));
    reader_count_ = scratch_;
    scratch_.clear();
    touched_.assign(size_t(p_.keys), {});
    reader_slot_.resize(size_t(reads_));
    writer_slot_.resize(size_t(writes_));
    near_reader_.assign(size_t(writes_), 0);
    seen_slot_.assign(size_t(reads_), 0);
    for (int32_t k = 0; k < p_.keys; ++k) {
        for (int64_t i = reader_start_[size_t(k)]; i < reader_start_[size_t(k)] + reader_count_[size_t(k)]; ++i)
            reader_slot_[size_t(readers_[size_t(i)])] = int32_t(i);
        int64_t r = reader_start_[size_t(k)], readers_end = r + reader_count_[size_t(k)];
        int64_t w = p_.key_start[k], writers_end = w + writer_count_[size_t(k)];
        for (int64_t i = w; i < writers_end; ++i) writer_slot_[size_t(writers_[size_t(i)])] = int32_t(i);
        while (r < readers_end || w < writers_end) {  // merge, so that everybody knows where its neighbours are
            limits_.step();
            if (w < writers_end && (r == readers_end || write_pos(writers_[size_t(w)]) < read_pos(readers_[size_t(r)])))
                near_reader_[size_t(writers_[size_t(w++)])] = int32_t(r);
            else
                seen_slot_[size_t(readers_[size_t(r++)])] = int32_t(w);
        }
    }
}

// The sweep lines violations up by position. After that, what a repair touched comes first: consequences are dealt with
// while the decisions they follow from are the latest ones, so that a conflict takes few others back. In a crowded trace
// that digs itself into one spot; then all take turns.
void Engine::enqueue_item(int32_t item) {
    if (dig_) queue_.push_front(item);
    else queue_.push_back(item);
}

void Engine::dirty_read(int32_t r) {
    if (read_queued_[size_t(r)] || !active(read_txn_[size_t(r)])) return;
    read_queued_[size_t(r)] = 1;
    enqueue_item(2 * r);
}

void Engine::dirty_write(int32_t w) {
    if (p_.points != 2 || !p_.overlap || write_queued_[size_t(w)]) return;
    write_queued_[size_t(w)] = 1;
    enqueue_item(2 * w + 1);
}

// All reads of the key placed in [from, to].
void Engine::dirty_readers(int32_t key, int32_t from, int32_t to) {
    auto first = readers_.begin() + reader_start_[size_t(key)], last = first + reader_count_[size_t(key)];
    auto it = std::partition_point(first, last, [&](int32_t r) { return read_pos(r) < from; });
    for (; it != last && read_pos(*it) <= to; ++it) dirty_read(*it);
}

void Engine::after_move() {
    if (!lists_) return;
    ++key_stamp_;
    touched_keys_.clear();
    auto touch = [&](int32_t key) -> Touched& {
        Touched& t = touched_[size_t(key)];
        if (t.stamp != key_stamp_) {
            t = {key_stamp_, -1, -1};
            touched_keys_.push_back(key);
            key_changed(key);
        }
        return t;
    };
    stats.moves += int64_t(order_.moved.size());
    for (int32_t node : order_.moved) {
        int32_t t = order_.txn_of(node);
        if (t < 0 || p_.state[t] == OUT) continue;
        limits_.step(8);
        if (node == order_.begin_of(t)) {
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
                touch(p_.read_key[r]).reader = reader_slot_[size_t(r)];
                dirty_read(int32_t(r));
            }
            if (p_.points == 2)
                for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j)
                    dirty_write(txn_writes_[size_t(j)]);
        }
        if (node == order_.commit_of(t))
            for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j) {
                int32_t w = txn_writes_[size_t(j)];
                touch(write_key_[size_t(w)]).writer = writer_slot_[size_t(w)];
            }
    }
    for (int32_t key : touched_keys_) touch_key(key, touched_[size_t(key)], order_.window_low, order_.window_high);
}

// Sorts again the stretch of a key's list that lies in the window, which holds the slot `anchor`. The window is mostly
// short, so walking from the anchor beats a binary search over a long list.
template <class Position>
std::pair<int32_t, int32_t> Engine::resort(std::vector<int32_t>& list, std::vector<int32_t>& slot, int32_t begin, int32_t end,
                                           int32_t anchor, int32_t low, int32_t high, Position&& position) {
    int32_t first = anchor, last = anchor + 1;
    while (first > begin && position(list[size_t(first) - 1]) >= low) --first;
    while (last < end && position(list[size_t(last)]) <= high) ++last;
    limits_.step(uint32_t(last - first));
    if (last - first > 64) {
        std::sort(list.begin() + first, list.begin() + last, [&](int32_t a, int32_t b) { return position(a) < position(b); });
    } else {
        for (int32_t i = first + 1; i < last; ++i) {
            int32_t x = list[size_t(i)], at = position(x), j = i;
            for (; j > first && position(list[size_t(j) - 1]) > at; --j) list[size_t(j)] = list[size_t(j) - 1];
            list[size_t(j)] = x;
        }
    }
    for (int32_t i = first; i < last; ++i) slot[size_t(list[size_t(i)])] = i;
    return {first, last};
}

void Engine::touch_key(int32_t key, const Touched& touched, int32_t low, int32_t high) {
    auto rpos = [&](int32_t r) { return read_pos(r); };
    auto wpos = [&](int32_t w) { return write_pos(w); };
    int32_t readers = int32_t(reader_start_[size_t(key)]), readers_end = readers + reader_count_[size_t(key)];
    int32_t rfirst = -1, rlast = -1;
    if (touched.reader >= 0)
        std::tie(rfirst, rlast) = resort(readers_, reader_slot_, readers, readers_end, touched.reader, low, high, rpos);
    if (touched.writer < 0) return;  // then only the moved readers see something else, and they are marked

    int32_t writers = int32_t(p_.key_start[key]), writers_end = writers + writer_count_[size_t(key)];
    // What those to the right of the window see is the last of the stretch that counts; nobody there moved.
    int32_t last = touched.writer + 1;
    while (last < writers_end && wpos(writers_[size_t(last)]) <= high) ++last;
    int32_t seen_before = writer_before(last, writers, -1), first;
    std::tie(first, last) = resort(writers_, writer_slot_, writers, writers_end, touched.writer, low, high, wpos);
    if (rfirst < 0) {
        int32_t& near = near_reader_[size_t(writers_[size_t(first)])];
        near = rfirst = rlast = gallop(readers_, readers, readers_end, near, [&](int32_t r) { return rpos(r) < low; });
        while (rlast < readers_end && rpos(readers_[size_t(rlast)]) <= high) ++rlast;
    }
    for (int32_t i = rfirst; i < rlast; ++i) dirty_read(readers_[size_t(i)]);
    if (p_.points == 2) {
        for (int32_t i = first; i < last; ++i) dirty_write(writers_[size_t(i)]);
        for (int32_t i = last; i < writers_end; ++i) {
            dirty_write(writers_[size_t(i)]);
            if (active(p_.write_txn[writers_[size_t(i)]])) break;
        }
    }
    if (seen_before == writer_before(last, writers, -1)) return;
    int32_t next = last;
    while (next < writers_end && !active(p_.write_txn[writers_[size_t(next)]])) ++next;
    int32_t until = next == writers_end ? INT32_MAX : wpos(writers_[size_t(next)]);
    for (int32_t i = rlast; i < readers_end && rpos(readers_[size_t(i)]) <= until; ++i) dirty_read(readers_[size_t(i)]);
}

// The first slot in [begin, end) whose entry does not satisfy `left_of`, found by doubling steps away from `from`: things
// rarely move far, and a binary search over a long list is a cache miss at every step.
template <class Left>
int32_t Engine::gallop(const std::vector<int32_t>& list, int32_t begin, int32_t end, int32_t from, Left&& left_of) {
    from = std::clamp(from, begin, end);
    int32_t low = begin, high = end, step = 1;
    if (from < end && left_of(list[size_t(from)])) {
        for (low = from + 1; low + step < end && left_of(list[size_t(low + step)]); step *= 2) low += step + 1;
        high = std::min(end, low + step);
    } else {
        for (high = from; high - step >= begin && !left_of(list[size_t(high - step)]); step *= 2) high -= step;
        low = std::max(begin, high - step);
    }
    auto at = std::partition_point(list.begin() + low, list.begin() + high, left_of);
    return int32_t(at - list.begin());
}

// The last writer of the read's key before the reader, or -1.
int32_t Engine::last_writer(int32_t r) {
    int32_t key = p_.read_key[r], t = read_txn_[size_t(r)], here = read_pos(r);
    int32_t begin = int32_t(p_.key_start[key]), end = begin + writer_count_[size_t(key)];
    int32_t& slot = seen_slot_[size_t(r)];
    slot = gallop(writers_, begin, end, slot, [&](int32_t w) { return write_pos(w) < here; });
    return writer_before(slot, begin, t);
}

int32_t Engine::writer_before(int32_t slot, int32_t begin, int32_t except) const {
    while (slot > begin) {
        int32_t w = writers_[size_t(--slot)], t = p_.write_txn[w];
        if (t != except && active(t)) return w;
    }
    return -1;
}

bool Engine::read_holds(int32_t r, int32_t& last) {
    ++stats.checks;
    int32_t t = read_txn_[size_t(r)], key = p_.read_key[r];
    if (!active(t)) return true;
    int32_t here = order_.pos[size_t(order_.begin_of(t))];
    if (!given_.empty() && read_from_first_.get(uint64_t(uint32_t(r))) >= 0) return given_read_holds(r, last);
    if (p_.read_strong[r]) {
        last = last_writer(r);
        return last >= 0 ? matches(p_.write_value[last], p_.read_value[r]) : initial_matches(key, p_.read_value[r]);
    }
    last = -1;
    if (initial_matches(key, p_.read_value[r])) return true;
    int64_t low, high;
    candidates(r, low, high);
    for (int64_t w = low; w < high; ++w) {
        int32_t other = p_.write_txn[w];
        if (other != t && p_.state[other] != OUT && active(other) && write_pos(int32_t(w)) < here) return true;
    }
    return false;
}

// The writer of the same key whose commit falls between this writer's begin and commit, or -1.
int32_t Engine::overlapping(int32_t w) const {
    int32_t t = p_.write_txn[w];
    if (!active(t)) return -1;
    int32_t other = writer_before(writer_slot_[size_t(w)], int32_t(p_.key_start[write_key_[size_t(w)]]), t);
    return other >= 0 && write_pos(other) > order_.pos[size_t(order_.begin_of(t))] ? other : -1;
}

// A transaction of unknown outcome comes in or goes. Like the order, this stays when its literal is taken back.
void Engine::set_active(int32_t txn, bool on) {
    if (p_.state[txn] != MAY || bool(active_[size_t(txn)]) == on) return;
    active_[size_t(txn)] = on;
    for (int64_t r = p_.read_start[txn]; r < p_.read_start[txn + 1]; ++r) key_changed(p_.read_key[r]);
    for (int64_t j = txn_write_start_[size_t(txn)]; j < txn_write_start_[size_t(txn) + 1]; ++j)
        key_changed(write_key_[size_t(txn_writes_[size_t(j)])]);
    if (on)
        for (int64_t r = p_.read_start[txn]; r < p_.read_start[txn + 1]; ++r) dirty_read(int32_t(r));
    for (int64_t j = txn_write_start_[size_t(txn)]; j < txn_write_start_[size_t(txn) + 1]; ++j) {
        int32_t w = txn_writes_[size_t(j)], key = write_key_[size_t(w)];
        auto first = writers_.begin() + p_.key_start[key], last = first + writer_count_[size_t(key)];
        auto it = std::partition_point(first, last, [&](int32_t x) { return write_pos(x) <= write_pos(w); });
        for (; it != last; ++it) {
            dirty_write(*it);
            if (active(p_.write_txn[*it])) break;
        }
        dirty_write(w);
        // Weak reads may rest on any earlier writer, so for them all that come later matter.
        bool all = weak_reads_ && !on;
        dirty_readers(key, write_pos(w), it == last || all ? INT32_MAX : write_pos(*it));
    }
}

void Engine::dirty_initial_readers(int32_t key) {
    auto first = readers_.begin() + reader_start_[size_t(key)], last = first + reader_count_[size_t(key)];
    for (auto it = first; it != last; ++it) dirty_read(*it);
}

}  // namespace boomslang::engine
