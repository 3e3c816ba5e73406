#include "written.hpp"

#include <new>

namespace boomslang::stream {

namespace {

constexpr char value_there = 'v', key_gone = 'd', anything = 'a';

uint64_t hash_of(std::string_view text, uint64_t seed) {
    uint64_t h = seed ^ (text.size() * 0x9e3779b97f4a7c15ULL);
    for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ULL;
    h ^= h >> 32, h *= 0xd6e8feb86659fd93ULL, h ^= h >> 32, h *= 0xd6e8feb86659fd93ULL;
    return h ^ (h >> 32);
}

}  // namespace

Written::Written(int log_bits) : mask_((uint64_t(1) << log_bits) - 1) {
    words_.reset(static_cast<uint64_t*>(std::calloc((mask_ >> 6) + 1, sizeof(uint64_t))));
    if (!words_) throw std::bad_alloc();
}

uint64_t Written::mixed(std::string_view key, std::string_view value, char kind) {
    return hash_of(value, hash_of(key, 0xcbf29ce484222325ULL + uint64_t(kind)));
}

size_t Written::bit(uint64_t hash, int probe) const {
    uint64_t step = (hash >> 17 | hash << 47) | 1;
    return size_t((hash + uint64_t(probe) * step) & mask_);
}

bool Written::has(uint64_t hash) const {
    for (int p = 0; p < probes; ++p) {
        size_t b = bit(hash, p);
        if (!(words_[b >> 6] >> (b & 63) & 1)) return false;
    }
    return true;
}

void Written::set(uint64_t hash) {
    for (int p = 0; p < probes; ++p) {
        size_t b = bit(hash, p);
        words_[b >> 6] |= uint64_t(1) << (b & 63);
    }
}

void Written::add(const Table& keys, const Table& values, std::span<const int32_t> ids, std::span<const int32_t> held) {
    std::string key, value;
    for (size_t i = 0; i < ids.size(); ++i) {
        keys.copy(size_t(ids[i]), key);
        if (held[i] < 0) {
            set(mixed(key, {}, key_gone));
            continue;
        }
        values.copy(size_t(held[i]), value);
        set(mixed(key, value, value_there));
        set(mixed(key, {}, anything));
    }
}

std::vector<uint8_t> Written::perhaps(const Table& keys, const Table& values, std::span<const int32_t> ids,
                                      std::span<const int32_t> held) const {
    std::vector<uint8_t> found(ids.size());
    std::string key, value;
    for (size_t i = 0; i < ids.size(); ++i) {
        keys.copy(size_t(ids[i]), key);
        if (held[i] < -1) {
            found[i] = has(mixed(key, {}, anything));
        } else if (held[i] < 0) {
            found[i] = has(mixed(key, {}, key_gone));
        } else {
            values.copy(size_t(held[i]), value);
            found[i] = has(mixed(key, value, value_there));
        }
    }
    return found;
}

}  // namespace boomslang::stream
