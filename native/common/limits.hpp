// Time, memory and Ctrl-C: one object that every long loop asks now and then.
//
// `step()` is a counter and costs nothing; each few thousand steps it looks at the clock, and about
// twenty times a second it calls `tick`, where the binding looks for signals and reports progress.
#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <unistd.h>

namespace boomslang {

struct Stopped {
    std::string reason;  // "time", "memory" or "interrupt"
};

inline double resident_megabytes() {
    long pages = 0, resident = 0;
    if (FILE* f = std::fopen("/proc/self/statm", "r")) {
        if (std::fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
        std::fclose(f);
    }
    return double(resident) * double(sysconf(_SC_PAGESIZE)) / 1e6;
}

class Limits {
public:
    using Clock = std::chrono::steady_clock;
    // 0: none
    explicit Limits(double seconds = 0, double megabytes = 0) : seconds_(seconds), megabytes_(megabytes) {}
    std::function<bool()> tick;  // called about twenty times a second; returns false to interrupt

    void step(uint32_t cost = 1) {
        budget_ -= int64_t(cost);
        if (budget_ < 0) look();
    }

private:
    double seconds_, megabytes_;
    void look() {
        budget_ = 20000;
        auto now = Clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        if (seconds_ > 0 && std::chrono::duration<double>(now - start_).count() > seconds_) throw Stopped{"time"};
        if (megabytes_ > 0 && resident_megabytes() > megabytes_) throw Stopped{"memory"};
        if (tick && !tick()) throw Stopped{"interrupt"};
    }
    int64_t budget_ = 20000;
    Clock::time_point start_ = Clock::now();
    Clock::time_point last_ = Clock::now();
};

}  // namespace boomslang
