// Shared code of pooling ops over images (rank 4) and volumes (rank 5). Internal.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/nn/window.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

// The attributes of a pooling call, to call another pooling op with.
struct PoolAttributes {
  std::vector<int64_t> ksize, strides, explicit_paddings;
  std::string padding, data_format;

  template <class Context>
  explicit PoolAttributes(const Context& c)
      : ksize(list_of(c.integers("ksize"))), strides(list_of(c.integers("strides"))), padding(c.text("padding")) {
    if (c.op().signature().find_attr("data_format") >= 0) data_format = c.text("data_format");
  }

  static std::vector<int64_t> list_of(std::span<const int64_t> values) { return {values.begin(), values.end()}; }
};

namespace pools {

template <int kRank>
PartialShape pooled(const CallView& c, const PartialShape& input) {
  if constexpr (kRank == 5) {
    return pooled_shape(volume_pool_of(c, input), input);
  } else {
    return pooled_shape(pool_of(c, input), input);
  }
}

template <int kRank>
void pool_shape(ShapeContext& c) {
  c.expect_rank(0, kRank);
  c.output(pooled<kRank>(c, c.shape(0)));
}

// Throws InvalidArgument unless input i has the shape of the pool's result.
template <int kRank>
void expect_pooled(const ShapeContext& c, int i, const char* name, const PartialShape& expected) {
  c.expect_rank(i, kRank);
  if (!expected.compatible_with(c.shape(i))) {
    invalid("{}: expected shape {}, got {}", name, expected.to_string(), c.shape(i).to_string());
  }
}

template <int kRank>
void max_grad_shape(ShapeContext& c) {
  c.expect_rank(0, kRank);
  const PartialShape result = pooled<kRank>(c, c.shape(0));
  expect_pooled<kRank>(c, 1, "orig_output", result);
  expect_pooled<kRank>(c, 2, "grad", result);
  c.output(c.shape(0).known_rank() ? c.shape(0) : PartialShape::of_rank(kRank));
}

template <int kRank>
void max_grad_grad_shape(ShapeContext& c) {
  c.expect_rank(0, kRank);
  const PartialShape result = pooled<kRank>(c, c.shape(0));
  expect_pooled<kRank>(c, 1, "orig_output", result);
  c.expect_rank(2, kRank);
  if (!c.shape(0).compatible_with(c.shape(2))) {
    invalid("grad: expected shape {}, got {}", c.shape(0).to_string(), c.shape(2).to_string());
  }
  c.output(result);
}

template <int kRank>
void avg_grad_shape(ShapeContext& c) {
  const int64_t count = c.vector(0);
  if (count >= 0 && count != kRank) invalid("orig_input_shape: expected {} numbers, got {}", kRank, count);
  PartialShape sizes = c.shape_from(0);
  expect_pooled<kRank>(c, 1, "grad", pooled<kRank>(c, sizes));
  c.output(sizes.known_rank() ? std::move(sizes) : PartialShape::of_rank(kRank));
}

// The batch rule of AvgPoolGrad and AvgPool3DGrad: merges the batch into the images' shape, which is input 0.
inline void avg_grad_batch(BatchContext& c) {
  auto dims = all_integers(c.in(0));
  if (c.batched(0) || !dims || c.size() < 0) return c.loop();
  const int64_t images = (*dims)[0];
  (*dims)[0] *= c.size();
  SmallVector<Tensor, 2> outputs = c.again({cast(constant_integers(*dims), kInt32), merge_front(c.in(1))});
  c.set_out(0, split_front(outputs[0], c.size(), images));
}

}  // namespace pools
}  // namespace panto
