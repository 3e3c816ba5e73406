// Threads that take the next piece until there is none, and what one of them threw.
#include "common/parallel.hpp"

#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace boomslang {

void in_parallel(int jobs, size_t count, Limits& limits, const std::function<void(size_t, int, Limits&)>& work) {
    std::atomic<size_t> next = 0;
    std::atomic<bool> stop = false;
    std::atomic<int> running = 0;
    std::exception_ptr problem;
    std::atomic<bool> told = false;
    auto loop = [&](Limits& own, int thread) {
        try {
            for (size_t i; !stop && (i = next++) < count;) work(i, thread, own);
        } catch (...) {
            if (!told.exchange(true)) problem = std::current_exception();
            stop = true;
        }
    };
    std::vector<std::thread> threads;
    for (int j = 1; j < jobs && size_t(j) < count; ++j) {
        ++running;
        try {
            threads.emplace_back([&, j] {
                Limits own;
                own.tick = [&] { return !stop; };
                loop(own, j);
                --running;
            });
        } catch (const std::system_error&) {
            --running;
            break;  // no more threads to be had
        }
    }
    loop(limits, 0);
    try {
        while (running > 0 && !stop) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
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
