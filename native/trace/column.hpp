// A growable array of plain values, and nothing more.
//
// A trace is columns, and a column may become gigabytes. std::vector would copy it on every growth and hold
// both copies for a moment; realloc lets the C library move the pages instead (mremap on Linux), so growing
// costs no memory beyond what is used. The finished buffer is handed to NumPy as it is (see module.cpp).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace boomslang::trace {

template <class T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  Column(const Column&) = delete;
  Column& operator=(const Column&) = delete;
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Column() { std::free(data_); }

  void swap(Column& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

  // Swaps memory with a column of other values, of the same size. What is in it means nothing afterwards.
  template <class U>
  void exchange(Column<U>& other) noexcept {
    static_assert(sizeof(T) == sizeof(U));
    T* const mine = std::exchange(data_, reinterpret_cast<T*>(other.data_));
    other.data_ = reinterpret_cast<U*>(mine);
    std::swap(capacity_, other.capacity_);
    size_ = other.size_ = 0;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }

  void push(T value) {
    if (size_ == capacity_) [[unlikely]]
      reserve(size_ + 1);
    data_[size_++] = value;
  }

  void append(const T* from, std::size_t count) {
    if (size_ + count > capacity_) reserve(size_ + count);
    if (count) std::memcpy(data_ + size_, from, count * sizeof(T));
    size_ += count;
  }

  // Grow to `size` and fill the new places; never shrinks.
  void pad(std::size_t size, T value) {
    if (size > capacity_) reserve(size);
    while (size_ < size) data_[size_++] = value;
  }

  // New places hold anything at all.
  void resize(std::size_t size) {
    if (size > capacity_) reserve(size);
    size_ = size;
  }

  // Room for so many, which are to come.
  void make_room(std::size_t size) {
    if (size > capacity_) reserve(size);
  }

  void clear() { size_ = 0; }

  void discard() {
    Column empty;
    swap(empty);
  }

  // Give the buffer away; whoever takes it calls free().
  T* release() {
    if (size_ && size_ < capacity_) {
      if (void* exact = std::realloc(data_, size_ * sizeof(T))) data_ = static_cast<T*>(exact);
    }
    T* data = data_;
    data_ = nullptr;
    size_ = capacity_ = 0;
    return data;
  }

 private:
  template <class U>
  friend class Column;

  void reserve(std::size_t least) {
    std::size_t capacity = capacity_ ? capacity_ * 2 : 16;
    if (capacity < least) capacity = least;
    void* grown = std::realloc(data_, capacity * sizeof(T));
    if (!grown) throw std::bad_alloc();
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace boomslang::trace
