// Pools with windows of two neighbouring sizes, which shrink images by any ratio (Graham 2014, Fractional max-pooling).
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// The number of windows along a dimension of `size`. Throws if there is none.
int64_t shrunk(int64_t size, float ratio, int axis) {
  if (size < 0) return kUnknownDim;
  const auto windows = static_cast<int64_t>(std::floor(static_cast<float>(size) / ratio));
  if (windows < 1) invalid("pooling_ratio[{}]: expected at most {}, the size, got {}", axis, size, ratio);
  return windows;
}

void pool_shape(ShapeContext& c) {
  const AttrSlot& slot = c.slot("pooling_ratio");
  const auto* ratio = static_cast<const float*>(slot.p);
  if (slot.n != 4) invalid("pooling_ratio: expected 4 numbers, got {}", slot.n);
  for (int k = 0; k < 4; ++k) {
    if (!(ratio[k] >= 1) || std::isinf(ratio[k])) {
      invalid("pooling_ratio[{}]: expected a finite number of at least 1, got {}", k, ratio[k]);
    }
  }
  if (ratio[0] != 1 || ratio[3] != 1) {
    failf(Code::kUnimplemented, "pooling_ratio of batch and channels: expected 1, got {}",
          ratio[0] != 1 ? ratio[0] : ratio[3]);
  }
  c.expect_rank(0, 4);
  const int64_t rows = shrunk(c.dim(0, 1), ratio[1], 1), columns = shrunk(c.dim(0, 2), ratio[2], 2);
  c.output(0, PartialShape{c.dim(0, 0), rows, columns, c.dim(0, 3)});
  c.output(1, PartialShape{rows < 0 ? kUnknownDim : rows + 1});
  c.output(2, PartialShape{columns < 0 ? kUnknownDim : columns + 1});
}

// Throws unless input `pooled` has a pixel for each window of the two sequences, inputs `sequences` and `sequences` +
// 1.
void expect_windows(const ShapeContext& c, int pooled, int sequences) {
  c.expect_rank(pooled, 4);
  for (int k = 0; k < 2; ++k) {
    const int64_t bounds = c.vector(sequences + k), size = c.dim(pooled, 1 + k);
    if (bounds == 0)
      invalid("{}: expected at least one, got none", k == 0 ? "row_pooling_sequence" : "col_pooling_sequence");
    c.expect_equal(size, bounds < 0 ? kUnknownDim : bounds - 1, k == 0 ? "rows of windows" : "columns of windows");
  }
}

void max_grad_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  expect_windows(c, 1, 3);
  expect_windows(c, 2, 3);
  for (const int k : {0, 3}) {
    c.expect_equal(c.dim(0, k), c.dim(2, k),
                   k == 0 ? "images of orig_input and out_backprop" : "channels of orig_input and out_backprop");
  }
  if (!c.shape(1).compatible_with(c.shape(2))) {
    invalid("out_backprop: expected shape {}, got {}", c.shape(1).to_string(), c.shape(2).to_string());
  }
  c.output(c.shape(0).known_rank() ? c.shape(0) : PartialShape::of_rank(4));
}

void avg_grad_shape(ShapeContext& c) {
  const int64_t rank = c.vector(0);
  if (rank >= 0 && rank != 4) invalid("orig_input_tensor_shape: expected 4 numbers, got {}", rank);
  expect_windows(c, 1, 2);
  const PartialShape input = c.shape_from(0);
  if (!input.known_rank()) return c.output(PartialShape::of_rank(4));
  for (const int k : {0, 3}) {
    c.expect_equal(input.dim(k), c.dim(1, k),
                   k == 0 ? "images of the input and out_backprop" : "channels of the input and out_backprop");
  }
  c.output(input);
}

int64_t flops(const CostContext& c) { return c.numel(0); }

}  // namespace

const Op& kFractionalMaxPool = define_op(
    "FractionalMaxPool(value: T; pooling_ratio: list(float) >= 4, pseudo_random: bool = false, overlapping: bool = "
    "false, deterministic: bool = false, seed: int = 0, seed2: int = 0, T: float32|float64|int32|int64) -> (output: T, "
    "row_pooling_sequence: int64, col_pooling_sequence: int64)",
    {.doc = "The largest element of each window over images [batch, height, width, channels], which shrink by "
            "`pooling_ratio` [1, rows, columns, 1], each at least 1, rounded down (Graham 2014). Windows are of two "
            "neighbouring sizes, in an order that is drawn: at random, or with `pseudo_random` spread evenly from a "
            "place that is drawn. The outputs besides tell where they begin, and at last where the image ends; with "
            "`overlapping` each ends with the first element of the next. With `deterministic` a node draws once. "
            "Seeds: as in RandomUniform.",
     .effects = {effects::random()},
     .shape = pool_shape,
     .saves = {in(0), out(0), out(1), out(2)},
     .gradient =
         [](GradContext& g) {
           if (!g.has_dy(0)) return;
           g.set(0, fractional_max_pool_grad(g.in(0), g.out(0), g.dy(), g.out(1), g.out(2),
                                             {.overlapping = g.flag("overlapping")}));
         },
     .flops = flops,
     .batch = batching::loop,
     .jvp = tangents::none});

const Op& kFractionalMaxPoolGrad = define_op(
    "FractionalMaxPoolGrad(orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: int64, "
    "col_pooling_sequence: int64; overlapping: bool = false, T: float32|float64|int32|int64) -> (output: T)",
    {.doc = "The gradient of FractionalMaxPool: each element of `out_backprop` is added where the largest element of "
            "its window is, the first one of several. Of `orig_output` only the shape counts.",
     .shape = max_grad_shape,
     .no_gradient = "TensorFlow has none",
     .flops = flops,
     .batch = batching::loop});

const Op& kFractionalAvgPool = define_op(
    "FractionalAvgPool(value: T; pooling_ratio: list(float) >= 4, pseudo_random: bool = false, overlapping: bool = "
    "false, deterministic: bool = false, seed: int = 0, seed2: int = 0, T: float32|float64|int32|int64) -> (output: T, "
    "row_pooling_sequence: int64, col_pooling_sequence: int64)",
    {.doc = "FractionalMaxPool with the mean of each window; of integers it is rounded towards zero.",
     .effects = {effects::random()},
     .shape = pool_shape,
     .saves = {shape_of(0), out(1), out(2)},
     .gradient =
         [](GradContext& g) {
           if (!g.has_dy(0)) return;
           g.set(0, fractional_avg_pool_grad(cast(g.shape(0), kInt64), g.dy(), g.out(1), g.out(2),
                                             {.overlapping = g.flag("overlapping")}));
         },
     .flops = flops,
     .batch = batching::loop,
     .jvp = tangents::none});

const Op& kFractionalAvgPoolGrad = define_op(
    "FractionalAvgPoolGrad(orig_input_tensor_shape: int64 @host, out_backprop: T, row_pooling_sequence: int64, "
    "col_pooling_sequence: int64; overlapping: bool = false, T: float32|float64|int32|int64) -> (output: T)",
    {.doc = "The gradient of FractionalAvgPool: each element of `out_backprop` is shared equally by the elements of "
            "its window.",
     .shape = avg_grad_shape,
     .no_gradient = "TensorFlow has none",
     .flops = [](const CostContext& c) { return c.out_numel(0); },
     .batch = batching::loop});

}  // namespace panto
