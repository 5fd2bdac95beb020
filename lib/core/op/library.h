// Loading of shared libraries with ops, kernels and devices.
//
//   load_library("./libmy_ops.so");
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/base/version.h"

namespace panto {

// Opens a shared library whose static initializers define ops, kernels and kinds of devices, and links them. Then calls
// its functions `extern "C" void panto_start_backend()`, which registers devices (docs/add-a-device.md), and
// `panto_add_passes()`, which adds passes (docs/add-a-pass.md), if it has them. A second call with the same file does
// nothing. Throws NotFound if the library cannot be opened, FailedPrecondition if it was compiled for another version
// of Pantograph, and what link_ops and the library's own functions throw. Must not run while other threads call ops:
// the library may add kernels for those ops.
PANTO_EXPORT void load_library(const std::string& path);

}  // namespace panto
