#include "depths.hpp"

#include <algorithm>

namespace boomslang::engine {

namespace {

class Depths {
public:
    Depths(const Problem& problem, Limits& limits) : p_(problem), limits_(limits), nodes_(p_.txns * p_.points + p_.helpers) {
        in_start_.assign(size_t(nodes_) + 1, 0);
        const bool hints = !p_.hint_next.empty();
        if (hints) hinted_.assign(size_t(nodes_), -1);
        for (int32_t v = 0; hints && v < nodes_; ++v)
            if (p_.hint_next[v] >= 0) hinted_[size_t(p_.hint_next[v])] = v;
        for (int32_t to : p_.edge_to) ++in_start_[size_t(to) + 1];
        for (int32_t v = 0; v < nodes_; ++v) in_start_[size_t(v) + 1] += in_start_[size_t(v)];
        in_.resize(p_.edge_to.size());
        std::vector<int64_t> at(in_start_.begin(), in_start_.end() - 1);
        for (size_t e = 0; e < p_.edge_to.size(); ++e) in_[size_t(at[size_t(p_.edge_to[e])]++)] = p_.edge_from[e];
    }

    std::vector<int32_t> order() {
        bool found = climb();
        if (!found && !hinted_.empty()) hinted_.clear(), found = climb();
        if (!found) return {};
        descend();
        return sorted();
    }

private:
    enum Look : uint8_t { NEW, OPEN, DONE };

    bool is_point(int32_t node) const { return node < p_.txns * p_.points; }
    bool is_out(int32_t node) const { return is_point(node) && p_.state[node / p_.points] == OUT; }
    int32_t commit_of(int32_t txn) const { return txn * p_.points + p_.points - 1; }

    // What must come before a node, one after the other: the `i`th, or -1 at the end. -2: nothing here, go on.
    int32_t before(int32_t node, int64_t i) const {
        if (i == 0) return hinted_.empty() ? -2 : hinted_[size_t(node)] < 0 ? -2 : hinted_[size_t(node)];
        --i;
        const int64_t known = in_start_[size_t(node) + 1] - in_start_[size_t(node)];
        if (i < known) return in_[size_t(in_start_[size_t(node)] + i)];
        i -= known;
        if (!is_point(node)) return -1;
        const int32_t t = node / p_.points;
        if (p_.points == 2 && node % 2 == 1) return i == 0 ? node - 1 : -1;
        if (p_.state[t] != MUST || i >= p_.read_start[t + 1] - p_.read_start[t]) return -1;
        const int32_t writer = p_.read_writer[p_.read_start[t] + i];
        return writer < 0 ? -2 : commit_of(writer);
    }
    template <class F>
    void all_before(int32_t node, F&& f) const {
        for (int64_t i = 0;; ++i) {
            const int32_t from = before(node, i);
            if (from == -1) return;
            if (from >= 0) f(from);
        }
    }

    // Depths, and an order in which everything stands behind what must come before it. False: there is a cycle.
    bool climb() {
        depth_.assign(size_t(nodes_), 0);
        std::vector<Look> look(size_t(nodes_), NEW);
        std::vector<std::pair<int32_t, int64_t>> path;  // a node, and how many of those before it were looked at
        climbed_.clear(), climbed_.reserve(size_t(nodes_));
        for (int32_t start = 0; start < nodes_; ++start) {
            if (look[size_t(start)] != NEW) continue;
            look[size_t(start)] = OPEN;
            path.push_back({start, 0});
            while (!path.empty()) {
                limits_.step();
                auto& [node, looked] = path.back();
                const int32_t from = before(node, looked++);
                if (from == -1) {
                    look[size_t(node)] = DONE;
                    climbed_.push_back(node);
                    path.pop_back();
                } else if (from >= 0 && look[size_t(from)] == NEW) {
                    --looked;  // come back to it when its depth is known
                    look[size_t(from)] = OPEN;
                    path.push_back({from, 0});
                } else if (from >= 0) {
                    if (look[size_t(from)] == OPEN) return false;
                    depth_[size_t(node)] = std::max(depth_[size_t(node)], depth_[size_t(from)] + 1);
                }
            }
        }
        return true;
    }

    void descend() {
        height_.assign(size_t(nodes_), 0);
        for (size_t i = climbed_.size(); i-- > 0;) {
            const int32_t node = climbed_[i], above = height_[size_t(node)] + 1;
            limits_.step(4);
            all_before(node, [&](int32_t from) { height_[size_t(from)] = std::max(height_[size_t(from)], above); });
        }
    }

    std::vector<int32_t> sorted() const {
        auto rank = [&](int32_t node) { return depth_[size_t(node)] - height_[size_t(node)]; };
        int32_t low = 0, high = 0;
        for (int32_t node : climbed_) low = std::min(low, rank(node)), high = std::max(high, rank(node));
        std::vector<int32_t> at(size_t(high - low) + 2, 0);
        auto counts = [&](int32_t node) { return is_point(node) && !is_out(node); };
        for (int32_t node : climbed_)
            if (counts(node)) ++at[size_t(rank(node) - low) + 1];
        for (size_t i = 1; i < at.size(); ++i) at[i] += at[i - 1];
        std::vector<int32_t> order(size_t(at.back()));
        for (int32_t node : climbed_)
            if (counts(node)) order[size_t(at[size_t(rank(node) - low)]++)] = node;
        return order;
    }

    const Problem& p_;
    Limits& limits_;
    const int32_t nodes_;
    std::vector<int32_t> hinted_;  // of each node the one that its session suggests before it, or -1; or empty
    std::vector<int64_t> in_start_;
    std::vector<int32_t> in_;
    std::vector<int32_t> depth_, height_, climbed_;
};

}  // namespace

std::vector<int32_t> order_by_depth(const Problem& problem, Limits& limits) { return Depths(problem, limits).order(); }

}  // namespace boomslang::engine
