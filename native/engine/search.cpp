// Conflict-driven clause learning, and the main loop.
//
// The textbook parts: two watched literals, first unique implication point, recursive clause minimisation
// (Een and Sorensson, "An extensible SAT-solver", 2003), restarts and clause deletion by literal block
// distance (Audemard and Simon, "Predicting learnt clauses quality", 2009). What is different: a decision is
// always the repair of a violation, never a guess about a variable that does not matter; clauses of the
// problem appear during the search, when the order first violates them; and a backjump or restart takes back
// edges but not the order, so nothing that was repaired has to be repaired again.
//
// Hints (session order that the level does not demand) are literals that are true from the start, each made when a
// cycle first leads through it, and what is learned with their help says so: it has their negations among its literals.
// If the search fails with the hints, some of those that the failure used go, and what was learned from these is void; all
// else stays, and the search goes on with the rest: first where it failed, for what breaks the level without those hints
// is mostly there, too, and elsewhere there may be thousands of reads to repair.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine.hpp"

namespace boomslang::engine {

Engine::Engine(const Problem& problem, Limits& limits, Options options, const Saturation* saturation)
    : p_(problem), limits_(limits), options_(options), saturation_(saturation), order_(problem, limits) {
    reads_ = int32_t(p_.read_key.size());
    writes_ = int32_t(p_.write_txn.size());
    read_txn_.resize(size_t(reads_));
    for (int32_t t = 0; t < p_.txns; ++t)
        for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) read_txn_[size_t(r)] = t;
    write_key_.resize(size_t(writes_));
    txn_write_start_.assign(size_t(p_.txns) + 1, 0);
    for (int32_t k = 0; k < p_.keys; ++k)
        for (int64_t w = p_.key_start[k]; w < p_.key_start[k + 1]; ++w) {
            limits_.step();
            write_key_[size_t(w)] = k;
            ++txn_write_start_[size_t(p_.write_txn[w]) + 1];
        }
    for (int32_t t = 0; t < p_.txns; ++t) txn_write_start_[size_t(t) + 1] += txn_write_start_[size_t(t)];
    txn_writes_.resize(size_t(writes_));
    std::vector<int64_t> next(txn_write_start_.begin(), txn_write_start_.end() - 1);
    for (int32_t w = 0; w < writes_; ++w) {
        limits_.step();
        txn_writes_[size_t(next[size_t(p_.write_txn[w])]++)] = w;
    }
    active_.assign(size_t(p_.txns), 0);
    for (uint8_t strong : p_.read_strong)
        if (!strong) weak_reads_ = true;
    for (int32_t v : p_.init)
        if (v == UNKNOWN_INIT) {
            chosen_init_.assign(size_t(p_.keys), NO_VALUE);
            break;
        }
}

Answer Engine::solve() {
    Answer answer;
    if (only_weak()) return available();
    std::vector<int32_t> stuck;
    if (!guess_at_last(stuck)) {
        known_cycle(stuck, answer);
        return answer;
    }
    if (p_.path.on) {
        prepare_paths();
        build_lists();
    }
    sweep();
    if (order_.hints && !p_.path.on && int64_t(queue_.size()) * 20 > reads_) {
        // So much is wrong that the hints may be to blame: would it be better without them?
        std::vector<int32_t> with = order_.at;
        size_t wrong = queue_.size();
        auto forget_choices = [&] { std::fill(chosen_init_.begin(), chosen_init_.end(), NO_VALUE); };
        order_.hints = false;
        forget_choices();
        guess(stuck);
        sweep();
        if (queue_.size() * 2 > wrong) {
            order_.hints = true;
            order_.at.swap(with);
            for (int32_t i = 0; i < order_.nodes(); ++i) order_.pos[size_t(order_.at[size_t(i)])] = i;
            forget_choices();
            sweep();
        }
    }
    stats.guess_violations = int64_t(queue_.size());
    if (queue_.empty() && p_.clause_start.empty()) {
        finish(answer);
        return answer;
    }
    if (!lists_) build_lists();
    bool refuted = !take_given();
    while (true) {
        if (refuted) {
            extract_core(answer);
            return answer;
        }
        limits_.step();
        bool fine = propagate();
        if (fine) {
            if (queue_.empty()) {
                // Nothing is left to look at. Replay it all once more: an answer must not rest on bookkeeping.
                sweep();
                if (!p_.path.on) stats.missed += int64_t(queue_.size());
                if (queue_.empty()) {
                    int32_t given = violated_given();
                    if (given < 0) break;
                    fine = act_on(given) != Repair::CONFLICT;
                    if (fine) continue;
                }
            }
        }
        if (fine) {
            int32_t item = queue_.front();
            queue_.pop_front();
            (item & 1 ? write_queued_ : read_queued_)[size_t(item >> 1)] = 0;
            Repair done = repair(item);
            if (done == Repair::HOLDS) continue;
            // Look at it again: one violation may need several clauses.
            uint8_t& queued = (item & 1 ? write_queued_ : read_queued_)[size_t(item >> 1)];
            if (!queued) {
                queued = 1;
                queue_.push_front(item);
            }
            if (done != Repair::CONFLICT) continue;
        }
        ++stats.conflicts;
        refuted = !resolve_conflict();
        if (refuted) continue;
        if (order_.hints && stats.conflicts > options_.hint_conflicts) drop_hints({});
        if (stats.conflicts - conflicts_at_restart_ > 50 && lbd_fast_ > 1.2 * lbd_slow_) {
            conflicts_at_restart_ = stats.conflicts;
            ++stats.restarts;
            lbd_fast_ = lbd_slow_;
            backtrack(0);
        }
        if (dig_ && stats.conflicts > 500 + p_.txns / 50) {
            dig_ = false;
            backtrack(0);
        }
        if (live_learned_ > next_reduce_) reduce();
        if (options_.max_conflicts > 0 && stats.conflicts >= options_.max_conflicts) throw Stopped{"conflicts"};
    }
    finish(answer);
    return answer;
}

int32_t Engine::new_var(Kind kind, int32_t a, int32_t b) {
    Var v;
    v.kind = kind, v.a = a, v.b = b;
    vars_.push_back(v);
    watches_.emplace_back();
    watches_.emplace_back();
    seen_.push_back(0);
    ++stats.variables;
    return int32_t(vars_.size()) - 1;
}

int32_t Engine::add_clause(const std::vector<Lit>& lits, bool learned, int32_t log_id) {
    Clause c;
    c.offset = uint32_t(pool_.size()), c.size = uint32_t(lits.size()), c.log = log_id;
    c.lbd = 0, c.learned = learned, c.deleted = 0, c.activity = 0;
    pool_.insert(pool_.end(), lits.begin(), lits.end());
    clauses_.push_back(c);
    ++(learned ? stats.learned : stats.clauses);
    int32_t id = int32_t(clauses_.size()) - 1;
    if (c.size >= 2) attach(id);
    return id;
}

// Watch what will be open longest: true or open literals first, then the false ones of the highest level.
// (A clause of the problem may be added when all but one of its literals are false already.)
void Engine::attach(int32_t id) {
    const Clause& c = clauses_[size_t(id)];
    Lit* l = &pool_[c.offset];
    auto rank = [&](Lit x) { return value(x) >= 0 ? INT32_MAX : vars_[size_t(x >> 1)].level; };
    for (uint32_t slot = 0; slot < 2; ++slot) {
        uint32_t best = slot;
        for (uint32_t i = slot + 1; i < c.size; ++i)
            if (rank(l[i]) > rank(l[best])) best = i;
        std::swap(l[slot], l[best]);
    }
    watches_[size_t(l[0])].push_back({id, l[1]});
    watches_[size_t(l[1])].push_back({id, l[0]});
}

void Engine::enqueue(Lit l, int32_t reason) {
    Var& v = vars_[size_t(l >> 1)];
    v.value = (l & 1) ? -1 : 1;
    if (v.kind == READ_FROM) key_changed(p_.read_key[v.a]);
    v.level = level();
    v.reason = reason;
    v.rests_on = -1;
    if (v.level == 0) {
        // What holds for good is logged now: its reason may be gone when the proof is walked.
        antecedents_.clear();
        if (reason >= 0) {
            const Clause& c = clauses_[size_t(reason)];
            antecedents_.push_back(c.log);
            for (uint32_t i = 0; i < c.size; ++i) {
                const Var& o = vars_[size_t(pool_[c.offset + i] >> 1)];
                if (&o == &v) continue;
                use_hints_of(o);
                if (o.root >= 0) antecedents_.push_back(o.root);
            }
            if (!hints_used_.empty()) {
                v.rests_on = int32_t(hint_sets_.size());
                hint_sets_.push_back(hints_used_);
                forget_hints_used(0);
            }
        }
        v.root = log(LEARNED, antecedents_);
    }
    trail_.push_back(l);
}

bool Engine::theory(Lit l) {
    const Var v = vars_[size_t(l >> 1)];
    bool yes = !(l & 1);
    switch (v.kind) {
        case ORDER: {
            int32_t from = yes ? v.a : v.b, to = yes ? v.b : v.a;
            if (!order_.add(from, to, l, clause_scratch_)) {
                conflict_.clear();
                for (Lit x : clause_scratch_) conflict_.push_back(x ^ 1);
                for (int32_t node : order_.cycle_hints) {
                    conflict_.push_back(hint(node) ^ 1);
                    clause_scratch_.push_back(~node);
                }
                conflict_log_ = log(CYCLE, clause_scratch_);
                return false;
            }
            if (!order_.moved.empty()) after_move();
            return true;
        }
        case READ_FROM:
            // The writer it took is before the reader; made only now, as most candidates are never tried.
            if (yes && v.b >= 0) {
                Lit b = before(order_.commit_of(p_.write_txn[v.b]), order_.begin_of(read_txn_[v.a]));
                int32_t& made = repair_clause_[clause_key(TAKES, l >> 1, 0)];
                if (made < 0) {
                    int32_t c = made = add_clause({Lit(l ^ 1), b}, false, log(READ_CLAUSE, {v.a}));
                    if (value(b) > 0) return true;
                    if (value(b) == 0) {
                        enqueue(b, c);
                    } else {
                        conflict_ = {Lit(l ^ 1), b};
                        conflict_log_ = clauses_[size_t(c)].log;
                        return false;
                    }
                }
            }
            return true;
        case COMMITTED:
            set_active(v.a, yes);
            return true;
        case INITIAL: {
            int32_t& now = chosen_init_[size_t(v.a)];
            bool fits = now == NO_VALUE || (now == PRESENT && v.b != ABSENT) || matches(now, v.b);
            if (yes) {
                if (now == NO_VALUE || !fits || (now == PRESENT && v.b >= 0)) now = v.b;
            } else if (now != NO_VALUE && fits) {
                now = NO_VALUE;
                fits = false;
            }
            if (!fits) dirty_initial_readers(v.a);
            return true;
        }
        case HINT:
            return true;
    }
    return true;
}

bool Engine::propagate() {
    while (head_ < trail_.size()) {
        Lit l = trail_[head_];
        if (head_ == in_order_) {
            if (!theory(l)) return false;
            ++in_order_;
        }
        ++head_;
        ++stats.propagations;
        limits_.step(8);
        Lit falsified = l ^ 1;
        auto& list = watches_[size_t(falsified)];
        size_t keep = 0;
        for (size_t i = 0; i < list.size(); ++i) {
            Watch w = list[i];
            if (value(w.blocker) > 0) {
                list[keep++] = w;
                continue;
            }
            Clause& c = clauses_[size_t(w.clause)];
            if (c.deleted) continue;
            Lit* lits = &pool_[c.offset];
            if (lits[0] == falsified) std::swap(lits[0], lits[1]);
            if (value(lits[0]) > 0) {
                list[keep++] = {w.clause, lits[0]};
                continue;
            }
            bool moved = false;
            for (uint32_t k = 2; k < c.size; ++k)
                if (value(lits[k]) >= 0) {
                    std::swap(lits[1], lits[k]);
                    watches_[size_t(lits[1])].push_back({w.clause, lits[0]});
                    moved = true;
                    break;
                }
            if (moved) continue;
            list[keep++] = {w.clause, lits[0]};
            if (value(lits[0]) < 0) {
                conflict_.assign(lits, lits + c.size);
                conflict_log_ = c.log;
                if (c.learned) c.activity += activity_step_;
                for (++i; i < list.size(); ++i) list[keep++] = list[i];
                list.resize(keep);
                return false;
            }
            enqueue(lits[0], w.clause);
        }
        list.resize(keep);
    }
    return true;
}

// Learns from conflict_ (all its literals are false) and jumps back. False: the problem is refuted.
bool Engine::resolve_conflict() {
    int32_t top = 0;
    for (Lit l : conflict_) top = std::max(top, vars_[size_t(l >> 1)].level);
    backtrack(top);
    std::vector<int32_t> used{conflict_log_};
    if (top == 0) {
        for (Lit l : conflict_) {
            const Var& v = vars_[size_t(l >> 1)];
            use_hints_of(v);
            if (v.root >= 0) used.push_back(v.root);
        }
        final_log_ = log(LEARNED, used);
        if (hints_used_.empty()) return false;
        look_where_it_failed();
        // One of them is wrong. In a long trace hints are worth much, so half go, those that came into it last, and a
        // quarter where a path decides; in a short one it is sooner done without, and so it is with two points, where
        // there is twice as much room beside them. Hints that fail again and again are no hints.
        const size_t used_hints = hints_used_.size();
        const bool keep_some = p_.txns > SHORT && p_.points == 1;
        const auto stay = ptrdiff_t(!keep_some ? 0 : p_.path.on ? used_hints - (used_hints + 3) / 4 : used_hints / 2);
        std::vector<int32_t> failed(hints_used_.begin() + stay, hints_used_.end());
        forget_hints_used(0);
        if (++hint_failures_ == 200 + p_.txns / 20) failed.clear();
        drop_hints(failed);
        return true;
    }
    learnt_.assign(1, NO_LIT);
    int32_t open = 0;
    size_t i = trail_.size();
    std::vector<Lit> lits = conflict_;
    Lit uip = NO_LIT;
    while (true) {
        for (Lit l : lits) {
            int32_t v = l >> 1;
            Var& var = vars_[size_t(v)];
            if (l == uip || seen_[size_t(v)]) continue;
            seen_[size_t(v)] = 1;
            to_clear_.push_back(v);
            if (var.level == 0) {
                use_hints_of(var);
                if (var.root >= 0) used.push_back(var.root);
            } else if (var.level == top) {
                ++open;
            } else {
                learnt_.push_back(l);
            }
        }
        do --i;
        while (!seen_[size_t(trail_[i] >> 1)] || vars_[size_t(trail_[i] >> 1)].level != top);
        uip = trail_[i];
        if (--open == 0) break;
        Clause& c = clauses_[size_t(vars_[size_t(uip >> 1)].reason)];
        if (c.learned) c.activity += activity_step_;
        used.push_back(c.log);
        lits.assign(pool_.begin() + c.offset, pool_.begin() + c.offset + c.size);
    }
    learnt_[0] = uip ^ 1;
    // Minimise: drop a literal that the others imply.
    uint32_t levels = 0;
    for (size_t k = 1; k < learnt_.size(); ++k) levels |= 1u << (vars_[size_t(learnt_[k] >> 1)].level & 31);
    size_t kept = 1;
    antecedents_.clear();
    std::vector<int32_t> extra;
    for (size_t k = 1; k < learnt_.size(); ++k) {
        antecedents_.clear();
        if (vars_[size_t(learnt_[k] >> 1)].reason >= 0 && redundant(learnt_[k], levels)) {
            extra.insert(extra.end(), antecedents_.begin(), antecedents_.end());
        } else {
            learnt_[kept++] = learnt_[k];
        }
    }
    learnt_.resize(kept);
    used.insert(used.end(), extra.begin(), extra.end());
    for (int32_t v : to_clear_) seen_[size_t(v)] = 0;
    to_clear_.clear();

    for (int32_t v : hints_used_) learnt_.push_back(2 * v + 1);
    forget_hints_used(0);
    int32_t back = 0;
    int64_t blocks = 0;
    std::vector<int32_t> distinct;
    for (size_t k = 1; k < learnt_.size(); ++k) {
        int32_t lv = vars_[size_t(learnt_[k] >> 1)].level;
        back = std::max(back, lv);
        distinct.push_back(lv);
    }
    std::sort(distinct.begin(), distinct.end());
    blocks = std::unique(distinct.begin(), distinct.end()) - distinct.begin() + 1;
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    backtrack(back);
    int32_t c = add_clause(learnt_, true, log(LEARNED, used));
    clauses_[size_t(c)].lbd = uint32_t(blocks);
    clauses_[size_t(c)].activity = activity_step_;
    activity_step_ *= 1.001f;
    if (activity_step_ > 1e20f) {
        for (Clause& x : clauses_) x.activity *= 1e-20f;
        activity_step_ *= 1e-20f;
    }
    ++live_learned_;
    lbd_fast_ += (double(blocks) - lbd_fast_) / 32;
    lbd_slow_ += (double(blocks) - lbd_slow_) / std::min<double>(4096, double(stats.conflicts));
    enqueue(learnt_[0], c);
    return true;
}

bool Engine::redundant(Lit lit, uint32_t levels) {
    redundant_stack_.assign(1, lit);
    size_t clear_from = to_clear_.size();
    const size_t hints_before = hints_used_.size();
    while (!redundant_stack_.empty()) {
        Lit l = redundant_stack_.back();
        redundant_stack_.pop_back();
        const Clause& c = clauses_[size_t(vars_[size_t(l >> 1)].reason)];
        antecedents_.push_back(c.log);
        for (uint32_t k = 0; k < c.size; ++k) {
            Lit q = pool_[c.offset + k];
            if ((q >> 1) == (l >> 1)) continue;
            Var& v = vars_[size_t(q >> 1)];
            if (v.level == 0) {
                use_hints_of(v);
                if (v.root >= 0) antecedents_.push_back(v.root);
                continue;
            }
            if (seen_[size_t(q >> 1)]) continue;
            if (v.reason >= 0 && (levels >> (v.level & 31) & 1)) {
                seen_[size_t(q >> 1)] = 1;
                to_clear_.push_back(q >> 1);
                redundant_stack_.push_back(q);
            } else {
                for (size_t k2 = clear_from; k2 < to_clear_.size(); ++k2) seen_[size_t(to_clear_[k2])] = 0;
                to_clear_.resize(clear_from);
                forget_hints_used(hints_before);
                return false;
            }
        }
    }
    return true;
}

void Engine::undo_to(size_t size) {
    while (trail_.size() > size) {
        Lit l = trail_.back();
        trail_.pop_back();
        Var& v = vars_[size_t(l >> 1)];
        // Only literals that propagate() has reached have put an edge into the graph.
        if (v.kind == ORDER && trail_.size() < in_order_) order_.pop();
        if (v.kind == READ_FROM) key_changed(p_.read_key[v.a]);
        v.value = 0, v.reason = -1, v.root = -1, v.rests_on = -1;
    }
    head_ = std::min(head_, size), in_order_ = std::min(in_order_, size);
}

void Engine::backtrack(int32_t to) {
    if (level() <= to) return;
    undo_to(size_t(trail_lim_[size_t(to)]));
    trail_lim_.resize(size_t(to));
}

// The literal that a node's hint is to be kept. It holds below all decisions, and on no trail: nothing takes it back.
Lit Engine::hint(int32_t node) {
    int32_t& known = hint_var_[uint64_t(uint32_t(node))];
    if (known < 0) {
        known = new_var(HINT, node, 0);
        vars_.back().value = 1;
        hint_vars_.push_back(known);
        hint_marked_.resize(vars_.size(), 0);
    }
    return 2 * known;
}

// What follows from this variable, which holds at level 0, rests on the hints that it rests on.
void Engine::use_hints_of(const Var& v) {
    auto use = [&](int32_t hint) {
        if (hint_marked_[size_t(hint)]) return;
        hint_marked_[size_t(hint)] = 1;
        hints_used_.push_back(hint);
    };
    if (v.kind == HINT) use(int32_t(&v - vars_.data()));
    if (v.rests_on >= 0)
        for (int32_t hint : hint_sets_[size_t(v.rests_on)]) use(hint);
}

// The reads of the refutation at final_log_ are looked at next, and then all take turns: to go on digging there is what
// failed.
void Engine::look_where_it_failed() {
    dig_ = false;
    if (log_full_) return;
    std::vector<uint8_t> seen(log_.size(), 0);
    std::vector<int32_t> stack{final_log_};
    auto next = [&](int32_t read) {
        read_queued_[size_t(read)] = 1;
        queue_.push_front(2 * read);
    };
    while (!stack.empty()) {
        int32_t id = stack.back();
        stack.pop_back();
        if (id < 0 || seen[size_t(id)]) continue;
        seen[size_t(id)] = 1;
        const LogEntry& e = log_[size_t(id)];
        const int32_t* data = log_data_.data() + e.start;
        if (e.kind == LEARNED) stack.insert(stack.end(), data, data + e.size);
        if (e.kind == READ_CLAUSE) next(data[0]);
        if (e.kind == PATH_CLAUSE)
            for (int32_t i = 1; i <= data[0]; ++i) next(data[i]);
    }
}

// Gives up the hints of these variables; all of them if none is named. What was learned with their help has a literal
// that holds from now on. What rests on others, or on none, is put in force again.
void Engine::drop_hints(const std::vector<int32_t>& which) {
    backtrack(0);
    order_.hints = !which.empty();
    for (int32_t v : order_.hints ? which : hint_vars_) vars_[size_t(v)].value = -1;
    // What is known by then stays as far as it rests on none of these.
    size_t kept = 0;
    std::vector<std::vector<int32_t>> sets;
    for (; kept < trail_.size(); ++kept) {
        int32_t& rests_on = vars_[size_t(trail_[kept] >> 1)].rests_on;
        if (rests_on < 0) continue;
        std::vector<int32_t>& set = hint_sets_[size_t(rests_on)];
        if (std::any_of(set.begin(), set.end(), [&](int32_t v) { return vars_[size_t(v)].value < 0; })) break;
        rests_on = int32_t(sets.size());
        sets.push_back(std::move(set));
    }
    undo_to(kept);
    head_ = 0;  // what followed from these and is gone may follow again
    hint_sets_.swap(sets);
    for (int32_t v : which) {
        order_.drop_hint(vars_[size_t(v)].a);
        ++stats.hints_dropped;
    }
    for (size_t c = 0; c < clauses_.size(); ++c) {
        const Clause& clause = clauses_[c];
        if (clause.deleted || clause.size == 0) continue;
        Lit only = NO_LIT;  // the one literal that is not false by a hint
        bool unit = true;
        for (uint32_t i = 0; i < clause.size && unit; ++i) {
            Lit l = pool_[clause.offset + i];
            if (vars_[size_t(l >> 1)].kind == HINT && value(l) < 0) continue;
            unit = only == NO_LIT;
            only = l;
        }
        if (unit && only != NO_LIT && value(only) == 0) enqueue(only, int32_t(c));
    }
    lbd_fast_ = lbd_slow_;
}

// Deletes half of the learned clauses, those that tie many levels together first. Clauses of the problem stay:
// each is marked as made, and would never be made again.
void Engine::reduce() {
    std::vector<int32_t> order;
    for (size_t c = 0; c < clauses_.size(); ++c) {
        const Clause& x = clauses_[c];
        if (!x.learned || x.deleted || x.lbd <= 2 || x.size <= 2) continue;
        Lit first = pool_[x.offset];
        if (value(first) > 0 && vars_[size_t(first >> 1)].reason == int32_t(c)) continue;
        order.push_back(int32_t(c));
    }
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
        const Clause &x = clauses_[size_t(a)], &y = clauses_[size_t(b)];
        if (x.lbd != y.lbd) return x.lbd > y.lbd;
        if (x.activity != y.activity) return x.activity < y.activity;
        return a < b;
    });
    for (size_t i = 0; i < order.size() / 2; ++i) {
        Clause& c = clauses_[size_t(order[i])];
        c.deleted = 1;
        wasted_ += c.size;
        --live_learned_;
        ++stats.removed;
    }
    next_reduce_ += 500;
    for (auto& list : watches_)
        list.erase(std::remove_if(list.begin(), list.end(),
                                  [&](const Watch& w) { return clauses_[size_t(w.clause)].deleted; }),
                   list.end());
    if (wasted_ * 2 > pool_.size()) {
        std::vector<Lit> fresh;
        fresh.reserve(pool_.size() - wasted_);
        for (Clause& c : clauses_) {
            if (c.deleted) {
                c.size = 0;
                continue;
            }
            uint32_t at = uint32_t(fresh.size());
            fresh.insert(fresh.end(), pool_.begin() + c.offset, pool_.begin() + c.offset + c.size);
            c.offset = at;
        }
        pool_.swap(fresh);
        wasted_ = 0;
    }
}

}  // namespace boomslang::engine
