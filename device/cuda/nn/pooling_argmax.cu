// Kernels of MaxPoolWithArgmax and its gradients.
#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/nn/pool.cuh"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using cuda::CudaDevice;
using cuda::Pool;

// Also writes the position. As in TensorFlow, a NaN is the maximum only if it comes first.
template <class T, class Index>
struct LargestAndWhere {
  Pool p;
  bool of_batch;
  const T* in;
  Index* where;
  __device__ T operator()(int64_t n, int row, int x, int64_t lane) const {
    const int64_t first = p.input_at(n, lane);
    const T* from = in + first;
    int64_t best = -1;
    cuda::for_window(p, row, x, [&](int pixel) {
      const int64_t at = pixel * p.lanes;
      if (best < 0 || from[at] > from[best]) best = at;
    });
    where[p.output_at(n, row, x, lane)] = static_cast<Index>(best + (of_batch ? first : lane));
    return from[best];
  }
};

struct MaxPoolWithArgmaxKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const PoolShape shape(c, c.shape(0));
    shape.expect_positions_fit(c);
    c.out(1).dtype() == kInt32 ? find<T>(c, Pool(shape), c.out_data<int32_t>(1))
                               : find<T>(c, Pool(shape), c.out_data<int64_t>(1));
  }

 private:
  template <class T, class Index>
  static void find(KernelContext& c, const Pool& p, Index* where) {
    cuda::over_outputs(cuda::device_of(c), p, c.out_data<T>(0),
                       LargestAndWhere<T, Index>{p, c.flag("include_batch_in_index"), c.data<T>(0), where});
  }
};

// The positions in the whole input of pooled elements. `argmax` has positions in an image or, with
// include_batch_in_index, in all images.
struct Positions {
  cuda::IndexList argmax;
  int64_t each, limit;  // pooled elements of an image; positions
  bool of_batch;
  Fault* fault;

  // `whole`: elements of the input.
  Positions(const KernelContext& c, int64_t whole)
      : argmax(cuda::indices_of(c, 2)), of_batch(c.flag("include_batch_in_index")), fault(cuda::device_of(c).fault()) {
    const int64_t images = std::max<int64_t>(1, c.shape(0).dim(0));
    each = std::max<int64_t>(1, argmax.count / images);
    limit = of_batch ? whole : whole / images;
  }
  // Returns -1 if the position is out of range, which is reported.
  __device__ int64_t operator()(int64_t i) const {
    const int64_t at = cuda::index_at(argmax, i);
    if (at < 0 || at >= limit) {
      cuda::note(fault, Fault::kIndexOutOfRange);
      return -1;
    }
    return at + (of_batch ? 0 : i / each * limit);
  }
};

struct WritePositions {
  Positions positions;
  int64_t* out;
  __device__ void operator()(int64_t i) const { out[i] = positions(i); }
};

struct MaxPoolGradWithArgmaxKernel {
  template <class T>
  static void run(KernelContext& c) {
    CudaDevice& device = cuda::device_of(c);
    const int64_t n = c.out_numel(0), pooled = c.numel(1);
    const Scratch<int64_t> ids(device, pooled);
    cuda::for_each_index(device, pooled, WritePositions{Positions(c, n), ids.data()});
    cuda::sum_segments(device, c.data<T>(1), {ids.data(), kInt64, pooled}, n, c.out_data<T>(0), n);
  }
};

template <class T>
struct TakePositions {
  Positions positions;
  const T* from;
  T* out;
  __device__ void operator()(int64_t i) const {
    const int64_t at = positions(i);
    out[i] = at < 0 ? T{0} : from[at];
  }
};

struct MaxPoolGradGradWithArgmaxKernel {
  template <class T>
  static void run(KernelContext& c) {
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0),
                         TakePositions<T>{Positions(c, c.numel(1)), c.data<T>(1), c.out_data<T>(0)});
  }
};

const CudaKernel with_argmax_kernel("MaxPoolWithArgmax", types::of<"MaxPoolWithArgmax">{},
                                    CudaInWider<MaxPoolWithArgmaxKernel>{});
const CudaKernel grad_with_argmax_kernel("MaxPoolGradWithArgmax", types::of<"MaxPoolGradWithArgmax">{},
                                         CudaInWider<MaxPoolGradWithArgmaxKernel>{});
const CudaKernel grad_grad_with_argmax_kernel("MaxPoolGradGradWithArgmax", types::of<"MaxPoolGradGradWithArgmax">{},
                                              CudaInWider<MaxPoolGradGradWithArgmaxKernel>{});

}  // namespace
}  // namespace panto
