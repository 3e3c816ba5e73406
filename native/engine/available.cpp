// When no search is needed: all reads are weak (read committed), no initial value is to be chosen, and no known edge
// leaves a transaction that may not have happened (a module's may: the edge stays when the transaction goes).
//
// A weak read asks only that some candidate comes before it, so placing a transaction can never harm another:
// take every transaction as soon as each of its reads has a candidate that was taken, and all known edges into it
// are satisfied. Stuck means invalid, and whatever keeps one stuck transaction from being taken is the core.
#include <algorithm>

#include "engine.hpp"

namespace boomslang::engine {

bool Engine::only_weak() const {
    return p_.points == 1 && chosen_init_.empty() && p_.clause_start.empty() &&
           std::none_of(p_.read_strong.begin(), p_.read_strong.end(), [](uint8_t s) { return s; }) &&
           std::none_of(p_.edge_from.begin(), p_.edge_from.end(), [&](int32_t f) {
               return order_.txn_of(f) >= 0 && p_.state[order_.txn_of(f)] == MAY;
           });
}

Answer Engine::available() {
    Answer answer;
    // Reads wait at the first write of their (key, value), or at the key's when any present value will do.
    std::vector<int32_t> head(size_t(writes_), -1), head_present(size_t(p_.keys), -1), next(size_t(reads_), -1);
    std::vector<uint8_t> taken(size_t(order_.nodes()), 0), satisfied(size_t(reads_), 0);
    std::vector<int32_t> missing(size_t(order_.nodes()), 0);
    std::vector<int32_t> first_of, source(size_t(reads_), -2);
    first_of.resize(size_t(writes_));
    for (int32_t k = 0; k < p_.keys; ++k)
        for (int64_t w = p_.key_start[k]; w < p_.key_start[k + 1]; ++w)
            first_of[size_t(w)] = w > p_.key_start[k] && p_.write_value[w] == p_.write_value[w - 1] ? first_of[size_t(w - 1)] : int32_t(w);
    for (size_t i = 0; i < p_.edge_from.size(); ++i) ++missing[size_t(p_.edge_to[i])];
    for (int32_t r = 0; r < reads_; ++r) {
        int32_t t = read_txn_[size_t(r)], key = p_.read_key[r];
        if (p_.state[t] == OUT) continue;
        if (matches(p_.init[key], p_.read_value[r])) {
            satisfied[size_t(r)] = 1;
            source[size_t(r)] = -1;
            continue;
        }
        ++missing[size_t(t)];
        int64_t low, high;
        candidates(r, low, high);
        if (low == high) continue;
        int32_t& h = p_.read_value[r] == PRESENT ? head_present[size_t(key)] : head[size_t(low)];
        next[size_t(r)] = h;
        h = r;
    }
    // The known edges in the graph hold those of single candidates too; those are counted as reads here.
    std::vector<int64_t> edge_start(size_t(order_.nodes()) + 1, 0);
    std::vector<int32_t> edge_to(p_.edge_to.size());
    for (int32_t f : p_.edge_from) ++edge_start[size_t(f) + 1];
    for (int32_t v = 0; v < order_.nodes(); ++v) edge_start[size_t(v) + 1] += edge_start[size_t(v)];
    {
        std::vector<int64_t> at(edge_start.begin(), edge_start.end() - 1);
        for (size_t i = 0; i < p_.edge_from.size(); ++i) edge_to[size_t(at[size_t(p_.edge_from[i])]++)] = p_.edge_to[i];
    }
    std::vector<int32_t> queue;
    auto out = [&](int32_t node) { return order_.txn_of(node) >= 0 && p_.state[order_.txn_of(node)] == OUT; };
    auto arrive = [&](int32_t node) {
        if (--missing[size_t(node)] == 0 && !out(node)) queue.push_back(node);
    };
    auto satisfy = [&](int32_t& list, int32_t by) {
        for (int32_t r = list; r >= 0; r = next[size_t(r)]) {
            satisfied[size_t(r)] = 1;
            source[size_t(r)] = by;
            arrive(read_txn_[size_t(r)]);
        }
        list = -1;
    };
    for (int32_t v = 0; v < order_.nodes(); ++v)
        if (missing[size_t(v)] == 0 && !out(v)) queue.push_back(v);
    for (size_t i = 0; i < queue.size(); ++i) {
        limits_.step(16);
        int32_t node = queue[i], t = order_.txn_of(node);
        taken[size_t(node)] = 1;
        for (int64_t e = edge_start[size_t(node)]; e < edge_start[size_t(node) + 1]; ++e) arrive(edge_to[size_t(e)]);
        if (t < 0) continue;
        answer.order.push_back(node);
        for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j) {
            int32_t w = txn_writes_[size_t(j)];
            satisfy(head[size_t(first_of[size_t(w)])], t);
            if (p_.write_value[w] != ABSENT) satisfy(head_present[size_t(write_key_[size_t(w)])], t);
        }
    }
    int32_t stuck = -1;
    for (int32_t t = 0; t < p_.txns && stuck < 0; ++t)
        if (p_.state[t] == MUST && !taken[size_t(t)]) stuck = t;
    if (stuck < 0) {
        answer.status = Answer::VALID;
        answer.read_writer = std::move(source);
        for (int32_t r = 0; r < reads_; ++r)
            if (!taken[size_t(read_txn_[size_t(r)])]) answer.read_writer[size_t(r)] = -2;
        answer.initial.assign(p_.init.begin(), p_.init.end());
        return answer;
    }
    answer.status = Answer::INVALID;
    std::vector<uint8_t> seen(size_t(order_.nodes()), 0);
    std::vector<int32_t> stack{stuck};
    seen[size_t(stuck)] = 1;
    auto follow = [&](int32_t node) {
        if (!seen[size_t(node)]) seen[size_t(node)] = 1, stack.push_back(node);
    };
    while (!stack.empty()) {
        int32_t node = stack.back(), t = order_.txn_of(node);
        stack.pop_back();
        if (t >= 0) answer.core_txns.push_back(t);
        bool by_read = false;
        for (int64_t r = t < 0 ? 0 : p_.read_start[t]; t >= 0 && r < p_.read_start[t + 1]; ++r) {
            if (satisfied[size_t(r)]) continue;
            by_read = true;
            answer.core_reads.push_back(int32_t(r));
            int64_t low, high;
            candidates(int32_t(r), low, high);
            for (int64_t w = low; w < high; ++w)
                if (p_.write_txn[w] != t && p_.state[p_.write_txn[w]] != OUT) follow(p_.write_txn[w]);
            break;
        }
        int32_t from = -1;
        if (!by_read)
            order_.known_in(node, [&](int32_t f) {
                if (!taken[size_t(f)]) from = f;
            });
        if (from >= 0) follow(from);
    }
    return answer;
}

// Fills in what the accepted order says: the points of everybody who is in, and each read's writer.
void Engine::finish(Answer& answer) {
    answer.status = Answer::VALID;
    std::vector<int32_t> last(size_t(p_.keys), -1);
    answer.read_writer.assign(size_t(reads_), -2);
    for (int32_t i = 0; i < order_.nodes(); ++i) {
        int32_t node = order_.at[size_t(i)], t = order_.txn_of(node);
        if (t < 0 || p_.state[t] == OUT || !active(t)) continue;
        limits_.step(8);
        answer.order.push_back(node);
        if (node == order_.begin_of(t))
            for (int64_t r = p_.read_start[t]; r < p_.read_start[t + 1]; ++r) {
                if (p_.path.on || !given_.empty()) {
                    answer.read_writer[size_t(r)] = source(int32_t(r));
                    continue;
                }
                int32_t key = p_.read_key[r], w = last[size_t(key)];
                bool fits = w >= 0 ? matches(p_.write_value[w], p_.read_value[r]) : initial_matches(key, p_.read_value[r]);
                if (!fits && !initial_matches(key, p_.read_value[r])) {  // a weak read: any candidate before it
                    int64_t low, high;
                    candidates(int32_t(r), low, high);
                    for (w = int32_t(low); w < int32_t(high); ++w) {
                        int32_t other = p_.write_txn[w];
                        if (other != t && p_.state[other] != OUT && active(other) && write_pos(w) < i) break;
                    }
                } else if (!fits) {
                    w = -1;
                }
                answer.read_writer[size_t(r)] = w < 0 ? -1 : p_.write_txn[w];
            }
        if (node == order_.commit_of(t))
            for (int64_t j = txn_write_start_[size_t(t)]; j < txn_write_start_[size_t(t) + 1]; ++j)
                last[size_t(write_key_[size_t(txn_writes_[size_t(j)])])] = txn_writes_[size_t(j)];
    }
    answer.initial.assign(p_.init.begin(), p_.init.end());
    for (size_t k = 0; k < chosen_init_.size(); ++k)
        if (p_.init[k] == UNKNOWN_INIT) answer.initial[k] = chosen_init_[k];
}

}  // namespace boomslang::engine
