// What every binding needs: arrays in and out without copies, and a native call that can be stopped.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/limits.hpp"

namespace boomslang {

namespace nb = nanobind;

template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> view(const In<T>& a) {
    return {a.data(), a.shape(0)};
}

template <class T>
nb::object out(std::vector<T>&& v) {
    if (v.capacity() - v.size() > v.size() / 8) v.shrink_to_fit();  // a copy: not for a little
    auto* owned = new std::vector<T>(std::move(v));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    size_t shape[1] = {owned->size()};
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), 1, shape, owner));
}

// Runs `work` without the GIL. Returns the reason if a limit stopped it, "" otherwise; raises what a signal handler or
// `report` (called with the GIL at every tick) raised.
template <class Work, class Report>
std::string guarded(Limits& limits, Work&& work, Report&& report) {
    std::string stopped;
    bool raised = false;
    {
        nb::gil_scoped_release release;
        limits.tick = [&]() {
            nb::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) return !(raised = true);
            try {
                report();
            } catch (nb::python_error& e) {
                e.restore();
                return !(raised = true);
            }
            return true;
        };
        try {
            work();
        } catch (const Stopped& s) {
            stopped = s.reason;
        } catch (const std::bad_alloc&) {
            stopped = "memory";
        }
    }
    if (raised) throw nb::python_error();
    return stopped;
}

}  // namespace boomslang
