// CpuKernel: see device/kernel.h.
#pragma once

#include "panto/device/kernel.h"

namespace panto {

using CpuKernel = KernelObject<"CPU">;

}  // namespace panto
