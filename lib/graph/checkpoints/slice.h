// Parts (slices) of tensors, in which checkpoints store partitioned variables. Internal (protobuf).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"
#include "panto/lib/graph/proto/tensor_slice.pb.h"

namespace panto {

graphdef::TensorSliceProto slice_proto(const TensorPart& part);

// A range in every dimension.
class TensorSlice {
 public:
  // Throws DataLoss for a slice that is not inside a tensor of this shape.
  TensorSlice(const graphdef::TensorSliceProto& proto, const Shape& whole);
  explicit TensorSlice(const TensorPart& part) : TensorSlice(slice_proto(part), part.whole) {}

  const Shape& shape() const { return shape_; }
  const std::vector<int64_t>& starts() const { return starts_; }
  // The key of the slice's value in a table: TensorFlow's ordered code of a zero, the tensor's name and the ranges.
  std::string key(std::string_view name) const;

 private:
  std::vector<int64_t> starts_;
  std::vector<bool> full_;  // dimensions that the file stores as complete
  Shape shape_;
};

// Throws DataLoss unless the parts together have as many elements as the whole tensor.
void expect_all_elements(const Shape& shape, const std::vector<TensorSlice>& parts);

// A tensor that is assembled from parts.
class AssembledTensor {
 public:
  // Allocates the tensor: call expect_all_elements, and check that the parts exist, before.
  AssembledTensor(DType dtype, const Shape& shape);
  // Throws DataLoss if an element was set before.
  void set(const TensorSlice& slice, const Tensor& part);
  // The tensor. Precondition: all elements were set.
  Tensor take() { return std::move(whole_); }

 private:
  Tensor whole_;
  std::vector<bool> set_;
};

}  // namespace panto
