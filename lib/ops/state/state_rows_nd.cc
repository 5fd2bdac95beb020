// Ops that read and change elements and slices of variables at positions in several dimensions.
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/positions.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/state/indexed_variable.h"
#include "panto/ops/array.h"
#include "panto/ops/state.h"

namespace panto {
namespace {

void gather_nd_shape(ShapeContext& c) {
  const PartialShape whole = indexed_value(c).shape;
  const int64_t depth = depth_of_indices(c, 1, whole.rank());
  c.output(shape_at(c.shape(1), whole, depth));
}

void scatter_nd_shape(ShapeContext& c) {
  expect_error_policy(c);
  const PartialShape whole = indexed_variable(c, "T").shape;
  const int64_t depth = depth_of_indices(c, 1, whole.rank());
  expect_updates(c.shape(2), c.shape(1), whole, depth);
}

// The positions of all examples are looked up at once.
void gather_nd_batch(BatchContext& c) { c.set_all(c.again({c.in(0), c.in(1)})); }

}  // namespace

const Op& kResourceGatherNd = define_op(
    "ResourceGatherNd(resource: resource, indices: Tindices; dtype: type, Tindices: index) -> (output: dtype)",
    {.doc = "GatherNd of the variable's value, of which nothing else is read.",
     .effects = {effects::reads(0)},
     .primary = "dtype",
     .shape = gather_nd_shape,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const Tensor dims = shape(read_variable_op(g.in(0), g.type("dtype")), {.out_type = g.in_type(1)});
           g.set(0, scatter_nd(g.in(1), g.dy(), dims));
         },
     .batch = gather_nd_batch});

const Op& kResourceScatterNdUpdate = define_op(
    "ResourceScatterNdUpdate(ref: resource, indices: Tindices, updates: T; T: type, Tindices: index, use_locking: bool "
    "= true, "
    "bad_indices_policy: string = \"\") -> ()",
    {.doc = "Puts `updates`, elements or slices, into the variable at the positions that the last dimension of "
            "`indices` spells, one after the other where one occurs several times. Nothing changes if a position is "
            "out of range.",
     .effects = {effects::updates(0)},
     .primary = "T",
     .shape = scatter_nd_shape,
     .no_gradient = "it has no outputs",
     .types_reason = "variables of strings and handles are replaced as a whole"});

const Op& kResourceScatterNdAdd = define_op(
    "ResourceScatterNdAdd(ref: resource, indices: Tindices, updates: T; T: numeric, Tindices: index, use_locking: bool "
    "= true, "
    "bad_indices_policy: string = \"\") -> ()",
    {.doc = "Adds `updates` to the variable, as ResourceScatterNdUpdate puts them into it.",
     .effects = {effects::updates(0)},
     .primary = "T",
     .shape = scatter_nd_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterNdSub = define_op(
    "ResourceScatterNdSub(ref: resource, indices: Tindices, updates: T; T: numeric, Tindices: index, use_locking: bool "
    "= true, "
    "bad_indices_policy: string = \"\") -> ()",
    {.doc = "Subtracts `updates` from the variable, as ResourceScatterNdUpdate puts them into it.",
     .effects = {effects::updates(0)},
     .primary = "T",
     .shape = scatter_nd_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterNdMax = define_op(
    "ResourceScatterNdMax(ref: resource, indices: Tindices, updates: T; T: real, Tindices: index, use_locking: bool = "
    "true, "
    "bad_indices_policy: string = \"\") -> ()",
    {.doc = "Makes elements of the variable the greater of what they are and `updates`, as ResourceScatterNdUpdate "
            "puts these into it.",
     .effects = {effects::updates(0)},
     .primary = "T",
     .shape = scatter_nd_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

const Op& kResourceScatterNdMin = define_op(
    "ResourceScatterNdMin(ref: resource, indices: Tindices, updates: T; T: real, Tindices: index, use_locking: bool = "
    "true, "
    "bad_indices_policy: string = \"\") -> ()",
    {.doc = "Makes elements of the variable the lesser of what they are and `updates`, as ResourceScatterNdUpdate "
            "puts these into it.",
     .effects = {effects::updates(0)},
     .primary = "T",
     .shape = scatter_nd_shape,
     .no_gradient = "it has no outputs",
     .flops = [](const CostContext& c) { return c.numel(2); }});

}  // namespace panto
