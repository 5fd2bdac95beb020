// Sets: the distinct values of each row of a tensor, along its last dimension.
#include <algorithm>
#include <string>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/sparse/coo.h"

namespace panto {
namespace {

// What is known of a tensor of sets: there is one set per index of all dimensions except the last.
struct Sets {
  int64_t rank = kUnknownDim;
  PartialValues dims;  // empty if the rank is not known
};

void expect_rows(int64_t rank, const char* what) {
  if (rank >= 0 && rank < 2) invalid("{}: expected at least 2 dimensions, got {}", what, rank);
}

Sets dense_sets(ShapeContext& c, int input, const char* what) {
  Sets sets{.rank = c.rank(input), .dims = {}};
  expect_rows(sets.rank, what);
  for (int k = 0; k + 1 < c.rank(input); ++k) {
    const int64_t dim = c.dim(input, k);
    sets.dims.push_back(dim < 0 ? std::nullopt : std::optional(dim));
  }
  return sets;
}

// Inputs `first`, + 1 and + 2 are indices, values and shape.
Sets sparse_sets(ShapeContext& c, int first, const char* what) {
  Sets sets{.rank = sparse::entries(c, first, first + 1, first + 2).rank, .dims = {}};
  expect_rows(sets.rank, what);
  const KnownIntegers dims(c, first + 2, sets.rank);
  sparse::expect_none_negative(dims, what);
  for (int64_t k = 0; dims.counted() && k + 1 < dims.count(); ++k) sets.dims.push_back(dims.get(k));
  if (dims.counted()) c.shape_from(first + 2);  // checks that the number of elements does not overflow
  return sets;
}

void size_shape(ShapeContext& c) {
  const Sets sets = sparse_sets(c, 0, "set_shape");
  if (sets.rank < 0) return c.output(PartialShape::unknown());
  std::vector<int64_t> dims;
  for (const std::optional<int64_t>& dim : sets.dims) dims.push_back(dim.value_or(kUnknownDim));
  c.output(PartialShape(dims));
}

void operation_shape(ShapeContext& c, const Sets& a, const Sets& b) {
  std::string operation(c.text("set_operation"));
  std::ranges::transform(operation, operation.begin(), [](char x) { return x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x; });
  if (operation != "a-b" && operation != "b-a" && operation != "intersection" && operation != "union") {
    invalid("set_operation: expected a-b, b-a, intersection or union, got {}", c.text("set_operation"));
  }
  const int64_t rank = c.merge(a.rank, b.rank, "rank of the sets");
  PartialValues dims = a.rank < 0 ? b.dims : a.dims;
  for (size_t k = 0; k < dims.size() && a.rank >= 0 && b.rank >= 0; ++k) {
    if (a.dims[k] && b.dims[k]) c.expect_equal(*a.dims[k], *b.dims[k], "dimensions before the last");
    if (!dims[k]) dims[k] = b.dims[k];
  }
  c.output(0, PartialShape{kUnknownDim, rank});
  c.output(1, PartialShape{kUnknownDim});
  c.output(2, PartialShape{rank});
  if (rank < 0) return;
  dims.push_back(std::nullopt);
  c.output_values(2, std::move(dims));
}

// Check set1 first, for its error messages.
void dense_shape(ShapeContext& c) {
  const Sets a = dense_sets(c, 0, "set1");
  operation_shape(c, a, dense_sets(c, 1, "set2"));
}
void mixed_shape(ShapeContext& c) {
  const Sets a = dense_sets(c, 0, "set1");
  operation_shape(c, a, sparse_sets(c, 1, "set2_shape"));
}
void sparse_shape(ShapeContext& c) {
  const Sets a = sparse_sets(c, 0, "set1_shape");
  operation_shape(c, a, sparse_sets(c, 3, "set2_shape"));
}

constexpr const char* kNoGradient = "which values are alike is not differentiable";

}  // namespace

const Op& kSetSize = define_op(
    "SetSize(set_indices: int64, set_values: T, set_shape: int64 @host; validate_indices: bool = true, T: "
    "int8|int16|int32|int64|uint8|uint16|string) -> (size: int32)",
    {.doc =
         "How many different values each row of a sparse tensor has: of the entries whose indices differ in the last "
         "dimension only. An index out of range is an error; with `validate_indices` also one that is not in "
         "ascending order, or repeated.",
     .shape = size_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kDenseToDenseSetOperation = define_op(
    "DenseToDenseSetOperation(set1: T, set2: T; set_operation: string, validate_indices: bool = true, T: "
    "int8|int16|int32|int64|uint8|uint16|string) -> (result_indices: int64, result_values: T, result_shape: int64)",
    {.doc = "An operation on the sets of values in the rows of two tensors, which differ in the last dimension only: "
            "a-b, b-a (without those of the other), intersection or union, in letters of either case. The rows of the "
            "sparse result have the different values in ascending order; its last dimension is the size of the largest "
            "set.",
     .traits = {Trait::kSelfAllocating},
     .shape = dense_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kDenseToSparseSetOperation = define_op(
    "DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64 @host; set_operation: "
    "string, validate_indices: bool = true, T: int8|int16|int32|int64|uint8|uint16|string) -> (result_indices: int64, "
    "result_values: T, result_shape: int64)",
    {.doc = "DenseToDenseSetOperation with a sparse second tensor. An index out of range is an error; with "
            "`validate_indices` also one that is not in ascending order, or repeated.",
     .traits = {Trait::kSelfAllocating},
     .shape = mixed_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kSparseToSparseSetOperation = define_op(
    "SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64 @host, set2_indices: int64, "
    "set2_values: T, set2_shape: int64 @host; set_operation: string, validate_indices: bool = true, T: "
    "int8|int16|int32|int64|uint8|uint16|string) -> (result_indices: int64, result_values: T, result_shape: int64)",
    {.doc = "DenseToDenseSetOperation of two sparse tensors. An index out of range is an error; with "
            "`validate_indices` also one that is not in ascending order, or repeated.",
     .traits = {Trait::kSelfAllocating},
     .shape = sparse_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

}  // namespace panto
