// Edit distance of sequences.
#include <algorithm>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

// Checks a sparse tensor: indices, values and shape are inputs `first` to `first` + 2. Returns its rank; -1 if unknown.
int64_t sparse_rank(ShapeContext& c, int first) {
  c.expect_rank(first, 2);
  const int64_t rank = c.merge(c.rank(first) < 0 ? kUnknownDim : c.dim(first, 1), c.vector(first + 2),
                               first == 0 ? "rank of hypothesis" : "rank of truth");
  c.expect_equal(c.rank(first) < 0 ? kUnknownDim : c.dim(first, 0), c.vector(first + 1),
                 first == 0 ? "values of hypothesis" : "values of truth");
  return rank;
}

void distance_shape(ShapeContext& c) {
  const int64_t hypothesis = sparse_rank(c, 0), truth = sparse_rank(c, 3);
  const int64_t rank = c.merge(hypothesis, truth, "ranks of hypothesis and truth");
  if (rank < 0) return c.output(PartialShape::unknown());
  if (rank < 2) invalid("rank: expected at least 2, got {}", rank);
  if (rank > kMaxRank) invalid("rank: expected at most {}, got {}", kMaxRank, rank);
  const KnownIntegers a(c, 2, rank), b(c, 5, rank);
  SmallVector<int64_t, 8> dims;
  bool empty = false;
  for (int64_t i = 0; i < rank; ++i) {
    for (const KnownIntegers* shape : {&a, &b}) {
      if (shape->known(i) && (*shape)[i] < 0) {
        invalid("{}[{}]: expected at least 0, got {}", shape == &a ? "hypothesis_shape" : "truth_shape", i,
                (*shape)[i]);
      }
    }
    if (i + 1 == rank) break;
    dims.push_back(a.known(i) && b.known(i) ? std::max(a[i], b[i]) : kUnknownDim);
    empty = empty || dims.back() == 0;
  }
  if (empty) invalid("shapes: expected sequences in every dimension, got none");
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

}  // namespace

const Op& kEditDistance = define_op(
    "EditDistance(hypothesis_indices: int64, hypothesis_values: T, hypothesis_shape: int64 @host, "
    "truth_indices: int64, truth_values: T, truth_shape: int64 @host; normalize: bool = true, T: type)"
    " -> (output: float32)",
    {.doc = "Levenshtein distances of sequences: how many insertions, deletions and changes make one of the other. The "
            "sequences are the last dimension of two sparse tensors, given by indices, values and shape, as far as "
            "they have values; the result has the other dimensions, the larger of both. With `normalize` it is in "
            "parts of the length of `truth`: infinite where that is empty and the hypothesis is not. The last column "
            "of the indices is not looked at: the values of a sequence come in the order in which they are given.",
     .primary = "T",
     .shape = distance_shape,
     .no_gradient = "distances are whole numbers",
     .types_reason = "nothing compares resources and variants",
     .batch = batching::loop});

}  // namespace panto
