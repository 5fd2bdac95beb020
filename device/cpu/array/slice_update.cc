// Replaces the part of a tensor or a variable that StridedSlice would return.
#include <algorithm>

#include "panto/device/array_kernels.h"
#include "panto/device/cpu/array/strided_copy.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/state.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// Returns input 4 broadcast to `shape`. If input 4 has a higher rank, its extra leading dimensions are 1.
template <class T>
Tensor repeat(KernelContext& c, const Shape& shape) {
  const Shape& from = c.shape(4);
  Tensor out = allocate_tensor(c.device(), c.in(4).dtype(), shape);
  T* to = mutable_data<T>(out);
  for (int64_t i = 0; i < out.numel(); ++i) {
    int64_t rest = i, at = 0, stride = 1;
    for (int k = 1; k <= std::min(shape.rank(), from.rank()); ++k) {
      const int64_t d = shape.dim(shape.rank() - k), have = from.dim(from.rank() - k);
      if (have != 1) at += rest % d * stride;
      stride *= have;
      rest /= d;
    }
    to[i] = c.data<T>(4)[at];
  }
  return out;
}

// Writes input 4 into the slice of `whole` given by inputs 1 to 3 and the masks. Checks everything before writing.
template <class T>
void put(KernelContext& c, const Shape& shape, T* whole) {
  const StridedSlice slice =
      plan_strided_slice(shape, KnownIntegers(c.in(1)), KnownIntegers(c.in(2)), KnownIntegers(c.in(3)), masks_of(c));
  expect_slice(slice, c.shape(4));
  const Shape part(slice.shape);
  if (part.numel() == 0) return;
  int64_t first;
  const auto copy = moves::slice_copy<cpu::StridedCopy>(slice, moves::strides_of(shape), false, first);
  if (c.shape(4) == part) return copy.run(c.data<T>(4), whole + first);
  const Tensor repeated = repeat<T>(c, part);
  copy.run(static_cast<const T*>(repeated.impl()->data), whole + first);
}

struct RunSliceUpdate {
  template <class T>
  static void run(KernelContext& c) {
    std::copy_n(c.data<T>(0), c.numel(0), c.out_data<T>(0));
    put<T>(c, c.shape(0), c.out_data<T>(0));
  }
};

struct RunSliceAssign {
  template <class T>
  static void run(KernelContext& c) {
    VariableResource& variable = variable_of(c.in(0));
    state::check_dtype(variable, c.type("T"));
    variable.update(c.device(), [&](Tensor& value) { put<T>(c, value.shape(), mutable_data<T>(value)); });
  }
};

const CpuKernel update_kernel("TensorStridedSliceUpdate", types::every{}, RunSliceUpdate{});
const CpuKernel assign_kernel("ResourceStridedSliceAssign", types::plain{}, RunSliceAssign{});

}  // namespace
}  // namespace panto
