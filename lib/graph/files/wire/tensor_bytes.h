// Serialization of tensors as TensorProto, for other programs. Internal.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The two forms of strings: lengths followed by all bytes, or one field for each string. All readers accept both.
enum class StringsAs : uint8_t { kContent, kFields };
// Every element is written, as TensorFlow's kernels do. The tensor must be in host memory. Throws Unimplemented for
// handles and variants.
std::string tensor_to_bytes(const Tensor& tensor, StringsAs strings = StringsAs::kContent);
// The tensor is in host memory. Throws InvalidArgument for bytes that are not a consistent TensorProto, and
// ResourceExhausted for one that leaves out many equal elements.
Tensor tensor_from_proto_bytes(const std::string& bytes);

}  // namespace panto
