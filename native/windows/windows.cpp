#include "windows.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace boomslang::windows {

void Windows::parallel(int jobs, size_t count, Limits& limits, const std::function<void(size_t, Scratch&, Limits&)>& work) {
    while (scratch_.size() < size_t(std::max(1, jobs))) scratch_.push_back(std::make_unique<Scratch>(whole_));
    in_parallel(jobs, count, limits, [&](size_t i, int thread, Limits& own) { work(i, *scratch_[size_t(thread)], own); });
}

// What is demanded counts, not by which read or in which order.
uint64_t Windows::Window::hash(const Whole& whole) const {
    uint64_t h = 14695981039346656037u, all = 0;
    for (int32_t value : start) h = (h ^ uint64_t(uint32_t(value))) * 1099511628211u;
    for (const Demand& d : final(whole)) {
        uint64_t one = (uint64_t(uint32_t(d.key)) << 32 | uint32_t(d.pattern)) * 0x9E3779B97F4A7C15u;
        all += (one ^ one >> 29) * 0xBF58476D1CE4E5B9u;
    }
    return h ^ all;
}

void Windows::Window::leave(const Whole& whole, const Demand& demand) {
    bool plain = demand.read >= 0 && Demand::of(whole, demand.read) == demand;
    if (plain) final_reads.push_back(demand.read);
    else final_others.push_back(demand);
}

std::vector<Demand> Windows::Window::final(const Whole& whole) const {
    std::vector<Demand> all(final_others);
    all.reserve(all.size() + final_reads.size());
    for (int64_t read : final_reads) all.push_back(Demand::of(whole, read));
    return all;
}

Windows::Step Windows::solve(int stop, int jobs, Options options, Limits& limits) {
    Step step;
    while (!fit(jobs, limits)) {
    }
    if (unmet_) return step;  // and nothing to join: not for windows to decide
    for (Window& window : windows_)  // those that would be given something else now are asked again
        if (window.solved && window.given != window.hash(whole_)) window.solved = false;
    stats.windows = windows();
    stats.largest = 0;
    for (const Window& window : windows_) stats.largest = std::max(stats.largest, int64_t(window.size));

    std::vector<size_t> todo;
    for (size_t w = 0; w < windows_.size(); ++w)
        if (!windows_[w].solved) todo.push_back(w);
    std::vector<std::optional<Solved>> failed(todo.size());
    std::vector<Stats> counted(todo.size());
    Refuted counts;
    parallel(jobs, todo.size(), limits, [&](size_t i, Scratch& scratch, Limits& own) {
        if (counts.enough(stop) || hard_) return;
        Window& window = windows_[todo[i]];
        const bool kept = window.made;
        if (!kept) window.part = part_of(int32_t(todo[i]), scratch);
        Solved solved = window.part.solve(whole_, window.start, window.final(whole_), place_, false, options, own, scratch);
        if (!kept) window.part = Part();
        counted[i] = solved.stats;
        if (hopeless(solved.status == Answer::UNKNOWN)) return;
        ++counts.answers;
        if (solved.status == Answer::VALID) {
            window.order = std::move(solved.order), window.initial = std::move(solved.initial);
            window.given = window.hash(whole_);
            window.solved = true;
        } else {
            counts.refuted += solved.status == Answer::INVALID;
            failed[i] = std::move(solved);
        }
    });
    for (const Stats& s : counted) stats.conflicts += s.conflicts, stats.decisions += s.decisions;
    stats.solved += counts.answers;
    step.broken = counts.enough(stop);
    for (size_t i = 0; i < todo.size(); ++i)
        if (failed[i]) step.failed.push_back(int32_t(todo[i])), step.why.push_back(std::move(*failed[i]));
    if (!step.failed.empty() || hard_) return step;

    step.order.reserve(sequence_.size());
    step.initial = chosen_;
    for (Window& window : windows_) {
        step.order.insert(step.order.end(), window.order.begin(), window.order.end());
        step.initial.insert(step.initial.end(), window.initial.begin(), window.initial.end());
        window.order = {}, window.start = {};  // nobody asks this window again
    }
    step.misfit = !explains(step.order, step.initial, jobs);
    step.status = step.misfit ? Answer::UNKNOWN : Answer::VALID;
    return step;
}

bool Windows::hopeless(bool unknown) {
    int32_t answers = ++answers_, none = unknown_ += unknown;
    if (none >= 3 && none * 5 > answers) hard_ = true;
    return hard_;
}

bool Windows::join(const std::vector<int32_t>& failed) {
    joins_.assign(bounds_.size(), 0);
    for (int32_t w : failed) {
        int32_t width = bounds_[size_t(w) + 1] - bounds_[size_t(w)];
        int32_t first = window_at(std::max(0, bounds_[size_t(w)] - width / 2 - 1));
        int32_t last = window_at(std::min(bounds_.back() - 1, bounds_[size_t(w) + 1] + width / 2));
        if (first < last) conflict(first, last);
    }
    return apply_joins();
}

}  // namespace boomslang::windows
