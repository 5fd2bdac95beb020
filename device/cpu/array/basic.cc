// Sources, identities, views, shape queries, and tensors made from a few numbers.

#include <algorithm>
#include <cmath>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape_kernels.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

using namespace kernels;

// ---- Sources, identities, shapes -----------------------------------------------------------------------------------

// Serves every kind of device.
void run_const(KernelContext& c) {
  const Tensor& value = c.tensor_attr("value");
  const bool moves = &value.device() != &c.device() && is_plain(value.dtype());
  c.set_out(0, moves ? copy_to_device(value, c.device()) : value);
}

const CpuKernel const_kernel("Const", dtypes::kAny, run_const);
const CpuKernel placeholder_kernel("Placeholder", dtypes::kAny, run_placeholder);
const CpuKernel placeholder_with_default_kernel("PlaceholderWithDefault", dtypes::kAny, run_identity);
const CpuKernel identity_kernel("Identity", dtypes::kAny, run_identity);
const CpuKernel ensure_shape_kernel("EnsureShape", dtypes::kAny, run_identity);  // its shape function did the check
const CpuKernel stop_gradient_kernel("StopGradient", dtypes::kAny, run_identity);
const CpuKernel prevent_gradient_kernel("PreventGradient", dtypes::kAny, run_identity);
const CpuKernel identity_n_kernel("IdentityN", run_identity);
const CpuKernel custom_gradient_kernel("_CustomGradient", run_first_inputs);
const CpuKernel barrier_kernel("_OptimizationBarrier", run_first_inputs);
const CpuKernel no_op_kernel("NoOp", run_no_op);
const CpuKernel reshape_kernel("Reshape", dtypes::kAny, run_view);
const CpuKernel expand_dims_kernel("ExpandDims", dtypes::kAny, run_view);
const CpuKernel squeeze_kernel("Squeeze", dtypes::kAny, run_view);

const CpuKernel shape_kernel("Shape", dtypes::kAny, run_shape);
const CpuKernel shape_n_kernel("ShapeN", dtypes::kAny, run_shape);
const CpuKernel broadcast_args_kernel("BroadcastArgs", DTypeSet{kInt32, kInt64}, run_broadcast_args);
const CpuKernel concat_offset_kernel("ConcatOffset", DTypeSet{kInt32, kInt64}, run_concat_offset);
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

// Evenly spaced; the last element is exactly `stop`.
struct RunLinSpace {
  template <class T>
  static void run(KernelContext& c) {
    const T start = *c.data<T>(0), stop = *c.data<T>(1);
    T* out = c.out_data<T>(0);
    const int64_t last = c.out_numel(0) - 1;
    const T step = last > 0 ? (stop - start) / static_cast<T>(last) : T{};
    for (int64_t i = 0; i < last; ++i) out[i] = start + step * static_cast<T>(i);
    out[last] = last > 0 ? stop : start;
  }
};

struct RunCheckNumerics {
  template <class T>
  static void run(KernelContext& c) {
    const T* x = c.data<T>(0);
    for (int64_t i = 0; i < c.numel(0); ++i) {
      const auto value = static_cast<double>(static_cast<Compute<T>>(x[i]));
      if (std::isfinite(value)) continue;
      invalid("{}: expected finite numbers, got {} at element {}", c.text("message"),
              std::isnan(value) ? "NaN"
              : value > 0       ? "infinity"
                                : "-infinity",
              i);
    }
    c.set_out(0, view_tensor(c.in(0), c.shape(0)));
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
          // No element of the range wraps; unsigned because i * delta alone may.
          out[i] =
              static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
        } else {
          out[i] = start + static_cast<T>(i) * delta;
        }
      }
    });
  }
};

// Zero-fills plain dtypes only; resource and variant have no zero.
void run_fake_param(KernelContext& c) {
  std::vector<int64_t> dims;
  const PartialShape& shape = c.shape_attr("shape");
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(std::max<int64_t>(shape.dim(i), 0));
  Tensor made = allocate_tensor(c.device(), c.type("dtype"), Shape(dims));
  if (is_plain(made.dtype())) std::fill_n(mutable_data<std::byte>(made), made.nbytes(), std::byte{0});
  c.set_out(0, std::move(made));
}

const CpuKernel fake_param_kernel("FakeParam", dtypes::kAny, run_fake_param);
const CpuKernel zeros_like_kernel("ZerosLike", types::plain{}, RunZeros{});
const CpuKernel zeros_like_string_kernel("ZerosLike", TypeList<std::string>{}, RunZeros{});
const CpuKernel ones_like_kernel("OnesLike", types::of<"OnesLike">{}, RunOnes{});
const CpuKernel fill_kernel("Fill", types::every{}, RunFill{});
const CpuKernel lin_space_kernel("LinSpace", types::of<"LinSpace">{}, InWider<RunLinSpace>{});
const CpuKernel bitcast_kernel("Bitcast", dtypes::kNumeric | dtypes::kQuantized, run_bitcast);
const CpuKernel check_numerics_kernel("CheckNumerics", types::of<"CheckNumerics">{}, RunCheckNumerics{});
const CpuKernel range_kernel("Range", types::of<"Range">{}, InWider<RunRange>{});

}  // namespace
}  // namespace panto
