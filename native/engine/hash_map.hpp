// A map from 64-bit keys to 32-bit ids: open addressing, linear probing, no deletion. The engine makes
// variables and clauses on demand and must ask "is there one already?" millions of times.
#pragma once
#include <cstdint>
#include <vector>

namespace boomslang::engine {

class HashMap {
public:
    // A reference to the id of `key`; -1 when it was not there before. Valid until the next call.
    int32_t& operator[](uint64_t key) {
        if ((size_ + 1) * 10 > slots_.size() * 7) grow();
        size_t i = find(key);
        if (slots_[i].key == EMPTY) {
            slots_[i] = {key, -1};
            ++size_;
        }
        return slots_[i].id;
    }
    int32_t get(uint64_t key) const {
        if (slots_.empty()) return -1;
        const Slot& s = slots_[find(key)];
        return s.key == EMPTY ? -1 : s.id;
    }

private:
    static constexpr uint64_t EMPTY = ~uint64_t(0);
    struct Slot {
        uint64_t key = EMPTY;
        int32_t id = -1;
    };
    size_t find(uint64_t key) const {
        uint64_t h = key * 0x9E3779B97F4A7C15ull;
        h ^= h >> 32;
        size_t mask = slots_.size() - 1, i = h & mask;
        while (slots_[i].key != EMPTY && slots_[i].key != key) i = (i + 1) & mask;
        return i;
    }
    void grow() {
        std::vector<Slot> old = std::move(slots_);
        slots_.assign(old.empty() ? 64 : old.size() * 2, Slot{});
        for (const Slot& s : old)
            if (s.key != EMPTY) slots_[find(s.key)] = s;
    }
    std::vector<Slot> slots_;
    size_t size_ = 0;
};

}  // namespace boomslang::engine
