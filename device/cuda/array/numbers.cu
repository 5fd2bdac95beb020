// Evenly spaced numbers, positions in several dimensions, permuted dimensions, checks of numbers, and cross products.
#include <algorithm>
#include <cmath>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/array/pick.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/data_format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/array_types.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

// ---- LinSpace ------------------------------------------------------------------------------------------------------

// The last element is exactly `stop`.
template <class T>
struct Spaced {
  const T* start;
  const T* stop;
  int64_t last;
  T* out;
  __device__ void operator()(int64_t i) const {
    using C = Compute<T>;
    const auto from = convert<C>(*start), to = convert<C>(*stop);
    const C step = last > 0 ? (to - from) / static_cast<C>(last) : C{0};
    out[i] = convert<T>(i < last ? from + step * static_cast<C>(i) : last > 0 ? to : from);
  }
};

struct RunLinSpace {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    cuda::for_each_index(cuda::device_of(c), n, Spaced<T>{c.data<T>(0), c.data<T>(1), n - 1, c.out_data<T>(0)});
  }
};
const CudaKernel lin_space_kernel("LinSpace", types::of<"LinSpace">{}, RunLinSpace{});

// ---- UnravelIndex --------------------------------------------------------------------------------------------------

template <class T>
struct Unravel {
  int64_t n, rank;
  const T* indices;
  const T* dims;
  T* out;  // [rank, n]
  Fault* fault;

  __device__ void operator()(int64_t i) const {
    // A call for no index checks the dimensions, as others do.
    const int64_t count = elements();
    if (i >= n) return;
    auto rest = static_cast<int64_t>(indices[i]);
    if (rest < 0 || rest >= count) {
      cuda::note(fault, Fault::kIndexOutOfRange);
      return;
    }
    for (int64_t k = rank; k-- > 0; rest /= dims[k]) out[k * n + i] = static_cast<T>(rest % dims[k]);
  }

 private:
  // Their number, or 0 if the dimensions are faulty.
  __device__ int64_t elements() const {
    int64_t count = 1;
    for (int64_t k = 0; k < rank; ++k) {
      const auto dim = static_cast<int64_t>(dims[k]);
      if (dim < 1 || count > INT64_MAX / dim) {
        cuda::note(fault, Fault::kIndexOutOfRange);
        return 0;
      }
      count *= dim;
    }
    return count;
  }
};

struct RunUnravelIndex {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const int64_t n = c.numel(0);
    const Unravel<T> unravel{n, c.numel(1), c.data<T>(0), c.data<T>(1), c.out_data<T>(0), device.fault()};
    cuda::for_each_index(device, std::max<int64_t>(n, 1), unravel);
  }
};
const CudaKernel unravel_kernel("UnravelIndex", types::index{}, RunUnravelIndex{});

// ---- DataFormatVecPermute ------------------------------------------------------------------------------------------

struct InRows {
  PermutedRows rows;
  int64_t columns;
  __device__ int64_t operator()(int64_t i) const { return rows.from[i / columns] * columns + i % columns; }
};

struct RunPermute {
  template <class T>
  static void run(KernelContext& c) {
    if (c.numel(0) == 0) return;
    const InRows from{permuted_rows(c), c.numel(0) / c.shape(0).dim(0)};
    cuda::pick<T>(cuda::device_of(c), c.numel(0), from, c.data<T>(0), nullptr, c.out_data<T>(0));
  }
};
const CudaKernel permute_kernel("DataFormatVecPermute", types::of<"DataFormatVecPermute">{}, RunPermute{});

// ---- CheckNumerics -------------------------------------------------------------------------------------------------

template <class T>
struct ExpectFinite {
  const T* x;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    if (!std::isfinite(convert<Compute<T>>(x[i]))) cuda::note(fault, Fault::kNotFinite);
  }
};

struct RunCheckNumerics {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    cuda::for_each_index(device, c.numel(0), ExpectFinite<T>{c.data<T>(0), device.fault()});
    c.set_out(0, view_tensor(c.in(0), c.shape(0)));
  }
};
const CudaKernel check_numerics_kernel("CheckNumerics", types::of<"CheckNumerics">{}, RunCheckNumerics{});

// ---- Cross ---------------------------------------------------------------------------------------------------------

// Integers wrap.
template <class T>
struct CrossPart {
  const T* a;
  const T* b;
  T* out;
  __device__ void operator()(int64_t i) const {
    using C = Compute<T>;
    const auto part = static_cast<int>(i % 3);
    const int64_t first = i - part, p = first + (part + 1) % 3, q = first + (part + 2) % 3;
    const auto at = [](const T* v, int64_t j) { return convert<C>(v[j]); };
    out[i] = convert<T>(k::sub(k::mul(at(a, p), at(b, q)), k::mul(at(a, q), at(b, p))));
  }
};

struct RunCross {
  template <class T>
  static void run(KernelContext& c) {
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0),
                         CrossPart<T>{c.data<T>(0), c.data<T>(1), c.out_data<T>(0)});
  }
};
const CudaKernel cross_kernel("Cross", types::reals{}, RunCross{});

}  // namespace
}  // namespace panto
