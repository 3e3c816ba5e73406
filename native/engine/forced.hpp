// What the reads force: the weak levels without a search.
//
// Where every read has one possible writer, read committed (Biswas and Enea's too), read atomic and causal leave nothing to
// choose. Such a level forbids this, and cycles, and nothing else:
//
//   t read x from w, p wrote x as well, p is *visible* to t by a path of the level, and p comes after w.
//
// What is visible does not depend on the order: for read committed what t had read from before, for read atomic what it read
// from (or what its session did), for causal whatever a row of reads (and of session order) leads from. So "p before w" is a
// forced edge, and a trace satisfies the level if and only if the known and the forced edges have no cycle. (Biswas and Enea,
// "On the complexity of checking transactional consistency", OOPSLA 2019; that few of the forced edges suffice, and hence
// near-linear time: Moldrup and Pavlogiannis, "AWDIT: an optimal weak database isolation tester", PLDI 2025.)
//
// The first three levels look at one transaction at a time (forced.cpp). Causal looks far, and so it goes the engine's way:
// guess an order, and look only at reads that miss something in it (forced_causal.cpp).
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "common/limits.hpp"
#include "engine.hpp"
#include "problem.hpp"

namespace boomslang::engine {

class Forced {
public:
    Forced(const Problem& problem, Limits& limits) : p_(problem), limits_(limits) {}
    // Is the problem of the kind above? Only then may `solve` be asked.
    bool covers();
    Answer solve();

    enum Way { CHEAPER, MASKS, CLOCKS } way = CHEAPER;  // of step 3 in forced_causal.cpp; a choice for tests
    int64_t forced = 0, rounds = 0, missing = 0;  // edges, orders that were tried, reads that missed something in the first

private:
    struct Edge {
        int32_t from, to, read;  // read -1: known; else the read that would miss `from`'s version
    };
    struct Step {  // from one node back to another
        int32_t from, to, read;
        enum Kind : uint8_t { SESSION, READ, EXTRA } kind;
    };
    // Of each key, what the transaction at hand reads of it. `stamp` says whether it is that transaction's.
    struct Seen {
        int32_t stamp = -1;
        int32_t writer = -1, read = -1;            // the read that comes next
        int32_t other_writer = -1, other_read = -1;  // and the next after it from somebody else; -1: none
    };

    bool in(int32_t t) const { return p_.state[t] == MUST; }
    int32_t reader(int64_t read) const;
    void prepare();
    // False: a read of the initial version misses a visible one. Then answer has the core.
    bool force_committed(Answer& answer);
    bool force_atomic(Answer& answer);
    bool force(int32_t visible, int32_t writer, int32_t read, Answer& answer);
    bool writes(int32_t txn, int32_t key) const;
    template <class Each>
    void predecessors(int32_t t, bool extra, Each&& each) const;
    void index_extra();
    // Orders all transactions, keeping to `wish` where it can; false: there is a cycle, and answer has it.
    bool arrange(const std::vector<int32_t>& wish, std::vector<int32_t>& order, Answer& answer);
    void refute(std::vector<Step> cycle, Answer& answer);
    std::vector<Step> short_cycle(std::vector<Step> cycle);
    std::vector<Step> shortest(int32_t from, int32_t to, bool extra, int64_t& budget);
    void blame(int32_t from, int32_t read, std::vector<uint8_t>& txns, std::vector<uint8_t>& reads);
    void finish(const std::vector<uint8_t>& txns, const std::vector<uint8_t>& reads, Answer& answer) const;

    // --- forced_causal.cpp
    bool causal(std::vector<int32_t>& order, Answer& answer);
    void find_versions();
    bool guess(std::vector<int32_t>& order);
    void replay(const std::vector<int32_t>& order);
    struct Miss {
        int32_t read, reader, low, high;  // its writer's place and its reader's; those in between may be visible
    };
    struct Question {
        int32_t miss, at;  // is who stands at this place visible to the read that missed it?
    };
    bool force_misses(const std::vector<int32_t>& order, Answer& answer);
    bool known(const Miss& miss, int32_t p) const;
    std::pair<const int32_t*, const int32_t*> missed(const Miss& miss) const;
    double find_reach(const std::vector<int32_t>& order, std::vector<int32_t>& until);
    bool mask_misses(const std::vector<int32_t>& order, const std::vector<int32_t>& until, Answer& answer);
    void find_chains();
    double find_questions(const std::vector<int32_t>& order);
    std::pair<int32_t, int32_t> span_of(size_t group) const;
    bool clock_misses(const std::vector<int32_t>& order, Answer& answer);

    const Problem& p_;
    Limits& limits_;
    bool session_path_ = false;           // does session order make things visible?
    std::vector<int32_t> previous_;       // of each transaction: one that a known edge comes from, mostly its session's; -1: none
    std::vector<int32_t> write_start_, write_key_;  // what each transaction writes, by key
    std::vector<Edge> extra_;             // the other known edges, then the forced ones; sorted by `to` once indexed
    std::vector<int32_t> extra_start_;

    std::vector<int32_t> version_;        // of each read: the write it took, as an index of write_key_; or writes + key
    std::vector<int32_t> place_;          // of each transaction, in the order at hand
    std::vector<int32_t> old_place_;      // and in the one before
    std::vector<Miss> misses_;            // by `high`
    std::vector<int32_t> writer_places_;  // of each key, from key_start on: where its writers stand
    std::vector<int32_t> writer_count_;
    int32_t chains_ = 0;
    std::vector<Question> questions_;     // by group, and in it by the reader's place
    std::vector<size_t> group_;           // where the groups start
    std::vector<int32_t> hand_;           // of each chain: its hand, over all groups
    std::vector<int32_t> chain_, chain_place_;  // of each transaction: its row of session order, and where in it
    struct Search {
        uint32_t stamp = 0;
        int32_t towards = -1, read = -1;
        Step::Kind kind = Step::READ;
    };
    std::vector<Search> search_;
    uint32_t search_stamp_ = 0;
};

template <class Each>
void Forced::predecessors(int32_t t, bool extra, Each&& each) const {
    if (previous_[size_t(t)] >= 0 && (extra || session_path_)) each(Step{previous_[size_t(t)], t, -1, Step::SESSION});
    for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r)
        if (p_.read_writer[r] >= 0) each(Step{p_.read_writer[r], t, int32_t(r), Step::READ});
    if (extra)
        for (int32_t i = extra_start_[size_t(t)]; i < extra_start_[size_t(t) + 1]; ++i)
            each(Step{extra_[size_t(i)].from, t, extra_[size_t(i)].read, Step::EXTRA});
}

}  // namespace boomslang::engine
