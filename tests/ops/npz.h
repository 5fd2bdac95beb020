// Reads NumPy's .npz files of reference values.
#pragma once

#include <map>
#include <set>
#include <string>

#include "panto/lib/core/tensor.h"

namespace panto::test {

// Arrays by key, in host memory. Keys in `bfloat16` are stored as the bits of that type. Throws NotFound, DataLoss.
std::map<std::string, Tensor> read_npz(const std::string& path, const std::set<std::string>& bfloat16 = {});

}  // namespace panto::test
