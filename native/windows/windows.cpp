#include "windows.hpp"

#include <algorithm>

#include "parallel.hpp"

namespace boomslang {

uint64_t Windows::Window::hash() const {
    uint64_t h = 14695981039346656037u;
    auto add = [&](int64_t number) { h = (h ^ uint64_t(number)) * 1099511628211u; };
    for (int32_t value : start) add(value);
    for (const Demand& d : final) add(d.key), add(d.pattern);
    return h;
}

Windows::Step Windows::solve(bool stop, int jobs, Options options, Limits& limits) {
    Step step;
    std::vector<std::vector<int32_t>> open;
    while (true) {
        std::vector<size_t> fresh;
        for (size_t w = 0; w < windows_.size(); ++w)
            if (!windows_[w].made) fresh.push_back(w);
        spanning(open);
        parallel(jobs, fresh.size(), limits, [&](size_t i, Scratch& scratch, Limits&) {
            Window& window = windows_[fresh[i]];
            int32_t low = bounds_[fresh[i]], high = bounds_[fresh[i] + 1];
            std::span<const int32_t> points(sequence_.data() + low, size_t(high - low));
            window.part = Part(whole_, points, open[fresh[i]], place_, scratch);
            window.made = true;
        });
        if (fit()) break;
    }
    for (Window& window : windows_)  // those that would be given something else now are asked again
        if (window.solved && window.given != window.hash()) window.solved = false;
    stats.windows = windows();
    stats.largest = 0;
    for (const Window& window : windows_) stats.largest = std::max(stats.largest, int64_t(window.part.size()));

    std::vector<size_t> todo;
    for (size_t w = 0; w < windows_.size(); ++w)
        if (!windows_[w].solved) todo.push_back(w);
    std::vector<std::optional<Solved>> failed(todo.size());
    std::vector<Stats> counted(todo.size());
    std::atomic<bool> enough = false;
    parallel(jobs, todo.size(), limits, [&](size_t i, Scratch& scratch, Limits& own) {
        if (enough || hard_) return;
        Window& window = windows_[todo[i]];
        Solved solved = window.part.solve(whole_, window.start, window.final, place_, false, options, own, scratch);
        counted[i] = solved.stats;
        if (hopeless(solved.status == Answer::UNKNOWN)) return;
        if (solved.status == Answer::VALID) {
            window.order = std::move(solved.order), window.initial = std::move(solved.initial);
            window.given = window.hash();
            window.solved = true;
        } else {
            if (stop && solved.status == Answer::INVALID) enough = true;
            failed[i] = std::move(solved);
        }
    });
    for (const Stats& s : counted) stats.conflicts += s.conflicts, stats.decisions += s.decisions;
    stats.solved += int64_t(todo.size());
    for (size_t i = 0; i < todo.size(); ++i)
        if (failed[i]) step.failed.push_back(int32_t(todo[i])), step.why.push_back(std::move(*failed[i]));
    if (!step.failed.empty() || hard_) return step;

    step.order.reserve(sequence_.size());
    step.initial = chosen_;
    for (Window& window : windows_) {
        step.order.insert(step.order.end(), window.order.begin(), window.order.end());
        step.initial.insert(step.initial.end(), window.initial.begin(), window.initial.end());
    }
    step.misfit = !explains(step.order, step.initial);
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

}  // namespace boomslang
