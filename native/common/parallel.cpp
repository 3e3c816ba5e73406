// Threads that take the next piece until there is none, and what one of them threw.
#include "common/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace boomslang {

void in_parallel(int jobs, size_t count, Limits& limits, const std::function<void(size_t, int, Limits&)>& work) {
    std::atomic<size_t> next = 0;
    std::atomic<bool> stop = false;
    int running = 0;
    std::mutex mutex;
    std::condition_variable ended;  // one of the others has
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
    auto count_down = [&] {
        const std::lock_guard lock(mutex);
        --running;
        ended.notify_one();
    };
    for (int j = 1; j < jobs && size_t(j) < count; ++j) {
        {
            const std::lock_guard lock(mutex);
            ++running;
        }
        try {
            threads.emplace_back([&, j] {
                Limits own;
                own.tick = [&] { return !stop; };
                loop(own, j);
                count_down();
            });
        } catch (const std::system_error&) {
            count_down();
            break;  // no more threads to be had
        }
    }
    loop(limits, 0);
    try {
        std::unique_lock lock(mutex);
        while (!ended.wait_for(lock, std::chrono::microseconds(500), [&] { return running == 0 || stop; })) {
            lock.unlock();
            limits.step(20001);
            lock.lock();
        }
    } catch (...) {
        if (!told.exchange(true)) problem = std::current_exception();
        stop = true;
    }
    for (std::thread& thread : threads) thread.join();
    if (problem) std::rethrow_exception(problem);
}

void in_pieces(int jobs, size_t rows, const std::function<void(size_t, size_t)>& work) {
    constexpr size_t worthwhile = 1 << 16;
    const size_t pieces = std::clamp<size_t>(rows / worthwhile, 1, jobs > 1 ? 8 * size_t(jobs) : 1);
    Limits none;
    in_parallel(jobs, pieces, none, [&](size_t piece, int, Limits&) {
        work(rows * piece / pieces, rows * (piece + 1) / pieces);
    });
}

}  // namespace boomslang
