// Guess, simulate, repair: the search for an order that explains a trace.
//
// An accepting answer *is* an order of the points: it fixes every version order and every read's writer.
// So the engine guesses one (guess.cpp), replays it key by key (simulate.cpp), and only where the replay
// fails makes the clause that was violated and decides one of its literals (repair.cpp). The rest is
// conflict-driven clause learning (search.cpp) over three kinds of unknowns: which of two points comes
// first, which candidate a read took, and whether a transaction of unknown outcome committed. A cycle in
// the order's graph is a conflict between the literals on it. Variables whose constraint the order
// satisfies anyway are never made, let alone decided. When the answer is no, core.cpp walks the proof
// back to the transactions and reads that were used.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "hash_map.hpp"
#include "common/limits.hpp"
#include "order.hpp"
#include "problem.hpp"
#include "saturate.hpp"

namespace boomslang::engine {

struct Stats {
    int64_t decisions = 0, conflicts = 0, propagations = 0, restarts = 0, variables = 0, clauses = 0;
    int64_t learned = 0, removed = 0, moves = 0, guess_violations = 0, checks = 0;
    int64_t hints_dropped = 0;
    int64_t missed = 0;  // violations that only the last replay found; a bug in the bookkeeping, not in the answer
};

struct Answer {
    enum Status { VALID, INVALID, UNKNOWN } status = UNKNOWN;
    std::string reason;                 // of UNKNOWN
    std::vector<int32_t> order;         // VALID: the points of all transactions that are in, in order
    std::vector<int32_t> read_writer;   // VALID: of each read, the transaction it took (-1: initial state; -2: not in)
    std::vector<int32_t> initial;       // VALID: of each key, its initial value (where it was to be chosen)
    std::vector<int32_t> core_txns;     // INVALID: a superset of a minimal core
    std::vector<int32_t> core_reads;
    bool core_tracked = true;           // false: the proof log overflowed, the core is everything
};

struct Options {
    uint64_t proof_megabytes = 512;
    int64_t hint_conflicts = 20000;  // give the hints up after so many conflicts
    int64_t max_conflicts = 0;       // give up after so many; 0: never
};

class Engine {
public:
    // `saturation`, if given, is where the problem's known edges come from.
    Engine(const Problem& problem, Limits& limits, Options options, const Saturation* saturation = nullptr);
    Answer solve();
    Stats stats;
    int64_t pending() const { return int64_t(queue_.size()); }  // constraints still to look at

private:
    // --- guess.cpp
    bool guess(std::vector<int32_t>& stuck);
    bool guess_at_last(std::vector<int32_t>& stuck);
    void known_cycle(const std::vector<int32_t>& stuck, Answer& answer);
    bool drop_cyclic_hints(const std::vector<int32_t>& stuck);

    // --- simulate.cpp: what the current order says
    bool active(int32_t txn) const { return p_.state[txn] == MUST || active_[txn]; }
    int32_t write_pos(int32_t w) const { return order_.pos[order_.commit_of(p_.write_txn[w])]; }
    int32_t read_pos(int32_t r) const { return order_.pos[order_.begin_of(read_txn_[r])]; }
    void sweep();
    void build_lists();
    void after_move();
    struct Touched {  // a key that the last move touched, and a slot of its lists that moved (-1: none)
        uint32_t stamp = 0;
        int32_t reader = -1, writer = -1;
    };
    void touch_key(int32_t key, const Touched& touched, int32_t low, int32_t high);
    template <class Position>
    std::pair<int32_t, int32_t> resort(std::vector<int32_t>& list, std::vector<int32_t>& slot, int32_t begin, int32_t end,
                                       int32_t anchor, int32_t low, int32_t high, Position&& position);
    void dirty_readers(int32_t key, int32_t from_pos, int32_t to_pos);
    void enqueue_item(int32_t item);
    void dirty_read(int32_t r);
    void dirty_write(int32_t w);
    template <class Left>
    static int32_t gallop(const std::vector<int32_t>& list, int32_t begin, int32_t end, int32_t from, Left&& left_of);
    int32_t last_writer(int32_t r);
    int32_t writer_before(int32_t slot, int32_t begin, int32_t except) const;
    bool initial_matches(int32_t key, int32_t pattern);
    bool read_holds(int32_t r, int32_t& last);
    int32_t overlapping(int32_t w) const;
    void candidates(int32_t r, int64_t& low, int64_t& high) const;
    void set_active(int32_t txn, bool on);
    void dirty_initial_readers(int32_t key);

    // --- repair.cpp: from a violation to a clause and a decision
    enum class Repair { HOLDS, DECIDED, PROPAGATED, CONFLICT };
    // What a clause of the problem was made for, so that it is made once.
    enum Made : uint64_t { PASSED, PASSED_IF_TAKEN, TAKES, ONE_OF, OVERLAPS, PATH };
    static uint64_t clause_key(Made kind, int32_t a, int32_t b) {
        return uint64_t(kind) << 61 | uint64_t(uint32_t(a)) << 30 | uint64_t(uint32_t(b));
    }
    Repair repair(int32_t item);
    Repair repair_read(int32_t r);
    Repair repair_overlap(int32_t w);
    Repair act_on(int32_t clause);
    double cost(Lit l) const;
    Lit before(int32_t a, int32_t b);
    Lit committed(int32_t txn);
    Lit initial_is(int32_t key, int32_t pattern);
    int32_t read_from_vars(int32_t r);  // first variable; the candidates follow

    // --- paths.cpp: levels that forbid cycles with one anti-dependency
    enum class PathKind : uint8_t { KNOWN, READ, OVERWRITE };
    struct PathStep {
        int32_t from, to;
        PathKind kind;
        int32_t read;
    };
    struct PathNode {
        uint32_t stamp = 0;
        int32_t distance = 0, next = -1;
        PathKind kind = PathKind::KNOWN;
        int32_t read = -1;
        bool done = false;
    };
    int32_t takes_var(int32_t r, int32_t txn) const;
    int32_t source(int32_t r);
    int32_t suggested_source(int32_t r);
    bool unsure_source(int32_t r) const;
    bool misses_nobody(int32_t r) const;
    bool find_path(int32_t r, int32_t writer, std::vector<PathStep>& path);
    bool path_read_holds(int32_t r);
    Repair repair_path(int32_t r);
    int32_t path_log(const std::vector<int32_t>& reads, const std::vector<int32_t>& txns);
    void sweep_paths();
    void prepare_paths();
    std::vector<PathStep> path_;
    std::vector<PathNode> path_nodes_;
    std::vector<uint32_t> path_goal_;
    std::vector<int32_t> path_near_, path_far_;
    // Of each key: how often something changed that says whom its reads take. Of each read: how often it had, one more,
    // when it was last asked for, and what that was.
    std::vector<uint32_t> key_changes_, source_known_;
    std::vector<int32_t> source_;
    std::vector<uint32_t> missed_nobody_;
    void key_changed(int32_t key) {
        if (!key_changes_.empty()) ++key_changes_[size_t(key)];
    }
    std::vector<int64_t> path_in_start_;
    std::vector<int32_t> path_in_;
    uint32_t path_stamp_ = 0;

    // --- given.cpp: clauses that somebody added
    bool take_given();
    bool satisfied(Lit l);
    int32_t violated_given();
    bool given_read_holds(int32_t r, int32_t& last);
    std::vector<int32_t> given_;

    // --- search.cpp: clause learning
    enum Kind : uint8_t { ORDER, READ_FROM, COMMITTED, INITIAL, HINT };
    struct Var {
        Kind kind;
        int8_t value = 0;  // 1 true, -1 false, 0 open
        int32_t a, b;  // ORDER: nodes; READ_FROM: read, write (-1: initial); COMMITTED: txn; INITIAL: key, pattern; HINT: node
        int32_t level = 0;
        int32_t reason = -1;
        int32_t root = -1;  // log entry of its derivation, when it holds at level 0
        int32_t rests_on = -1;  // the hints that this derivation used, in hint_sets_
    };
    struct Clause {
        uint32_t offset;
        uint32_t size;
        int32_t log;
        uint32_t lbd : 30;
        uint32_t learned : 1;
        uint32_t deleted : 1;
        float activity;
    };
    struct Watch {
        int32_t clause;
        Lit blocker;
    };
    int32_t new_var(Kind kind, int32_t a, int32_t b);
    int8_t value(Lit l) const {
        int8_t v = vars_[size_t(l >> 1)].value;
        return (l & 1) ? int8_t(-v) : v;
    }
    int32_t add_clause(const std::vector<Lit>& lits, bool learned, int32_t log);
    void attach(int32_t c);
    void enqueue(Lit l, int32_t reason);
    bool propagate();      // false: conflict_ and conflict_log_ tell
    bool theory(Lit l);
    bool resolve_conflict();  // false: refuted
    void undo_to(size_t trail_size);
    void backtrack(int32_t level);
    Lit hint(int32_t node);
    void use_hints_of(const Var& v);
    void drop_hints(const std::vector<int32_t>& which);
    void look_where_it_failed();
    void reduce();
    int32_t level() const { return int32_t(trail_lim_.size()); }
    bool redundant(Lit l, uint32_t levels);

    // --- core.cpp: the proof log
    enum LogKind : uint8_t { READ_CLAUSE, OVERLAP_CLAUSE, PATH_CLAUSE, AXIOM, LEARNED, CYCLE };
    struct LogEntry {
        LogKind kind;
        uint32_t size;
        uint64_t start;
    };
    int32_t log(LogKind kind, const std::vector<int32_t>& data);
    void extract_core(Answer& answer);
    struct CoreParts {
        std::vector<uint8_t> txns, reads;
        HashMap derived;  // edges of the saturation that were opened already
        std::vector<const Saturation::Edge*> open;
    };
    void core_of_known_path(int32_t from, int32_t to, int32_t before_round, CoreParts& core);
    void core_add_edge(int32_t from, int32_t to, CoreParts& core);
    void core_finish(CoreParts& core, Answer& answer);

    // --- available.cpp: when all reads are weak and nothing is to be chosen, no search is needed
    bool only_weak() const;
    Answer available();
    void finish(Answer& answer);

    const Problem& p_;
    Limits& limits_;
    Options options_;
    const Saturation* saturation_;
    Order order_;
    int32_t reads_, writes_;
    std::vector<int32_t> read_txn_;
    std::vector<int32_t> write_key_;
    std::vector<int64_t> txn_write_start_;
    std::vector<int32_t> txn_writes_;
    std::vector<uint8_t> active_;
    std::vector<int32_t> chosen_init_;  // only when some initial value is unknown

    std::vector<int32_t> writers_;  // per key, by position (partitioned by p_.key_start, writer_count_ used)
    std::vector<int32_t> writer_count_;
    std::vector<int64_t> reader_start_;
    std::vector<int32_t> readers_;  // per key, by position
    std::vector<int32_t> reader_count_;
    bool weak_reads_ = false;
    bool lists_ = false;
    bool dig_ = false;  // deal with the consequences of a repair first
    std::deque<int32_t> queue_;  // 2 * read, 2 * write + 1
    std::vector<uint8_t> read_queued_, write_queued_;
    std::vector<int32_t> reader_slot_, writer_slot_;  // where in its list each read and write is
    std::vector<int32_t> seen_slot_;    // of each read: where the writers before it ended when it was last looked at
    std::vector<int32_t> near_reader_;  // of each write: a slot of the readers near it
    std::vector<Touched> touched_;
    uint32_t key_stamp_ = 0;
    std::vector<int32_t> touched_keys_;
    std::vector<int32_t> scratch_;

    std::vector<Var> vars_;
    std::vector<std::vector<Watch>> watches_;
    std::vector<Clause> clauses_;
    std::vector<Lit> pool_;
    std::vector<Lit> trail_;
    std::vector<int32_t> trail_lim_;
    size_t head_ = 0;      // literals of the trail whose clauses were looked at
    size_t in_order_ = 0;  // those whose edge is in the order; no fewer
    HashMap order_var_, repair_clause_, read_from_first_, initial_var_;
    std::vector<int32_t> committed_var_;
    std::vector<std::vector<int32_t>> initial_vars_of_;  // made on demand, few keys
    HashMap initial_group_;
    std::vector<Lit> conflict_;
    int32_t conflict_log_ = -1;
    HashMap hint_var_;  // of a node, that its hint is to be kept
    std::vector<int32_t> hint_vars_;
    std::vector<std::vector<int32_t>> hint_sets_;
    std::vector<int32_t> hints_used_;  // by what is being derived: variables, each marked
    std::vector<uint8_t> hint_marked_;
    void forget_hints_used(size_t from) {
        for (size_t i = from; i < hints_used_.size(); ++i) hint_marked_[size_t(hints_used_[i])] = 0;
        hints_used_.resize(from);
    }
    static constexpr int32_t SHORT = 2000;  // transactions
    int32_t hint_failures_ = 0;
    std::vector<Lit> learnt_, clause_scratch_;
    std::vector<uint8_t> seen_;
    std::vector<int32_t> to_clear_, antecedents_;
    std::vector<Lit> redundant_stack_;
    float activity_step_ = 1;
    int64_t live_learned_ = 0, next_reduce_ = 4000;
    uint64_t wasted_ = 0;
    double lbd_fast_ = 0, lbd_slow_ = 0;
    int64_t conflicts_at_restart_ = 0;

    std::vector<LogEntry> log_;
    std::vector<int32_t> log_data_;
    bool log_full_ = false;
    int32_t final_log_ = -1;
};

}  // namespace boomslang::engine
