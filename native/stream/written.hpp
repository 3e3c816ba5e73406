// Who wrote what is deleted, as far as that must be known: has anybody written this value to this key?
//
// A Bloom filter: a bit array of fixed size, in which each pair of a key and a value sets a few bits. A pair whose bits are not
// all set was certainly never written. One whose bits are all set was written, or others happen to have set them: then nothing
// may be concluded. Memory stays what it is however much is deleted; only the doubt grows.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "live.hpp"

namespace boomslang::stream {

class Written {
public:
    // 2 to the power of `log_bits` bits.
    explicit Written(int log_bits);

    // These pairs were written; a value of -1: the key was deleted.
    void add(const Table& keys, const Table& values, std::span<const int32_t> ids, std::span<const int32_t> held);

    // Of each pair: may it have been written? A value below -1: may anything have been?
    std::vector<uint8_t> perhaps(const Table& keys, const Table& values, std::span<const int32_t> ids,
                                 std::span<const int32_t> held) const;

private:
    static constexpr int probes = 4;
    static uint64_t mixed(std::string_view key, std::string_view value, char kind);
    bool has(uint64_t hash) const;
    void set(uint64_t hash);
    size_t bit(uint64_t hash, int probe) const;

    struct Free {
        void operator()(uint64_t* p) const { std::free(p); }
    };
    uint64_t mask_;
    std::unique_ptr<uint64_t[], Free> words_;  // from calloc: pages that nobody has set a bit of take no memory
};

}  // namespace boomslang::stream
