// Counts of integers and of numbers in bins. The elements are sorted by bin; what is in a bin is found by bisection.

#include <type_traits>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/runs.cuh"
#include "panto/device/math/histogram.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// Returns a sum of n ones, added one after the other: from 2^24 on a float stays what it is.
template <class T>
__device__ T count_as(int64_t n) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<T>(n < (int64_t{1} << 24) ? n : int64_t{1} << 24);
  } else {
    return static_cast<T>(n);
  }
}

// ---- Integers ------------------------------------------------------------------------------------------------------

// Bin x of its row; larger numbers count nowhere.
struct KeyOfInteger {
  cuda::IndexList list;
  int64_t columns, size;  // numbers in a row, and bins
  uint32_t all;           // bins of all rows
  uint32_t* keys;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    const int64_t x = cuda::index_at(list, i);
    if (x < 0) cuda::note(fault, Fault::kIndexOutOfRange);
    keys[i] = x >= 0 && x < size ? static_cast<uint32_t>(i / columns * size + x) : all;
  }
};

template <class T>
struct FillBin {
  cuda::Runs runs;
  const T* weights;  // null: each counts as 1
  bool binary;
  T* out;
  __device__ void operator()(int64_t bin) const {
    const int64_t begin = runs.begin_of(bin), end = runs.begin_of(bin + 1);
    if (binary) {
      out[bin] = static_cast<T>(end > begin);
    } else if (weights == nullptr) {
      out[bin] = count_as<T>(end - begin);
    } else {
      T sum{0};
      for (int64_t i = begin; i < end; ++i) sum = k::add(sum, weights[runs.rows[i]]);
      out[bin] = sum;
    }
  }
};

struct Bincount {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const cuda::IndexList list = cuda::indices_of(c, 0);
    const int64_t bins = c.out_numel(0), columns = c.shape(0).dim(c.shape(0).rank() - 1);
    cuda::expect_sortable(list.count, bins);
    const Scratch<uint32_t> keys(device, list.count);
    cuda::for_each_index(device, list.count,
                         KeyOfInteger{list, columns, c.out_shape(0).dim(c.out_shape(0).rank() - 1),
                                      static_cast<uint32_t>(bins), keys.data(), device.fault()});
    const cuda::SortedRows sorted(device, keys.data(), list.count, bins);
    const bool binary = c.flag("binary_output");
    const T* weights = c.numel(2) > 0 && !binary ? c.data<T>(2) : nullptr;
    cuda::for_each_index(device, bins, FillBin<T>{cuda::Runs::of(sorted, bins), weights, binary, c.out_data<T>(0)});
  }
};

// ---- Numbers in bins of equal width --------------------------------------------------------------------------------

template <class T>
struct KeyOfNumber {
  const T* x;
  const T* range;
  int64_t bins;
  uint32_t* keys;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    if (x[i] != x[i]) cuda::note(fault, Fault::kNotANumber);
    const bool counts = range[0] < range[1] && x[i] == x[i];
    keys[i] = counts ? static_cast<uint32_t>(Bins<T>(range[0], range[1], bins).of(x[i])) : 0;
  }
};

template <class T>
struct CheckRange {
  const T* range;
  Fault* fault;
  __device__ void operator()(int64_t) const {
    if (!(range[0] < range[1])) cuda::note(fault, Fault::kRangeOutOfOrder);
  }
};

struct Histogram {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const int64_t bins = c.out_numel(0), count = c.numel(0);
    const T* range = c.data<T>(1);
    cuda::expect_sortable(count, bins);
    const Scratch<uint32_t> keys(device, count);
    // A wrong range is an error even if nothing is to be counted.
    cuda::for_each_index(device, 1, CheckRange<T>{range, device.fault()});
    cuda::for_each_index(device, count, KeyOfNumber<T>{c.data<T>(0), range, bins, keys.data(), device.fault()});
    const cuda::SortedRows sorted(device, keys.data(), count, bins);
    with_index_type(c.type("dtype"), [&]<class Count>() {
      cuda::for_each_index(device, bins,
                           FillBin<Count>{cuda::Runs::of(sorted, bins), nullptr, false, c.out_data<Count>(0)});
    });
  }
};

const CudaKernel bincount_kernel("DenseBincount", types::of<"DenseBincount">{}, Bincount{});
const CudaKernel histogram_kernel("HistogramFixedWidth", types::of<"HistogramFixedWidth">{}, Histogram{});

}  // namespace
}  // namespace panto
