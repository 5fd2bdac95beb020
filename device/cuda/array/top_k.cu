// The k largest elements of rows, in order, and the n-th element, by sorting. Equal elements are ordered by position
// and NaN precedes all numbers, as on the CPU.
#include <bit>
#include <limits>

#include "panto/device/cuda/array/pick.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/sort_pairs.cuh"
#include "panto/device/math/convert.h"
#include "panto/device/math/rank_key.h"
#include "panto/device/op_kernels.h"
#include "panto/device/scratch.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

template <class T>
using Key = decltype(rank_key(Compute<T>{}));

template <class T>
struct NumberElements {
  const T* x;
  Key<T>* keys;
  uint32_t* positions;
  __device__ void operator()(int64_t i) const {
    keys[i] = rank_key(convert<Compute<T>>(x[i]));
    positions[i] = static_cast<uint32_t>(i);
  }
};
struct FindRows {
  cuda::Divisor<uint32_t> size;
  const uint32_t* positions;
  uint32_t* rows;
  __device__ void operator()(int64_t i) const { rows[i] = size.quotient(positions[i]); }
};

// Fills `sorted` with the positions of the elements of x [rows, size] in x: row after row, in each the largest elements
// first. All rows are sorted together by their elements, and the result by row, which keeps the order of the elements.
template <class T>
void sort_rows(cuda::CudaDevice& device, const T* x, int64_t rows, int64_t size, uint32_t* sorted) {
  const int64_t n = rows * size;
  if (n > std::numeric_limits<int32_t>::max()) {
    fail(Code::kUnimplemented, "input: expected fewer than 2^31 elements on a GPU, got more");
  }
  constexpr int kBits = 8 * sizeof(Key<T>);
  const Scratch<Key<T>> keys(device, 2 * n);
  const Scratch<uint32_t> positions(device, n), by_element(device, rows == 1 ? 0 : n);
  uint32_t* const first = rows == 1 ? sorted : by_element.data();
  cuda::for_each_index(device, n, NumberElements<T>{x, keys.data(), positions.data()});
  cuda::sort_pairs(device, n, kBits, keys.data(), keys.data() + n, positions.data(), first);
  if (rows == 1) return;
  const Scratch<uint32_t> row(device, 2 * n);
  cuda::for_each_index(device, n, FindRows{cuda::Divisor<uint32_t>(size), first, row.data()});
  cuda::sort_pairs(device, n, std::bit_width(static_cast<uint32_t>(rows - 1)), row.data(), row.data() + n, first,
                   sorted);
}

// The first k positions of each row, or with k = 1 those that begin at `sorted`.
struct InSorted {
  cuda::Divisor<uint32_t> k;
  uint32_t size;
  const uint32_t* sorted;
  __device__ int64_t operator()(int64_t i) const {
    const uint32_t row = k.quotient(static_cast<uint32_t>(i));
    return sorted[int64_t{row} * size + (static_cast<uint32_t>(i) - row * k.value())];
  }
};
template <class Index>
struct PutColumns {
  InSorted from;
  cuda::Divisor<uint32_t> size;
  Index* out;
  __device__ void operator()(int64_t i) const {
    const auto at = static_cast<uint32_t>(from(i));
    out[i] = static_cast<Index>(at - size.quotient(at) * size.value());
  }
};

struct RunTopK {
  template <class T>
  static void run(KernelContext& c) {
    const int last = c.shape(0).rank() - 1;
    const int64_t size = c.shape(0).dim(last), k = c.out_shape(0).dim(last), n = c.out_numel(0);
    if (n == 0) return;
    cuda::CudaDevice& device = cuda::device_of(c);
    const Scratch<uint32_t> sorted(device, c.numel(0));
    sort_rows(device, c.data<T>(0), c.numel(0) / size, size, sorted.data());
    using By = cuda::Divisor<uint32_t>;
    const InSorted from{By(k), static_cast<uint32_t>(size), sorted.data()};
    cuda::pick<T>(device, n, from, c.data<T>(0), nullptr, c.out_data<T>(0));
    const auto put = [&]<class Index>() {
      cuda::for_each_index(device, n, PutColumns<Index>{from, By(size), c.out_data<Index>(1)});
    };
    switch (c.out(1).dtype()) {
      case kInt16: return put.template operator()<int16_t>();
      case kInt32: return put.template operator()<int32_t>();
      default: return put.template operator()<int64_t>();
    }
  }
};

struct RunNth {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t size = c.shape(0).dim(c.shape(0).rank() - 1), n = nth_of(c, size);
    if (c.out_numel(0) == 0) return;
    cuda::CudaDevice& device = cuda::device_of(c);
    const Scratch<uint32_t> sorted(device, c.numel(0));
    sort_rows(device, c.data<T>(0), c.out_numel(0), size, sorted.data());
    const InSorted from{cuda::Divisor<uint32_t>(1), static_cast<uint32_t>(size), sorted.data() + (size - 1 - n)};
    cuda::pick<T>(device, c.out_numel(0), from, c.data<T>(0), nullptr, c.out_data<T>(0));
  }
};

const CudaKernel top_k_kernel("TopKV2", types::of<"TopKV2">{}, RunTopK{});
const CudaKernel nth_kernel("NthElement", types::of<"NthElement">{}, RunNth{});

}  // namespace
}  // namespace panto
