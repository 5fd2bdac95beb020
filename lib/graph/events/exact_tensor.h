// Tensors of summaries. Internal (protobuf).
#pragma once

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/proto/tensor.pb.h"

namespace panto {

// Writes every element, also a scalar zero: TensorBoard drops a zero that is left out because it is the default. For a
// plain dtype or strings, in host memory.
void exact_tensor_to_proto(const Tensor& t, graphdef::TensorProto* proto);

}  // namespace panto
