// Segment sums, means, products and extremes whose order of additions is the CPU's: one thread joins all rows of a
// segment, in order. (segment_sum.cu has sums of real numbers for unsorted ids, which are joined piece by piece.)
#include <limits>
#include <utility>

#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/scatter/change.cuh"
#include "panto/device/math/segment_rows.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// ---- Unsorted ids --------------------------------------------------------------------------------------------------

template <class Rows>
struct UnsortedSegments {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t segments = c.out_shape(0).dim(0);
    const cuda::IndexList ids = cuda::indices_of(c, 1);
    cuda::CudaDevice& device = cuda::device_of(c);
    T* out = c.out_data<T>(0);
    cuda::fill(device, out, c.out_numel(0), Rows::template nothing<T>());
    if (c.numel(0) == 0 || segments == 0) {
      return cuda::check_indices(device, ids, std::numeric_limits<int64_t>::min(), segments);
    }
    const cuda::SortedRows sorted = cuda::sort_by_segment(device, ids, segments);
    cuda::for_each_index(device, c.numel(0),
                         cuda::ChangeElement<Rows, T>{cuda::Runs::of(sorted, segments), c.numel(0) / ids.count,
                                                      c.data<T>(0), false, out});
  }
};

// ---- Sorted ids ----------------------------------------------------------------------------------------------------

struct CheckOrder {
  cuda::IndexList ids;
  Fault* fault;
  __device__ void operator()(int64_t r) const {
    const int64_t id = cuda::index_at(ids, r);
    if (id < 0 || (r > 0 && id < cuda::index_at(ids, r - 1))) cuda::note(fault, Fault::kSegmentOutOfOrder);
  }
};

// Returns the number of segments, which the last id tells. Waits for the GPU. Throws InvalidArgument unless ids are at
// least 0 and do not decrease.
int64_t count_segments(cuda::CudaDevice& device, const cuda::IndexList& ids) {
  if (ids.count == 0) return 0;
  cuda::for_each_index(device, ids.count, CheckOrder{ids, device.fault()});
  int64_t last = 0;
  with_index_type(ids.type, [&]<class Index>() {
    Index id{};
    device.copy_to_host(&id, static_cast<const Index*>(ids.data) + (ids.count - 1), sizeof(Index));
    last = static_cast<int64_t>(id);
  });
  return last + 1;
}

// Joins one column of the rows of a segment.
template <class Rows, bool kMean, class T>
struct JoinRows {
  cuda::IndexList ids;
  int64_t columns;
  const T* data;
  T* out;
  __device__ void operator()(int64_t at) const {
    const int64_t first = at / columns, k = at - first * columns;
    const int64_t id = cuda::index_at(ids, first);
    if (first > 0 && cuda::index_at(ids, first - 1) == id) return;
    auto joined = convert<Compute<T>>(data[at]);
    int64_t end = first + 1;
    for (; end < ids.count && cuda::index_at(ids, end) == id; ++end) {
      joined = Rows{}(joined, convert<Compute<T>>(data[end * columns + k]));
    }
    out[id * columns + k] = finished_segment<kMean, T>(joined, end - first);
  }
};

template <class Rows, bool kMean = false>
struct SortedSegments {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const cuda::IndexList ids = cuda::indices_of(c, 1);
    Tensor out = allocate_tensor(device, c.in(0).dtype(), with_first(count_segments(device, ids), c.shape(0)));
    if (out.numel() > 0) {
      T* to = mutable_data<T>(out);
      cuda::fill(device, to, out.numel(), Rows::template gap<T>());
      cuda::for_each_index(device, c.numel(0), JoinRows<Rows, kMean, T>{ids, c.numel(0) / ids.count, c.data<T>(0), to});
    }
    c.set_out(0, std::move(out));
  }
};

// Real numbers are summed in segment_sum.cu.
using Others = types::of<"UnsortedSegmentSum", TypeList<Half, BFloat16, std::complex<float>, std::complex<double>>>;
const CudaKernel unsorted_sum("UnsortedSegmentSum", Others{}, UnsortedSegments<AddRows>{});
const CudaKernel unsorted_prod("UnsortedSegmentProd", types::of<"UnsortedSegmentProd">{},
                               UnsortedSegments<MultiplyRows>{});
const CudaKernel unsorted_max("UnsortedSegmentMax", types::of<"UnsortedSegmentMax">{}, UnsortedSegments<LargestRow>{});
const CudaKernel unsorted_min("UnsortedSegmentMin", types::of<"UnsortedSegmentMin">{}, UnsortedSegments<SmallestRow>{});
const CudaKernel sorted_sum("SegmentSum", types::of<"SegmentSum">{}, SortedSegments<AddRows>{});
const CudaKernel sorted_mean("SegmentMean", types::of<"SegmentMean">{}, SortedSegments<AddRows, true>{});
const CudaKernel sorted_prod("SegmentProd", types::of<"SegmentProd">{}, SortedSegments<MultiplyRows>{});
const CudaKernel sorted_max("SegmentMax", types::of<"SegmentMax">{}, SortedSegments<LargestRow>{});
const CudaKernel sorted_min("SegmentMin", types::of<"SegmentMin">{}, SortedSegments<SmallestRow>{});

}  // namespace
}  // namespace panto
