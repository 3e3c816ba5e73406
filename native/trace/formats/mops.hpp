// The operations of one transaction, kept until it is known whose they are and how it ended: in documents the
// session and the outcome may stand after them.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/formats/format.hpp"

namespace boomslang::trace {

enum class Mop : std::uint8_t { put, append, get, absent, list, set };

class Mops {
 public:
  void clear() {
    mops_.clear();
    elements_.clear();
  }
  void add(Mop kind, const Scalar& key, const Scalar& value, std::uint32_t line) {
    mops_.push_back({kind, line, key, value, elements_.size(), elements_.size()});
  }
  // A list read; its elements follow.
  void add_list(const Scalar& key, std::uint32_t line) { add(Mop::list, key, {}, line); }
  // A read of a set, each of whose elements is a key of its own.
  void add_set(std::uint32_t line) { add(Mop::set, {}, {}, line); }
  void add_element(const Scalar& element) {
    elements_.push_back(element);
    ++mops_.back().last;
  }

  // Without reads of nothing unless `learnt`: in a transaction that did not commit they say that no answer came.
  void emit(Emit& emit, bool learnt) const {
    for (const Entry& m : mops_) {
      switch (m.kind) {
        case Mop::put: emit.put(m.key, m.value, m.line); break;
        case Mop::append: emit.append(m.key, m.value, m.line); break;
        case Mop::get: emit.get(m.key, m.value, m.line); break;
        case Mop::absent:
          if (learnt) emit.get_absent(m.key, m.line);
          break;
        case Mop::list:
          emit.elements().assign(elements_.begin() + static_cast<std::ptrdiff_t>(m.first),
                                 elements_.begin() + static_cast<std::ptrdiff_t>(m.last));
          emit.list(m.key, m.line);
          break;
        case Mop::set:
          emit.items().clear();
          for (std::size_t i = m.first; i < m.last; ++i) emit.items().emplace_back(elements_[i], elements_[i]);
          emit.scan(nullptr, nullptr, m.line);
          break;
      }
    }
  }
  // Only what it wrote.
  void emit_writes(Emit& emit) const {
    for (const Entry& m : mops_) {
      if (m.kind == Mop::put) emit.put(m.key, m.value, m.line);
      if (m.kind == Mop::append) emit.append(m.key, m.value, m.line);
    }
  }

 private:
  struct Entry {
    Mop kind;
    std::uint32_t line;
    Scalar key, value;
    std::size_t first, last;  // elements
  };
  std::vector<Entry> mops_;
  std::vector<Scalar> elements_;
};

}  // namespace boomslang::trace
