// A vector whose new places hold anything at all.
//
// std::vector sets them, one after the other, in the thread that makes it. Memory that is used for the first time comes
// page by page then, which for arrays as long as a trace takes longer than the work for which they are made; here it comes
// where they are filled, in as many threads as do that.
#pragma once
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace boomslang {

template <class T>
struct UnsetAllocator : std::allocator<T> {
    UnsetAllocator() = default;
    template <class U>
    UnsetAllocator(const UnsetAllocator<U>&) noexcept {}
    template <class U>
    struct rebind {
        using other = UnsetAllocator<U>;
    };
    template <class U>
    void construct(U* place) noexcept {
        ::new (static_cast<void*>(place)) U;
    }
    template <class U, class... Given>
    void construct(U* place, Given&&... given) {
        ::new (static_cast<void*>(place)) U(std::forward<Given>(given)...);
    }
};

template <class T>
using Unset = std::vector<T, UnsetAllocator<T>>;

}  // namespace boomslang
