// Shared code of elementwise ops: cost functions, and shape functions that also compute small integer values (design
// decision 14).
#pragma once

#include <cstdint>
#include <optional>

#include "panto/lib/core/call/call.h"

namespace panto {

// The result of an op on integers; nullopt if undefined (overflow, division by zero).
using ValueFn = std::optional<int64_t> (*)(int64_t x, int64_t y);

namespace shapes {

// Merges what is known of `other` into `shape`. Throws InvalidArgument if the two shapes contradict each other.
void merge_equal(PartialShape& shape, const PartialShape& other);
// All inputs must have the same shape.
void all_equal(ShapeContext& c);

// Internal to the two below.
void infer_values(ShapeContext& c, ValueFn value);

// Like same_as_input and broadcast_two; also computes known values of symbolic integers with `kValue`. (One-input
// functions get the input twice.)
template <ValueFn kValue>
void unary_integers(ShapeContext& c) {
  same_as_input(c);
  if (c.symbolic()) [[unlikely]]
    infer_values(c, kValue);
}
template <ValueFn kValue>
void binary_integers(ShapeContext& c) {
  broadcast_two(c);
  if (c.symbolic()) [[unlikely]]
    infer_values(c, kValue);
}

}  // namespace shapes

// A cost function: kFlops floating-point operations per element of output 0.
template <int64_t kFlops>
int64_t flops_each(const CostContext& c) {
  return kFlops * c.out_numel(0);
}

}  // namespace panto
