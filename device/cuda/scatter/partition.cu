// DynamicPartition, DynamicStitch and Where: the sizes of their outputs depend on values, so they wait for the GPU to
// count.
#include <utility>
#include <vector>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/runs.cuh"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// ---- Partition -----------------------------------------------------------------------------------------------------

// out[b] = where the rows with a key of at least b begin.
struct FindBegins {
  cuda::Runs runs;
  int64_t* out;
  __device__ void operator()(int64_t key) const { out[key] = runs.begin_of(key); }
};

// Returns for each key below `limit`, and for `limit`, where its rows begin. Waits for the GPU, and throws its faults.
std::vector<int64_t> begins_of(cuda::CudaDevice& device, const cuda::SortedRows& sorted, int64_t limit) {
  const Scratch<int64_t> begins(device, limit + 1);
  cuda::for_each_index(device, limit + 1, FindBegins{cuda::Runs::of(sorted, limit), begins.data()});
  std::vector<int64_t> host(static_cast<size_t>(limit + 1));
  device.copy_to_host(host.data(), begins.data(), host.size() * sizeof(int64_t));
  return host;
}

struct KeyOfPart {
  const int32_t* numbers;
  int64_t parts;
  uint32_t* keys;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    const bool valid = numbers[i] >= 0 && numbers[i] < parts;
    if (!valid) cuda::note(fault, Fault::kIndexOutOfRange);
    keys[i] = static_cast<uint32_t>(valid ? numbers[i] : parts);
  }
};

// Row r of the output is row rows[r] of the data.
template <class T>
struct TakeRow {
  const uint32_t* rows;
  int64_t inner;
  const T* data;
  T* out;
  __device__ void operator()(int64_t i) const {
    const int64_t r = i / inner;
    out[i] = data[int64_t{rows[r]} * inner + (i - r * inner)];
  }
};

struct DynamicPartition {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const int64_t parts = c.num_outputs(), count = c.numel(1);
    const int64_t inner = numel_behind(c.shape(0), c.shape(1).rank());
    cuda::expect_sortable(count, parts);
    const Scratch<uint32_t> keys(device, count);
    cuda::for_each_index(device, count, KeyOfPart{c.data<int32_t>(1), parts, keys.data(), device.fault()});
    const cuda::SortedRows sorted(device, keys.data(), count, parts);
    const std::vector<int64_t> begins = begins_of(device, sorted, parts);
    for (int k = 0; k < c.num_outputs(); ++k) {
      const int64_t begin = begins[static_cast<size_t>(k)], size = begins[static_cast<size_t>(k) + 1] - begin;
      Tensor part = allocate_tensor(device, c.in(0).dtype(), with_first(size, c.shape(0), c.shape(1).rank()));
      cuda::for_each_index(device, part.numel(),
                           TakeRow<T>{sorted.rows() + begin, inner, c.data<T>(0), mutable_data<T>(part)});
      c.set_out(k, std::move(part));
    }
  }
};

// ---- Stitch --------------------------------------------------------------------------------------------------------

struct KeyOfPosition {
  const int32_t* indices;
  uint32_t* keys;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    if (indices[i] < 0) cuda::note(fault, Fault::kIndexOutOfRange);
    keys[i] = static_cast<uint32_t>(indices[i] < 0 ? 0 : indices[i]);
  }
};

// Puts slice i of an input at its position, if it is the last one for that position.
template <class T>
struct PutSlice {
  cuda::Runs runs;
  int64_t first;  // slices of the inputs before
  int64_t inner;
  const int32_t* indices;
  const T* data;
  T* out;
  __device__ void operator()(int64_t at) const {
    const int64_t i = at / inner, k = at - i * inner;
    const int64_t position = indices[i];
    if (runs.rows[runs.begin_of(position + 1) - 1] == first + i) out[position * inner + k] = data[at];
  }
};

struct DynamicStitch {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const int n = c.num_inputs() / 2;
    int64_t count = 0;
    for (int k = 0; k < n; ++k) count += c.numel(k);
    constexpr int64_t kLimit = (int64_t{1} << 31) - 1;  // no index is larger
    cuda::expect_sortable(count, kLimit);
    const Scratch<uint32_t> keys(device, count);
    std::vector<int64_t> first;  // slices of the inputs before
    int64_t before = 0;
    for (int k = 0; k < n; ++k) {
      cuda::for_each_index(device, c.numel(k), KeyOfPosition{c.data<int32_t>(k), keys.data() + before, device.fault()});
      first.push_back(before);
      before += c.numel(k);
    }
    const cuda::SortedRows sorted(device, keys.data(), count, kLimit);
    uint32_t largest = 0;
    if (count > 0) device.copy_to_host(&largest, sorted.keys() + (count - 1), sizeof(uint32_t));
    const int64_t size = count > 0 ? int64_t{largest} + 1 : 0;
    Tensor merged = allocate_tensor(device, c.in(n).dtype(), with_first(size, c.shape(n), c.shape(0).rank()));
    const int64_t inner = numel_behind(c.shape(n), c.shape(0).rank());
    T* out = mutable_data<T>(merged);
    if (merged.numel() > 0) {
      const cuda::DeviceUse stream = device.use();
      cuda::check(cudaMemsetAsync(out, 0, merged.nbytes(), stream), "filling with zeros");
      for (int k = 0; k < n; ++k) {
        cuda::for_each_index(device, c.numel(n + k),
                             PutSlice<T>{cuda::Runs::of(sorted, kLimit), first[static_cast<size_t>(k)], inner,
                                         c.data<int32_t>(k), c.data<T>(n + k), out});
      }
    }
    c.set_out(0, std::move(merged));
  }
};

const CudaKernel dynamic_partition_kernel("DynamicPartition", types::plain{}, DynamicPartition{});
const CudaKernel dynamic_stitch_kernel("DynamicStitch", types::plain{}, DynamicStitch{});

// ---- Where ---------------------------------------------------------------------------------------------------------

// Elements that are not zero have key 0.
template <class T>
struct KeyOfElement {
  const T* x;
  uint32_t* keys;
  __device__ void operator()(int64_t i) const { keys[i] = x[i] != T{} ? 0 : 1; }
};

// Dimension `axis` of the position of each element: (number / inner) % size.
struct PutIndex {
  const uint32_t* rows;
  int64_t inner, size;
  int64_t axis, rank;
  int64_t* out;
  __device__ void operator()(int64_t r) const { out[r * rank + axis] = int64_t{rows[r]} / inner % size; }
};

struct Where {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const int64_t n = c.numel(0);
    const Shape& shape = c.shape(0);
    cuda::expect_sortable(n, 1);
    const Scratch<uint32_t> keys(device, n);
    cuda::for_each_index(device, n, KeyOfElement<T>{c.data<T>(0), keys.data()});
    const cuda::SortedRows sorted(device, keys.data(), n, 1);
    const int64_t count = begins_of(device, sorted, 1)[1];
    Tensor out = allocate_tensor(device, kInt64, Shape{count, shape.rank()});
    for (int k = 0; k < shape.rank(); ++k) {
      cuda::for_each_index(device, count,
                           PutIndex{sorted.rows(), numel_behind(shape, k + 1), shape.dim(k), k, shape.rank(),
                                    mutable_data<int64_t>(out)});
    }
    c.set_out(0, std::move(out));
  }
};

const CudaKernel where_kernel("Where", types::of<"Where">{}, Where{});

}  // namespace
}  // namespace panto
