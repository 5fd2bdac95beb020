// LayerNorm.
#include <string>

#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/rows.cuh"
#include "panto/device/math/functors.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

template <class T>
struct LayerNormRow {
  const T* scale;
  const T* offset;
  T epsilon;
  T* out;
  bool vectors;
  template <class Row>
  __device__ void operator()(const Row& row) const {
    using Mean = MeanOf<T>;
    const T mean = row.template sum<Mean>([](int64_t, T x) { return x; });
    const T variance = row.template sum<Mean>([=](int64_t, T x) { return (x - mean) * (x - mean); });
    const T factor = RsqrtFn{}(variance + epsilon);
    row.write(out, vectors, [=](int64_t, T x, T s, T o) { return (x - mean) * factor * s + o; }, scale, offset);
  }
};

struct LayerNorm {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.shape(0)[-1];
    for (int i = 1; i <= 2; ++i) {
      if (c.numel(i) != n) {
        fail(Code::kInvalidArgument, std::string(i == 1 ? "scale" : "offset") + ": expected " + std::to_string(n) +
                                         " elements, got " + std::to_string(c.numel(i)));
      }
    }
    if (c.out_numel(0) == 0) return;
    T* out = c.out_data<T>(0);
    const T *scale = c.data<T>(1), *offset = c.data<T>(2);
    const bool vectors = cuda::whole_units(out, n) && cuda::whole_units(scale, n) && cuda::whole_units(offset, n);
    cuda::run_rows<T>(cuda::device_of(c), c.out_numel(0) / n, n, cuda::RowInput<T>(c.data<T>(0), n, n),
                      LayerNormRow<T>{scale, offset, static_cast<T>(c.real("epsilon")), out, vectors});
  }
};
const CudaKernel layer_norm_kernel("LayerNorm", types::of<"LayerNorm">{}, CudaInWider<LayerNorm>{});

}  // namespace
}  // namespace panto
