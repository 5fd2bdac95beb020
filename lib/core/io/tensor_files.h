// Named tensors in a file of the kind that its name says: NumPy's "x.npz" (panto/lib/core/io/npy.h) or "x.safetensors"
// (panto/lib/core/io/safetensors.h).
// Thread-safety: plain functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/io/npy.h"

namespace panto {

// Throw InvalidArgument for a name that ends otherwise, and what the kind's own functions throw.
PANTO_EXPORT std::vector<NamedTensor> read_tensors(const std::string& path);
PANTO_EXPORT void write_tensors(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace panto
