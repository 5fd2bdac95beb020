// Accumulators: collect gradients of several workers, and return their sum or mean to one that takes it.

#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/ops/queues.h"

namespace panto {
namespace {

constexpr const char* kTypesReason = "gradients are floating";

void accumulator_shape(ShapeContext& c) {
  shapes::scalar(c);
  if (!dtypes::kFloating.contains(c.type("dtype"))) {
    failf(Code::kUnimplemented, "dtype: expected a floating one, got {}", dtype_name(c.type("dtype")));
  }
  if (!c.symbolic()) return;
  auto info = std::make_shared<HandleInfo>();
  info->dtype = c.type("dtype");
  info->shape = c.shape_attr("shape");
  c.output_handle(0, std::move(info));
}

// What is known of the accumulator that input 0 refers to. Eager calls leave this to the kernels.
HandleInfo known_accumulator(const ShapeContext& c) {
  c.expect_scalar(0);
  const TensorImpl& handle = *c.in(0).impl();
  if (handle.meta == nullptr || handle.meta->handle == nullptr) return {DType::kInvalid, PartialShape()};
  const HandleInfo& info = *handle.meta->handle;
  const DType wanted = c.type("dtype");
  if (info.dtype != DType::kInvalid && info.dtype != wanted) {
    invalid("dtype: expected the accumulator's {}, got {}", dtype_name(info.dtype), dtype_name(wanted));
  }
  return info;
}

}  // namespace

const Op& kConditionalAccumulator = define_op(
    "ConditionalAccumulator(; dtype: numeric, shape: shape, container: string = \"\", shared_name: string = \"\", "
    "reduction_type: {\"MEAN\", \"SUM\"} = \"MEAN\") -> (handle: resource)",
    {.doc = "A handle to the accumulator `shared_name` (or, without one, of the node's name) in `container`, which is "
            "made if there is none. It sums gradients of `shape` up until somebody takes the sum, or their mean.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = accumulator_shape,
     .no_gradient = "it has no inputs"});

const Op& kSparseConditionalAccumulator = define_op(
    "SparseConditionalAccumulator(; dtype: numeric, shape: shape, container: string = \"\", shared_name: string = "
    "\"\", reduction_type: {\"MEAN\", \"SUM\"} = \"MEAN\") -> (handle: resource)",
    {.doc =
         "ConditionalAccumulator of gradients that are rows of a tensor of `shape` with their indices. The mean of a "
         "row is that of the gradients which had it.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::allocates(0)},
     .shape = accumulator_shape,
     .no_gradient = "it has no inputs"});

const Op& kAccumulatorApplyGradient =
    define_op("AccumulatorApplyGradient(handle: resource, local_step: int64, gradient: dtype; dtype: numeric) -> ()",
              {.doc = "Adds a gradient to what the accumulator has. One that is stale, of a `local_step` before the "
                      "accumulator's step, is dropped.",
               .effects = {effects::updates(0)},
               .shape =
                   [](ShapeContext& c) {
                     c.expect_scalar(1);
                     const HandleInfo info = known_accumulator(c);
                     if (info.shape.compatible_with(c.shape(2))) return;
                     invalid("gradient: expected shape {}, got {}", info.shape.to_string(), c.shape(2).to_string());
                   },
               .no_gradient = "it has no outputs",
               .types_reason = kTypesReason});

const Op& kAccumulatorTakeGradient = define_op(
    "AccumulatorTakeGradient(handle: resource, num_required: int32; dtype: numeric) -> (average: dtype)",
    {.doc = "The mean, or sum, of what the accumulator has, which has nothing then and goes a step on: waits until "
            "there are `num_required` gradients in it.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           const HandleInfo info = known_accumulator(c);
           if (c.symbolic()) c.output(info.shape);
         },
     .no_gradient = "what it takes out went in elsewhere",
     .types_reason = kTypesReason});

const Op& kAccumulatorSetGlobalStep =
    define_op("AccumulatorSetGlobalStep(handle: resource, new_global_step: int64) -> ()",
              {.doc = "Makes this the accumulator's step: gradients of earlier ones are stale.",
               .effects = {effects::updates(0)},
               .shape =
                   [](ShapeContext& c) {
                     c.expect_scalar(0);
                     c.expect_scalar(1);
                   },
               .no_gradient = "it has no outputs"});

const Op& kAccumulatorNumAccumulated =
    define_op("AccumulatorNumAccumulated(handle: resource) -> (num_accumulated: int32)",
              {.doc = "How many gradients the accumulator has.",
               .effects = {effects::reads(0)},
               .shape =
                   [](ShapeContext& c) {
                     c.expect_scalar(0);
                     shapes::scalar(c);
                   },
               .no_gradient = "integers have none"});

const Op& kSparseAccumulatorApplyGradient = define_op(
    "SparseAccumulatorApplyGradient(handle: resource, local_step: int64, gradient_indices: int64, gradient_values: "
    "dtype, gradient_shape: int64; dtype: numeric, has_known_shape: bool) -> ()",
    {.doc = "AccumulatorApplyGradient of rows `gradient_values`, whose numbers, which increase, are in "
            "`gradient_indices`. `gradient_shape` is that of the tensor that they are rows of, if `has_known_shape`.",
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           c.expect_rank_at_least(3, 1);
           c.expect_equal(c.dim(3, 0), c.vector(2), "number of rows and indices");
           known_accumulator(c);
         },
     .no_gradient = "it has no outputs",
     .types_reason = kTypesReason});

const Op& kSparseAccumulatorTakeGradient = define_op(
    "SparseAccumulatorTakeGradient(handle: resource, num_required: int32; dtype: numeric) -> (indices: int64, values: "
    "dtype, shape: int64)",
    {.doc = "AccumulatorTakeGradient of rows: their numbers, the rows, and the shape of the tensor that they are rows "
            "of, with -1 for a first dimension that is not known.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           const HandleInfo info = known_accumulator(c);
           if (!c.symbolic()) return;
           c.output(0, PartialShape{-1});
           std::vector<int64_t> dims(info.shape.dims().begin(), info.shape.dims().end());
           if (!dims.empty()) {
             dims[0] = -1;
             c.output(1, PartialShape(dims));
           }
           c.output(2, PartialShape{-1});
         },
     .no_gradient = "what it takes out went in elsewhere",
     .types_reason = kTypesReason});

}  // namespace panto
