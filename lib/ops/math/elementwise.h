// What the blocks of elementwise ops share: shape functions that also follow small integer values through arithmetic
// (design decision 14), and costs.
#pragma once

#include <cstdint>
#include <optional>

#include "panto/lib/core/call/call.h"

namespace panto {

// One value of integer arithmetic; nullopt where it is not defined (overflow, division by zero).
using ValueFn = std::optional<int64_t> (*)(int64_t x, int64_t y);

namespace shapes {

// Adds to `shape` what `other`, which must be equal, is known to be. Throws InvalidArgument where it is not equal.
void merge_equal(PartialShape& shape, const PartialShape& other);
// Both inputs, or all three or more, have one shape.
void all_equal(ShapeContext& c);

// Internal to the two below.
void infer_values(ShapeContext& c, ValueFn value);

// Like same_as_input and broadcast_two, and symbolic integers have the values `value` says. (One-input functions get
// the input twice.)
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

// A cost function: so many floating-point operations for each element of output 0.
template <int64_t kFlops>
int64_t flops_each(const CostContext& c) {
  return kFlops * c.out_numel(0);
}

}  // namespace panto
