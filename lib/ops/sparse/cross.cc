// Feature crosses: for each row of a batch, all combinations of one value from each column.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"

namespace panto {
namespace {

void expect_feature(const ShapeContext& c, int i, const char* what, bool strings_only) {
  const DType type = c.in(i).dtype();
  if (type == kString || (type == kInt64 && !strings_only)) return;
  invalid("{}: expected {}, got {}", what, strings_only ? "string" : "int64 or string", dtype_name(type));
}

// Checks inputs 0 to 3: columns as sparse matrices (indices, values, shapes) and as dense tensors.
void cross_shape(ShapeContext& c, bool strings_only) {
  const auto n = static_cast<int>(c.integer("N"));
  const auto [values, values_end] = c.list(1);
  const auto [shapes, shapes_end] = c.list(2);
  const auto [dense, dense_end] = c.list(3);
  if (values_end - values != n)
    invalid("values: expected {}, one for each of the indices, got {}", n, values_end - values);
  int64_t rows = kUnknownDim;
  for (int i = 0; i < n; ++i) {
    c.expect_rank(i, 2);
    c.expect_equal(2, c.dim(i, 1), "columns of indices");
    c.merge(c.dim(i, 0), c.vector(values + i), "number of indices and values");
    expect_feature(c, values + i, "values", strings_only);
    c.expect_equal(2, c.vector(shapes + i), "number of dimensions in shapes");
    const KnownIntegers dims(c, shapes + i, 2);
    if (!dims.known(0)) continue;
    if (dims[0] < 0) invalid("shapes[{}]: expected at least 0 rows, got {}", i, dims[0]);
    rows = c.merge(rows, dims[0], "number of rows");
  }
  for (int i = dense; i < dense_end; ++i) {
    c.expect_rank(i, 2);
    expect_feature(c, i, "dense_inputs", strings_only);
    rows = c.merge(rows, c.dim(i, 0), "number of rows");
  }
  c.output(0, PartialShape{kUnknownDim, 2});
  c.output(1, PartialShape{kUnknownDim});
  c.output(2, PartialShape{2});
}

void typed_shape(ShapeContext& c) { cross_shape(c, c.type("internal_type") == kString); }
void string_shape(ShapeContext& c) {
  cross_shape(c, false);
  c.expect_scalar(c.list(4).first);
}
void hashed_shape(ShapeContext& c) {
  cross_shape(c, false);
  c.expect_scalar(c.list(4).first);
  c.expect_scalar(c.list(5).first);
  c.expect_equal(2, c.vector(c.list(6).first), "number of elements in salt");
}

constexpr const char* kNoGradient = "strings and whole numbers are not differentiable";

}  // namespace

const Op& kSparseCross = define_op(
    "SparseCross(indices: N*int64, values: sparse_types, shapes: N*int64 @host, dense_inputs: dense_types; N: int >= "
    "0, hashed_output: bool, num_buckets: int >= 0, hash_key: int, sparse_types: list(type) >= 0, dense_types: "
    "list(type) >= 0, out_type: int64|string, internal_type: int64|string) -> (output_indices: int64, output_values: "
    "out_type, output_shape: int64)",
    {.doc = "SparseCrossV2 with _X_ between the values or, where `out_type` is int64, which alone decides, numbers of "
            "buckets: the hash is `hash_key` with that of each value in turn (of a string FarmHash's Fingerprint64, an "
            "integer itself), modulo `num_buckets`, or the largest int64 if that is 0. Where `internal_type` is string "
            "all values are strings.",
     .cpp = "sparse_cross_v1",
     .traits = {Trait::kSelfAllocating},
     .primary = "out_type",
     .shape = typed_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kSparseCrossV2 = define_op(
    "SparseCrossV2(indices: N*int64, values: sparse_types, shapes: N*int64 @host, dense_inputs: dense_types, sep: "
    "string; N: int >= 0, sparse_types: list(type) >= 0, dense_types: list(type) >= 0) -> (output_indices: int64, "
    "output_values: string, output_shape: int64)",
    {.doc = "Crosses of columns of features, first those of sparse matrices, then dense ones, all with as many rows: a "
            "sparse matrix of strings that has in each row every combination of one value of each column, the last "
            "changing fastest, with `sep` between them. Values are strings or int64. The entries of the sparse columns "
            "are in the order of their rows, in which they are counted as they are; a row out of range is an error.",
     .traits = {Trait::kSelfAllocating},
     .shape = string_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kSparseCrossHashed = define_op(
    "SparseCrossHashed(indices: N*int64, values: sparse_types, shapes: N*int64 @host, dense_inputs: dense_types, "
    "num_buckets: int64, strong_hash: bool, salt: int64; N: int >= 0, sparse_types: list(type) >= 0, dense_types: "
    "list(type) >= 0) -> (output_indices: int64, output_values: int64, output_shape: int64)",
    {.doc =
         "SparseCrossV2 with numbers of buckets: the hashes of the values put together, modulo `num_buckets`, or the "
         "largest int64 if that is not positive. With `strong_hash` they are SipHash with the key `salt`, else "
         "FarmHash's Fingerprint64; of integers they are those of the low 32 bits, and without `strong_hash` integers "
         "of dense columns themselves, as in TensorFlow.",
     .traits = {Trait::kSelfAllocating},
     .shape = hashed_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

}  // namespace panto
