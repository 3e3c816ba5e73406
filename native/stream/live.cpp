#include "live.hpp"

#include <utility>

namespace boomslang::stream {

uint32_t Live::slot(std::string_view key) {
    auto found = slots_.find(key);
    if (found != slots_.end()) return found->second;
    uint32_t fresh = uint32_t(cells_.size());
    if (spare_.empty()) {
        cells_.emplace_back();
    } else {
        fresh = spare_.back();
        spare_.pop_back();
    }
    slots_.emplace(std::string(key), fresh);
    return fresh;
}

namespace {

// Of a few contents, where each is found: every value of a window is looked up here, and nearly none is there.
class Wanted {
public:
    explicit Wanted(size_t most) {
        size_t room = 16;
        while (room < 4 * most) room *= 2;
        slots_.assign(room, -1);
    }

    void add(std::string_view code, size_t number) {
        entries_.push_back({code, number, -1});
        int32_t& first = slots_[place(uint8_t(code[0]), code.substr(1))];
        entries_.back().next = std::exchange(first, int32_t(entries_.size()) - 1);
    }

    template <class F>
    void each(uint8_t type, std::string_view content, F&& told) const {
        for (int32_t e = slots_[place(type, content)]; e >= 0; e = entries_[size_t(e)].next) {
            const Entry& entry = entries_[size_t(e)];
            if (uint8_t(entry.code[0]) == type && entry.code.substr(1) == content) told(entry.number);
        }
    }

    bool empty() const { return entries_.empty(); }

private:
    struct Entry {
        std::string_view code;
        size_t number;
        int32_t next;
    };
    size_t place(uint8_t type, std::string_view content) const {
        return (std::hash<std::string_view>{}(content) ^ type * size_t(0x9E3779B97F4A7C15)) & (slots_.size() - 1);
    }
    std::vector<int32_t> slots_;
    std::vector<Entry> entries_;
};

}  // namespace

void Live::given(const Table& keys, const Table& values, std::vector<int32_t>& ids, std::vector<int32_t>& held) const {
    // Only values that stand in one of these keys are of interest, and most are not: so those are looked for among the
    // trace's, and not the other way round.
    Wanted wanted(keys.size());
    std::string text;
    for (size_t k = 0; k < keys.size(); ++k) {
        keys.copy(k, text);
        const Cell* cell = find(text);
        if (cell == nullptr) continue;
        ids.push_back(int32_t(k));
        held.push_back(cell->absent ? -1 : int32_t(values.size()));
        if (!cell->absent) wanted.add(cell->value, held.size() - 1);
    }
    if (wanted.empty()) return;
    for (size_t v = 0; v < values.size(); ++v)
        wanted.each(values.type[v], values.content(v), [&](size_t i) { held[i] = int32_t(v); });
}

Undo Live::update(const Table& keys, const Table& values, std::span<const int32_t> ids, std::span<const int32_t> held,
                  std::span<const int64_t> writer, std::span<const int64_t> at, bool fresh) {
    Undo before;
    before.cells.reserve(ids.size());
    std::string text;
    for (size_t i = 0; i < ids.size(); ++i) {
        keys.copy(size_t(ids[i]), text);
        uint32_t s = slot(text);
        Cell& cell = cells_[s];
        if (fresh && cell.known) continue;
        before.cells.emplace_back(s, std::move(cell));
        known_ += !before.cells.back().second.known;
        Cell now;
        now.known = true, now.absent = held[i] < 0, now.writer = writer[i], now.at = at[i];
        if (held[i] >= 0) values.copy(size_t(held[i]), now.value);
        cell = std::move(now);
    }
    return before;
}

void Live::undo(const Undo& changes) {
    for (auto change = changes.cells.rbegin(); change != changes.cells.rend(); ++change) {
        known_ += int64_t(change->second.known) - int64_t(cells_[change->first].known);
        cells_[change->first] = change->second;
    }
}

void Live::forget_absent(int64_t before) {
    for (auto at = slots_.begin(); at != slots_.end();) {
        Cell& cell = cells_[at->second];
        if (!cell.known || !cell.absent || cell.at >= before) {
            ++at;
            continue;
        }
        cell = {};
        --known_;
        spare_.push_back(at->second);
        at = slots_.erase(at);
    }
}

const Cell* Live::find(std::string_view key) const {
    auto found = slots_.find(key);
    return found == slots_.end() || !cells_[found->second].known ? nullptr : &cells_[found->second];
}

void Live::set(std::string_view key, Cell cell) {
    Cell& now = cells_[slot(key)];
    known_ += !now.known;
    cell.known = true;
    now = std::move(cell);
}

}  // namespace boomslang::stream
