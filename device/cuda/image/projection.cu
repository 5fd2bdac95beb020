// Kernels of projective transforms of images.
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/image/images.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/device/projection.h"
#include "panto/lib/ops/image_types.h"

namespace panto {
namespace {

template <class T>
struct Transform {
  Projection<T> p;
  T* out;
  __device__ void operator()(int64_t i) const {
    const cuda::ImagePlace to(i, p.rows, p.columns, p.channels);
    out[i] = p.value(to.image, p.place(to.image, to.y, to.x), to.channel);
  }
};

struct TransformKernel {
  template <class T>
  static void run(KernelContext& c) {
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0), Transform<T>{Projection<T>(c), c.out_data<T>(0)});
  }
};

const CudaKernel transform_v2_kernel("ImageProjectiveTransformV2", types::of<"ImageProjectiveTransformV2">{},
                                     TransformKernel{});
const CudaKernel transform_kernel("ImageProjectiveTransformV3", types::of<"ImageProjectiveTransformV3">{},
                                  TransformKernel{});

}  // namespace
}  // namespace panto
