// What tests of layers share: values that both sides can make, and the ways in which a layer is used.
#pragma once

#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/layers/layer.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {

// sin(start + 1.7 k) by element: of no order that a layer could have by mistake. NumPy's np.sin(start + 1.7 *
// np.arange(n)).reshape(shape).astype(type) is the same.
inline Tensor wave(const Shape& shape, double start = 0, DType type = kFloat32) {
  return cast(reshape(sin(range(0.0, static_cast<double>(shape.numel()), 1.0) * 1.7 + start), shape), type);
}

inline Initializer waves(double start) {
  return [start](const Shape& shape, DType type) { return wave(shape, start, type); };
}

// What the layer gives for x, which is the same when it is traced, with the batch known or not, and when the graph was
// saved and loaded.
inline Tensor everywhere(const Layer& layer, const Tensor& x, double tolerance = 1e-6) {
  const Tensor eager = layer(x);
  const std::vector<double> expected = values_of(eager);
  std::vector<int64_t> dims(x.shape().dims().begin(), x.shape().dims().end());
  for (const int64_t batch : {x.dim(0), int64_t{-1}}) {
    dims[0] = batch;
    const Function traced =
        trace([&](const Tensor& t) { return layer(t); }, {TensorSpec(x.dtype(), PartialShape(dims), "x")});
    expect_near(traced(x), eager.shape(), expected, tolerance);
    const TestFolder folder;
    traced.save(folder / "layer.pb");
    expect_near(load(folder / "layer.pb")(x), eager.shape(), expected, tolerance);
  }
  return eager;
}

}  // namespace panto
