// Random permutations that are computed element by element instead of stored.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"

namespace panto {
namespace {

// Inputs: index, seed (three numbers) and max_index, each single or a vector; all vectors have one length.
void index_shuffle_shape(ShapeContext& c) {
  const int64_t rounds = c.integer("rounds");
  if (rounds < 4 || rounds > 1000 || rounds % 2 != 0) {
    invalid("rounds: expected an even number from 4 to 1000, got {}", rounds);
  }
  constexpr const char* kNames[] = {"index", "seed", "max_index"};
  int64_t length = kUnknownDim;
  bool vector = false, known = true;
  for (int i = 0; i < 3; ++i) {
    const int each = i == 1 ? 1 : 0, rank = c.rank(i);
    if (rank > each + 1 || (rank >= 0 && rank < each)) {
      invalid("{}: expected rank {} or {}, got shape {}", kNames[i], each, each + 1, c.shape(i).to_string());
    }
    known = known && rank >= 0;
    if (i == 1 && rank >= 1) c.expect_equal(3, c.dim(1, -1), "length of seed");
    if (rank != each + 1) continue;
    vector = true;
    length = c.merge(length, c.dim(i, 0), "how many there are");
  }
  if (vector) return c.output(PartialShape{length});
  c.output(known ? PartialShape({}) : PartialShape::unknown());
}

}  // namespace

const Op& kRandomIndexShuffle = define_op(
    "RandomIndexShuffle(index: dtype, seed: Tseed, max_index: dtype; rounds: int = 4, dtype: "
    "int32|int64|uint32|uint64, Tseed: int32|int64|uint32|uint64) -> (output: dtype)",
    {.doc = "Where `index` is in a random order of the numbers from 0 to `max_index`, which `seed`, three numbers, "
            "chooses: different indices give different numbers. index and max_index are scalars or vectors of one "
            "length, and so may there be a row of `seed` for each; an index below 0 or above max_index is "
            "InvalidArgument. The numbers are encrypted by Simon (Beaulieu et al. 2013) in `rounds` rounds, an even "
            "number from 4 to 1000, until one is small enough: it is not for secrets.",
     .primary = "dtype",
     .shape = index_shuffle_shape,
     .no_gradient = "integers have none",
     .batch = batching::loop});

}  // namespace panto
