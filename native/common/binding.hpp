// What every binding needs: arrays in and out without copies, and a native call that can be stopped.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
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

template <class T, class Allocator>
nb::object out(std::vector<T, Allocator>&& v) {
    if (v.capacity() - v.size() > v.size() / 8) v.shrink_to_fit();  // a copy: not for a little
    auto* owned = new std::vector<T, Allocator>(std::move(v));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T, Allocator>*>(p); });
    size_t shape[1] = {owned->size()};
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), 1, shape, owner));
}

// The arguments of a function with many of them, taken one after the other, by place or by name. nanobind would take
// them too; but it compiles each function anew, with all its parameters, and thirty of them take the compiler a second.
class Arguments {
public:
    Arguments(const nb::args& given, const nb::kwargs& named) : given_(given), named_(named) {}

    template <class T>
    T next(const char* name) {
        const nb::object found = find(name);
        if (!found.is_valid()) refuse("missing argument", name);
        return cast<T>(found, name);
    }
    template <class T>
    T next(const char* name, T otherwise) {
        const nb::object found = find(name);
        return found.is_valid() ? cast<T>(found, name) : otherwise;
    }
    // An array, which stays as long as this object does.
    template <class T>
    std::span<const T> array(const char* name) {
        const In<T> found = next<In<T>>(name);
        arrays_.emplace_back(found);
        return view(found);
    }
    std::vector<nb::ndarray<>> arrays() && { return std::move(arrays_); }
    // After the last: whether there are more than were taken.
    void end() const {
        if (given_.size() > taken_) refuse("more arguments than", std::to_string(taken_).c_str());
        if (named_.size() > by_name_) refuse("an argument that is unknown, or given twice; all are", names_.c_str());
    }

private:
    nb::object find(const char* name) {
        names_ += names_.empty() ? name : std::string(", ") + name;
        if (taken_ < given_.size()) return nb::borrow(given_[taken_++]);
        PyObject* found = PyDict_GetItemString(named_.ptr(), name);
        if (found == nullptr) return {};
        ++by_name_;
        return nb::borrow(found);
    }
    template <class T>
    static T cast(const nb::object& found, const char* name) {
        try {
            return nb::cast<T>(found);
        } catch (const nb::cast_error&) {
            refuse("a wrong type of", name);
        }
    }
    [[noreturn]] static void refuse(const char* what, const char* which) {
        throw nb::type_error((std::string("found ") + what + " " + which).c_str());
    }

    const nb::args& given_;
    const nb::kwargs& named_;
    std::size_t taken_ = 0, by_name_ = 0;
    std::string names_;
    std::vector<nb::ndarray<>> arrays_;  // not in the functions that take them: thirty to destroy are a lot of code
};

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
