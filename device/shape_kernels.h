// Kernels that look at no element, so that they are the same on every back-end: identities, views, questions about
// shapes. Inputs and outputs that are marked @host in the signature are in host memory wherever the op runs.
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

// As many inputs as there are outputs.
inline void run_first_inputs(KernelContext& c) {
  for (int k = 0; k < c.num_outputs(); ++k) c.set_out(k, view_tensor(c.in(k), c.shape(k)));
}

inline void run_no_op(KernelContext&) {}

// Reshape and its kin: the same bytes in another shape.
inline void run_view(KernelContext& c) { c.set_out(0, view_tensor(c.in(0), c.inferred_shape(0))); }

inline void put_integer(KernelContext& c, int64_t i, int64_t value) {
  if (c.out(0).dtype() == kInt32) {
    c.out_data<int32_t>(0)[i] = static_cast<int32_t>(value);  // the shape function saw that it fits
  } else {
    c.out_data<int64_t>(0)[i] = value;
  }
}

inline void run_shape(KernelContext& c) {
  const Shape& shape = c.shape(0);
  for (int i = 0; i < shape.rank(); ++i) put_integer(c, i, shape.dim(i));
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

}  // namespace panto::kernels
