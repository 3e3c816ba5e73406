// Levels that forbid cycles with exactly one anti-dependency: consistent view (PL-2+), causal, read atomic.
//
// There the order fixes who overwrote whom, but a read need not see the last writer before it. What is forbidden is
// narrower: r read x from w, p overwrote that, and yet p came before r *by the level's own path*, of reads and (for
// PL-2+) overwrites. So a read that does not see the last writer is looked at more closely: is there such a path from
// one of the writers that it missed? If so, one of these does not hold,
//
//   r takes w,   w before p,   each step of the path
//
// which is a clause, made when it is first violated. Which transactions lie on a path can change far from where
// something moved, so before an answer all such reads are looked at again. (Adya 1999, section 4.1; Cerone and
// Gotsman, "Analysing snapshot isolation", JACM 2018.)
#include <algorithm>

#include "engine.hpp"

namespace boomslang::engine {

// The variable "r takes txn's version" (txn = -1: the initial one), or -1 if there is none yet.
int32_t Engine::takes_var(int32_t r, int32_t txn) const {
    int32_t first = read_from_first_.get(uint64_t(uint32_t(r)));
    if (first < 0) return -1;
    for (int32_t v = first; v < int32_t(vars_.size()); ++v) {
        const Var& x = vars_[size_t(v)];
        if (x.kind != READ_FROM || x.a != r) break;
        if ((x.b < 0 ? -1 : p_.write_txn[x.b]) == txn) return v;
    }
    return -1;
}

// Whom a read takes: who is known or decided, else what the order suggests. -1: the initial state, -2: nobody yet. Each
// search for a path asks this of all reads that it comes by, and between two searches hardly anything has changed: so an
// answer stands until the reader or a writer of the key moves, comes in or goes, or something is decided of a read of it.
int32_t Engine::source(int32_t r) {
    if (!unsure_source(r)) return p_.read_writer[r];
    if (source_known_.empty()) return suggested_source(r);
    const uint32_t now = key_changes_[size_t(p_.read_key[r])] + 1;
    if (source_known_[size_t(r)] != now) {
        source_[size_t(r)] = suggested_source(r);
        source_known_[size_t(r)] = now;
    }
    return source_[size_t(r)];
}

int32_t Engine::suggested_source(int32_t r) {
    int32_t t = read_txn_[size_t(r)];
    int32_t first = read_from_first_.get(uint64_t(uint32_t(r)));
    bool undecided = true;
    if (first >= 0)
        for (int32_t v = first; v < int32_t(vars_.size()); ++v) {
            const Var& x = vars_[size_t(v)];
            if (x.kind != READ_FROM || x.a != r) break;
            if (x.value > 0) {
                if (x.b >= 0) return p_.write_txn[x.b];
                initial_matches(p_.read_key[r], p_.read_value[r]);  // the choice may have been taken back since
                return -1;
            }
            if (x.value < 0) undecided = false;
        }
    auto allowed = [&](int32_t txn) {
        if (undecided) return true;
        int32_t v = takes_var(r, txn);
        return v < 0 || vars_[size_t(v)].value >= 0;
    };
    int32_t key = p_.read_key[r], here = read_pos(r), last = last_writer(r);
    if (last >= 0 && matches(p_.write_value[last], p_.read_value[r]) && allowed(p_.write_txn[last])) return p_.write_txn[last];
    int64_t low, high;
    candidates(r, low, high);
    int32_t best = -2, best_pos = -1;
    for (int64_t w = low; w < high; ++w) {
        limits_.step();
        int32_t other = p_.write_txn[w], at = write_pos(int32_t(w));
        if (other == t || p_.state[other] == OUT || !active(other) || at >= here || at <= best_pos || !allowed(other)) continue;
        best = other, best_pos = at;
    }
    if (best == -2 && allowed(-1) && initial_matches(key, p_.read_value[r])) return -1;
    return best;
}

bool Engine::unsure_source(int32_t r) const {
    return !(p_.state[read_txn_[size_t(r)]] == MUST && p_.read_writer[r] >= -1);
}

// Was nobody between the reader and whom it takes when it was last looked at, and has nothing changed at its key since?
bool Engine::misses_nobody(int32_t r) const {
    return !missed_nobody_.empty() && missed_nobody_[size_t(r)] == key_changes_[size_t(p_.read_key[r])] + 1;
}

// A path of the level's kind to the reader from somebody who wrote its key after `writer` (-1: the initial state).
// With as few steps as possible that are not known.
bool Engine::find_path(int32_t r, int32_t writer, std::vector<PathStep>& path) {
    path.clear();
    if (misses_nobody(r)) return false;
    const int32_t t = read_txn_[size_t(r)], key = p_.read_key[r];
    const int32_t low = writer < 0 ? -1 : order_.pos[size_t(writer)];
    last_writer(r);  // for seen_slot_
    const int32_t begin = int32_t(p_.key_start[key]);
    ++path_stamp_;
    int32_t first = INT32_MAX;
    for (int32_t slot = seen_slot_[size_t(r)]; slot > begin;) {
        int32_t w = writers_[size_t(--slot)], p = p_.write_txn[w], at = write_pos(w);
        if (at <= low) break;
        limits_.step();
        if (p == t || p == writer || !active(p)) continue;
        path_goal_[size_t(p)] = path_stamp_;
        first = at;
    }
    if (first == INT32_MAX) {
        if (!source_known_.empty()) missed_nobody_[size_t(r)] = key_changes_[size_t(key)] + 1;
        return false;
    }

    // Nearest first: what is as near as the one that is looked at comes next, all else takes turns.
    std::vector<int32_t>&as_near = path_near_, &further_away = path_far_;
    as_near.assign(1, t), further_away.clear();
    size_t turn = 0;
    // The nearest goal so far. Once all that is nearer has been looked at, it is the nearest of all; what is as far away, by
    // far the most, need not be looked at any more.
    int32_t goal = -1, goal_distance = INT32_MAX;
    auto visit = [&](int32_t from, int32_t to, PathKind kind, int32_t read, bool sure) {
        if (from == t || order_.pos[size_t(from)] < first) return;
        PathNode& node = path_nodes_[size_t(from)];
        int32_t distance = path_nodes_[size_t(to)].distance + !sure;
        // Where a path is one step long, one that is reached by known steps leads further than one that was read from.
        bool further = p_.path.longest == 1 && kind == PathKind::KNOWN && node.kind != PathKind::KNOWN;
        if (node.stamp == path_stamp_ && node.distance <= distance && !further) return;
        node = {path_stamp_, distance, to, kind, read, false};
        if (distance < goal_distance && from < p_.txns && path_goal_[size_t(from)] == path_stamp_)
            goal = from, goal_distance = distance;
        (sure ? as_near : further_away).push_back(from);
    };
    path_nodes_[size_t(t)] = {path_stamp_, 0, -1, PathKind::KNOWN, -1, false};
    while (!as_near.empty() || turn < further_away.size()) {
        int32_t n = as_near.empty() ? further_away[turn++] : as_near.back();
        if (!as_near.empty()) as_near.pop_back();
        PathNode& node = path_nodes_[size_t(n)];
        if (node.distance >= goal_distance) break;
        if (node.done) continue;
        node.done = true;
        limits_.step(4);
        // Where a path is one step long, that step may be a row of known ones: they are transitive.
        const bool only_known = p_.path.longest == 1 && n != t;
        if (only_known && node.kind != PathKind::KNOWN) continue;
        for (int64_t i = path_in_start_[size_t(n)]; i < path_in_start_[size_t(n) + 1]; ++i)
            visit(path_in_[size_t(i)], n, PathKind::KNOWN, -1, true);
        if (n >= p_.txns || only_known) continue;
        for (int64_t q = p_.read_start[n]; q < p_.read_start[n + 1]; ++q) {
            if (p_.path.earlier && (n != t || p_.read_step[q] >= p_.read_step[r])) continue;
            int32_t w = source(int32_t(q));
            if (w >= 0) visit(w, n, PathKind::READ, int32_t(q), !unsure_source(int32_t(q)));
        }
        if (!p_.path.overwrites) continue;
        for (int64_t j = txn_write_start_[size_t(n)]; j < txn_write_start_[size_t(n) + 1]; ++j) {
            int32_t w = txn_writes_[size_t(j)];
            int32_t before = writer_before(writer_slot_[size_t(w)], int32_t(p_.key_start[write_key_[size_t(w)]]), n);
            if (before >= 0) visit(p_.write_txn[before], n, PathKind::OVERWRITE, -1, false);
        }
    }
    for (int32_t at = goal; at >= 0 && at != t; at = path_nodes_[size_t(at)].next)
        path.push_back({at, path_nodes_[size_t(at)].next, path_nodes_[size_t(at)].kind, path_nodes_[size_t(at)].read});
    return goal >= 0;
}

bool Engine::path_read_holds(int32_t r) {
    int32_t t = read_txn_[size_t(r)];
    if (!active(t)) return true;
    int32_t writer = source(r);
    if (writer == -2) return false;
    return !find_path(r, writer, path_);
}

Engine::Repair Engine::repair_path(int32_t r) {
    if (path_read_holds(r)) return Repair::HOLDS;
    int32_t t = read_txn_[size_t(r)], writer = source(r);
    if (writer == -2) {
        read_from_vars(r);
        return act_on(repair_clause_.get(clause_key(ONE_OF, r, 0)));
    }
    std::vector<Lit> lits;
    std::vector<int32_t> reads{r}, txns;
    auto takes = [&](int32_t q, int32_t w) {
        if (!unsure_source(q)) return;
        read_from_vars(q);
        lits.push_back(2 * takes_var(q, w) + 1);
    };
    auto in = [&](int32_t txn) {
        txns.push_back(txn);
        if (p_.state[txn] == MAY) lits.push_back(committed(txn) ^ 1);
    };
    takes(r, writer);
    int32_t p = path_.front().from;
    if (writer >= 0) lits.push_back(before(p, writer));
    in(t);
    for (const PathStep& step : path_) {
        if (step.from < p_.txns) in(step.from);
        if (step.kind == PathKind::OVERWRITE) lits.push_back(before(step.to, step.from));
        if (step.kind == PathKind::READ) {
            reads.push_back(step.read);
            takes(step.read, step.from);
        }
    }
    std::sort(lits.begin(), lits.end());
    lits.erase(std::unique(lits.begin(), lits.end()), lits.end());
    if (lits.empty()) {  // all of it is known
        conflict_.clear();
        conflict_log_ = path_log(reads, txns);
        return Repair::CONFLICT;
    }
    // The order can violate a clause again whose literals were never decided.
    uint64_t code = lits.size();
    for (Lit l : lits) code = (code ^ uint64_t(uint32_t(l))) * 0x9e3779b97f4a7c15ull, code ^= code >> 29;
    code = (code >> 3) | uint64_t(PATH) << 61;
    int32_t made = repair_clause_.get(code);
    if (made >= 0) {
        const Clause& c = clauses_[size_t(made)];
        std::vector<Lit> its(pool_.begin() + c.offset, pool_.begin() + c.offset + c.size);
        std::sort(its.begin(), its.end());
        if (its != lits) made = -1;
    }
    if (made < 0) repair_clause_[code] = made = add_clause(lits, false, path_log(reads, txns));
    return act_on(made);
}

int32_t Engine::path_log(const std::vector<int32_t>& reads, const std::vector<int32_t>& txns) {
    std::vector<int32_t> data{int32_t(reads.size())};
    data.insert(data.end(), reads.begin(), reads.end());
    data.insert(data.end(), txns.begin(), txns.end());
    return log(PATH_CLAUSE, data);
}

// Lines up every read that does not hold.
void Engine::sweep_paths() {
    for (int32_t r = 0; r < reads_; ++r)
        if (p_.state[read_txn_[size_t(r)]] != OUT && !path_read_holds(r)) dirty_read(r);
}

void Engine::prepare_paths() {
    if (chosen_init_.empty()) {  // who asks may choose an initial value: that is to happen each time
        key_changes_.assign(size_t(p_.keys), 0);
        source_known_.assign(size_t(reads_), 0);
        source_.assign(size_t(reads_), -2);
        missed_nobody_.assign(size_t(reads_), 0);
    }
    path_goal_.assign(size_t(p_.txns), 0);
    path_nodes_.assign(size_t(order_.nodes()), {});
    path_in_start_.assign(size_t(order_.nodes()) + 1, 0);
    for (size_t i = 0; i < p_.edge_to.size(); ++i)
        if (p_.edge_path[i]) ++path_in_start_[size_t(p_.edge_to[i]) + 1];
    for (int32_t v = 0; v < order_.nodes(); ++v) path_in_start_[size_t(v) + 1] += path_in_start_[size_t(v)];
    path_in_.resize(size_t(path_in_start_.back()));
    std::vector<int64_t> next(path_in_start_.begin(), path_in_start_.end() - 1);
    for (size_t i = 0; i < p_.edge_to.size(); ++i)
        if (p_.edge_path[i]) path_in_[size_t(next[size_t(p_.edge_to[i])]++)] = p_.edge_from[i];
}

}  // namespace boomslang::engine
