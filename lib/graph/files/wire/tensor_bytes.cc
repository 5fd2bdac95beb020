#include "panto/lib/graph/files/wire/tensor_bytes.h"

#include <cstdint>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/graph/files/wire/proto_text.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"

namespace panto {
namespace {

// All lengths as varints of 32 bits, then all bytes.
std::string packed(const std::string* texts, int64_t count) {
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) {
    append_varint(bytes, checked_cast<uint32_t>(static_cast<int64_t>(texts[i].size()), "length of a string"));
  }
  for (int64_t i = 0; i < count; ++i) bytes += texts[i];
  return bytes;
}

}  // namespace

std::string tensor_to_bytes(const Tensor& tensor, StringsAs strings) {
  const DType type = tensor.dtype();
  if (type == kResource || type == kVariant) {
    failf(Code::kUnimplemented, "tensor: expected a dtype with values, got {}", dtype_name(type));
  }
  graphdef::TensorProto proto;
  proto.set_dtype(static_cast<graphdef::DataType>(type));
  shape_to_proto(tensor.shape(), proto.mutable_tensor_shape());
  if (type == kString && strings == StringsAs::kFields) {
    const auto* texts = static_cast<const std::string*>(tensor.impl()->data);
    for (int64_t i = 0; i < tensor.numel(); ++i) proto.add_string_val(texts[i]);
  } else if (type == kString) {
    proto.set_tensor_content(packed(static_cast<const std::string*>(tensor.impl()->data), tensor.numel()));
  } else if (tensor.numel() > 0) {
    proto.set_tensor_content(tensor.impl()->data, static_cast<size_t>(tensor.nbytes()));
  }
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) invalid("tensor: expected less than 2 GiB, got {} bytes", tensor.nbytes());
  return bytes;
}

Tensor tensor_from_proto_bytes(const std::string& bytes) {
  // Limit for the expansion of one tensor: there may be many of them, and tensors that programs write are not
  // compressed.
  constexpr int64_t kMost = int64_t{1} << 20;
  graphdef::TensorProto proto;
  if (!parse_proto(bytes, proto)) invalid("serialized tensor: expected a TensorProto, got other bytes");
  ExpansionBudget budget(kMost);
  return tensor_from_proto(proto, budget);
}

}  // namespace panto
