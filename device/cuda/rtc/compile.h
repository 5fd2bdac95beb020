// Kernels made at run time, by NVRTC.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>

#include "panto/device/cuda/device.h"

namespace panto::cuda {

// A text that programs may #include.
struct Header {
  const char* name;
  const char* text;
};
// Those of this library that hold device code, and what stands for the standard library's (rtc/std.inc).
std::span<const Header> headers();

// The kernel called `name` (extern "C") that `source` defines, for that device: compiled at the first call, which takes
// some tenths of a second, and kept. Throws Internal with the compiler's text where it does not compile.
// Thread-safety: may be called from several threads at once. Precondition: the thread uses the device.
cudaKernel_t compiled_kernel(CudaDevice& device, const std::string& source, const char* name);

// Machine code for GPUs of compute capability `architecture` (90: 9.0); PTX, which the driver compiles, where NVRTC
// does not know them yet. Throws Unimplemented where it does not know them any more.
std::string compile(const std::string& source, int architecture);

}  // namespace panto::cuda
