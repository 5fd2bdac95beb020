// Random numbers of distributions with several parameters, and low-discrepancy (Sobol) points. For a given seed, the
// numbers equal TensorFlow's: device/cpu/random/parameterized.cc.
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/random/samples_shape.h"

namespace panto {
namespace {

// The shape of samples whose parameters, inputs `first` to `last`, broadcast.
void parameters_shape(ShapeContext& c, int shape, int first, int last) {
  PartialShape each = c.shape(first);
  for (int i = first + 1; i <= last; ++i) each = broadcast_shapes(each, c.shape(i));
  samples_shape(c, shape, each, "the parameters");
}

void seeded_shape(ShapeContext& c, int last) {
  c.expect_equal(2, c.vector(1), "length of seed");
  parameters_shape(c, 0, 2, last);
}

// Parameters are single, for all samples, or one per slice along the first dimension.
void by_rows_shape(ShapeContext& c) {
  if (c.vector(0) == 0) invalid("shape: expected at least one dimension, got none");
  const PartialShape samples = c.shape_from(0);
  for (int i = 1; i < 5; ++i) {
    const int rank = c.rank(i);
    if (rank > 1) c.expect_rank(i, 1);
    if (rank != 1 || c.dim(i, 0) == 1 || !samples.known_rank()) continue;
    c.expect_equal(samples.dim(0), c.dim(i, 0), "the first dimension of shape and the length of a parameter");
  }
  c.output(samples);
}

constexpr const char* kCounts = "samples are whole numbers";
constexpr const char* kNone = "TensorFlow has none";

}  // namespace

const Op& kStatelessRandomBinomial = define_op(
    "StatelessRandomBinomial(shape: S @host, seed: Tseed @host, counts: T, probs: T; S: index, Tseed: index = int64, "
    "T: float16|float32|float64|int32|int64 = float64, dtype: float16|float32|float64|int32|int64 = int64) -> "
    "(output: dtype)",
    {.doc = "How often something of probability `probs` happens in `counts` trials, which broadcast against each "
            "other (by inversion; from a mean of 10 on by Hormann's method of 1993). `shape` is that of all samples "
            "and ends with that of the parameters. The same arguments give the same numbers.",
     .primary = "dtype",
     .shape = [](ShapeContext& c) { seeded_shape(c, 3); },
     .no_gradient = kCounts,
     .batch = batching::loop});

const Op& kStatefulRandomBinomial = define_op(
    "StatefulRandomBinomial(resource: resource, algorithm: int64 @host, shape: S @host, counts: T, probs: T; S: index, "
    "T: float16|float32|float64|int32|int64 = float64, dtype: float16|float32|float64|int32|int64 = int64) -> "
    "(output: dtype)",
    {.doc = "StatelessRandomBinomial from a generator, a variable (RngReadAndSkip), which goes on behind the samples.",
     .cpp = "generator_binomial",
     .effects = {effects::updates(0), effects::random()},
     .primary = "dtype",
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.expect_scalar(1);
           parameters_shape(c, 2, 3, 4);
         },
     .no_gradient = kCounts,
     .batch = batching::loop});

const Op& kParameterizedTruncatedNormal = define_op(
    "ParameterizedTruncatedNormal(shape: T @host, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype; seed: "
    "int = 0, seed2: int = 0, dtype: floating, T: index) -> (output: dtype)",
    {.doc = "Normal numbers of the mean and standard deviation given, of those between `minvals` and `maxvals` (of "
            "which one may be infinite), by rejection (Robert 1995). Parameters are numbers, or vectors with one for "
            "each slice along the first dimension of `shape`. Seeds: as in RandomUniform.",
     .effects = {effects::random()},
     .primary = "dtype",
     .shape = by_rows_shape,
     .no_gradient = kNone,
     .batch = batching::loop});

const Op& kStatelessParameterizedTruncatedNormal = define_op(
    "StatelessParameterizedTruncatedNormal(shape: S @host, seed: Tseed @host, means: dtype, stddevs: dtype, minvals: "
    "dtype, maxvals: dtype; S: index, Tseed: index = int64, dtype: float16|float32|float64) -> (output: dtype)",
    {.doc = "ParameterizedTruncatedNormal by a seed of two numbers: the same arguments give the same numbers. "
            "Parameters broadcast against each other, and `shape`, that of all samples, ends with their shape.",
     .primary = "dtype",
     .shape = [](ShapeContext& c) { seeded_shape(c, 5); },
     .no_gradient = kNone,
     .batch = batching::loop});

const Op& kSobolSample = define_op(
    "SobolSample(dim: int32 @host, num_results: int32 @host, skip: int32 @host; dtype: float32|float64 = float32) -> "
    "(samples: dtype)",
    {.doc = "Points [num_results, dim] of the Sobol sequence in the unit cube of `dim` dimensions, at most 2000, from "
            "number `skip` on: they fill it more evenly than random ones (Joe and Kuo 2008, Constructing Sobol "
            "sequences with better two-dimensional projections). The point of zeros is left out.",
     .shape =
         [](ShapeContext& c) {
           std::optional<int64_t> n[3];
           const char* names[] = {"dim", "num_results", "skip"};
           const int64_t least[] = {1, 1, 0};
           for (int i = 0; i < 3; ++i) {
             n[i] = known_scalar(c, i);
             if (n[i] && *n[i] < least[i]) invalid("{}: expected at least {}, got {}", names[i], least[i], *n[i]);
           }
           if (n[0] && *n[0] > 2000) invalid("dim: expected at most 2000, got {}", *n[0]);
           if (n[1] && n[2] && *n[1] + *n[2] >= INT32_MAX) {
             invalid("num_results: expected less than {} with skip, got {}", INT32_MAX - *n[2], *n[1]);
           }
           c.output({n[1].value_or(kUnknownDim), n[0].value_or(kUnknownDim)});
         },
     .no_gradient = "integers have none",
     .batch = batching::loop});

}  // namespace panto
