// Parts of tensors, as checkpoints store variables that are partitioned. Internal (protobuf).
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

// One range in every dimension.
class TensorSlice {
 public:
  // Throws DataLoss for one that does not lie in a tensor of this shape.
  TensorSlice(const graphdef::TensorSliceProto& proto, const Shape& whole);
  explicit TensorSlice(const TensorPart& part) : TensorSlice(slice_proto(part), part.whole) {}

  const Shape& shape() const { return shape_; }
  const std::vector<int64_t>& starts() const { return starts_; }
  // Of its value in a table: TensorFlow's ordered code of a zero, the tensor's name and the ranges.
  std::string key(std::string_view name) const;

 private:
  std::vector<int64_t> starts_;
  std::vector<bool> full_;  // a dimension of which the file says that it is there as a whole
  Shape shape_;
};

// The parts have as many elements together as the whole. Throws DataLoss where they do not.
void expect_all_elements(const Shape& shape, const std::vector<TensorSlice>& parts);

// A tensor that is put together of parts.
class AssembledTensor {
 public:
  // Takes the memory: expect_all_elements comes before, and whatever tells that the parts are there.
  AssembledTensor(DType dtype, const Shape& shape);
  // Throws DataLoss where an element was set before.
  void set(const TensorSlice& slice, const Tensor& part);
  // All elements were set.
  Tensor take() { return std::move(whole_); }

 private:
  Tensor whole_;
  std::vector<bool> set_;
};

}  // namespace panto
