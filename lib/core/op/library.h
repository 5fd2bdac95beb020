// Shared libraries that bring ops, kernels and devices.
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/base/version.h"

namespace panto {

// Opens a shared library whose static initializers define ops, kernels and kinds of devices, links them, and calls its
// `extern "C" void panto_start_backend()`, if there is one, which enters devices (docs/add-a-device.md), and its
// `panto_add_passes()`, which adds passes (docs/add-a-pass.md). A second call with the same file does nothing. Throws
// NotFound if it cannot be opened, FailedPrecondition if it was compiled for another version of Pantograph, and what
// link_ops and the library's start throw. Not while other threads call ops: a library may bring kernels for those.
PANTO_EXPORT void load_library(const std::string& path);

}  // namespace panto
