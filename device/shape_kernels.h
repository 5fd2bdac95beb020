// Kernels that read no elements on the device, so that all back-ends share them: identities, views, queries of shapes.
// Inputs and outputs marked @host in the signature are in host memory wherever the op runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"

namespace panto::kernels {

inline void run_placeholder(KernelContext& c) {
  const PartialShape& shape = c.shape_attr("shape");
  invalid("placeholder: expected to be fed a {} of shape {}, got nothing", dtype_name(c.type("dtype")),
          shape.known_rank() ? shape.to_string() : "any");
}

inline void run_identity(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_out(i, view_tensor(c.in(i), c.shape(i)));
}

// Forwards the first inputs, one for each output.
inline void run_first_inputs(KernelContext& c) {
  for (int k = 0; k < c.num_outputs(); ++k) c.set_out(k, view_tensor(c.in(k), c.shape(k)));
}

inline void run_no_op(KernelContext&) {}

// Reshape and similar ops: the same bytes in another shape.
inline void run_view(KernelContext& c) { c.set_out(0, view_tensor(c.in(0), c.inferred_shape(0))); }

// The same bytes as another type, which may have elements of another size.
inline void run_bitcast(KernelContext& c) {
  if (c.out(0).nbytes() > 0) c.device().copy_within(c.out_data<void>(0), c.data<void>(0), c.out(0).nbytes());
}

inline void put_integer(KernelContext& c, int64_t i, int64_t value, int output = 0) {
  if (c.out(output).dtype() == kInt32) {
    c.out_data<int32_t>(output)[i] = static_cast<int32_t>(value);  // the shape function checked that it fits
  } else {
    c.out_data<int64_t>(output)[i] = value;
  }
}

// Shape, and ShapeN of several tensors.
inline void run_shape(KernelContext& c) {
  for (int k = 0; k < c.num_inputs(); ++k) {
    const Shape& shape = c.shape(k);
    for (int i = 0; i < shape.rank(); ++i) put_integer(c, i, shape.dim(i), k);
  }
}
inline void run_rank(KernelContext& c) { put_integer(c, 0, c.shape(0).rank()); }
inline void run_size(KernelContext& c) { put_integer(c, 0, c.numel(0)); }

template <class T>
Tensor host_vector(const std::vector<int64_t>& values) {
  Tensor t = allocate_tensor(cpu_device(), dtype_of<T>, Shape{static_cast<int64_t>(values.size())});
  std::ranges::transform(values, mutable_data<T>(t), [](int64_t v) { return static_cast<T>(v); });
  return t;
}

struct RunBroadcastGradientArgs {
  template <class T>
  static void run(KernelContext& c) {
    const KnownIntegers s0(c.in(0));
    const KnownIntegers s1(c.in(1));
    const BroadcastAxes axes = broadcast_gradient_axes(s0.values(), s1.values());
    c.set_out(0, host_vector<T>(axes.first));
    c.set_out(1, host_vector<T>(axes.second));
  }
};

inline void run_broadcast_args(KernelContext& c) {
  const KnownIntegers a(c.in(0)), b(c.in(1));
  const PartialShape both = broadcast_shapes(PartialShape(a.values()), PartialShape(b.values()));
  for (int i = 0; i < both.rank(); ++i) put_integer(c, i, both.dim(i));
}

inline void run_concat_offset(KernelContext& c) {
  const int64_t rank = c.numel(1);
  const int64_t dim = host_integer(c.in(0)), along = dim < 0 ? dim + rank : dim;
  int64_t first = 0;
  for (int k = 0; k < c.num_outputs(); ++k) {
    for (int64_t i = 0; i < rank; ++i) {
      const int64_t here = host_integer(c.in(1 + k), i), before = host_integer(c.in(1), i);
      if (i != along && here != before) {
        invalid("shape[{}]: expected {} at {}, as in shape[0], got {}", k, before, i, here);
      }
      put_integer(c, i, i == along ? first : 0, k);
    }
    first += host_integer(c.in(1 + k), along);
  }
}

}  // namespace panto::kernels
