// Maps that store sparse tensors under numbers until they are taken out together. They have no handles; the ops that
// put in and take out find the same map by `container` and `shared_name`.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/sparse/coo.h"

namespace panto {
namespace {

constexpr const char* kNumbers = "numbers of tensors have none";
constexpr const char* kNoValues = "handles and variants are no values";

}  // namespace

const Op& kAddSparseToTensorsMap = define_op(
    "AddSparseToTensorsMap(sparse_indices: int64, sparse_values: T, sparse_shape: int64; T: type, container: string = "
    "\"\", shared_name: string = \"\") -> (sparse_handle: int64)",
    {.doc = "Keeps a sparse tensor in the map `shared_name` (or, without one, of the node's name) in `container`, "
            "which is made if there is none, and gives the number under which it is there.",
     .effects = {effects::external()},
     .primary = "T",
     .shape =
         [](ShapeContext& c) {
           sparse::entries(c, 0, 1, 2);
           c.output(Shape{});
         },
     .no_gradient = kNumbers,
     .types_reason = kNoValues,
     .batch = batching::loop});

const Op& kAddManySparseToTensorsMap = define_op(
    "AddManySparseToTensorsMap(sparse_indices: int64, sparse_values: T, sparse_shape: int64 @host; T: type, container: "
    "string = \"\", shared_name: string = \"\") -> (sparse_handles: int64)",
    {.doc = "AddSparseToTensorsMap of each part along the first dimension of a sparse tensor, whose indices and shape "
            "are without that dimension. An index that is out of range, not in ascending order or repeated is an "
            "error.",
     .effects = {effects::external()},
     .primary = "T",
     .shape =
         [](ShapeContext& c) {
           const int64_t rank = sparse::entries(c, 0, 1, 2).rank;
           if (rank >= 0 && rank < 2) invalid("sparse_shape: expected at least 2 dimensions, got {}", rank);
           const KnownIntegers dims(c, 2, rank);
           sparse::expect_none_negative(dims, "sparse_shape");
           c.output({dims.counted() ? dims.get(0).value_or(kUnknownDim) : kUnknownDim});
         },
     .no_gradient = kNumbers,
     .types_reason = kNoValues,
     .batch = batching::loop});

const Op& kTakeManySparseFromTensorsMap = define_op(
    "TakeManySparseFromTensorsMap(sparse_handles: int64; dtype: type, container: string = \"\", shared_name: string = "
    "\"\") -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    {.doc = "Takes sparse tensors out of a map, by the numbers that AddSparseToTensorsMap or AddManySparseToTensorsMap "
            "gave, and joins them along a new first dimension. The others are as large as the largest of all. They "
            "must have as many dimensions; a number that is not there is an error.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .primary = "dtype",
     .shape =
         [](ShapeContext& c) {
           if (c.vector(0) == 0) invalid("sparse_handles: expected at least one, got none");
           c.output(0, PartialShape{kUnknownDim, kUnknownDim});
           c.output(1, PartialShape{kUnknownDim});
           c.output(2, PartialShape{kUnknownDim});
         },
     .no_gradient = "what waits in a map is not followed by gradients",
     .types_reason = kNoValues,
     .batch = batching::loop});

}  // namespace panto
