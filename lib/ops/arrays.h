// Functions with the names of NumPy and PyTorch that make, join, select and order tensors.
//
//   arange(5);  arange(2, 10, 2);  full({2, 3}, 7.f);  randn({2, 2});  rand({3})
//   stack({a, b});  cat({a, b}, 1);  where(x > 0, x, 0.f);  clip(x, 0.f, 1.f)
//   sort(x);  argsort(x, {.descending = true});  auto [values, indices] = top_k(x, 3);  flip(x, {0});  roll(x, 1, 0)
//   diag(x);  outer(a, b);  meshgrid({a, b});  diff(x);  pad(x, paddings, {.mode = "reflect"});  real(z);  imag(z)
//   tril(x);  triu(x, 1);  repeat(x, 2, 0);  gather(x, positions);  one_hot(labels, 10);  softmax(x, {.axis = 0})
//
// docs/names.md lists the names of NumPy, PyTorch and TensorFlow with ours. The functions are built from ops, so a
// trace records them.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/ops/random/random.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

// ---- Making ------------------------------------------------------------------------------------------------------

// start, start + step, ... before `stop`, as op `range`.
PANTO_EXPORT Tensor arange(Arg stop);
PANTO_EXPORT Tensor arange(Arg start, Arg stop);
PANTO_EXPORT Tensor arange(Arg start, Arg stop, Arg step);
// A tensor filled with `value`, in its type.
PANTO_EXPORT Tensor full(Arg shape, Arg value);
// random_normal and random_uniform.
PANTO_EXPORT Tensor randn(Arg shape, const RandomNormalOptions& options = {});
PANTO_EXPORT Tensor rand(Arg shape, const RandomUniformOptions& options = {});

// ---- Dimensions --------------------------------------------------------------------------------------------------

// Reverses the order of all dimensions; for a matrix, exchanges rows and columns.
PANTO_EXPORT Tensor transpose(Arg x);

struct PadOptions {
  std::string_view mode = "constant";  // "reflect", "symmetric": mirrors x without or with the edge
};
// Adds paddings[i, 0] elements before and paddings[i, 1] after x along each dimension i: ops Pad and MirrorPad.
template <std::same_as<PadOptions> Options = PadOptions>
Tensor pad(Arg x, Arg paddings, const Options& options);

// ---- Joining and repeating ---------------------------------------------------------------------------------------

// Joins tensors of one shape along a new dimension `axis`: op Pack.
PANTO_EXPORT Tensor stack(const ArgList& values, int64_t axis = 0);
// Concatenates tensors along dimension `axis`: op ConcatV2.
PANTO_EXPORT Tensor cat(const ArgList& values, int64_t axis = 0);
// Repeats each element, or each slice along `axis`, `times` times in a row. Throws InvalidArgument if `times` is
// negative.
PANTO_EXPORT Tensor repeat(Arg x, int64_t times);
PANTO_EXPORT Tensor repeat(Arg x, int64_t times, int64_t axis);

// ---- Taking apart ------------------------------------------------------------------------------------------------

// Splits x into `count` equal parts along dimension `axis`, as in NumPy and TensorFlow: op Split.
template <std::integral Count>
std::vector<Tensor> split(Arg x, Count count, int axis = 0) {
  const Arg::Where where = x.where();
  return split(Arg(axis, where), std::move(x), static_cast<int64_t>(count));
}
// Splits x into parts of these sizes. One size may be -1: the rest. Throws InvalidArgument if the sizes do not add up
// to the dimension.
PANTO_EXPORT std::vector<Tensor> split(Arg x, const std::vector<int64_t>& sizes, int axis = 0);

// The `n`-th differences between neighbours along a dimension.
PANTO_EXPORT Tensor diff(Arg x, int64_t n = 1, int64_t axis = -1);

// ---- Complex numbers ---------------------------------------------------------------------------------------------

// complex64 of float32 parts, complex128 of float64 ones: op Complex.
PANTO_EXPORT Tensor make_complex(Arg real, Arg imag);
// Parts of complex numbers: ops Real, Imag, Angle, ComplexAbs. For real x: real(x) is x, imag(x) is 0, angle(x) is 0 or
// pi.
PANTO_EXPORT Tensor real(Arg x);
PANTO_EXPORT Tensor imag(Arg x);
PANTO_EXPORT Tensor angle(Arg x);
PANTO_EXPORT Tensor complex_abs(Arg x);

// ---- Products ----------------------------------------------------------------------------------------------------

// Sums products over the indices that are not in the output, as in NumPy: einsum("ij,jk->ik", a, b). Op Einsum.
PANTO_EXPORT Tensor einsum(std::string_view equation, const ArgList& operands);
PANTO_EXPORT Tensor einsum(std::string_view equation, const Tensor& a);
PANTO_EXPORT Tensor einsum(std::string_view equation, const Variable& a);
PANTO_EXPORT Tensor einsum(std::string_view equation, Arg a, Arg b);
PANTO_EXPORT Tensor einsum(std::string_view equation, Arg a, Arg b, Arg c);

// All products of an element of `a` and one of `b`: [elements of a, elements of b].
PANTO_EXPORT Tensor outer(Arg a, Arg b);

struct MeshgridOptions {
  std::string_view indexing = "xy";  // dimension 0 is the second vector's; "ij": the first vector's
};
// The coordinates of a grid with these vectors as axes: one tensor per vector, with its elements repeated along the
// other axes.
PANTO_EXPORT std::vector<Tensor> meshgrid(const ArgList& axes, const MeshgridOptions& options = {});

// A matrix with vector x on its k-th diagonal, or the k-th diagonal of a matrix (or of each of several), as in NumPy.
PANTO_EXPORT Tensor diag(Arg x, int64_t k = 0);
// Replaces the k-th diagonals of matrices (the last two dimensions).
PANTO_EXPORT Tensor set_diag(Arg x, Arg diagonal, int64_t k = 0);

// ---- Choosing ----------------------------------------------------------------------------------------------------

// `x` where the condition is true, `y` elsewhere; the three broadcast: op SelectV2.
PANTO_EXPORT Tensor where(Arg condition, Arg x, Arg y);
// The positions at which the condition is true, [count, rank]: op Where.
PANTO_EXPORT Tensor where(Arg condition);
// Limits x to [low, high]; if low > high, the result is `high`. NaN stays NaN.
PANTO_EXPORT Tensor clip(Arg x, Arg low, Arg high);
PANTO_EXPORT Tensor tril(Arg x, int64_t diagonal = 0);  // zeros above a diagonal, in the last two dimensions
PANTO_EXPORT Tensor triu(Arg x, int64_t diagonal = 0);  // zeros below it
// gather: slices of the first dimension. one_hot: vectors of 1 and 0 along a new last dimension (float32).
PANTO_EXPORT Tensor gather(Arg params, Arg indices);
PANTO_EXPORT Tensor one_hot(Arg indices, Arg depth);

// ---- Ordering ----------------------------------------------------------------------------------------------------

struct SortOptions {
  int64_t axis = -1;
  bool descending = false;
};
// Sorts along one dimension; argsort returns the positions that sort it. NaN counts as larger than any number.
PANTO_EXPORT Tensor sort(Arg x, const SortOptions& options = {});
PANTO_EXPORT Tensor argsort(Arg x, const SortOptions& options = {});
// Reverses the order of elements along the given dimensions; along all if none are given.
PANTO_EXPORT Tensor flip(Arg x, const std::vector<int64_t>& axis = {});
PANTO_EXPORT Tensor flip(Arg x, int64_t axis);

// The flat (row-major) position of the largest (smallest) of all elements, as in NumPy: int64[].
PANTO_EXPORT Tensor argmax(Arg x);
PANTO_EXPORT Tensor argmin(Arg x);

struct BincountOptions {
  int64_t minlength = 0;  // minimal length of the result
  Tensor weights = {};    // of the shape of x: the weight of each element, instead of 1
};
// Counts how often 0, 1, 2, ... occur in integer vector x, as in NumPy: int64[largest element + 1]. With weights, sums
// the weights instead, in their type if it is floating, else float64. Throws InvalidArgument for a negative element.
PANTO_EXPORT Tensor bincount(Arg x, const BincountOptions& options = {});

struct SearchsortedOptions {
  bool right = false;  // insert after equal elements instead of before
};
// For each of `values`, the position (int64) at which to insert it into the sorted `sequence`. A vector is searched for
// values of any shape; otherwise each row (the last dimension) is searched for the values in the same row.
PANTO_EXPORT Tensor searchsorted(Arg sequence, Arg values, const SearchsortedOptions& options = {});

// ---- Along one dimension -----------------------------------------------------------------------------------------

struct AlongOptions {
  int64_t axis = -1;
};
template <std::same_as<AlongOptions> Options = AlongOptions>
Tensor softmax(Arg x, const Options& options);
template <std::same_as<AlongOptions> Options = AlongOptions>
Tensor log_softmax(Arg x, const Options& options);

struct CategoricalOptions {
  std::optional<int64_t> seed = std::nullopt;
};
// [batch, count] classes (int64), each drawn with a probability proportional to exp(logits[batch, class]): the largest
// of logits plus Gumbel noise.
PANTO_EXPORT Tensor categorical(Arg logits, int64_t count, const CategoricalOptions& options = {});

namespace detail {
PANTO_EXPORT Tensor pad_mode(Arg x, Arg paddings, std::string_view mode);
PANTO_EXPORT Tensor softmax_along(Arg x, int64_t axis);
PANTO_EXPORT Tensor log_softmax_along(Arg x, int64_t axis);
}  // namespace detail

template <std::same_as<PadOptions> Options>
Tensor pad(Arg x, Arg paddings, const Options& options) {
  return detail::pad_mode(std::move(x), std::move(paddings), options.mode);
}
template <std::same_as<AlongOptions> Options>
Tensor softmax(Arg x, const Options& options) {
  return detail::softmax_along(std::move(x), options.axis);
}
template <std::same_as<AlongOptions> Options>
Tensor log_softmax(Arg x, const Options& options) {
  return detail::log_softmax_along(std::move(x), options.axis);
}

}  // namespace panto
