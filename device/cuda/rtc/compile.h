// Compiles kernels at run time, by NVRTC.
#pragma once

#include <cuda_runtime_api.h>

#include <span>
#include <string>

#include "panto/device/cuda/device.h"

namespace panto::cuda {

// A header that sources may #include.
struct Header {
  const char* name;
  const char* text;
};
// Returns this library's headers with device code, and a substitute for the standard library's (rtc/std.inc).
std::span<const Header> headers();

// Returns the extern "C" kernel `name` that `source` defines, for that device. The first call compiles it, which takes
// some tenths of a second; later ones use a cache. Throws Internal with the compiler's text if it does not compile.
// Thread-safety: may be called from several threads at once. Precondition: the thread uses the device.
cudaKernel_t compiled_kernel(CudaDevice& device, const std::string& source, const char* name);

// Returns machine code for GPUs of compute capability `architecture` (90: 9.0), or PTX, which the driver compiles, if
// NVRTC does not know them yet. Throws Unimplemented if NVRTC no longer supports them.
std::string compile(const std::string& source, int architecture);

}  // namespace panto::cuda
