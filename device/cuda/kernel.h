// CudaKernel: see device/kernel.h.
#pragma once

#include <typeinfo>

#include "panto/device/kernel.h"

namespace panto {

using CudaKernel = KernelObject<"GPU">;

namespace cuda {

inline DeviceKind gpu_kind() {
  static const DeviceKind kind = find_device_kind("GPU");
  return kind;
}

// Returns the payload of a GPU kernel: the functor from device/math/functors.h that programs compiled at run time call.
// Null if the kernel has none.
inline const std::type_info* functor_of(const Kernel& kernel) {
  return static_cast<const std::type_info*>(kernel.payload);
}

}  // namespace cuda

}  // namespace panto
