// A loop over independent pieces of work, on several cores.
//
// The calling thread works too, and is the one that looks at the clock, at the memory and for Ctrl-C; what stops it
// stops the others. Each thread has a number, for scratch arrays of its own, and its own counter of steps.
#pragma once
#include <cstddef>
#include <functional>

#include "common/limits.hpp"

namespace boomslang {

// Calls work(i, number of the thread, limits) for each i below `count`. No template: a piece takes far longer than a
// call, and starting and ending threads takes the compiler a while for each kind of work.
void in_parallel(int jobs, size_t count, Limits& limits, const std::function<void(size_t, int, Limits&)>& work);

// Calls work(from, until) for parts of so many rows, several at a time; more parts than threads, as one thread may be slower
// than another.
void in_pieces(int jobs, size_t rows, const std::function<void(size_t, size_t)>& work);

}  // namespace boomslang
