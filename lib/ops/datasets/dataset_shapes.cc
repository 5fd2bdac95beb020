#include "panto/lib/ops/datasets/dataset_shapes.h"

#include "panto/lib/base/text/format.h"

namespace panto::dataset_ops {
namespace {

// Throws unless arguments that are single tensors are scalars; with `vectors`, strings and integers may be vectors.
void expect_scalars(const ShapeContext& c, bool vectors) {
  const std::vector<ArgDef>& inputs = c.op().signature().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_list()) continue;
    const int at = c.list(static_cast<int>(i)).first;
    const bool may = vectors && (inputs[i].dtype == kString || inputs[i].dtype == kInt64);
    if (!may) {
      c.expect_scalar(at);
    } else if (c.rank(at) > 1) {
      invalid("{}: expected a scalar or a vector, got {}", inputs[i].name, c.shape(at).to_string());
    }
  }
}

void expect_shapes(const ShapeContext& c, size_t types) {
  const uint32_t count = c.slot("output_shapes").n;
  if (count != types) invalid("output_shapes: expected {}, as many as output_types, got {}", types, count);
}

}  // namespace

void any_shape(ShapeContext& c) { c.output(Shape{}); }

void dataset_shape(ShapeContext& c) {
  expect_scalars(c, false);
  any_shape(c);
}

void vectors_shape(ShapeContext& c) {
  expect_scalars(c, true);
  any_shape(c);
}

void captures_shape(ShapeContext& c) { dataset_shape(c); }

void csv_shape(ShapeContext& c) {
  vectors_shape(c);
  const uint32_t types = c.slot("output_types").n;
  expect_shapes(c, types);
}

void padded_shape(ShapeContext& c) {
  const auto [first, last] = c.list(2);
  for (int i = first; i < last; ++i) c.expect_rank(i, 1);
  const auto [padding, end] = c.list(3);
  for (int i = padding; i < end; ++i) c.expect_scalar(i);
  dataset_shape(c);
}

void sparse_slices_shape(ShapeContext& c) {
  c.expect_rank(0, 2);
  c.expect_rank(1, 1);
  c.expect_rank(2, 1);
  any_shape(c);
}

void one_variant(ShapeContext& c) { dataset_shape(c); }

void one_scalar(ShapeContext& c) {
  expect_scalars(c, false);
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, Shape{});
}

void no_outputs(ShapeContext& c) { expect_scalars(c, false); }

void components_shape(ShapeContext& c) {
  expect_scalars(c, false);
  expect_shapes(c, static_cast<size_t>(c.num_outputs()));
  const auto* shapes = static_cast<const PartialShape*>(c.slot("output_shapes").p);
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, shapes[k]);
}

}  // namespace panto::dataset_ops
