// Candidate samplers: draw random classes for losses that do not use all classes, as sampled softmax (Jean et al. 2015)
// and noise contrastive estimation.
#include <cstdint>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"

namespace panto {
namespace {

// Checks true_classes, [batch, num_true], the only input, and the attributes. `range`: the number of classes; `what`
// names it.
void sampler_shape(ShapeContext& c, const char* what, int64_t range) {
  const int64_t num_true = c.integer("num_true"), num_sampled = c.integer("num_sampled");
  if (num_true < 1) invalid("num_true: expected at least 1, got {}", num_true);
  if (num_sampled < 1) invalid("num_sampled: expected at least 1, got {}", num_sampled);
  if (range < 1) invalid("{}: expected at least 1, got {}", what, range);
  if (c.flag("unique") && num_sampled > range) {
    invalid("num_sampled: expected at most {} that differ, which is {}, got {}", what, range, num_sampled);
  }
  c.expect_rank(0, 2);
  c.expect_equal(num_true, c.dim(0, 1), "the columns of true_classes");
  c.output(0, PartialShape{num_sampled});
  c.output(1, PartialShape{c.dim(0, 0), num_true});
  c.output(2, PartialShape{num_sampled});
}
void ranged_shape(ShapeContext& c) { sampler_shape(c, "range_max", c.integer("range_max")); }

void unigram_shape(ShapeContext& c) {
  const int64_t shards = c.integer("num_shards"), shard = c.integer("shard"), reserved = c.integer("num_reserved_ids");
  if (shards < 1) invalid("num_shards: expected at least 1, got {}", shards);
  if (shard < 0 || shard >= shards) invalid("shard: expected 0 to {}, got {}", shards - 1, shard);
  if (reserved < 0) invalid("num_reserved_ids: expected at least 0, got {}", reserved);
  if (const int64_t range = c.integer("range_max"); range > INT32_MAX) {
    invalid("range_max: expected at most {}, got {}", INT32_MAX, range);
  }
  if (c.text("vocab_file").empty() == (c.slot("unigrams").n == 0)) {
    invalid("expected vocab_file or unigrams, got {}", c.text("vocab_file").empty() ? "neither" : "both");
  }
  ranged_shape(c);
}

void learned_shape(ShapeContext& c) {
  // One weight per class is kept in memory.
  if (const int64_t range = c.integer("range_max"); range > INT32_MAX) {
    invalid("range_max: expected at most {}, got {}", INT32_MAX, range);
  }
  ranged_shape(c);
}

constexpr const char* kClasses = "classes are not differentiable";

}  // namespace

const Op& kUniformCandidateSampler = define_op(
    "UniformCandidateSampler(true_classes: int64; num_true: int, num_sampled: int, unique: bool, range_max: int, seed: "
    "int = 0, seed2: int = 0) -> (sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: "
    "float32)",
    {.doc = "`num_sampled` classes from 0 to `range_max` - 1, each as likely as another, and how often a class is "
            "expected among them: of each of `true_classes` [batch, num_true] and of each that was drawn. With "
            "`unique` all differ: classes are drawn until there are enough. A true class out of range is an error. "
            "Seeds: as in RandomUniform.",
     .effects = {effects::random()},
     .shape = ranged_shape,
     .no_gradient = kClasses,
     .batch = batching::loop});

const Op& kLogUniformCandidateSampler = define_op(
    "LogUniformCandidateSampler(true_classes: int64; num_true: int, num_sampled: int, unique: bool, range_max: int, "
    "seed: int = 0, seed2: int = 0) -> (sampled_candidates: int64, true_expected_count: float32, "
    "sampled_expected_count: float32)",
    {.doc = "UniformCandidateSampler with probabilities (log(k + 2) - log(k + 1)) / log(range_max + 1): those of words "
            "that "
            "are ordered by how often they occur, by Zipf's law.",
     .effects = {effects::random()},
     .shape = ranged_shape,
     .no_gradient = kClasses,
     .batch = batching::loop});

const Op& kFixedUnigramCandidateSampler = define_op(
    "FixedUnigramCandidateSampler(true_classes: int64; num_true: int, num_sampled: int, unique: bool, range_max: int, "
    "vocab_file: string = \"\", distortion: float = 1, num_reserved_ids: int = 0, num_shards: int = 1, shard: int = 0, "
    "unigrams: list(float) = [], seed: int = 0, seed2: int = 0) -> (sampled_candidates: int64, true_expected_count: "
    "float32, sampled_expected_count: float32)",
    {.doc = "UniformCandidateSampler with probabilities in proportion to `unigrams`, or to the last column of each "
            "line of "
            "`vocab_file`, whose columns are separated by commas, to the power of `distortion`. They are those of the "
            "classes behind `num_reserved_ids`, which are never drawn. Of several shards this one draws every "
            "`num_shards`-th class from `shard` on, and numbers them from 0.",
     .effects = {effects::random()},
     .shape = unigram_shape,
     .no_gradient = kClasses,
     .batch = batching::loop});

const Op& kLearnedUnigramCandidateSampler = define_op(
    "LearnedUnigramCandidateSampler(true_classes: int64; num_true: int >= 1, num_sampled: int >= 1, unique: bool, "
    "range_max: int >= 1, seed: int = 0, seed2: int = 0) -> (sampled_candidates: int64, true_expected_count: float32, "
    "sampled_expected_count: float32)",
    {.doc = "UniformCandidateSampler with probabilities that a node learns: in proportion to one more than how often "
            "a class was among the `true_classes` of its runs so far.",
     .aliases = {"ThreadUnsafeUnigramCandidateSampler"},
     .effects = {effects::random()},
     .shape = learned_shape,
     .no_gradient = kClasses,
     .batch = batching::loop});

const Op& kAllCandidateSampler = define_op(
    "AllCandidateSampler(true_classes: int64; num_true: int, num_sampled: int, unique: bool, seed: int = 0, seed2: int "
    "= 0) -> (sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32)",
    {.doc = "UniformCandidateSampler that draws all classes from 0 to `num_sampled` - 1, in order: to compare with.",
     .shape = [](ShapeContext& c) { sampler_shape(c, "num_sampled", c.integer("num_sampled")); },
     .no_gradient = kClasses,
     .batch = batching::loop});

const Op& kComputeAccidentalHits = define_op(
    "ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64; num_true: int, seed: int = 0, seed2: int = "
    "0) -> (indices: int32, ids: int64, weights: float32)",
    {.doc =
         "Where candidates that were drawn are true ones: rows of `true_classes` [batch, num_true], in order, "
         "positions "
         "in the vector `sampled_candidates` (the last of several), and for each the lowest float32, which added to a "
         "logit takes the candidate out.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_rank(0, 2);
           c.expect_equal(c.integer("num_true"), c.dim(0, 1), "the columns of true_classes");
           c.vector(1);
           for (int k = 0; k < 3; ++k) c.output(k, PartialShape{kUnknownDim});
         },
     .no_gradient = kClasses,
     .batch = batching::loop});

}  // namespace panto
