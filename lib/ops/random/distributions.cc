// Random numbers of parameterized distributions, and random permutations. For a given seed, the numbers equal
// TensorFlow's to the bit, or up to the last bits of logarithms and powers: device/cpu/random/sampling.cc.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/samples_shape.h"
#include "panto/lib/ops/random/stream_inputs.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/random.h"

namespace panto {
namespace {

// Samples for each row of logits.
void categorical_shape(ShapeContext& c) {
  c.expect_rank(0, 2);
  const std::optional<int64_t> count = known_scalar(c, 1);
  if (count && *count < 0) invalid("num_samples: expected at least 0, got {}", *count);
  if (c.num_inputs() == 3) c.expect_equal(2, c.vector(2), "length of seed");
  if (c.dim(0, 1) == 0) invalid("logits: expected at least one column, got shape {}", c.shape(0).to_string());
  c.output({c.dim(0, 0), count.value_or(kUnknownDim)});
}

// The output has the shape in input 0, followed by that of input 1: samples for each element of it.
void sampled_shape(ShapeContext& c) {
  const PartialShape samples = c.shape_from(0);
  const PartialShape& each = c.shape(1);
  if (!samples.known_rank() || !each.known_rank()) return c.output(PartialShape::unknown());
  SmallVector<int64_t, 8> dims;
  for (const int64_t d : samples.dims()) dims.push_back(d);
  for (const int64_t d : each.dims()) dims.push_back(d);
  c.output(PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

// Input 0 holds the shape of the output, all samples, which must end with the shape of input `parameter`.
void ending_shape(ShapeContext& c, int parameter) {
  samples_shape(c, 0, c.shape(parameter), c.op().signature().inputs[static_cast<size_t>(parameter)].name);
}
// The same with a seed, input 1.
void seeded_shape(ShapeContext& c) {
  c.expect_equal(2, c.vector(1), "length of seed");
  ending_shape(c, 2);
}

// The derivative of each sample with respect to its alpha.
Tensor sample_slope(const Tensor& alpha, const Tensor& sample) {
  if (alpha.dtype() != kFloat16) return random_gamma_grad(alpha, sample);
  return cast(random_gamma_grad(cast(alpha, kFloat32), cast(sample, kFloat32)), kFloat16);
}

void gamma_gradient(GradContext& g, int parameter) {
  const Tensor slope = sample_slope(g.in(parameter), g.out(0));
  const Tensor leading = parameter == 1 ? size(g.in(0)) : size(g.in(0)) - rank(g.in(parameter));
  g.set(parameter, sum(g.dy() * slope, range(0, leading, 1)));
}

void gamma_tangent(JvpContext& c, int parameter) {
  if (c.has_tangent(parameter)) c.set(0, sample_slope(c.in(parameter), c.out()) * c.tangent(parameter));
}

constexpr const char* kWhich = "samples are whole numbers";

}  // namespace

const Op& kRandomShuffle =
    define_op("RandomShuffle(value: T; seed: int = 0, seed2: int = 0, T: type) -> (output: T)",
              {.doc = "The slices of `value` along its first dimension in random order. Seeds: as in RandomUniform.",
               .effects = {effects::random()},
               .shape = shapes::same_as_input,
               .no_gradient = "TensorFlow has none",
               .batch = batching::loop});

const Op& kStatelessShuffle = define_op(
    "StatelessShuffle(value: T, key: uint64 @host, counter: uint64 @host, alg: int32 @host; T: type) -> (output: T)",
    {.doc =
         "RandomShuffle by a key, a counter and an algorithm, as in StatelessRandomUniformV2: the same arguments give "
         "the same order.",
     .shape =
         [](ShapeContext& c) {
           expect_stream(c);
           shapes::same_as_input(c);
         },
     .no_gradient = "TensorFlow has none",
     .batch = batching::loop});

const Op& kMultinomial = define_op(
    "Multinomial(logits: T, num_samples: int32 @host; seed: int = 0, seed2: int = 0, T: real, output_dtype: index = "
    "int64) -> (output: output_dtype)",
    {.doc = "For each row of `logits`, `num_samples` numbers of columns, drawn with probabilities in proportion to "
            "exp(logits); columns that are not finite are never drawn. Seeds: as in RandomUniform.",
     .cpp = "categorical",
     .effects = {effects::random()},
     .shape = categorical_shape,
     .no_gradient = kWhich,
     .batch = batching::loop});

const Op& kStatelessMultinomial = define_op(
    "StatelessMultinomial(logits: T, num_samples: int32 @host, seed: Tseed @host; T: real, Tseed: index = int64, "
    "output_dtype: index = int64) -> (output: output_dtype)",
    {.doc = "Multinomial by a seed of two numbers: the same arguments give the same numbers.",
     .cpp = "stateless_categorical",
     .shape = categorical_shape,
     .no_gradient = kWhich,
     .batch = batching::loop});

const Op& kRandomGamma = define_op(
    "RandomGamma(shape: S @host, alpha: T; seed: int = 0, seed2: int = 0, S: index, T: float16|float32|float64) -> "
    "(output: T)",
    {.doc =
         "For each element of `alpha` samples of shape `shape`, which is the first part of that of the result, of the "
         "gamma distribution with density `x^(alpha - 1) exp(-x) / gamma(alpha)` (Marsaglia and Tsang 2000); NaN for "
         "alpha <= 0. The gradient is that of the samples' quantiles. Seeds: as in RandomUniform.",
     .effects = {effects::random()},
     .primary = "T",
     .shape = sampled_shape,
     .saves = {in(0), in(1), out(0)},
     .gradient = [](GradContext& g) { gamma_gradient(g, 1); },
     .batch = batching::loop,
     .jvp = [](JvpContext& c) { gamma_tangent(c, 1); }});

const Op& kStatelessRandomGammaV2 = define_op(
    "StatelessRandomGammaV2(shape: T @host, seed: Tseed @host, alpha: dtype; dtype: float16|float32|float64, T: index, "
    "Tseed: index = int64) -> (output: dtype)",
    {.doc = "RandomGamma by a seed of two numbers: the same arguments give the same numbers. `shape` is that of all "
            "samples "
            "and ends with the shape of `alpha`.",
     .primary = "dtype",
     .shape = seeded_shape,
     .saves = {in(0), in(2), out(0)},
     .gradient = [](GradContext& g) { gamma_gradient(g, 2); },
     .batch = batching::loop,
     .jvp = [](JvpContext& c) { gamma_tangent(c, 2); }});

const Op& kStatelessRandomGammaV3 = define_op(
    "StatelessRandomGammaV3(shape: shape_dtype @host, key: uint64 @host, counter: uint64 @host, alg: int32 @host, "
    "alpha: dtype; dtype: float16|float32|float64, shape_dtype: index = int32) -> (output: dtype)",
    {.doc = "StatelessRandomGammaV2 by a key, a counter and an algorithm: as in StatelessRandomUniformV2.",
     .cpp = "stateless_random_gamma_v3",
     .primary = "dtype",
     .shape =
         [](ShapeContext& c) {
           expect_stream(c);
           ending_shape(c, 4);
         },
     .saves = {in(0), in(4), out(0)},
     .gradient = [](GradContext& g) { gamma_gradient(g, 4); },
     .batch = batching::loop,
     .jvp = [](JvpContext& c) { gamma_tangent(c, 4); }});

const Op& kRandomGammaGrad = define_op(
    "RandomGammaGrad(alpha: T, sample: T; T: float32|float64) -> (output: T)",
    {.doc =
         "The derivative by alpha of a sample of RandomGamma, as that of a quantile of the distribution (Figurnov et "
         "al. 2018): -IgammaGradA(alpha, sample) by the density.",
     .traits = {Trait::kElementwise, Trait::kBroadcasts},
     .shape = shapes::broadcast_two,
     .no_gradient = "there is no op for its derivatives; TensorFlow has none either",
     .flops = flops_each<400>});

const Op& kRandomPoissonV2 = define_op(
    "RandomPoissonV2(shape: S @host, rate: R; seed: int = 0, seed2: int = 0, S: index, "
    "R: float16|float32|float64|int32|int64 = float64, dtype: float16|float32|float64|int32|int64 = int64) -> "
    "(output: dtype)",
    {.doc =
         "For each element of `rate` samples of shape `shape`, which is the first part of that of the result, of the "
         "Poisson distribution (below 10 Knuth's method, from there on Hormann's of 1993). Seeds: as in "
         "RandomUniform.",
     .effects = {effects::random()},
     .primary = "dtype",
     .shape = sampled_shape,
     .no_gradient = kWhich,
     .batch = batching::loop});

const Op& kStatelessRandomPoisson = define_op(
    "StatelessRandomPoisson(shape: T @host, seed: Tseed @host, lam: Rtype; Rtype: float16|float32|float64|int32|int64, "
    "dtype: float16|float32|float64|int32|int64, T: index, Tseed: index = int64) -> (output: dtype)",
    {.doc =
         "RandomPoissonV2 by a seed of two numbers: the same arguments give the same numbers. `shape` is that of all "
         "samples and ends with the shape of `lam`.",
     .primary = "dtype",
     .shape = seeded_shape,
     .no_gradient = kWhich,
     .batch = batching::loop});

}  // namespace panto
