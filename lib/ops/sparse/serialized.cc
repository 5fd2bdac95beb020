// Sparse tensors as three strings: TensorProtos of the indices, the values and the shape.
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/sparse/coo.h"
#include "panto/ops/array.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

void serialize_shape(ShapeContext& c) {
  sparse::entries(c, 0, 1, 2);
  c.output({3});
}

void serialize_many_shape(ShapeContext& c) {
  const int64_t rank = sparse::entries(c, 0, 1, 2).rank;
  if (rank >= 0 && rank < 2) invalid("sparse_shape: expected at least 2 dimensions, got {}", rank);
  const KnownIntegers dims(c, 2, rank);
  sparse::expect_none_negative(dims, "sparse_shape");
  c.output({dims.counted() ? dims.get(0).value_or(kUnknownDim) : kUnknownDim, 3});
}

void deserialize_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  if (c.rank(0) > 0) c.expect_equal(3, c.dim(0, -1), "last dimension of serialized_sparse");
  for (int k = 0; k + 1 < c.rank(0); ++k) {
    if (c.dim(0, k) == 0)
      invalid("serialized_sparse: expected at least one tensor, got shape {}", c.shape(0).to_string());
  }
  c.output(0, PartialShape{kUnknownDim, kUnknownDim});
  c.output(1, PartialShape{kUnknownDim});
  c.output(2, PartialShape{kUnknownDim});
}

constexpr const char* kNoValues = "handles and variants have no values to write";
constexpr const char* kStrings = "strings are not differentiable";

}  // namespace

const Op& kSerializeSparse = define_op(
    "SerializeSparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64; T: type, out_type: string|variant = "
    "string) -> (serialized_sparse: out_type)",
    {.doc =
         "A sparse tensor as three strings, TensorProtos of its indices, values and shape, or as three variants that "
         "hold these. Whether an index is within the shape is not asked.",
     .primary = "T",
     .shape = serialize_shape,
     .no_gradient = kStrings,
     .types_reason = kNoValues,
     .batch = batching::loop});

const Op& kSerializeManySparse = define_op(
    "SerializeManySparse(sparse_indices: int64, sparse_values: T, sparse_shape: int64 @host; T: type, out_type: "
    "string|variant = string) -> (serialized_sparse: out_type)",
    {.doc = "SerializeSparse of each part along the first dimension of a sparse tensor: three strings or variants for "
            "each, whose "
            "indices and shape are without that dimension. An index that is out of range, not in ascending order or "
            "repeated is an error.",
     .primary = "T",
     .shape = serialize_many_shape,
     .no_gradient = kStrings,
     .types_reason = kNoValues,
     .batch = batching::loop});

const Op& kDeserializeSparse = define_op(
    "DeserializeSparse(serialized_sparse: Tserialized; dtype: type, Tserialized: string|variant = string) -> "
    "(sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    {.doc = "The sparse tensor of which SerializeSparse made the three strings, or variants, along the last dimension; "
            "where there are "
            "other dimensions, the tensors of all, stacked along these as the first of the result. They have one rank; "
            "the result's dimensions are the largest of theirs. The values are of `dtype`, the entries in the order in "
            "which they are. Strings that are no such tensors are an error.",
     .traits = {Trait::kSelfAllocating},
     .primary = "dtype",
     .shape = deserialize_shape,
     .no_gradient = kStrings,
     .types_reason = kNoValues,
     .batch = batching::loop});

const Op& kDeserializeManySparse = define_op(
    "DeserializeManySparse(serialized_sparse: string; dtype: type) -> (sparse_indices: int64, sparse_values: dtype, "
    "sparse_shape: int64)",
    {.doc = "DeserializeSparse of a matrix of strings, three in each row.",
     .body =
         [](CompositeContext& c) {
           const Tensor rows = ensure_shape(c.in(0), PartialShape{kUnknownDim, 3});
           const auto all = deserialize_sparse(rows, c.type("dtype"));
           c.set_out(0, all.sparse_indices);
           c.set_out(1, all.sparse_values);
           c.set_out(2, all.sparse_shape);
         },
     .in_tensorflow = true});

}  // namespace panto
