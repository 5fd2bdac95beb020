// Keras's merging layers as functions: they combine several tensors into one.
//
//   Tensor y = add({a, b, c});
//   Tensor z = concatenate({a, b}, -1);
//   Tensor s = batch_dot(a, b, {.axes = {2, 2}});
//
// Shapes broadcast, as everywhere. For two tensors add(a, b), maximum(a, b) and minimum(a, b) are ops. Thread-safety:
// plain functions.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

// Throw InvalidArgument for an empty list.
PANTO_EXPORT Tensor add(const ArgList& tensors);
PANTO_EXPORT Tensor multiply(const ArgList& tensors);
PANTO_EXPORT Tensor average(const ArgList& tensors);
PANTO_EXPORT Tensor maximum(const ArgList& tensors);
PANTO_EXPORT Tensor minimum(const ArgList& tensors);
// Concatenates along dimension `axis`.
PANTO_EXPORT Tensor concatenate(const ArgList& tensors, int64_t axis);
// a - b.
PANTO_EXPORT Tensor subtract(Arg a, Arg b);
PANTO_EXPORT Tensor multiply(Arg a, Arg b);

struct BatchDotOptions {
  std::vector<int64_t> axes = {-1, -1};  // of a, of b; axis 0 is the batch
  bool normalize = false;                // first scale both to length 1 along these axes: the cosine
};
// For each example the sum of products over one axis of a and one of b, as Keras's Dot: the result has a's other
// dimensions, then b's; [batch, 1] if neither has others. Throws InvalidArgument for ranks below 2 or unknown, and for
// invalid axes or axes of different sizes.
PANTO_EXPORT Tensor batch_dot(Arg a, Arg b, const BatchDotOptions& options = {});

}  // namespace panto
