// Ops that read and change rows of variables, such as embedding tables.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/lookup.h"
#include "panto/lib/ops/array/strided_slice.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/state/indexed_variable.h"
#include "panto/ops/array.h"
#include "panto/ops/state.h"

namespace panto {
namespace {

// Indices, then the dimensions of a row.
PartialShape rows_shape(const PartialShape& variable, const PartialShape& indices) {
  if (!variable.known_rank() || !indices.known_rank()) return {};
  SmallVector<int64_t, 8> dims;
  for (const int64_t d : indices.dims()) dims.push_back(d);
  for (const int64_t d : variable.dims().subspan(1)) dims.push_back(d);
  return PartialShape(std::span<const int64_t>(dims));
}

void gather_shape(ShapeContext& c) {
  if (c.integer("batch_dims") != 0) {
    failf(Code::kUnimplemented, "batch_dims: expected 0, got {}", c.integer("batch_dims"));
  }
  c.output(rows_shape(indexed_value(c).shape, c.shape(1)));
}

void scatter_shape(ShapeContext& c) {
  const PartialShape expected = rows_shape(indexed_variable(c).shape, c.shape(1));
  const PartialShape& updates = c.shape(2);
  if (updates.rank() == 0 || expected.compatible_with(updates)) return;
  invalid("updates: expected a scalar or shape {}, got {}", expected.to_string(), updates.to_string());
}

void slice_assign_shape(ShapeContext& c) {
  const PartialShape whole = indexed_variable(c, "T").shape;
  const int64_t n = c.merge(c.merge(c.vector(1), c.vector(2), "lengths of begin, end and strides"), c.vector(3),
                            "lengths of begin, end and strides");
  if (!whole.known_rank() || n < 0) return;
  expect_slice(
      plan_strided_slice(whole, KnownIntegers(c, 1, n), KnownIntegers(c, 2, n), KnownIntegers(c, 3, n), masks_of(c)),
      c.shape(4));
}

// The rows of all examples are looked up at once.
void resource_gather_batch(BatchContext& c) {
  if (c.integer("batch_dims") != 0) return c.loop();
  c.set_all(c.again({c.in(0), c.in(1)}));
}

}  // namespace

const Op& kResourceGather = define_op(
    "ResourceGather(resource: resource, indices: Tindices; batch_dims: int = 0, validate_indices: bool = true,"
    " dtype: type, Tindices: index) -> (output: dtype)",
    {.doc = "The rows of the variable (slices along its first dimension) whose numbers are in `indices`. An index out "
            "of range is an error.",
     .effects = {effects::reads(0)},
     .primary = "dtype",
     .shape = gather_shape,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const Tensor dims = shape(read_variable_op(g.in(0), g.type("dtype")), {.out_type = kInt64});
           const Tensor num_rows = reshape(slice(dims, {0}, {1}), Shape{});
           if (g.takes_slices()) {
             if (auto rows = rows_of(g.dy(), g.in(1), num_rows)) return g.set_slices(std::move(*rows));
           }
           g.set(0, unsorted_segment_sum(g.dy(), g.in(1), num_rows));
         },
     .batch = resource_gather_batch});

const Op& kResourceScatterAdd = define_op(  //
    "ResourceScatterAdd(resource: resource, indices: Tindices, updates: dtype; dtype: numeric, Tindices: index) -> ()",
    {.doc = "Adds rows to those of the variable whose numbers are in `indices`, one after the other where a number "
            "occurs several times: `updates` has a row for each, or is a scalar. Nothing changes if an index is out of "
            "range.",
     .effects = {effects::updates(0)},
     .primary = "dtype",
     .shape = scatter_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterSub = define_op(  //
    "ResourceScatterSub(resource: resource, indices: Tindices, updates: dtype; dtype: numeric, Tindices: index) -> ()",
    {.doc = "Subtracts rows from those of the variable, as ResourceScatterAdd adds them.",
     .effects = {effects::updates(0)},
     .primary = "dtype",
     .shape = scatter_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterMul = define_op(  //
    "ResourceScatterMul(resource: resource, indices: Tindices, updates: dtype; dtype: numeric, Tindices: index) -> ()",
    {.doc = "Multiplies rows of the variable, as ResourceScatterAdd adds to them.",
     .effects = {effects::updates(0)},
     .primary = "dtype",
     .shape = scatter_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterDiv = define_op(  //
    "ResourceScatterDiv(resource: resource, indices: Tindices, updates: dtype; dtype: numeric, Tindices: index) -> ()",
    {.doc =
         "Divides rows of the variable, as ResourceScatterAdd adds to them. Integers are rounded towards 0; division "
         "by 0 is an error for them.",
     .effects = {effects::updates(0)},
     .primary = "dtype",
     .shape = scatter_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterMax = define_op(  //
    "ResourceScatterMax(resource: resource, indices: Tindices, updates: dtype; dtype: real, Tindices: index) -> ()",
    {.doc = "Makes rows of the variable the greater of what they are and `updates`, element by element, as "
            "ResourceScatterAdd adds to them.",
     .effects = {effects::updates(0)},
     .primary = "dtype",
     .shape = scatter_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterMin = define_op(  //
    "ResourceScatterMin(resource: resource, indices: Tindices, updates: dtype; dtype: real, Tindices: index) -> ()",
    {.doc = "Makes rows of the variable the lesser of what they are and `updates`, element by element, as "
            "ResourceScatterAdd adds to them.",
     .effects = {effects::updates(0)},
     .primary = "dtype",
     .shape = scatter_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterUpdate = define_op(  //
    "ResourceScatterUpdate(resource: resource, indices: Tindices, updates: dtype; dtype: type, Tindices: index) -> ()",
    {.doc = "Puts rows in the place of those of the variable, as ResourceScatterAdd adds them; of several for one "
            "number the last one stays.",
     .effects = {effects::updates(0)},
     .primary = "dtype",
     .shape = scatter_shape,
     .no_gradient = "it has no outputs",
     .types_reason = "variables of strings and handles are replaced as a whole"});

const Op& kResourceStridedSliceAssign = define_op(
    "ResourceStridedSliceAssign(ref: resource, begin: Index @host, end: Index @host, strides: Index @host, value: T; "
    "T: type, Index: index, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, "
    "shrink_axis_mask: int = 0) -> ()",
    {.doc = "Puts `value`, which broadcasts, in the place of the part of the variable that StridedSlice would take.",
     .effects = {effects::updates(0)},
     .primary = "T",
     .shape = slice_assign_shape,
     .no_gradient = "it has no outputs",
     .types_reason = "variables of strings and handles are replaced as a whole"});

}  // namespace panto
