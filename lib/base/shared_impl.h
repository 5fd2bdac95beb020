// SharedImpl<T>: a public handle's pointer to its class's Impl, or to another object that the handle shares with its
// copies.
//
// Works as std::shared_ptr<T>, but instantiating that for each T costs everyone who includes the header seven million
// instructions of compile time. This class uses one std::shared_ptr<void> for all T. Thread-safety: as
// std::shared_ptr's.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace panto {

template <class T>
class SharedImpl {
 public:
  SharedImpl() = default;
  // A template, so that copying does not make the compiler look for a conversion from SharedImpl to std::shared_ptr<T>.
  template <class U>
  SharedImpl(std::shared_ptr<U> object)  // NOLINT(google-explicit-constructor): as between std::shared_ptrs
      : object_(std::const_pointer_cast<std::remove_const_t<U>>(std::move(object))) {
    static_assert(std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>>, "others may lie at another address");
  }

  T* get() const noexcept { return static_cast<T*>(object_.get()); }
  T& operator*() const noexcept { return *get(); }
  T* operator->() const noexcept { return get(); }
  bool operator==(std::nullptr_t) const noexcept { return get() == nullptr; }
  // The same object as a std::shared_ptr.
  std::shared_ptr<T> shared() const { return std::shared_ptr<T>(object_, get()); }

 private:
  std::shared_ptr<void> object_;
};

}  // namespace panto
