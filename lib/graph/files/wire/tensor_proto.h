// Conversion of TensorProto, TensorShapeProto and DataType to tensors, shapes and dtypes and back. Internal (protobuf).
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/proto/tensor.pb.h"
#include "panto/lib/graph/proto/tensor_shape.pb.h"

namespace panto {

// The memory that a file may still use beyond its own size. A tensor of one repeated value takes a few bytes in a file
// and any amount of memory.
class ExpansionBudget {
 public:
  explicit ExpansionBudget(int64_t bytes) : left_(bytes) {}
  // Throws ResourceExhausted.
  void take(int64_t bytes);

 private:
  int64_t left_;
};

// Throws InvalidArgument for a number that TensorFlow does not use, Unimplemented for a type that this library lacks
// (quantized, float8, references).
DType dtype_from_proto(int number);
// Throws InvalidArgument for dimensions below -1, a rank above 254 or dimensions beside unknown_rank.
PartialShape shape_from_proto(const graphdef::TensorShapeProto& proto);
void shape_to_proto(const PartialShape& shape, graphdef::TensorShapeProto* proto);

// In host memory. Stricter than TensorFlow: a second payload, surplus values and values that do not fit the type are
// refused. (TensorFlow ignores the former two, so two readers could see two different tensors.)
Tensor tensor_from_proto(const graphdef::TensorProto& proto, ExpansionBudget& budget);
// Writes as TensorFlow's Python does; repeated elements at the end are written once.
void tensor_to_proto(const Tensor& tensor, graphdef::TensorProto* proto);

}  // namespace panto
