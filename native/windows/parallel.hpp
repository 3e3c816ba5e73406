// A loop over independent pieces of work, on several cores.
//
// The calling thread works too, and is the one that looks at the clock, at the memory and for Ctrl-C; what stops it
// stops the others. Each thread has its own scratch arrays and its own counter of steps.
#pragma once
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "windows.hpp"

namespace boomslang {

template <class F>
void Windows::parallel(int jobs, size_t count, Limits& limits, F&& work) {
    std::atomic<size_t> next = 0;
    std::atomic<bool> stop = false;
    std::atomic<int> running = 0;
    std::exception_ptr problem;
    std::atomic<bool> told = false;
    while (scratch_.size() < size_t(std::max(1, jobs))) scratch_.push_back(std::make_unique<Scratch>(whole_));
    auto loop = [&](Limits& own, Scratch& scratch) {
        try {
            for (size_t i; !stop && (i = next++) < count;) work(i, scratch, own);
        } catch (...) {
            if (!told.exchange(true)) problem = std::current_exception();
            stop = true;
        }
    };
    std::vector<std::thread> threads;
    for (int j = 1; j < jobs && size_t(j) < count; ++j) {
        ++running;
        threads.emplace_back([&, j] {
            Limits own;
            own.tick = [&] { return !stop; };
            loop(own, *scratch_[size_t(j)]);
            --running;
        });
    }
    loop(limits, *scratch_[0]);
    try {
        while (running > 0 && !stop) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            limits.step(20001);
        }
    } catch (...) {
        if (!told.exchange(true)) problem = std::current_exception();
        stop = true;
    }
    for (std::thread& thread : threads) thread.join();
    if (problem) std::rethrow_exception(problem);
}

}  // namespace boomslang
