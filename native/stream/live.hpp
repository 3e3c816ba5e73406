// What the database holds now, by content: keys and values outlive the windows that number them.
//
// A key or a value is its type and its bytes, as one string. Each key that was ever written or fixed has a cell: its value,
// the place of who wrote it, and where in the order of all points that was. A change gives back what undoes it.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace boomslang::stream {

// The scalars of a trace: see trace/scalars.py.
struct Table {
    std::span<const uint8_t> type;
    std::span<const int64_t> offset;
    std::span<const uint8_t> data;

    size_t size() const { return type.size(); }
    std::string_view content(size_t i) const {
        return {reinterpret_cast<const char*>(data.data()) + offset[i], size_t(offset[i + 1] - offset[i])};
    }
    void copy(size_t i, std::string& into) const {
        into.assign(1, char(type[i]));
        into.append(content(i));
    }
};

struct Cell {
    std::string value;
    bool known = false, absent = false;
    int64_t writer = -1, at = -1;
};

// What takes a change back. No vector to the bindings, which would hand Python a list of it.
struct Undo {
    std::vector<std::pair<uint32_t, Cell>> cells;
};

class Live {
public:
    // The number of those of whom anything is known.
    int64_t known() const { return known_; }

    // Of each key of the trace that is known: its number, and the number of its value in the trace; -1 if it is absent,
    // the number of values if the trace never speaks of it.
    void given(const Table& keys, const Table& values, std::vector<int32_t>& ids, std::vector<int32_t>& held) const;

    // Takes these; a value of -1 is absent. `fresh`: only keys that are not known yet.
    Undo update(const Table& keys, const Table& values, std::span<const int32_t> ids, std::span<const int32_t> held,
                std::span<const int64_t> writer, std::span<const int64_t> at, bool fresh);
    void undo(const Undo& changes);
    // Forgets keys that are absent since before this place of the order. No change that was made since may be undone later
    // that speaks of one: there is none, as it would have a later place.
    void forget_absent(int64_t before);

    const Cell* find(std::string_view key) const;
    void set(std::string_view key, Cell cell);

    template <class F>
    void each(F&& told) const {
        for (const auto& [key, slot] : slots_)
            if (cells_[slot].known) told(key, cells_[slot]);
    }

private:
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
    };
    uint32_t slot(std::string_view key);

    std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> slots_;
    std::vector<Cell> cells_;
    std::vector<uint32_t> spare_;  // cells of keys that were forgotten
    int64_t known_ = 0;
};

}  // namespace boomslang::stream
