// Gathering by indices, sums by segment, one-hot vectors, ranges.

#include "panto/device/cuda/array/array_index.h"

#include "panto/device/cuda/kernel.h"

namespace panto {
namespace {

const CudaKernel gather_kernel("GatherV2", types::plain{}, []<class T>(KernelContext& c) {
  cuda::gather(cuda::device_of(c), gather_dims(c), sizeof(T), c.data<T>(0), cuda::indices_of(c, 1), c.out_data<T>(0));
});

const CudaKernel one_hot_kernel("OneHot", types::plain{}, []<class T>(KernelContext& c) {
  cuda::one_hot(cuda::device_of(c), one_hot_dims(c), sizeof(T), cuda::indices_of(c, 0), c.data<T>(2), c.data<T>(3),
                c.out_data<T>(0));
});

const CudaKernel unsorted_segment_sum_kernel("UnsortedSegmentSum", types::real{}, []<class T>(KernelContext& c) {
  cuda::sum_segments(cuda::device_of(c), c.data<T>(0), cuda::indices_of(c, 1), c.out_shape(0).dim(0), c.out_data<T>(0),
                     c.out_numel(0));
});

// Range's inputs are in host memory.
const CudaKernel range_kernel("Range", types::real{}, []<class T>(KernelContext& c) {
  cuda::range(cuda::device_of(c), *c.data<T>(0), *c.data<T>(2), c.out_data<T>(0), c.out_numel(0));
});

}  // namespace
}  // namespace panto
