// Conversion of ragged tensors to dense ones.
#include <string>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

// The number of ragged dimensions. Throws InvalidArgument for an invalid combination of partition types.
int ragged_rank(const ShapeContext& c) {
  const std::span<const std::string> types = c.texts("row_partition_types");
  const int64_t count = c.integer("num_row_partition_tensors");
  if (static_cast<int64_t>(types.size()) != count) {
    invalid("row_partition_types: expected {}, one for each tensor, got {}", count, types.size());
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const bool first = types[i] == "FIRST_DIM_SIZE", rows = types[i] == "VALUE_ROWIDS";
    if ((first && i == 0) || (rows && i > 0) || types[i] == "ROW_SPLITS") continue;
    invalid("row_partition_types[{}]: expected {} or ROW_SPLITS, got {}", i, i == 0 ? "FIRST_DIM_SIZE" : "VALUE_ROWIDS",
            types[i]);
  }
  return static_cast<int>(count) - (types[0] == "FIRST_DIM_SIZE" ? 1 : 0);
}

void to_tensor_shape(ShapeContext& c) {
  const int ragged = ragged_rank(c);
  for (int i = 3; i < c.num_inputs(); ++i) {
    const bool is_size = i == 3 && c.texts("row_partition_types")[0] == "FIRST_DIM_SIZE";
    if (is_size) {
      c.expect_scalar(i);
    } else {
      c.vector(i);
    }
  }
  const PartialShape &values = c.shape(1), &filled = c.shape(2);
  c.expect_rank_at_least(1, 1);
  if (values.known_rank() && filled.known_rank() && filled.rank() >= values.rank()) {
    invalid("default_value: expected less than {} dimensions, those of values, got {}", values.rank(), filled.rank());
  }
  for (int k = 1; values.known_rank() && k <= filled.rank(); ++k) {
    const int64_t dim = filled.dim(filled.rank() - k), inner = values.dim(values.rank() - k);
    if (dim >= 0 && inner >= 0 && dim != 1 && dim != inner) {
      invalid("default_value: expected a shape that broadcasts to that of a value, of {}, got {}", values.to_string(),
              filled.to_string());
    }
  }
  // The dimensions in `shape`, -1 for open ones.
  if (c.rank(0) > 1) invalid("shape: expected a vector, or -1, got shape {}", c.shape(0).to_string());
  if (!values.known_rank() || c.rank(0) < 0) return c.output(PartialShape::unknown());
  const int rank = ragged + values.rank();
  const KnownIntegers wanted(c, 0);
  std::vector<int64_t> dims(static_cast<size_t>(rank), kUnknownDim);
  for (int k = 1; k < values.rank(); ++k) dims[static_cast<size_t>(ragged + k)] = values.dim(k);
  if (c.rank(0) == 0) {
    if (wanted.counted() && wanted.known(0) && wanted[0] != -1) {
      invalid("shape: expected a vector, or -1, got {}", wanted[0]);
    }
    return c.output(PartialShape(dims));
  }
  c.expect_equal(rank, c.dim(0, 0), "number of dimensions in shape");
  for (int k = 0; wanted.counted() && k < rank; ++k) {
    if (!wanted.known(k) || wanted[k] == -1) continue;
    if (wanted[k] < 0) invalid("shape[{}]: expected at least -1, got {}", k, wanted[k]);
    int64_t& dim = dims[static_cast<size_t>(k)];
    dim = k <= ragged ? wanted[k] : c.merge(dim, wanted[k], "dimensions of a value in shape");
  }
  c.output(PartialShape(dims));
}

// Converts the numbers 1, 2, ... of the values in the same way, which tells where each value went; 0 is the default
// value.
void to_tensor_gradient(GradContext& g) {
  std::vector<Tensor> partitions;
  for (int i = 3; i < g.num_inputs(); ++i) partitions.push_back(g.in(i));
  const std::span<const std::string> types = g.texts("row_partition_types");
  const int64_t leading = static_cast<int64_t>(types.size()) + (types[0] == "FIRST_DIM_SIZE" ? 0 : 1);
  const Tensor dims = shape(g.dy(), {.out_type = kInt64}), value_dims = cast(g.shape(1), kInt64);
  const Tensor outer = slice(dims, {0}, {leading}), inner = slice(value_dims, {1}, {-1});
  const Tensor last = gather(value_dims, 0, 0) + 1;
  const Tensor numbers = reshape(ragged_tensor_to_tensor(outer, range(int64_t{1}, last, int64_t{1}), int64_t{0},
                                                         partitions, {types.begin(), types.end()}),
                                 {-1});
  const Tensor rows = reshape(g.dy(), concat({size(numbers, {.out_type = kInt64}) + fill({1}, int64_t{0}), inner}, 0));
  const Tensor is_default = equal(numbers, int64_t{0});
  const auto chosen = [&](const Tensor& which) { return reshape(nonzero(which), {-1}); };
  if (g.needs(1)) {
    const Tensor taken = chosen(logical_not(is_default));
    g.set(1, scatter_nd(expand_dims(gather(numbers, taken, 0) - 1, -1), gather(rows, taken, 0), value_dims));
  }
  if (g.needs(2)) {
    const Tensor each = reduce_sum(gather(rows, chosen(is_default), 0), {0});
    const Tensor axes = broadcast_gradient_args(cast(g.shape(2), kInt64), inner).r0;
    g.set(2, reshape(reduce_sum(each, axes), g.shape(2)));
  }
}

}  // namespace

const Op& kRaggedTensorToTensor = define_op(
    "RaggedTensorToTensor(shape: Tshape @host, values: T, default_value: T, row_partition_tensors: "
    "num_row_partition_tensors*Tindex; T: type, Tindex: index, Tshape: index, num_row_partition_tensors: int >= 1, "
    "row_partition_types: list(string)) -> (result: T)",
    {.doc =
         "A ragged tensor with `default_value`, which broadcasts to the shape of a value, where rows end. "
         "`row_partition_types` says what the partitions are, one for each ragged dimension: ROW_SPLITS, vectors of "
         "where rows begin, with the end of the last; or VALUE_ROWIDS, for each element the number of its row, which "
         "do not decrease, before which there is FIRST_DIM_SIZE, the number of rows of the first dimension. The result "
         "has dimensions as `shape` says; where that is -1, or all of it, as long as the longest row. What is beyond "
         "is left out. Partitions that do not go together, or not with the number of values, are an error.",
     .traits = {Trait::kSelfAllocating},
     .primary = "T",
     .shape = to_tensor_shape,
     .saves = {in(3), shape_of(1), shape_of(2)},
     .gradient = to_tensor_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

}  // namespace panto
