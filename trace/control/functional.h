// map_fn, foldl, foldr and scan: apply a function to one slice of tensors after another.
//
//   Tensor y = map_fn([](const Tensor& row) { return row / sum(row); }, x);           // as a batch of rows
//   Tensor total = foldl([](const Tensor& sum, const Tensor& row) { return sum + row; }, x, zeros({3}));
//   Tensor sums = scan([](const Tensor& sum, const Tensor& row) { return sum + row; }, x, zeros({3}));
//   auto [state, ys] = scan([&](const Tensor& h, const Tensor& in) { return std::pair(next(h, in), out(h)); }, x, h0);
//
// Slices are taken along the first dimension of all tensors in `elems`, a tensor or a structure of tensors. Eagerly,
// the function is called once per slice; while a function is traced or a graph is built, one loop is recorded.
#pragma once

#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/structure.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/trace/control/control_flow.h"

namespace panto {

struct ScanOptions {
  bool reverse = false;  // start with the last slice; results keep the order of slices
};

namespace detail {

// The result for one slice: the next state, and outputs to be stacked.
struct SliceResult {
  Tensors state;
  Tensors outputs;
};
using SliceFunction = Callable<SliceResult(std::span<const Tensor> state, std::span<const Tensor> slice)>;

// Returns the last state, and the outputs of all slices, stacked. Throws InvalidArgument if first dimensions differ.
PANTO_EXPORT SliceResult over_slices(const SliceFunction& fn, const Tensors& elems, Tensors state, bool reverse,
                                     const std::source_location& where);

}  // namespace detail

// Returns fn(slice) of all slices, stacked: a tensor or a structure of tensors.
template <class F, class E>
auto map_fn(F fn, const E& elems, std::source_location where = std::source_location::current()) {
  using R = std::decay_t<decltype(detail::call_with(fn, elems))>;
  R like;
  const detail::SliceFunction erased = [&](std::span<const Tensor>, std::span<const Tensor> slice) {
    like = detail::call_with(fn, detail::like_with(elems, slice));
    return detail::SliceResult{{}, detail::tensors_in(like)};
  };
  const detail::SliceResult all = detail::over_slices(erased, detail::tensors_in(elems), {}, false, where);
  return detail::like_with(std::move(like), all.outputs);
}

namespace detail {

template <class F, class E, class V>
V fold(F& fn, const E& elems, const V& initializer, bool reverse, const std::source_location& where) {
  const SliceFunction erased = [&](std::span<const Tensor> state, std::span<const Tensor> slice) {
    const V next = fn(like_with(initializer, state), like_with(elems, slice));
    return SliceResult{tensors_in(next), {}};
  };
  return like_with(initializer, over_slices(erased, tensors_in(elems), tensors_in(initializer), reverse, where).state);
}

}  // namespace detail

// fn(... fn(fn(initializer, first slice), second slice) ..., last slice).
template <class F, class E, class V>
V foldl(F fn, const E& elems, const V& initializer, std::source_location where = std::source_location::current()) {
  return detail::fold(fn, elems, initializer, false, where);
}
// The same from the last slice to the first.
template <class F, class E, class V>
V foldr(F fn, const E& elems, const V& initializer, std::source_location where = std::source_location::current()) {
  return detail::fold(fn, elems, initializer, true, where);
}

// Returns all intermediate states of foldl, stacked. If `fn` returns a pair (next state, output), returns a pair of the
// last state and the outputs, stacked.
template <class F, class E, class V>
auto scan(F fn, const E& elems, const V& initializer, const ScanOptions& options = {},
          std::source_location where = std::source_location::current()) {
  using R = std::decay_t<std::invoke_result_t<F&, const V&, const E&>>;
  const detail::Tensors slices = detail::tensors_in(elems), first = detail::tensors_in(initializer);
  if constexpr (std::is_convertible_v<R, V>) {
    const detail::SliceFunction erased = [&](std::span<const Tensor> state, std::span<const Tensor> slice) {
      const V next = fn(detail::like_with(initializer, state), detail::like_with(elems, slice));
      return detail::SliceResult{detail::tensors_in(next), detail::tensors_in(next)};
    };
    return detail::like_with(initializer, detail::over_slices(erased, slices, first, options.reverse, where).outputs);
  } else {
    using Y = std::decay_t<typename R::second_type>;
    Y like;
    const detail::SliceFunction erased = [&](std::span<const Tensor> state, std::span<const Tensor> slice) {
      R both = fn(detail::like_with(initializer, state), detail::like_with(elems, slice));
      like = std::move(both.second);
      const V next = std::move(both.first);
      return detail::SliceResult{detail::tensors_in(next), detail::tensors_in(like)};
    };
    const detail::SliceResult all = detail::over_slices(erased, slices, first, options.reverse, where);
    return std::pair<V, Y>(detail::like_with(initializer, all.state), detail::like_with(std::move(like), all.outputs));
  }
}

}  // namespace panto
