#include "panto/lib/ops/state/variable_info.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/variable_checks.h"

namespace panto {

std::shared_ptr<const HandleInfo> variable_info(const ShapeContext& c, int i) {
  c.expect_scalar(i);
  const TensorImpl& handle = *c.in(i).impl();
  if (handle.meta != nullptr) return handle.meta->handle;
  const VariableResource& variable = variable_of(c.in(i));
  return std::make_shared<HandleInfo>(HandleInfo{variable.dtype(), variable.shape()});
}

void apply_shape(ShapeContext& c, int slots, int gradient) {
  for (int i = slots; i < c.num_inputs(); ++i) {
    if (i != gradient) c.expect_scalar(i);
  }
  if (!c.symbolic()) return;
  for (int i = 0; i < slots; ++i) {
    const std::shared_ptr<const HandleInfo> info = variable_info(c, i);
    if (info == nullptr) continue;
    expect_variable_dtype(info->dtype, c.in(gradient).dtype());
    expect_variable_shape(info->shape, c.shape(gradient),
                          c.op().signature().inputs[static_cast<size_t>(gradient)].name);
  }
}

void sparse_apply_shape(ShapeContext& c, int slots, int gradient) {
  for (int i = slots; i < c.num_inputs(); ++i) {
    if (i != gradient && i != gradient + 1) c.expect_scalar(i);
  }
  const int64_t count = c.vector(gradient + 1);
  const PartialShape& rows = c.shape(gradient);
  c.expect_rank_at_least(gradient, 1);
  for (int i = 0; i < slots; ++i) {
    const std::shared_ptr<const HandleInfo> info = variable_info(c, i);
    if (info == nullptr) continue;
    expect_variable_dtype(info->dtype, c.in(gradient).dtype());
    if (!info->shape.known_rank()) continue;
    if (info->shape.rank() == 0) invalid("variable: expected a rank of at least 1, got shape []");
    SmallVector<int64_t, 8> dims;
    for (const int64_t d : info->shape.dims()) dims.push_back(d);
    dims[0] = count;
    const PartialShape expected{std::span<const int64_t>(dims.data(), dims.size())};
    if (!rows.compatible_with(expected)) {
      invalid("grad: expected shape {}, a row for each number, got {}", expected.to_string(), rows.to_string());
    }
  }
  if (rows.known_rank()) c.expect_equal(count, rows.dim(0), "dimension 0 of grad, and number of indices");
}

}  // namespace panto
