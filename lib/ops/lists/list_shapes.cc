#include "panto/lib/ops/lists/list_shapes.h"

#include <memory>
#include <utility>
#include <vector>

#include "panto/lib/core/collections/tensor_list.h"
#include "panto/lib/ops/lists/element_shape.h"
#include "panto/ops/lists.h"

namespace panto {

HandleInfo list_info(const ShapeContext& c, int i) {
  c.expect_scalar(i);
  const TensorImpl& handle = *c.in(i).impl();
  if (handle.meta != nullptr) return handle.meta->handle == nullptr ? HandleInfo{} : *handle.meta->handle;
  const TensorList& list = list_of(c.in(i));
  return {list.element_dtype(), list.element_shape()};
}

void give_list(ShapeContext& c, DType dtype, PartialShape shape) {
  c.output(0, Shape{});
  c.output_handle(0, std::make_shared<HandleInfo>(HandleInfo{dtype, std::move(shape)}));
}

HandleInfo read_list(const ShapeContext& c, int i, int spelled) {
  HandleInfo info = list_info(c, i);
  const DType wanted = c.type("element_dtype");
  expect_list_dtype(info.dtype, wanted);
  return {wanted, merged_element_shape(info.shape, spelled_element_shape(c.in(spelled)))};
}

PartialShape behind(int64_t first, const PartialShape& rest) {
  if (!rest.known_rank()) return {};
  std::vector<int64_t> dims = {first};
  dims.insert(dims.end(), rest.dims().begin(), rest.dims().end());
  return PartialShape(dims);
}

PartialShape shape_of_rows(const PartialShape& shape) {
  return shape.known_rank() ? PartialShape(shape.dims().subspan(1)) : PartialShape();
}

Tensor unset_like(const Tensor& like, DType dtype) {
  return tensor_list_reserve(tensor_list_element_shape(like, kInt32), tensor_list_length(like), dtype);
}

}  // namespace panto
