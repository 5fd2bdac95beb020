// Ranks of numbers: membership of the first k, and insertion positions.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "panto/device/cuda/bisect.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// ---- LowerBound, UpperBound ----------------------------------------------------------------------------------------

template <bool kUpper, class T, class Index>
struct FindBound {
  int64_t sorted, each;  // elements per row
  const T* rows;
  const T* values;
  Index* out;

  __device__ void operator()(int64_t i) const {
    using C = Compute<T>;
    const T* row = rows + i / each * sorted;
    const auto value = convert<C>(values[i]);
    out[i] = static_cast<Index>(cuda::first_with(sorted, [=](int64_t at) {
      const auto element = convert<C>(row[at]);
      return kUpper ? value < element : !(element < value);
    }));
  }
};

template <bool kUpper>
struct RunBound {
  template <class T>
  static void run(KernelContext& c) {
    c.type("out_type") == kInt64 ? find<T, int64_t>(c) : find<T, int32_t>(c);
  }

 private:
  template <class T, class Index>
  static void find(KernelContext& c) {
    const FindBound<kUpper, T, Index> bound{c.shape(0).dim(1), c.shape(1).dim(1), c.data<T>(0), c.data<T>(1),
                                            c.out_data<Index>(0)};
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0), bound);
  }
};
const CudaKernel lower_kernel("LowerBound", types::of<"LowerBound">{}, RunBound<false>{});
const CudaKernel upper_kernel("UpperBound", types::of<"UpperBound">{}, RunBound<true>{});

// ---- Bucketize -----------------------------------------------------------------------------------------------------

// Boundaries that are passed to a kernel by value: memory for them would have to be filled, and kept, at every call.
constexpr int kMostBoundaries = 512;
struct Boundaries {
  int count;
  float at[kMostBoundaries];
};

template <class T>
struct AddBuckets {
  Boundaries boundaries;
  const T* x;
  int32_t* out;
  bool first;  // sets the output, to which others add

  __device__ void operator()(int64_t i) const {
    // Compared in the common type of x and the boundaries, as in TensorFlow: integers as float32.
    using Common = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto value = static_cast<Common>(x[i]);
    const auto below = static_cast<int32_t>(
        cuda::first_with(boundaries.count, [&](int64_t k) { return value < static_cast<Common>(boundaries.at[k]); }));
    out[i] = first ? below : out[i] + below;
  }
};

struct RunBucketize {
  template <class T>
  static void run(KernelContext& c) {
    const AttrSlot& slot = c.slot("boundaries");
    const auto* all = static_cast<const float*>(slot.p);
    const auto n = static_cast<int64_t>(slot.n);
    int64_t begin = 0;
    do {
      AddBuckets<T> add{{}, c.data<T>(0), c.out_data<int32_t>(0), begin == 0};
      add.boundaries.count = static_cast<int>(std::min<int64_t>(kMostBoundaries, n - begin));
      std::copy_n(all + begin, add.boundaries.count, add.boundaries.at);
      cuda::for_each_index(cuda::device_of(c), c.numel(0), add);
      begin += kMostBoundaries;
    } while (begin < n);
  }
};
const CudaKernel bucketize_kernel("Bucketize", types::of<"Bucketize">{}, RunBucketize{});

// ---- InTopKV2 ------------------------------------------------------------------------------------------------------

template <class T>
struct IsAmongFirst {
  int64_t classes, k;
  const float* predictions;
  const T* targets;
  bool* among;

  // The CPU stops at a row's first element that decides; the result is the same.
  __device__ void operator()(int64_t r) const {
    const float* row = predictions + r * classes;
    const auto target = static_cast<int64_t>(targets[r]);
    bool finite = target >= 0 && target < classes && std::isfinite(row[target]);
    int64_t larger = 0;
    for (int64_t i = 0; i < classes && finite && larger < k; ++i) {
      finite = std::isfinite(row[i]);
      if (row[i] > row[target]) ++larger;
    }
    among[r] = finite && larger < k;
  }
};

struct RunInTopK {
  template <class T>
  static void run(KernelContext& c) {
    const IsAmongFirst<T> is_among{c.shape(0).dim(1), host_integer(c.in(2)), c.data<float>(0), c.data<T>(1),
                                   c.out_data<bool>(0)};
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0), is_among);
  }
};
const CudaKernel in_top_k_kernel("InTopKV2", types::index{}, RunInTopK{});

}  // namespace
}  // namespace panto
