// How scatter updates of variables change an element.
#pragma once

#include <cstdint>
#include <type_traits>

#include "panto/device/math/vocabulary.h"
#include "panto/lib/base/text/format.h"

namespace panto {

struct AddRow {
  template <class T>
  static void change(T& value, T update) {
    value = k::add(value, update);
  }
};
struct SubtractRow {
  template <class T>
  static void change(T& value, T update) {
    value = k::sub(value, update);
  }
};
struct ReplaceRow {
  template <class T>
  static void change(T& value, const T& update) {
    value = update;
  }
};
struct MultiplyRow {
  template <class T>
  static void change(T& value, T update) {
    value = k::mul(value, update);
  }
};
struct DivideRow {
  template <class T>
  static void change(T& value, T update) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (update == static_cast<T>(-1)) return void(value = k::neg(value));  // also right for the smallest integer
    }
    value = k::div(value, update);
  }
};
struct GreaterRow {
  template <class T>
  static void change(T& value, T update) {
    value = k::max(value, update);
  }
};
struct LesserRow {
  template <class T>
  static void change(T& value, T update) {
    value = k::min(value, update);
  }
};

// Throws InvalidArgument if one of the updates is not allowed: integer division by 0.
template <class Change, class T>
void check_updates(const T* updates, int64_t count) {
  if constexpr (std::is_same_v<Change, DivideRow> && std::is_integral_v<T>) {
    for (int64_t i = 0; i < count; ++i) {
      if (updates[i] == T{0}) invalid("updates: expected no 0 among integers to divide by, got one");
    }
  }
}

}  // namespace panto
