#include "live.hpp"

namespace boomslang {

uint32_t Live::slot(std::string_view key) {
    auto found = slots_.find(key);
    if (found != slots_.end()) return found->second;
    uint32_t fresh = uint32_t(cells_.size());
    slots_.emplace(std::string(key), fresh);
    cells_.emplace_back();
    return fresh;
}

void Live::given(const Table& keys, const Table& values, std::vector<int32_t>& ids, std::vector<int32_t>& held) const {
    // Only values that stand in one of these keys are of interest, and most are not: so those are looked for among the
    // trace's, and not the other way round.
    std::unordered_map<std::string_view, std::vector<size_t>> wanted;
    std::string text;
    for (size_t k = 0; k < keys.size(); ++k) {
        keys.copy(k, text);
        const Cell* cell = find(text);
        if (cell == nullptr) continue;
        ids.push_back(int32_t(k));
        held.push_back(cell->absent ? -1 : int32_t(values.size()));
        if (!cell->absent) wanted[cell->value].push_back(held.size() - 1);
    }
    if (wanted.empty()) return;
    for (size_t v = 0; v < values.size(); ++v) {
        values.copy(v, text);
        auto found = wanted.find(text);
        if (found != wanted.end())
            for (size_t i : found->second) held[i] = int32_t(v);
    }
}

Undo Live::update(const Table& keys, const Table& values, std::span<const int32_t> ids, std::span<const int32_t> held,
                  std::span<const int64_t> writer, std::span<const int64_t> at, bool fresh) {
    Undo before;
    before.reserve(ids.size());
    std::string text;
    for (size_t i = 0; i < ids.size(); ++i) {
        keys.copy(size_t(ids[i]), text);
        uint32_t s = slot(text);
        Cell& cell = cells_[s];
        if (fresh && cell.known) continue;
        before.emplace_back(s, std::move(cell));
        known_ += !before.back().second.known;
        Cell now;
        now.known = true, now.absent = held[i] < 0, now.writer = writer[i], now.at = at[i];
        if (held[i] >= 0) values.copy(size_t(held[i]), now.value);
        cell = std::move(now);
    }
    return before;
}

void Live::undo(const Undo& changes) {
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
        known_ += int64_t(change->second.known) - int64_t(cells_[change->first].known);
        cells_[change->first] = change->second;
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

}  // namespace boomslang
