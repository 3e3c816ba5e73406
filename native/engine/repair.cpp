// Repair: from a violation of the current order to the clause it violates, and to one decision.
//
// With points named B (where a transaction reads) and C (where it writes; B = C when there is one point):
//
//   r read x from w, and p wrote x between them    p before w, or r before p         (PASSED)
//   r has several candidates                        r takes w1, or w2, ..., or the initial state   (ONE_OF)
//   r takes w                                       w before r                         (TAKES, in search.cpp)
//   i and j wrote x and overlap (two points)        C_i before B_j, or C_j before B_i  (OVERLAPS)
//
// each with "or p did not commit" where an outcome is unknown. Only clauses the order violates are ever made.
// Of the literals that are still open the cheapest is decided: the one whose edge moves the fewest positions.
#include <algorithm>
#include <stdexcept>

#include "engine.hpp"

namespace boomslang::engine {

Lit Engine::before(int32_t a, int32_t b) {
    int32_t low = std::min(a, b), high = std::max(a, b);
    int32_t& id = order_var_[uint64_t(uint32_t(low)) << 32 | uint32_t(high)];
    if (id < 0) id = new_var(ORDER, low, high);
    return 2 * id + (a < b ? 0 : 1);
}

Lit Engine::committed(int32_t txn) {
    if (committed_var_.empty()) committed_var_.assign(size_t(p_.txns), -1);
    int32_t& id = committed_var_[size_t(txn)];
    if (id < 0) id = new_var(COMMITTED, txn, 0);
    return 2 * id;
}

Lit Engine::initial_is(int32_t key, int32_t pattern) {
    auto slot = [&](int32_t value) { return uint64_t(uint32_t(key)) << 32 | uint32_t(value); };
    if (int32_t id = initial_var_.get(slot(pattern)); id >= 0) return 2 * id;
    // A value implies "present", so that variable comes first; then no two that contradict each other.
    if (pattern >= 0) initial_is(key, PRESENT);
    int32_t id = initial_var_[slot(pattern)] = new_var(INITIAL, key, pattern);
    int32_t& group = initial_group_[uint64_t(uint32_t(key))];
    if (group < 0) {
        group = int32_t(initial_vars_of_.size());
        initial_vars_of_.emplace_back();
    }
    int32_t axiom = log(AXIOM, {});
    for (int32_t other : initial_vars_of_[size_t(group)]) {
        int32_t its = vars_[size_t(other)].b;
        if (pattern >= 0 && its == PRESENT) {
            add_clause({2 * id + 1, 2 * other}, false, axiom);
        } else {
            add_clause({2 * id + 1, 2 * other + 1}, false, axiom);
        }
    }
    initial_vars_of_[size_t(group)].push_back(id);
    return 2 * id;
}

// The variables "r takes w" for every candidate, and the clause that one of them holds. All are made at once, so
// that they are consecutive.
int32_t Engine::read_from_vars(int32_t r) {
    if (int32_t id = read_from_first_.get(uint64_t(uint32_t(r))); id >= 0) return id;
    int32_t t = read_txn_[size_t(r)], key = p_.read_key[r];
    int64_t low, high;
    candidates(r, low, high);
    int32_t first = int32_t(vars_.size());
    read_from_first_[uint64_t(uint32_t(r))] = first;
    std::vector<Lit> one_of;
    int32_t init = p_.init[key];
    bool from_init = init == UNKNOWN_INIT || matches(init, p_.read_value[r]);
    if (from_init) one_of.push_back(2 * new_var(READ_FROM, r, -1));
    for (int64_t w = low; w < high; ++w) {
        int32_t other = p_.write_txn[w];
        if (other != t && p_.state[other] != OUT) one_of.push_back(2 * new_var(READ_FROM, r, int32_t(w)));
    }
    std::vector<Lit> takes = one_of;
    if (p_.state[t] == MAY) one_of.push_back(committed(t) ^ 1);
    int32_t why = log(READ_CLAUSE, {r});
    for (Lit l : takes) {
        int32_t w = vars_[size_t(l >> 1)].b;
        if (w >= 0 && p_.state[p_.write_txn[w]] == MAY) add_clause({l ^ 1, committed(p_.write_txn[w])}, false, why);
        if (w < 0 && init == UNKNOWN_INIT) add_clause({l ^ 1, initial_is(key, p_.read_value[r])}, false, why);
    }
    repair_clause_[clause_key(ONE_OF, r, 0)] = add_clause(one_of, false, why);
    return first;
}

Engine::Repair Engine::repair(int32_t item) {
    if (item & 1) return repair_overlap(item >> 1);
    return p_.path.on ? repair_path(item >> 1) : repair_read(item >> 1);
}

Engine::Repair Engine::repair_overlap(int32_t w) {
    int32_t other = overlapping(w);
    if (other < 0) return Repair::HOLDS;
    int32_t i = p_.write_txn[other], j = p_.write_txn[w];
    int32_t& made = repair_clause_[clause_key(OVERLAPS, std::min(i, j), std::max(i, j))];
    if (made < 0) {
        std::vector<Lit> lits{before(order_.commit_of(i), order_.begin_of(j)),
                              before(order_.commit_of(j), order_.begin_of(i))};
        for (int32_t t : {i, j})
            if (p_.state[t] == MAY) lits.push_back(committed(t) ^ 1);
        made = add_clause(lits, false, log(OVERLAP_CLAUSE, {i, j}));
    }
    return act_on(made);
}

Engine::Repair Engine::repair_read(int32_t r) {
    int32_t p;
    if (read_holds(r, p)) return Repair::HOLDS;
    int32_t t = read_txn_[size_t(r)];
    int32_t reader = order_.begin_of(t);
    int32_t takes = -1, writer;  // the variable "r takes writer", when that is not known anyway
    if (p_.state[t] == MUST && p_.read_writer[r] >= -1) {
        writer = p_.read_writer[r] < 0 ? -1 : order_.commit_of(p_.read_writer[r]);
    } else {
        int32_t first = read_from_vars(r);
        for (int32_t v = first; v < int32_t(vars_.size()); ++v) {
            const Var& x = vars_[size_t(v)];
            if (x.kind != READ_FROM || x.a != r) break;
            if (x.value > 0) {
                takes = v;
                break;
            }
        }
        if (takes < 0) return act_on(repair_clause_.get(clause_key(ONE_OF, r, 0)));
        int32_t w = vars_[size_t(takes)].b;
        writer = w < 0 ? -1 : order_.commit_of(p_.write_txn[w]);
    }
    if (p < 0) throw std::logic_error("a read that takes a writer does not see it, and nobody is in between");
    int32_t p_txn = p_.write_txn[p];
    uint64_t key = takes >= 0 ? clause_key(PASSED_IF_TAKEN, takes, p) : clause_key(PASSED, r, p);
    int32_t made = repair_clause_.get(key);
    if (made < 0) {
        std::vector<Lit> lits;
        if (takes >= 0) lits.push_back(2 * takes + 1);
        // Where the writers of a key do not overlap, p before w is C_p before B_w.
        if (writer >= 0)
            lits.push_back(before(order_.commit_of(p_txn), p_.overlap ? order_.begin_of(order_.txn_of(writer)) : writer));
        lits.push_back(before(reader, order_.commit_of(p_txn)));
        if (p_.state[p_txn] == MAY) lits.push_back(committed(p_txn) ^ 1);
        made = add_clause(lits, false, log(READ_CLAUSE, {r, p_txn}));
        repair_clause_[key] = made;
    }
    return act_on(made);
}

double Engine::cost(Lit l) const {
    const Var& v = vars_[size_t(l >> 1)];
    bool yes = !(l & 1);
    switch (v.kind) {
        case ORDER: {
            int32_t from = yes ? v.a : v.b, to = yes ? v.b : v.a;
            return double(order_.pos[size_t(from)]) - double(order_.pos[size_t(to)]);
        }
        case READ_FROM: {
            if (!yes) return 1e12;
            int32_t here = read_pos(v.a);
            if (v.b < 0) return double(here);
            double distance = double(here) - double(write_pos(v.b));
            return (distance > 0 ? distance : -distance) + (active(p_.write_txn[v.b]) ? 0 : 1e9);
        }
        case COMMITTED:
            return yes ? 1e11 : 0;
        default:
            return 1e12;
    }
}

// Nothing in the clause holds in the current order. Decide what is cheapest to make true.
Engine::Repair Engine::act_on(int32_t id) {
    const Clause& c = clauses_[size_t(id)];
    Lit best = NO_LIT;
    double best_cost = 0;
    int open = 0;
    for (uint32_t i = 0; i < c.size; ++i) {
        Lit l = pool_[c.offset + i];
        int8_t v = value(l);
        if (v > 0) throw std::logic_error("the order violates a clause that holds");
        if (v < 0) continue;
        ++open;
        double x = cost(l);
        if (best == NO_LIT || x < best_cost) best = l, best_cost = x;
    }
    if (open == 0) {
        conflict_.assign(pool_.begin() + c.offset, pool_.begin() + c.offset + c.size);
        conflict_log_ = c.log;
        return Repair::CONFLICT;
    }
    if (open == 1) {
        enqueue(best, id);
        return Repair::PROPAGATED;
    }
    ++stats.decisions;
    trail_lim_.push_back(int32_t(trail_.size()));
    enqueue(best, -1);
    return Repair::DECIDED;
}

}  // namespace boomslang::engine
