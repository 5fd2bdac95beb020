// Dispatch on the storage type of a dtype that is known only when a kernel runs.
#pragma once

#include <cstdint>
#include <string>

#include "panto/device/kernel.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto {

// Calls f with a default value of the type that stores an element of `dtype`.
template <class F>
void with_storage(DType dtype, const F& f) {
  switch (dtype) {
    case kString: return f(std::string());
    case kResource: return f(ResourceHandle());
    case kVariant: return f(Variant());
    default: break;
  }
  switch (dtype_size(dtype)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
    default: return f(Bytes16{});
  }
}

}  // namespace panto
