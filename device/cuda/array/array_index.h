// Kernels that take indices in a GPU's memory. An index out of range is reported as a fault and not used.
#pragma once

#include <cstddef>
#include <cstdint>

#include "panto/device/cuda/device.h"
#include "panto/device/shape/indexing.h"

namespace panto::cuda {

// A list of int8, uint8, int16, int32 or int64 indices.
struct IndexList {
  const void* data;
  DType type;
  int64_t count;
};
// Input i of a call as such a list.
inline IndexList indices_of(const KernelContext& c, int i) { return {c.data<void>(i), c.in(i).dtype(), c.numel(i)}; }

void gather(CudaDevice& device, const GatherDims& dims, size_t element_size, const void* params,
            const IndexList& indices, void* out);

// `on` and `off` are scalars; their elements and the output's have `element_size` bytes.
void one_hot(CudaDevice& device, const OneHotDims& dims, size_t element_size, const IndexList& indices, const void* on,
             const void* off, void* out);

// T: int32_t or int64_t.
template <class T>
void invert_permutation(CudaDevice& device, const T* x, T* y, int64_t n);

// Sets out[s] to the sum of the rows of `data` whose id is s; rows with a negative id are left out. A row has out_count
// / segments elements. T: types::real.
template <class T>
void sum_segments(CudaDevice& device, const T* data, const IndexList& ids, int64_t segments, T* out, int64_t out_count);

// out[i] = start + i * delta. T: types::real.
template <class T>
void range(CudaDevice& device, T start, T delta, T* out, int64_t n);

}  // namespace panto::cuda
