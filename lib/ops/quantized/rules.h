// Shared code of quantized ops. Internal.
#pragma once

#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"

namespace panto::quantized {

inline constexpr const char* kNoGradient =
    "its integers are steps, through which no gradient flows: a network is trained with fake_quant_with_min_max_vars";
inline constexpr const char* kEightBits = "kernels are for integers of 8 bits, of which products fit 32";

// Inputs [first, last) must be scalars: ends of ranges.
inline void expect_numbers(const ShapeContext& c, int first, int last) {
  for (int i = first; i < last; ++i) c.expect_scalar(i);
}
// Outputs 1 and 2 are the range of output 0.
inline void output_range(ShapeContext& c) {
  c.output(1, PartialShape(Shape{}));
  c.output(2, PartialShape(Shape{}));
}
// Inputs from 1 on must be scalars; output 0 has the shape of input 0.
inline void like_input(ShapeContext& c) {
  expect_numbers(c, 1, c.num_inputs());
  c.output(c.shape(0));
  output_range(c);
}

inline bool any_batched(const BatchContext& c, int first, int last) {
  for (int i = first; i < last; ++i) {
    if (c.batched(i)) return true;
  }
  return false;
}
// The batch rule of ops that are elementwise in input 0 and whose output range follows from the other inputs: if the
// range is not batched, the batch is computed like one example.
void elements_batch(BatchContext& c);
// The batch rule of ops that compute the images in input 0 independently.
void images_batch(BatchContext& c);

}  // namespace panto::quantized
