// Reads indices of several integer types and reports faults.
#pragma once

#include "panto/device/cuda/array/array_index.h"
#include "panto/device/fault.h"

namespace panto::cuda {

// All threads take the same branch, so this is cheap; a kernel for each type would cost more.
__device__ inline int64_t index_at(const IndexList& list, int64_t i) {
  switch (list.type) {
    case kInt8: return static_cast<const int8_t*>(list.data)[i];
    case kUint8: return static_cast<const uint8_t*>(list.data)[i];
    case kInt16: return static_cast<const int16_t*>(list.data)[i];
    case kInt32: return static_cast<const int32_t*>(list.data)[i];
    default: return static_cast<const int64_t*>(list.data)[i];
  }
}

__device__ inline void note(Fault* at, Fault fault) { *static_cast<volatile Fault*>(at) = fault; }

// Reports a fault if an index is not in [low, limit).
void check_indices(CudaDevice& device, const IndexList& list, int64_t low, int64_t limit);

}  // namespace panto::cuda
