#include "panto/lib/ops/state/indexed_variable.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/variable_checks.h"

namespace panto {

HandleInfo indexed_variable(const ShapeContext& c, AttrName dtype_attr) {
  c.expect_scalar(0);
  const TensorImpl& handle = *c.in(0).impl();
  HandleInfo info{DType::kInvalid, PartialShape()};
  if (handle.meta == nullptr) {
    const VariableResource& variable = variable_of(c.in(0));
    info = {variable.dtype(), variable.shape()};
  } else if (handle.meta->handle != nullptr) {
    info = *handle.meta->handle;
  }
  const DType wanted = c.type(dtype_attr);
  if (info.dtype != DType::kInvalid) expect_variable_dtype(info.dtype, wanted);
  if (info.shape.rank() == 0) invalid("variable: expected a rank of at least 1, got shape []");
  return info;
}

HandleInfo indexed_value(const ShapeContext& c, AttrName dtype_attr) {
  HandleInfo info = indexed_variable(c, dtype_attr);
  if (!c.symbolic() && c.in(0).impl()->meta == nullptr) info.shape = variable_of(c.in(0)).read().partial_shape();
  return info;
}

}  // namespace panto
