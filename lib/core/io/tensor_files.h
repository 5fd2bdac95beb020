// Named tensors in a file whose format follows from its name: NumPy's "x.npz" (panto/lib/core/io/npy.h) or
// "x.safetensors" (panto/lib/core/io/safetensors.h).
// Thread-safety: plain functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/io/npy.h"

namespace panto {

// Throw InvalidArgument for another ending of the name, and what the functions of the format throw.
PANTO_EXPORT std::vector<NamedTensor> read_tensors(const std::string& path);
PANTO_EXPORT void write_tensors(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace panto
