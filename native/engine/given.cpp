// Clauses that somebody added to the problem: what a module knows beside the trace.
//
// They are in the clause database from the start, so whatever is decided propagates through them. An order often
// satisfies them without any decision; so only when all else is done, those that the order does not satisfy are
// repaired, like any other violation.
#include "engine.hpp"

namespace boomslang::engine {

// False: they contradict each other outright.
bool Engine::take_given() {
    for (int64_t c = 0; c + 1 < int64_t(p_.clause_start.size()); ++c) {
        std::vector<Lit> lits;
        std::vector<int32_t> reads, txns;
        bool always = false;
        for (int64_t i = p_.clause_start[c]; i < p_.clause_start[c + 1]; ++i) {
            Given g = p_.given(i);
            auto fact = [&](bool holds) { always |= holds != g.negated; };
            if (g.kind == Given::BEFORE) {
                for (int32_t node : {g.a, g.b})
                    if (order_.txn_of(node) >= 0) txns.push_back(order_.txn_of(node));
                if (g.a == g.b) fact(false);
                else lits.push_back(before(g.a, g.b) ^ int32_t(g.negated));
            } else if (g.kind == Given::COMMITTED) {
                txns.push_back(g.a);
                if (p_.state[g.a] != MAY) fact(p_.state[g.a] == MUST);
                else lits.push_back(committed(g.a) ^ int32_t(g.negated));
            } else {
                reads.push_back(g.a);
                if (!unsure_source(g.a)) {
                    fact(p_.read_writer[g.a] == g.b);
                } else {
                    read_from_vars(g.a);
                    int32_t v = takes_var(g.a, g.b);
                    if (v < 0) fact(false);
                    else lits.push_back(2 * v + int32_t(g.negated));
                }
            }
        }
        if (always) continue;
        int32_t why = path_log(reads, txns);
        if (lits.empty()) {
            final_log_ = why;
            return false;
        }
        int32_t made = add_clause(lits, false, why);
        given_.push_back(made);
        if (lits.size() > 1) continue;
        if (value(lits[0]) < 0) {
            final_log_ = log(LEARNED, {why, vars_[size_t(lits[0] >> 1)].root});
            return false;
        }
        if (value(lits[0]) == 0) enqueue(lits[0], made);
    }
    return true;
}

// Does the literal hold, decided or as things stand?
bool Engine::satisfied(Lit l) {
    if (int8_t v = value(l)) return v > 0;
    const Var& x = vars_[size_t(l >> 1)];
    bool holds = false;
    if (x.kind == ORDER) holds = order_.pos[size_t(x.a)] < order_.pos[size_t(x.b)];
    if (x.kind == COMMITTED) holds = active(x.a);
    if (x.kind == READ_FROM) {
        int32_t now = source(x.a);
        holds = active(read_txn_[size_t(x.a)]) && now == (x.b < 0 ? -1 : p_.write_txn[x.b]);
    }
    return holds != bool(l & 1);
}

// Without such clauses any candidate will do that the read sees. With them it may be settled whom it takes, or that it
// does not take somebody.
bool Engine::given_read_holds(int32_t r, int32_t& last) {
    int32_t taken = source(r);
    last = p_.read_strong[r] ? last_writer(r) : -1;
    if (taken == -2) return false;
    if (p_.read_strong[r]) return taken == (last < 0 ? -1 : p_.write_txn[last]);
    return taken < 0 || (active(taken) && order_.pos[size_t(order_.commit_of(taken))] < read_pos(r));
}

int32_t Engine::violated_given() {
    for (int32_t id : given_) {
        const Clause& c = clauses_[size_t(id)];
        bool holds = false;
        for (uint32_t i = 0; i < c.size && !holds; ++i) holds = satisfied(pool_[c.offset + i]);
        if (!holds) return id;
    }
    return -1;
}

}  // namespace boomslang::engine
