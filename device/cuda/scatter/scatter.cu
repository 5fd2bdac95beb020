// Updates of slices by position: of new tensors, of copies of tensors, and of variables.
#include <type_traits>

#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/scatter/change.cuh"
#include "panto/device/math/functors.h"
#include "panto/device/op_kernels.h"
#include "panto/device/state_rows.h"
#include "panto/lib/ops/array_types.h"
#include "panto/lib/ops/state_types.h"

namespace panto {
namespace {

// T: a type, or a storage of elements if updates only replace.
template <class Change, class T>
void change(KernelContext& c, const cuda::Places& places, int64_t inner, int updates, T* to) {
  const bool one = c.shape(updates).rank() == 0;
  if constexpr (std::is_same_v<Change, ReplaceRow>) {
    cuda::replace_slices(cuda::device_of(c), places, inner, sizeof(T), c.data<T>(updates), one, to);
  } else {
    cuda::change_slices<Change>(cuda::device_of(c), places, inner, c.data<T>(updates), one, to);
  }
}

// Adds to zeros.
struct ScatterNd {
  template <class T>
  static void run(KernelContext& c) {
    const Positions positions(c.shape(0), c.out_shape(0));
    cuda::clear_output(c);
    change<AddFn>(c, cuda::places_of(c, 0, positions), positions.inner, 1, c.out_data<T>(0));
  }
};

template <class Change>
struct ScatterToTensor {
  template <class T>
  static void run(KernelContext& c) {
    const Positions positions(c.shape(1), c.shape(0));
    T* out = c.out_data<T>(0);
    if (const int64_t n = c.out_numel(0); n > 0) {
      c.device().copy_within(out, c.data<T>(0), static_cast<size_t>(n) * sizeof(T));
    }
    change<Change>(c, cuda::places_of(c, 1, positions), positions.inner, 2, out);
  }
};

template <class Change>
struct ScatterToRows {
  template <class T>
  static void run(KernelContext& c) {
    state::change_rows<T>(c, [&](T* to, const state::Rows& rows) {
      change<Change>(c, cuda::rows_of(c, 1, rows.count), rows.width, 2, to);
    });
  }
};

template <class Change>
struct ScatterToSlices {
  template <class T>
  static void run(KernelContext& c) {
    state::change_slices<T>(c, [&](T* to, const Positions& positions) {
      change<Change>(c, cuda::places_of(c, 1, positions), positions.inner, 2, to);
    });
  }
};

const CudaKernel scatter_nd_kernel("ScatterNd", types::of<"ScatterNd">{}, ScatterNd{});

const CudaKernel tensor_update_kernel("TensorScatterUpdate", types::plain{}, ScatterToTensor<ReplaceRow>{});
const CudaKernel tensor_add_kernel("TensorScatterAdd", types::of<"TensorScatterAdd">{}, ScatterToTensor<AddFn>{});
const CudaKernel tensor_sub_kernel("TensorScatterSub", types::of<"TensorScatterSub">{}, ScatterToTensor<SubFn>{});
const CudaKernel tensor_max_kernel("TensorScatterMax", types::of<"TensorScatterMax">{}, ScatterToTensor<MaximumFn>{});
const CudaKernel tensor_min_kernel("TensorScatterMin", types::of<"TensorScatterMin">{}, ScatterToTensor<MinimumFn>{});

const CudaKernel rows_update_kernel("ResourceScatterUpdate", types::plain{}, ScatterToRows<ReplaceRow>{});
const CudaKernel rows_add_kernel("ResourceScatterAdd", types::of<"ResourceScatterAdd">{}, ScatterToRows<AddFn>{});
const CudaKernel rows_sub_kernel("ResourceScatterSub", types::of<"ResourceScatterSub">{}, ScatterToRows<SubFn>{});
const CudaKernel rows_mul_kernel("ResourceScatterMul", types::of<"ResourceScatterMul">{}, ScatterToRows<MulFn>{});
const CudaKernel rows_div_kernel("ResourceScatterDiv", types::of<"ResourceScatterDiv">{}, ScatterToRows<DivideRow>{});
const CudaKernel rows_max_kernel("ResourceScatterMax", types::of<"ResourceScatterMax">{}, ScatterToRows<MaximumFn>{});
const CudaKernel rows_min_kernel("ResourceScatterMin", types::of<"ResourceScatterMin">{}, ScatterToRows<MinimumFn>{});

const CudaKernel nd_update_kernel("ResourceScatterNdUpdate", types::plain{}, ScatterToSlices<ReplaceRow>{});
const CudaKernel nd_add_kernel("ResourceScatterNdAdd", types::of<"ResourceScatterNdAdd">{}, ScatterToSlices<AddFn>{});
const CudaKernel nd_sub_kernel("ResourceScatterNdSub", types::of<"ResourceScatterNdSub">{}, ScatterToSlices<SubFn>{});
const CudaKernel nd_max_kernel("ResourceScatterNdMax", types::of<"ResourceScatterNdMax">{},
                               ScatterToSlices<MaximumFn>{});
const CudaKernel nd_min_kernel("ResourceScatterNdMin", types::of<"ResourceScatterNdMin">{},
                               ScatterToSlices<MinimumFn>{});

}  // namespace
}  // namespace panto
