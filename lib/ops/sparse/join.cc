// Concatenates and splits sparse tensors along a dimension.
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/sparse/coo.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

// ---- SparseConcat ---------------------------------------------------------------------------------------------------

void concat_shape(ShapeContext& c) {
  const auto n = static_cast<int>(c.integer("N"));
  int64_t count = 0, rank = kUnknownDim;
  for (int i = 0; i < n; ++i) {
    const sparse::Entries e = sparse::entries(c, i, n + i, 2 * n + i);
    rank = c.merge(rank, e.rank, "rank of the tensors");
    count = count < 0 || e.count < 0 ? kUnknownDim : checked_add(count, e.count, "number of entries");
  }
  c.output(0, PartialShape{count, rank});
  c.output(1, PartialShape{count});
  c.output(2, PartialShape{rank});
  if (rank < 0) return;
  const int64_t along = c.axis(c.integer("concat_dim"), checked_cast<int>(rank, "rank"), "concat_dim");
  PartialValues dims(static_cast<size_t>(rank));
  for (int i = 0; i < n; ++i) {
    const KnownIntegers shape(c, 2 * n + i, rank);
    for (int64_t d = 0; d < rank; ++d) {
      std::optional<int64_t>& so_far = dims[static_cast<size_t>(d)];
      if (!shape.known(d)) {
        if (d == along) so_far.reset();
        continue;
      }
      if (shape[d] < 0) invalid("shapes[{}]: expected dimensions of at least 0, got {}", i, shape[d]);
      if (d != along) {
        if (so_far) c.expect_equal(*so_far, shape[d], "other dimensions of the shapes");
        so_far = shape[d];
      } else if (i == 0) {
        so_far = shape[d];
      } else if (so_far) {
        so_far = checked_add(*so_far, shape[d], "dimension");
      }
    }
  }
  c.output_values(2, dims);
}

// The entry numbers of each input, numbered consecutively over all inputs.
std::vector<Tensor> numbered(const std::vector<Tensor>& indices) {
  std::vector<Tensor> numbers;
  Tensor first;
  for (const Tensor& each : indices) {
    const Tensor count = gather(shape(each, {.out_type = kInt64}), 0, 0);
    const Tensor last = first.defined() ? first + count : count;
    numbers.push_back(first.defined() ? range(first, last, int64_t{1}) : range(int64_t{0}, last, int64_t{1}));
    first = last;
  }
  return numbers;
}

// Entry k of the result is the input entry numbered order[k].
void concat_gradient(GradContext& g) {
  if (!g.has_dy(1)) return;
  const auto n = static_cast<int>(g.integer("N"));
  std::vector<Tensor> indices, shapes;
  for (int i = 0; i < n; ++i) {
    indices.push_back(g.in(i));
    shapes.push_back(g.in(2 * n + i));
  }
  const std::vector<Tensor> numbers = numbered(indices);
  const Tensor order = sparse_concat(indices, numbers, shapes, g.integer("concat_dim")).output_values;
  const Tensor in_turn = gather(g.dy(1), invert_permutation(order), 0);
  for (int i = 0; i < n; ++i) {
    if (g.needs(n + i)) g.set(n + i, gather(in_turn, numbers[static_cast<size_t>(i)], 0));
  }
}

// ---- SparseSplit ----------------------------------------------------------------------------------------------------

void split_shape(ShapeContext& c) {
  const int64_t rank = sparse::entries(c, 1, 2, 3).rank, parts = c.integer("num_split");
  const auto n = static_cast<int>(parts);
  const std::optional<int64_t> axis = known_scalar(c, 0);
  const KnownIntegers dims(c, 3, rank);
  for (int k = 0; k < n; ++k) {
    c.output(k, PartialShape{kUnknownDim, rank});
    c.output(n + k, PartialShape{kUnknownDim});
    c.output(2 * n + k, PartialShape{rank});
  }
  if (!dims.counted()) return;
  sparse::expect_none_negative(dims, "shape");
  if (!axis) return;
  const int64_t along = c.axis(*axis, checked_cast<int>(dims.count(), "rank"), "split_dim");
  if (dims.known(along) && parts > dims[along]) {
    invalid("num_split: expected at most {}, the size of dimension {}, got {}", dims[along], along, parts);
  }
  for (int k = 0; k < n; ++k) {
    PartialValues values;
    for (int64_t d = 0; d < dims.count(); ++d) {
      const std::optional<int64_t> size = dims.get(d);
      values.push_back(d != along || !size ? size : *size / parts + (k < *size % parts ? 1 : 0));
    }
    c.output_values(2 * n + k, std::move(values));
  }
}

void split_gradient(GradContext& g) {
  const int64_t parts = g.integer("num_split");
  const auto n = static_cast<int>(parts);
  const std::vector<Tensor> all = numbered({g.in(1)});
  const std::vector<Tensor> numbers = sparse_split(g.in(0), g.in(1), all[0], g.in(3), parts).output_values;
  Tensor total;
  for (int k = 0; k < n; ++k) {
    if (!g.has_dy(n + k)) continue;
    const Tensor each =
        scatter_nd(expand_dims(numbers[static_cast<size_t>(k)], -1), g.dy(n + k), shape(all[0], {.out_type = kInt64}));
    total = total.defined() ? total + each : each;
  }
  if (total.defined()) g.set(2, total);
}

}  // namespace

const Op& kSparseConcat = define_op(
    "SparseConcat(indices: N*int64, values: N*T, shapes: N*int64 @host; concat_dim: int, N: int >= 2, T: type) -> "
    "(output_indices: int64, output_values: T, output_shape: int64)",
    {.doc =
         "Sparse tensors one after the other along dimension `concat_dim`, which may count from the end; their other "
         "dimensions are the same. The entries are in the ascending order of their indices, also where those of "
         "the inputs are not; whether an index is within its shape is not asked. TensorFlow has no gradient.",
     .shape = concat_shape,
     .saves = {in(0), in(2)},
     .gradient = concat_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kSparseSplit = define_op(
    "SparseSplit(split_dim: int64 @host, indices: int64, values: T, shape: int64 @host; num_split: int >= 1, T: type) "
    "-> (output_indices: num_split*int64, output_values: num_split*T, output_shape: num_split*int64)",
    {.doc = "A sparse tensor cut into `num_split` parts along dimension `split_dim`, which may count from the end: the "
            "first ones are larger by one where it cannot be divided. Entries stay in their order. More parts than the "
            "dimension has, or an index out of range, are an error. TensorFlow has no gradient.",
     .traits = {Trait::kSelfAllocating},
     .shape = split_shape,
     .saves = {in(0), in(1), in(3)},
     .gradient = split_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

}  // namespace panto
