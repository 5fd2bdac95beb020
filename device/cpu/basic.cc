// Sources, identities, views, questions about shapes, and tensors made from a few numbers.

#include <algorithm>
#include <complex>
#include <cstring>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/half.h"
#include "panto/lib/ops/values.h"

namespace panto {
namespace {

// ---- Sources and identities ----------------------------------------------------------------------------------------

void run_const(KernelContext& c) { c.set_out(0, c.tensor_attr("value")); }

void run_placeholder(KernelContext& c) {
  const PartialShape& shape = c.shape_attr("shape");
  invalid("placeholder: expected to be fed a {} of shape {}, got nothing", dtype_name(c.type("dtype")),
          shape.known_rank() ? shape.to_string() : "any");
}

void run_identity(KernelContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) c.set_out(i, view_tensor(c.in(i), c.shape(i)));
}

void run_no_op(KernelContext&) {}

// Reshape and its kin: the same bytes in another shape.
void run_view(KernelContext& c) { c.set_out(0, view_tensor(c.in(0), c.inferred_shape(0))); }

const CpuKernel const_kernel("Const", dtypes::kAny, run_const);
const CpuKernel placeholder_kernel("Placeholder", dtypes::kAny, run_placeholder);
const CpuKernel placeholder_with_default_kernel("PlaceholderWithDefault", dtypes::kAny, run_identity);
const CpuKernel identity_kernel("Identity", dtypes::kAny, run_identity);
const CpuKernel stop_gradient_kernel("StopGradient", dtypes::kAny, run_identity);
const CpuKernel identity_n_kernel("IdentityN", run_identity);
const CpuKernel no_op_kernel("NoOp", run_no_op);
const CpuKernel reshape_kernel("Reshape", dtypes::kAny, run_view);
const CpuKernel expand_dims_kernel("ExpandDims", dtypes::kAny, run_view);
const CpuKernel squeeze_kernel("Squeeze", dtypes::kAny, run_view);

// ---- Shapes --------------------------------------------------------------------------------------------------------

void put_integer(KernelContext& c, int64_t i, int64_t value) {
  if (c.out(0).dtype() == kInt32) {
    c.out_data<int32_t>(0)[i] = static_cast<int32_t>(value);  // the shape function saw that it fits
  } else {
    c.out_data<int64_t>(0)[i] = value;
  }
}

void run_shape(KernelContext& c) {
  const Shape& shape = c.shape(0);
  for (int i = 0; i < shape.rank(); ++i) put_integer(c, i, shape.dim(i));
}
void run_rank(KernelContext& c) { put_integer(c, 0, c.shape(0).rank()); }
void run_size(KernelContext& c) { put_integer(c, 0, c.numel(0)); }

template <class T>
Tensor host_vector(Device& device, const std::vector<int64_t>& values) {
  Tensor t = allocate_tensor(device, dtype_of<T>, Shape{static_cast<int64_t>(values.size())});
  std::ranges::transform(values, mutable_data<T>(t), [](int64_t v) { return static_cast<T>(v); });
  return t;
}

struct RunBroadcastGradientArgs {
  template <class T>
  static void run(KernelContext& c) {
    const KnownIntegers s0(c.in(0));
    const KnownIntegers s1(c.in(1));
    const BroadcastAxes axes = broadcast_gradient_axes(s0.values(), s1.values());
    c.set_out(0, host_vector<T>(c.device(), axes.first));
    c.set_out(1, host_vector<T>(c.device(), axes.second));
  }
};

const CpuKernel shape_kernel("Shape", dtypes::kAny, run_shape);
const CpuKernel rank_kernel("Rank", dtypes::kAny, run_rank);
const CpuKernel size_kernel("Size", dtypes::kAny, run_size);
const CpuKernel broadcast_gradient_args_kernel("BroadcastGradientArgs", types::index{}, RunBroadcastGradientArgs{});

// ---- Tensors of equal or evenly spaced elements --------------------------------------------------------------------

template <class T>
void fill_output(KernelContext& c, const T& value) {
  T* out = c.out_data<T>(0);
  const int64_t n = c.out_numel(0);
  cpu::parallel_ranges(n, n * static_cast<int64_t>(sizeof(T)),
                       [=, &value](int64_t begin, int64_t end) { std::fill(out + begin, out + end, value); });
}

struct RunZeros {
  template <class T>
  static void run(KernelContext& c) {
    fill_output(c, T{});
  }
};

struct RunOnes {
  template <class T>
  static void run(KernelContext& c) {
    fill_output(c, T(1.f));
  }
};

struct RunFill {
  template <class T>
  static void run(KernelContext& c) {
    fill_output(c, *c.data<T>(1));
  }
};

struct RunRange {
  template <class T>
  static void run(KernelContext& c) {
    const T start = *c.data<T>(0);
    const T delta = *c.data<T>(2);
    T* out = c.out_data<T>(0);
    const int64_t n = c.out_numel(0);
    cpu::parallel_ranges(n, n * static_cast<int64_t>(sizeof(T)), [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_integral_v<T>) {
          // Wraps nowhere within the range; unsigned because i * delta of what lies beyond may.
          out[i] =
              static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
        } else {
          out[i] = start + static_cast<T>(i) * delta;
        }
      }
    });
  }
};

using AllNumbers = TypeList<float, double, Half, BFloat16, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                            uint32_t, uint64_t, bool, std::complex<float>, std::complex<double>>;

// Handles have no zero: resource and variant are left out.
const CpuKernel zeros_like_kernel("ZerosLike", types::plain{}, RunZeros{});
const CpuKernel zeros_like_string_kernel("ZerosLike", TypeList<std::string>{}, RunZeros{});
const CpuKernel ones_like_kernel("OnesLike", AllNumbers{}, RunOnes{});
const CpuKernel fill_kernel("Fill", types::every{}, RunFill{});
const CpuKernel range_kernel("Range", types::real{}, RunRange{});

}  // namespace
}  // namespace panto
