// CudaKernel: see device/kernel.h.
#pragma once

#include "panto/device/kernel.h"

namespace panto {

using CudaKernel = KernelObject<DeviceKind::kCuda>;

}  // namespace panto
