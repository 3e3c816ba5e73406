// The core: which transactions and reads the refutation used.
//
// Every clause has an entry in a log: a clause of the problem says which read or which pair of writers it came
// from, a learned one which entries it was resolved from, a cycle which literals lay on it. Walking back from the
// final conflict gives the parts of the problem that were used. The known edges between the literals of a cycle are
// not logged (paths may be long, and most conflicts do not matter in the end): the known graph never changes, so a
// shortest known path is found again here. What comes out is refuted, but not minimal; the caller shrinks it.
#include <algorithm>
#include <stdexcept>

#include "engine.hpp"

namespace boomslang::engine {

int32_t Engine::log(LogKind kind, const std::vector<int32_t>& data) {
    if (log_full_) return 0;
    if ((log_data_.size() + log_.size() * 4) * 4 > options_.proof_megabytes * 1000000) {
        log_full_ = true;
        log_data_ = {};
        return 0;
    }
    log_.push_back({kind, uint32_t(data.size()), log_data_.size()});
    log_data_.insert(log_data_.end(), data.begin(), data.end());
    return int32_t(log_.size()) - 1;
}

void Engine::core_add_edge(int32_t from, int32_t to, CoreParts& core) {
    int32_t a = order_.txn_of(from), b = order_.txn_of(to);
    if (a >= 0) core.txns[size_t(a)] = 1;
    if (b >= 0) core.txns[size_t(b)] = 1;
    if (a < 0 || b < 0 || a == b) return;
    for (int64_t r = p_.read_start[b]; r < p_.read_start[b + 1]; ++r)
        if (p_.read_writer[r] == a && p_.state[b] == MUST && to == order_.begin_of(b) && from == order_.commit_of(a)) {
            core.reads[size_t(r)] = 1;
            return;
        }
    if (const Saturation::Edge* edge = saturation_ ? saturation_->find(from, to) : nullptr) core.open.push_back(edge);
}

void Engine::core_of_known_path(int32_t from, int32_t to, int32_t before_round, CoreParts& core) {
    if (from == to) return;
    std::vector<int32_t> queue{from};
    std::vector<int32_t> parent(size_t(order_.nodes()), -1);
    parent[size_t(from)] = from;
    for (size_t i = 0; i < queue.size() && parent[size_t(to)] < 0; ++i) {
        auto go = [&, at = queue[i]](int32_t next, const Saturation::Edge* edge) {
            if (parent[size_t(next)] >= 0) return;
            if (edge && edge->round >= before_round) return;  // it was not there yet
            parent[size_t(next)] = at;
            queue.push_back(next);
        };
        order_.known_out(queue[i], [&, at = queue[i]](int32_t next) {
            if (parent[size_t(next)] < 0) go(next, saturation_ ? saturation_->kept(at, next) : nullptr);
        });
        if (saturation_) saturation_->dropped_out(queue[i], [&](const Saturation::Edge& edge) { go(edge.to, &edge); });
    }
    if (parent[size_t(to)] < 0) return;
    for (int32_t n = to; n != from; n = parent[size_t(n)]) core_add_edge(parent[size_t(n)], n, core);
}

// Opens the derived edges that were used, until only reads and transactions are left.
void Engine::core_finish(CoreParts& core, Answer& answer) {
    while (!core.open.empty()) {
        const Saturation::Edge* e = core.open.back();
        core.open.pop_back();
        int32_t& seen = core.derived[uint64_t(uint32_t(e->from)) << 32 | uint32_t(e->to)];
        if (seen >= 0) continue;
        seen = 1;
        core.txns[size_t(e->a)] = core.txns[size_t(e->b)] = 1;
        if (e->read >= 0) core.reads[size_t(e->read)] = 1;
        if (e->path_from >= 0) core_of_known_path(e->path_from, e->path_to, e->round, core);
    }
    answer.status = Answer::INVALID;
    for (int32_t t = 0; t < p_.txns; ++t)
        if (core.txns[size_t(t)]) answer.core_txns.push_back(t);
    for (int32_t r = 0; r < reads_; ++r)
        if (core.reads[size_t(r)]) answer.core_reads.push_back(r);
}

void Engine::extract_core(Answer& answer) {
    CoreParts core;
    auto &txns = core.txns, &reads = core.reads;
    txns.assign(size_t(p_.txns), log_full_);
    reads.assign(size_t(reads_), log_full_);
    if (log_full_) {
        answer.core_tracked = false;
    } else {
        std::vector<uint8_t> seen(log_.size(), 0);
        std::vector<int32_t> stack{final_log_};
        HashMap paths;
        while (!stack.empty()) {
            int32_t id = stack.back();
            stack.pop_back();
            if (id < 0 || seen[size_t(id)]) continue;
            seen[size_t(id)] = 1;
            limits_.step(4);
            LogEntry e = log_[size_t(id)];
            const int32_t* data = log_data_.data() + e.start;
            switch (e.kind) {
                case LEARNED:
                    stack.insert(stack.end(), data, data + e.size);
                    break;
                case READ_CLAUSE:
                    reads[size_t(data[0])] = 1;
                    txns[size_t(read_txn_[size_t(data[0])])] = 1;
                    for (uint32_t i = 1; i < e.size; ++i) txns[size_t(data[i])] = 1;
                    break;
                case PATH_CLAUSE:
                    for (int32_t i = 1; i <= data[0]; ++i) {
                        reads[size_t(data[i])] = 1;
                        txns[size_t(read_txn_[size_t(data[i])])] = 1;
                    }
                    for (uint32_t i = uint32_t(data[0]) + 1; i < e.size; ++i) txns[size_t(data[i])] = 1;
                    break;
                case OVERLAP_CLAUSE:
                    txns[size_t(data[0])] = txns[size_t(data[1])] = 1;
                    break;
                case CYCLE:
                    if (data[e.size - 1] < 0) throw std::logic_error("a refutation rests on a hint");
                    for (uint32_t i = 0; i < e.size; ++i) {
                        const Var& x = vars_[size_t(data[i] >> 1)];
                        const Var& y = vars_[size_t(data[(i + 1) % e.size] >> 1)];
                        if (x.kind != ORDER || y.kind != ORDER) continue;
                        int32_t leaves = (data[i] & 1) ? x.a : x.b;
                        int32_t enters = (data[(i + 1) % e.size] & 1) ? y.b : y.a;
                        int32_t& done = paths[uint64_t(uint32_t(leaves)) << 32 | uint32_t(enters)];
                        if (done >= 0) continue;
                        done = 1;
                        core_of_known_path(leaves, enters, INT32_MAX, core);
                    }
                    break;
                case AXIOM:
                    break;
            }
        }
    }
    core_finish(core, answer);
}

}  // namespace boomslang::engine
