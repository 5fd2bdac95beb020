// Tensors as bytes that other programs read: those of a TensorProto. Internal.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// How strings are written: their lengths and then all bytes, or a field for each. Both are read everywhere.
enum class StringsAs : uint8_t { kContent, kFields };
// As TensorFlow's kernels write them, every element as it is. Of a host tensor; throws Unimplemented for one of handles
// or variants.
std::string tensor_to_bytes(const Tensor& tensor, StringsAs strings = StringsAs::kContent);
// In host memory. Throws InvalidArgument for bytes that are no TensorProto, or one that is not consistent, and
// ResourceExhausted for one that leaves out many elements because they are equal.
Tensor tensor_from_proto_bytes(const std::string& bytes);

}  // namespace panto
