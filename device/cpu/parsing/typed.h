// Dispatch over the dtypes of features.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto::cpu {

// Calls f.operator()<T>() for the C++ type of a feature's dtype. Throws InvalidArgument for other dtypes; shape
// functions reject them earlier.
template <class F>
auto with_feature_type(DType dtype, const F& f) {
  switch (dtype) {
    case kFloat32: return f.template operator()<float>();
    case kInt64: return f.template operator()<int64_t>();
    case kString: return f.template operator()<std::string>();
    default: invalid("feature: expected float32, int64 or string, got {}", dtype_name(dtype));
  }
}

}  // namespace panto::cpu
