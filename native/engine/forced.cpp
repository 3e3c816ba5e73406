// Forced edges where a transaction tells by itself what it sees (see forced.hpp), and cycles among them.
//
// Not every forced edge is written down. Of all that t saw written to x, in the order of its reads w1, w2, ..., each must be
// before the next, so for somebody who was visible earlier the edge to the next of them suffices; and of a session's writers
// of x the last, since session order has the others before it.
#include "forced.hpp"

#include <algorithm>

namespace boomslang::engine {

int32_t Forced::reader(int64_t read) const {
    return int32_t(std::upper_bound(p_.read_start.begin(), p_.read_start.end(), read) - p_.read_start.begin()) - 1;
}

bool Forced::covers() {
    if (p_.path.longest > 1) return false;
    for (int32_t t = 0; t < p_.txns; ++t) {
        if (!in(t)) continue;
        limits_.step();
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
            if (p_.read_writer[r] < -1 || (p_.read_writer[r] >= 0 && !in(p_.read_writer[r]))) return false;
            if (r > p_.read_start[t] && p_.read_step[r] < p_.read_step[r - 1]) return false;
        }
    }
    // Where session order makes things visible it must be a row for each session.
    previous_.assign(size_t(p_.txns), -1);
    for (size_t i = 0; i < p_.edge_to.size(); ++i) session_path_ |= p_.path.on && p_.edge_path[i];
    if (session_path_ && p_.path.earlier) return false;
    for (size_t i = 0; i < p_.edge_to.size(); ++i) {
        int32_t a = p_.edge_from[i], b = p_.edge_to[i];
        if (!in(a) || !in(b)) continue;
        bool path = session_path_ && p_.edge_path[i];
        if (previous_[size_t(b)] < 0 && a < b && path == session_path_) previous_[size_t(b)] = a;
        else if (path) return false;
        else extra_.push_back({a, b, -1});
    }
    return true;
}

void Forced::prepare() {
    write_start_.assign(size_t(p_.txns) + 1, 0);
    for (int32_t t : p_.write_txn)
        if (in(t)) ++write_start_[size_t(t) + 1];
    for (int32_t t = 0; t < p_.txns; ++t) write_start_[size_t(t) + 1] += write_start_[size_t(t)];
    write_key_.resize(size_t(write_start_.back()));
    for (int32_t key = 0; key < p_.keys; ++key)
        for (int64_t w = p_.key_start[key]; w < p_.key_start[key + 1]; ++w)
            if (int32_t t = p_.write_txn[w]; in(t)) write_key_[size_t(write_start_[size_t(t)]++)] = key;
    for (int32_t t = p_.txns; t > 0; --t) write_start_[size_t(t)] = write_start_[size_t(t) - 1];
    write_start_[0] = 0;
}

bool Forced::writes(int32_t txn, int32_t key) const {
    return std::binary_search(write_key_.begin() + write_start_[size_t(txn)], write_key_.begin() + write_start_[size_t(txn) + 1], key);
}

// `visible` must come before `writer`, or the read misses it.
bool Forced::force(int32_t visible, int32_t writer, int32_t read, Answer& answer) {
    if (writer >= 0) {
        extra_.push_back({visible, writer, read});
        return true;
    }
    std::vector<uint8_t> txns(size_t(p_.txns), 0), reads(p_.read_key.size(), 0);
    blame(visible, read, txns, reads);
    finish(txns, reads, answer);
    return false;
}

// Read committed: what t reads from p on, it reads after p.
bool Forced::force_committed(Answer& answer) {
    std::vector<Seen> seen(size_t(p_.keys));
    std::vector<int32_t> met(size_t(p_.txns), -1);
    std::vector<uint8_t> first;
    for (int32_t t = 0; t < p_.txns; ++t) {
        const int64_t begin = p_.read_start[t], end = p_.read_start[t + 1];
        limits_.step(uint32_t(end - begin) * 4 + 1);
        if (!in(t) || end - begin < 2) continue;
        first.assign(size_t(end - begin), 0);
        for (int64_t r = begin; r < end; ++r) {
            int32_t p = p_.read_writer[r];
            if (p < 0 || met[size_t(p)] == t) continue;
            met[size_t(p)] = t;
            first[size_t(r - begin)] = 1;
        }
        // Backwards, operation by operation, so that `seen` holds what is read later.
        for (int64_t last = end; last > begin;) {
            int64_t from = last - 1;
            while (from > begin && p_.read_step[from - 1] == p_.read_step[last - 1]) --from;
            for (int64_t q = from; q < last; ++q) {
                if (!first[size_t(q - begin)]) continue;
                int32_t p = p_.read_writer[q];
                auto meets = [&](int32_t key) {
                    const Seen& s = seen[size_t(key)];
                    if (s.stamp != t) return true;
                    if (s.writer != p) return force(p, s.writer, s.read, answer);
                    return s.other_read < 0 || force(p, s.other_writer, s.other_read, answer);
                };
                int32_t low = write_start_[size_t(p)], high = write_start_[size_t(p) + 1];
                if (high - low <= 4 * (end - last)) {
                    for (int32_t j = low; j < high; ++j)
                        if (!meets(write_key_[size_t(j)])) return false;
                } else {
                    for (int64_t r = last; r < end; ++r)
                        if (writes(p, p_.read_key[r]) && !meets(p_.read_key[r])) return false;
                }
            }
            for (int64_t r = from; r < last; ++r) {
                Seen& s = seen[size_t(p_.read_key[r])];
                int32_t w = p_.read_writer[r];
                if (s.stamp != t) s = {t, w, int32_t(r), -1, -1};
                else if (s.writer != w) s = {t, w, int32_t(r), s.writer, s.read};
                else s.read = int32_t(r);
            }
            last = from;
        }
    }
    return true;
}

// Read atomic, and what of causal is near: all that t read from is visible to it, and all that its session did before.
bool Forced::force_atomic(Answer& answer) {
    std::vector<Seen> seen(size_t(p_.keys));
    std::vector<int32_t> met(size_t(p_.txns), -1);
    for (int32_t t = 0; t < p_.txns; ++t) {
        const int64_t begin = p_.read_start[t], end = p_.read_start[t + 1];
        limits_.step(uint32_t(end - begin) * 4 + 1);
        if (!in(t) || end - begin < 2) continue;
        for (int64_t r = begin; r < end; ++r) {
            Seen& s = seen[size_t(p_.read_key[r])];
            int32_t w = p_.read_writer[r];
            if (s.stamp != t) {
                s = {t, w, int32_t(r), -1, -1};
            } else if (s.writer != w) {  // two versions of one key: each would have to be before the other
                if (w >= 0 && !force(w, s.writer, s.read, answer)) return false;
                if (s.writer >= 0 && !force(s.writer, w, int32_t(r), answer)) return false;
            }
        }
        for (int64_t q = begin; q < end; ++q) {
            int32_t p = p_.read_writer[q];
            if (p < 0 || met[size_t(p)] == t) continue;
            met[size_t(p)] = t;
            auto meets = [&](int32_t key) {
                const Seen& s = seen[size_t(key)];
                return s.stamp != t || s.writer == p || force(p, s.writer, s.read, answer);
            };
            int32_t low = write_start_[size_t(p)], high = write_start_[size_t(p) + 1];
            if (high - low <= 4 * (end - begin)) {
                for (int32_t j = low; j < high; ++j)
                    if (!meets(write_key_[size_t(j)])) return false;
            } else {
                for (int64_t r = begin; r < end; ++r)
                    if (writes(p, p_.read_key[r]) && !meets(p_.read_key[r])) return false;
            }
        }
    }
    if (!session_path_) return true;
    // Session by session. A session is a row, of which transactions of unknown outcome that committed hang off.
    std::vector<int32_t> root(size_t(p_.txns)), start(size_t(p_.txns) + 1, 0), by_session(size_t(p_.txns));
    std::vector<uint8_t> goes_on(size_t(p_.txns), 0);
    for (int32_t t = 0; t < p_.txns; ++t) {
        int32_t before = previous_[size_t(t)];
        root[size_t(t)] = before < 0 ? t : root[size_t(before)];
        if (before >= 0) goes_on[size_t(before)] = 1;
        ++start[size_t(root[size_t(t)]) + 1];
    }
    for (int32_t t = 0; t < p_.txns; ++t) start[size_t(t) + 1] += start[size_t(t)];
    for (int32_t t = 0; t < p_.txns; ++t) by_session[size_t(start[size_t(root[size_t(t)])]++)] = t;
    for (Seen& s : seen) s.stamp = -1;
    for (int32_t t : by_session) {
        if (!in(t)) continue;
        limits_.step(8);
        const int32_t session = root[size_t(t)];
        if (previous_[size_t(t)] >= 0)
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
                const Seen& s = seen[size_t(p_.read_key[r])];
                if (s.stamp == session && s.writer != p_.read_writer[r] && !force(s.writer, p_.read_writer[r], int32_t(r), answer))
                    return false;
            }
        if (goes_on[size_t(t)])
            for (int32_t j = write_start_[size_t(t)]; j < write_start_[size_t(t) + 1]; ++j)
                seen[size_t(write_key_[size_t(j)])] = {session, t, -1, -1, -1};
    }
    return true;
}

void Forced::index_extra() {
    extra_start_.assign(size_t(p_.txns) + 1, 0);
    for (const Edge& e : extra_) ++extra_start_[size_t(e.to) + 1];
    for (int32_t t = 0; t < p_.txns; ++t) extra_start_[size_t(t) + 1] += extra_start_[size_t(t)];
    std::vector<Edge> sorted(extra_.size());
    for (const Edge& e : extra_) sorted[size_t(extra_start_[size_t(e.to)]++)] = e;
    for (int32_t t = p_.txns; t > 0; --t) extra_start_[size_t(t)] = extra_start_[size_t(t) - 1];
    extra_start_[0] = 0;
    extra_ = std::move(sorted);
}

// Depth first: whoever is asked for goes after all its predecessors. So those that are already in order stay as they are.
bool Forced::arrange(const std::vector<int32_t>& wish, std::vector<int32_t>& order, Answer& answer) {
    ++rounds;
    index_extra();
    order.clear();
    order.reserve(wish.size());
    struct Frame {
        int32_t node, next;  // `next` numbers its predecessors: the session's, those of its reads, the others
    };
    std::vector<uint8_t> state(size_t(p_.txns), 0);  // 1: on the stack, 2: placed
    std::vector<Frame> stack;
    auto step = [&](int32_t t, int32_t i) -> Step {
        int32_t reads = int32_t(p_.read_start[t + 1] - p_.read_start[t]);
        if (i == 0) return {previous_[size_t(t)], t, -1, Step::SESSION};
        if (i <= reads) return {p_.read_writer[p_.read_start[t] + i - 1], t, int32_t(p_.read_start[t] + i - 1), Step::READ};
        const Edge& e = extra_[size_t(extra_start_[size_t(t)] + i - 1 - reads)];
        return {e.from, t, e.read, Step::EXTRA};
    };
    auto count = [&](int32_t t) {
        return 1 + int32_t(p_.read_start[t + 1] - p_.read_start[t]) + extra_start_[size_t(t) + 1] - extra_start_[size_t(t)];
    };
    for (int32_t wanted : wish) {
        if (state[size_t(wanted)]) continue;
        stack.push_back({wanted, 0});
        state[size_t(wanted)] = 1;
        while (!stack.empty()) {
            Frame& f = stack.back();
            if (f.next == count(f.node)) {
                limits_.step(4);
                state[size_t(f.node)] = 2;
                order.push_back(f.node);
                stack.pop_back();
                continue;
            }
            int32_t before = step(f.node, f.next++).from;
            if (before < 0 || state[size_t(before)] == 2) continue;
            if (state[size_t(before)] == 0) {
                state[size_t(before)] = 1;
                stack.push_back({before, 0});
                continue;
            }
            std::vector<Step> cycle;
            for (auto it = stack.rbegin();; ++it) {
                cycle.push_back(step(it->node, it->next - 1));
                if (it->node == before) break;
            }
            refute(std::move(cycle), answer);
            return false;
        }
    }
    return true;
}

// Steps that lead from one transaction to another, as few as can be; none, if it was not found within the budget. With
// `extra`, by any edge; else by what makes things visible.
std::vector<Forced::Step> Forced::shortest(int32_t from, int32_t to, bool extra, int64_t& budget) {
    if (search_.empty()) search_.resize(size_t(p_.txns));
    ++search_stamp_;
    std::vector<int32_t> queue{to};
    search_[size_t(to)].stamp = search_stamp_;
    bool found = false;
    Step last{};
    for (size_t i = 0; i < queue.size() && !found && budget > 0; ++i) {
        limits_.step(8);
        predecessors(queue[i], extra, [&](const Step& s) {
            --budget;
            if (s.from == from && !found) found = true, last = s;
            Search& node = search_[size_t(s.from)];
            if (node.stamp == search_stamp_) return;
            node = {search_stamp_, s.to, s.read, s.kind};
            queue.push_back(s.from);
        });
    }
    std::vector<Step> steps;
    if (!found) return steps;
    steps.push_back(last);
    for (int32_t at = last.to; at != to;) {
        const Search& node = search_[size_t(at)];
        steps.push_back({at, node.towards, node.read, node.kind});
        at = node.towards;
    }
    return steps;
}

// The cycle that depth first search meets can be as long as the trace; nearly always there is a short one nearby.
std::vector<Forced::Step> Forced::short_cycle(std::vector<Step> cycle) {
    int64_t budget = 4'000'000 + 4 * int64_t(p_.read_key.size());
    for (bool better = true; better && budget > 0 && cycle.size() > 2;) {
        better = false;
        size_t stride = std::max<size_t>(1, cycle.size() / 64);
        for (size_t i = 0; i < cycle.size() && budget > 0; i += stride) {
            std::vector<Step> other = shortest(cycle[i].from, cycle[i].from, true, budget);
            if (other.empty() || other.size() >= cycle.size()) continue;
            cycle = std::move(other);
            better = true;
            break;
        }
    }
    return cycle;
}

// What makes an edge: the reads and transactions by which `from` is visible to the reader that would miss it.
void Forced::blame(int32_t from, int32_t read, std::vector<uint8_t>& txns, std::vector<uint8_t>& reads) {
    const int32_t t = reader(read);
    txns[size_t(t)] = txns[size_t(from)] = reads[size_t(read)] = 1;
    if (p_.read_writer[read] >= 0) txns[size_t(p_.read_writer[read])] = 1;
    for (int64_t q = p_.read_start[t]; q < p_.read_start[t + 1]; ++q)
        if (p_.read_writer[q] == from && !(p_.path.earlier && p_.read_step[q] >= p_.read_step[read])) {
            reads[size_t(q)] = 1;
            return;
        }
    if (p_.path.longest == 1) return;  // by their session
    int64_t budget = INT64_MAX;
    for (const Step& s : shortest(from, t, false, budget)) {
        txns[size_t(s.from)] = txns[size_t(s.to)] = 1;
        if (s.kind == Step::READ) reads[size_t(s.read)] = 1;
    }
}

void Forced::refute(std::vector<Step> cycle, Answer& answer) {
    cycle = short_cycle(std::move(cycle));
    std::vector<uint8_t> txns(size_t(p_.txns), 0), reads(p_.read_key.size(), 0);
    for (const Step& s : cycle) {
        txns[size_t(s.from)] = txns[size_t(s.to)] = 1;
        if (s.kind == Step::READ) reads[size_t(s.read)] = 1;
        else if (s.kind == Step::EXTRA && s.read >= 0) blame(s.from, s.read, txns, reads);
    }
    finish(txns, reads, answer);
}

void Forced::finish(const std::vector<uint8_t>& txns, const std::vector<uint8_t>& reads, Answer& answer) const {
    answer.status = Answer::INVALID;
    for (size_t t = 0; t < txns.size(); ++t)
        if (txns[t]) answer.core_txns.push_back(int32_t(t));
    for (size_t r = 0; r < reads.size(); ++r)
        if (reads[r]) answer.core_reads.push_back(int32_t(r));
}

Answer Forced::solve() {
    Answer answer;
    std::vector<int32_t> order;
    prepare();
    bool fits = true;
    if (p_.path.on) fits = p_.path.earlier ? force_committed(answer) : force_atomic(answer);
    if (fits && p_.path.on && p_.path.longest == 0) {
        fits = causal(order, answer);
    } else if (fits) {
        std::vector<int32_t> all;
        for (int32_t t = 0; t < p_.txns; ++t)
            if (in(t)) all.push_back(t);
        fits = arrange(all, order, answer);
    }
    for (const Edge& e : extra_) forced += e.read >= 0;
    if (!fits) return answer;
    answer.status = Answer::VALID;
    answer.order = std::move(order);
    return answer;
}

}  // namespace boomslang::engine
