// Element: what a Dataset yields one after the other: a list of tensors, often an input and its label.
//
//   for (const Element& e : dataset) std::cout << e[0] << e.to_string();
//   for (auto [x, y] : dataset) ...        // of two tensors
//
// Thread-safety: values.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The tensors of one element, in order.
class PANTO_EXPORT Element {
 public:
  Element() = default;
  explicit Element(Tensor tensor) { tensors_.push_back(std::move(tensor)); }
  explicit Element(std::vector<Tensor> tensors);
  Element(std::initializer_list<Tensor> tensors);

  size_t size() const { return tensors_.size(); }
  // Throws OutOfRange.
  const Tensor& operator[](size_t i) const {
    if (i >= tensors_.size()) out_of_range(i);
    return tensors_[i];
  }
  const Tensor* begin() const { return tensors_.begin(); }
  const Tensor* end() const { return tensors_.end(); }
  // The only tensor. Throws InvalidArgument unless there is exactly one.
  operator Tensor() const;  // NOLINT(google-explicit-constructor): for (Tensor x : dataset)
  // "(float32[28,28], int32[])".
  std::string to_string() const;

  // `auto [x, y] = element`. Throws InvalidArgument unless there are two.
  template <size_t I> Tensor& get() & { return of_pair(I); }
  template <size_t I> const Tensor& get() const& { return of_pair(I); }
  template <size_t I> Tensor&& get() && { return std::move(of_pair(I)); }
  // Throws InvalidArgument unless there are `count`.
  void expect_size(size_t count) const {
    if (size() != count) wrong_size(count);
  }

 private:
  [[noreturn]] void out_of_range(size_t i) const;
  [[noreturn]] void wrong_size(size_t count) const;
  Tensor& of_pair(size_t i);
  const Tensor& of_pair(size_t i) const;

  SmallVector<Tensor, 2> tensors_;
};

// The function that `map` calls: from several threads at once if it was given several.
using ElementFunction = Callable<Element(const Element&)>;
// The function that `filter` calls.
using ElementPredicate = Callable<bool(const Element&)>;
// How long an element is, for `bucket_by_length`.
using ElementLength = Callable<int64_t(const Element&)>;
// Makes the next element; returns false at the end, and is not called again then.
using ElementStream = Callable<bool(Element&)>;

namespace detail {

// Converts the results of `map` functions and generators: tensors, and C++ values that become tensors.
inline Tensor to_tensor(Tensor t) { return t; }
inline Tensor to_tensor(std::string text) { return tensor(std::move(text)); }
inline Tensor to_tensor(const std::vector<std::string>& texts) { return tensor(texts); }
template <class T>
  requires std::is_arithmetic_v<T>
Tensor to_tensor(T number) {
  return tensor(std::span<const T>(&number, 1), Shape());
}
template <class T>
  requires std::is_arithmetic_v<T>
Tensor to_tensor(const std::vector<T>& numbers) {
  return tensor(numbers);
}

template <class T>
inline constexpr bool is_value = std::is_arithmetic_v<T> || std::is_same_v<T, std::string>;
template <class T>
inline constexpr bool is_value<std::vector<T>> = is_value<T>;

inline Element to_element(Element e) { return e; }
inline Element to_element(Tensor t) { return Element(std::move(t)); }
PANTO_EXPORT Element to_element(std::vector<Tensor> tensors);
template <class A, class B>
Element to_element(std::pair<A, B> pair) {
  return Element{to_tensor(std::move(pair.first)), to_tensor(std::move(pair.second))};
}
template <size_t N>
Element to_element(const std::array<Tensor, N>& tensors) {
  return Element(std::vector<Tensor>(tensors.begin(), tensors.end()));
}
template <class T>
  requires is_value<T>
Element to_element(const T& value) {
  return Element(to_tensor(value));
}

// Calls f with the tensors of an element: one to three of them, or all as an Element.
template <class F>
decltype(auto) call_with(F& f, const Element& e) {
  if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&, const Tensor&>) {
    e.expect_size(3);
    return f(e[0], e[1], e[2]);
  } else if constexpr (std::is_invocable_v<F&, const Tensor&, const Tensor&>) {
    e.expect_size(2);
    return f(e[0], e[1]);
  } else if constexpr (std::is_invocable_v<F&, const Tensor&>) {
    e.expect_size(1);
    return f(e[0]);
  } else {
    static_assert(std::is_invocable_v<F&, const Element&>, "expected a function of one to three tensors or an Element");
    return f(e);
  }
}

template <class F>
ElementFunction element_function(F f) {
  return [f = std::move(f)](const Element& e) mutable -> Element { return to_element(call_with(f, e)); };
}

inline bool truth(bool value) { return value; }
inline bool truth(const Tensor& value) { return value.item<bool>(); }
template <class F>
ElementPredicate element_predicate(F f) {
  return [f = std::move(f)](const Element& e) mutable -> bool { return truth(call_with(f, e)); };
}
template <class F>
ElementLength element_length(F f) {
  return [f = std::move(f)](const Element& e) mutable -> int64_t { return static_cast<int64_t>(call_with(f, e)); };
}

// The elements of a range, which it owns.
template <class Range>
ElementStream stream_of_range(std::shared_ptr<Range> range) {
  return [range, at = std::begin(*range), end = std::end(*range), first = true](Element& e) mutable -> bool {
    if (!first) ++at;  // only when the next one is asked for: incrementing may compute it
    first = false;
    if (at == end) return false;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(*at)>, std::vector<bool>::reference>) {
      e = to_element(static_cast<bool>(*at));
    } else {
      e = to_element(*at);
    }
    return true;
  };
}
// The stream of a generator's result: a range, or a function that returns std::optional elements.
template <class Made>
ElementStream stream_of(Made made) {
  if constexpr (std::is_invocable_v<Made&>) {
    return [made = std::move(made)](Element& e) mutable -> bool {
      auto value = made();
      if (!value) return false;
      e = to_element(std::move(*value));
      return true;
    };
  } else {
    return stream_of_range(std::make_shared<Made>(std::move(made)));
  }
}

}  // namespace detail

}  // namespace panto

// `auto [x, y] = element`.
template <>
struct std::tuple_size<panto::Element> : std::integral_constant<std::size_t, 2> {};
template <std::size_t I>
struct std::tuple_element<I, panto::Element> {
  using type = panto::Tensor;
};
