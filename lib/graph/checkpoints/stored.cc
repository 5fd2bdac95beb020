#include "panto/lib/graph/checkpoints/stored.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/files/wire/proto_text.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/proto/types.pb.h"

namespace panto {

void parse_message(std::string_view bytes, std::string_view what, google::protobuf::Message& message) {
  if (!parse_proto(bytes, message)) failf(Code::kDataLoss, "checkpoint: expected {}, got other bytes", whole(what));
}

CheckpointVariable described(std::string_view name, int dtype, const graphdef::TensorShapeProto& shape) {
  CheckpointVariable variable;
  variable.name = name;
  variable.shape = Shape(shape_from_proto(shape));
  if (is_dtype(dtype)) {
    variable.dtype = static_cast<DType>(dtype);
    variable.dtype_text = dtype_name(variable.dtype);
    return variable;
  }
  if (dtype == 0 || !graphdef::DataType_IsValid(dtype)) {
    failf(Code::kDataLoss, "checkpoint: expected the number of a dtype, got {}", dtype);
  }
  const std::string& text = graphdef::DataType_Name(static_cast<graphdef::DataType>(dtype));
  std::ranges::transform(text.substr(text.find('_') + 1), std::back_inserter(variable.dtype_text),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return variable;
}

void expect_version(const graphdef::VersionDef& version, int newest) {
  if (version.min_consumer() > newest || std::ranges::count(version.bad_consumers(), newest) > 0) {
    failf(Code::kUnimplemented, "checkpoint: expected one for readers of version {}, got one for version {}", newest,
          version.min_consumer());
  }
}

}  // namespace panto
