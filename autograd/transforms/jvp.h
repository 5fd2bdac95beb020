// jvp: forward-mode differentiation: a function's value and its derivative along a direction.
//
//   auto [y, dy] = jvp(f, x, v);                                      // f(x), and how it changes along v
//   auto [z, dz] = jvp(g, std::tuple(a, b), std::tuple(va, vb));      // of a function of two arguments
//
// It takes no more memory than the function itself, and about twice its time per direction. For a function of many
// arguments and one result, a tape computes the gradient faster.
#pragma once

#include <tuple>
#include <utility>

#include "panto/autograd/transforms/function.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {
namespace detail {

// Returns f's results followed by their tangents, also those that are zero.
PANTO_EXPORT Tensors jvp_call(const TensorsFunction& f, const Tensors& primals, const Tensors& tangents);

template <class T>
constexpr bool is_tuple = false;
template <class... T>
constexpr bool is_tuple<std::tuple<T...>> = true;

}  // namespace detail

// Returns f(primals) and its derivative along `tangents`, which must have the structure, shapes and dtypes of
// `primals`. A std::tuple is a list of arguments, anything else one argument. Throws InvalidArgument if tangents do not
// fit or are not floating or complex, Unimplemented if an op on the path has no derivative.
template <class F, class Primals>
auto jvp(const F& f, const Primals& primals, const Primals& tangents) {
  const detail::Tensors directions = detail::tensors_of(tangents);
  detail::Tensors results;
  const auto around = [&](const detail::TensorsFunction& call, const detail::Tensors& flat) {
    detail::Tensors both = detail::jvp_call(call, flat, directions);
    const auto half = both.begin() + static_cast<std::ptrdiff_t>(both.size() / 2);
    results.assign(half, both.end());
    both.erase(half, both.end());
    return both;
  };
  auto value = [&] {
    if constexpr (detail::is_tuple<Primals>) {
      return std::apply([&](const auto&... args) { return detail::through_tensors(f, around, args...); }, primals);
    } else {
      return detail::through_tensors(f, around, primals);
    }
  }();
  auto derivative = value;
  size_t next = 0;
  detail::put_tensors(derivative, results, next);
  return std::pair(std::move(value), std::move(derivative));
}

}  // namespace panto
