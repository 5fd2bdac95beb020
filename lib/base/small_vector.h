// A vector whose first N elements live inside it. The dispatcher uses it so that a small call allocates nothing.
// Not thread-safe. Moved-from vectors are empty.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

namespace panto {

template <class T, size_t N>
class SmallVector {
 public:
  SmallVector() noexcept : data_(inline_data()) {}
  explicit SmallVector(size_t n) : SmallVector() { resize(n); }
  SmallVector(std::initializer_list<T> values) : SmallVector(values.begin(), values.end()) {}
  template <class It>
  SmallVector(It first, It last) : SmallVector() {
    reserve(static_cast<size_t>(last - first));
    for (; first != last; ++first) push_back(*first);
  }
  SmallVector(const SmallVector& other) : SmallVector(other.begin(), other.end()) {}
  SmallVector(SmallVector&& other) noexcept : SmallVector() { take(std::move(other)); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      SmallVector copy(other);
      *this = std::move(copy);
    }
    return *this;
  }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      release();
      take(std::move(other));
    }
    return *this;
  }
  ~SmallVector() { release(); }

  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T& operator[](size_t i) noexcept { return data_[i]; }
  const T& operator[](size_t i) const noexcept { return data_[i]; }
  T& back() noexcept { return data_[size_ - 1]; }
  const T& back() const noexcept { return data_[size_ - 1]; }

  void push_back(T value) {
    if (size_ == capacity_) reserve(capacity_ * 2);
    ::new (static_cast<void*>(data_ + size_)) T(std::move(value));
    ++size_;
  }
  T& emplace_back() {
    if (size_ == capacity_) reserve(capacity_ * 2);
    return *::new (static_cast<void*>(data_ + size_++)) T{};
  }
  void pop_back() noexcept { data_[--size_].~T(); }
  void resize(size_t n) {
    reserve(n);
    while (size_ > n) data_[--size_].~T();
    for (; size_ < n; ++size_) ::new (static_cast<void*>(data_ + size_)) T{};
  }
  void clear() noexcept { resize(0); }
  void reserve(size_t n) {
    if (n <= capacity_) return;
    T* grown = static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{alignof(T)}));
    std::uninitialized_move(begin(), end(), grown);
    std::destroy(begin(), end());
    free_heap();
    data_ = grown;
    capacity_ = n;
  }

 private:
  T* inline_data() noexcept { return reinterpret_cast<T*>(inline_); }
  void free_heap() noexcept {
    if (data_ != inline_data()) ::operator delete(data_, std::align_val_t{alignof(T)});
  }
  void release() noexcept {
    std::destroy(begin(), end());
    free_heap();
    data_ = inline_data();
    size_ = 0;
    capacity_ = N;
  }
  // Precondition: *this is empty and inline.
  void take(SmallVector&& other) noexcept {
    if (other.data_ != other.inline_data()) {
      data_ = std::exchange(other.data_, other.inline_data());
      capacity_ = std::exchange(other.capacity_, N);
    } else {
      std::uninitialized_move(other.begin(), other.end(), data_);
      std::destroy(other.begin(), other.end());
    }
    size_ = std::exchange(other.size_, 0);
  }

  T* data_;
  size_t size_ = 0;
  size_t capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

}  // namespace panto
