// Random ops that take a seed of two numbers, or a generator variable. They determine a key and counter and call the
// ops that take these.
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/random.h"

namespace panto {
namespace {

constexpr int kPhilox = 1;

struct KeyCounter {
  Tensor key, counter;
};

// The key and counter of a seed. Seeds of unsigned types are cast to int64.
KeyCounter of_seed(const Tensor& seed) {
  const DType type = seed.dtype();
  const Tensor known = type == kInt32 || type == kInt64 ? seed : cast(seed, kInt64);
  auto [key, counter] = stateless_random_get_key_counter(known);
  return {key, counter};
}

void seeded_shape(ShapeContext& c) {
  c.expect_equal(2, c.vector(1), "length of seed");
  for (int i = 2; i < c.num_inputs(); ++i) c.expect_scalar(i);
  c.output(c.shape_from(0));
}

// Inputs of ops that draw from a generator: its variable, the algorithm, the shape. The generator is advanced past the
// numbers drawn.
void generator_shape(ShapeContext& c) {
  c.expect_scalar(0);
  c.expect_scalar(1);
  for (int i = 3; i < c.num_inputs(); ++i) c.expect_scalar(i);
  c.output(c.shape_from(2));
}

KeyCounter of_generator(const CompositeContext& c) {
  const Tensor count = reduce_prod(cast(c.in(2), kInt64));
  const Tensor state = rng_read_and_skip(c.in(0), cast(c.in(1), kInt32), cast(count, kUint64));
  return {cast(slice(state, {2}, {1}), kUint64), cast(slice(state, {0}, {2}), kUint64)};
}

constexpr const char* kNone = "the numbers depend on integers only";

}  // namespace

const Op& kStatelessRandomGetAlg =
    define_op("StatelessRandomGetAlg() -> (alg: int32)",
              {.doc = "The number of the algorithm that random ops take where they may choose: 1, Philox.",
               .shape = shapes::scalar,
               .body = [](CompositeContext& c) { c.set_out(0, constant(tensor(kPhilox), kInt32)); },
               .in_tensorflow = true,
               .no_gradient = "integers have none"});

const Op& kStatelessRandomGetKeyCounterAlg = define_op(
    "StatelessRandomGetKeyCounterAlg(seed: Tseed @host; Tseed: index = int64) -> (key: uint64, counter: uint64, "
    "alg: int32)",
    {.doc = "StatelessRandomGetKeyCounter and StatelessRandomGetAlg in one.",
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_seed(c.in(0));
           c.set_out(0, key);
           c.set_out(1, counter);
           c.set_out(2, constant(tensor(kPhilox), kInt32));
         },
     .in_tensorflow = true,
     .no_gradient = "integers have none"});

const Op& kStatelessRandomUniform = define_op(
    "StatelessRandomUniform(shape: T @host, seed: Tseed @host; dtype: floating = float32, T: index = int32, Tseed: "
    "index = int64) -> (output: dtype)",
    {.doc = "StatelessRandomUniformV2 by the key and counter that a seed of two numbers stands for.",
     .cpp = "stateless_random_uniform_by_seed",
     .primary = "dtype",
     .shape = seeded_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_seed(c.in(1));
           c.set_out(0, stateless_random_uniform(c.in(0), key, counter, kPhilox, {.dtype = c.type("dtype")}));
         },
     .in_tensorflow = true,
     .no_gradient = kNone});

const Op& kStatelessRandomNormal = define_op(
    "StatelessRandomNormal(shape: T @host, seed: Tseed @host; dtype: floating = float32, T: index = int32, Tseed: "
    "index = int64) -> (output: dtype)",
    {.doc = "StatelessRandomNormalV2 by the key and counter that a seed of two numbers stands for.",
     .cpp = "stateless_random_normal_by_seed",
     .primary = "dtype",
     .shape = seeded_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_seed(c.in(1));
           c.set_out(0, stateless_random_normal(c.in(0), key, counter, kPhilox, {.dtype = c.type("dtype")}));
         },
     .in_tensorflow = true,
     .no_gradient = kNone});

const Op& kStatelessTruncatedNormal = define_op(
    "StatelessTruncatedNormal(shape: T @host, seed: Tseed @host; dtype: floating = float32, T: index = int32, Tseed: "
    "index = int64) -> (output: dtype)",
    {.doc = "StatelessTruncatedNormalV2 by the key and counter that a seed of two numbers stands for.",
     .cpp = "stateless_truncated_normal_by_seed",
     .primary = "dtype",
     .shape = seeded_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_seed(c.in(1));
           c.set_out(0, stateless_truncated_normal(c.in(0), key, counter, kPhilox, {.dtype = c.type("dtype")}));
         },
     .in_tensorflow = true,
     .no_gradient = kNone});

const Op& kStatelessRandomUniformInt = define_op(
    "StatelessRandomUniformInt(shape: T @host, seed: Tseed @host, minval: dtype @host, maxval: dtype @host; dtype: "
    "index, T: index, Tseed: index = int64) -> (output: dtype)",
    {.doc = "StatelessRandomUniformIntV2 by the key and counter that a seed of two numbers stands for.",
     .cpp = "stateless_random_uniform_int_by_seed",
     .primary = "dtype",
     .shape = seeded_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_seed(c.in(1));
           c.set_out(0, stateless_random_uniform_int(c.in(0), key, counter, kPhilox, c.in(2), c.in(3)));
         },
     .in_tensorflow = true,
     .no_gradient = "integers have none"});

const Op& kStatelessRandomUniformFullInt = define_op(
    "StatelessRandomUniformFullInt(shape: T @host, seed: Tseed @host; dtype: int32|int64|uint32|uint64 = uint64, T: "
    "index = int32, Tseed: int32|int64|uint32|uint64 = int64) -> (output: dtype)",
    {.doc = "StatelessRandomUniformFullIntV2 by the key and counter that a seed of two numbers stands for.",
     .cpp = "stateless_random_uniform_full_int_by_seed",
     .primary = "dtype",
     .shape = seeded_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_seed(c.in(1));
           c.set_out(0, stateless_random_uniform_full_int(c.in(0), key, counter, kPhilox, {.dtype = c.type("dtype")}));
         },
     .in_tensorflow = true,
     .no_gradient = "integers have none"});

const Op& kStatefulUniform = define_op(
    "StatefulUniform(resource: resource, algorithm: int64 @host, shape: shape_dtype @host; dtype: floating = float32, "
    "shape_dtype: index = int64) -> (output: dtype)",
    {.doc = "Numbers in [0, 1) from a generator, a variable (RngReadAndSkip), which goes on behind them.",
     .cpp = "generator_uniform",
     .effects = {effects::updates(0), effects::random()},
     .primary = "dtype",
     .shape = generator_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_generator(c);
           c.set_out(0, stateless_random_uniform(c.in(2), key, counter, kPhilox, {.dtype = c.type("dtype")}));
         },
     .in_tensorflow = true,
     .no_gradient = kNone});

const Op& kStatefulStandardNormal = define_op(
    "StatefulStandardNormal(resource: resource, shape: shape_dtype @host; dtype: floating = float32, shape_dtype: "
    "index = int64) -> (output: dtype)",
    {.doc = "StatefulStandardNormalV2 with a generator of four numbers, of which the first is the algorithm.",
     .cpp = "generator_normal_v1",
     .effects = {effects::updates(0), effects::random()},
     .primary = "dtype",
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.output(c.shape_from(1));
         },
     .no_gradient = kNone,
     .batch = batching::loop});

const Op& kStatefulStandardNormalV2 = define_op(
    "StatefulStandardNormalV2(resource: resource, algorithm: int64 @host, shape: shape_dtype @host; dtype: floating = "
    "float32, shape_dtype: index = int64) -> (output: dtype)",
    {.doc = "Normal numbers of mean 0 and standard deviation 1 from a generator, a variable (RngReadAndSkip), which "
            "goes on behind them.",
     .cpp = "generator_normal",
     .effects = {effects::updates(0), effects::random()},
     .primary = "dtype",
     .shape = generator_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_generator(c);
           c.set_out(0, stateless_random_normal(c.in(2), key, counter, kPhilox, {.dtype = c.type("dtype")}));
         },
     .in_tensorflow = true,
     .no_gradient = kNone});

const Op& kStatefulTruncatedNormal = define_op(
    "StatefulTruncatedNormal(resource: resource, algorithm: int64 @host, shape: shape_dtype @host; dtype: floating = "
    "float32, shape_dtype: index = int64) -> (output: dtype)",
    {.doc = "Normal numbers of mean 0 and standard deviation 1, without those of an absolute value of 2 or more, from "
            "a generator, a variable (RngReadAndSkip), which goes on behind them.",
     .cpp = "generator_truncated_normal",
     .effects = {effects::updates(0), effects::random()},
     .primary = "dtype",
     .shape = generator_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_generator(c);
           c.set_out(0, stateless_truncated_normal(c.in(2), key, counter, kPhilox, {.dtype = c.type("dtype")}));
         },
     .in_tensorflow = true,
     .no_gradient = kNone});

const Op& kStatefulUniformInt = define_op(
    "StatefulUniformInt(resource: resource, algorithm: int64 @host, shape: shape_dtype @host, minval: dtype @host, "
    "maxval: dtype @host; dtype: int32|int64|uint32|uint64 = int64, shape_dtype: index = int64) -> (output: dtype)",
    {.doc = "Integers in [minval, maxval) from a generator, a variable (RngReadAndSkip), which goes on behind them.",
     .cpp = "generator_uniform_int",
     .effects = {effects::updates(0), effects::random()},
     .primary = "dtype",
     .shape = generator_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_generator(c);
           c.set_out(0, stateless_random_uniform_int(c.in(2), key, counter, kPhilox, c.in(3), c.in(4)));
         },
     .in_tensorflow = true,
     .no_gradient = "integers have none"});

const Op& kStatefulUniformFullInt = define_op(
    "StatefulUniformFullInt(resource: resource, algorithm: int64 @host, shape: shape_dtype @host; dtype: "
    "int32|int64|uint32|uint64 = uint64, shape_dtype: index = int64) -> (output: dtype)",
    {.doc =
         "Integers, any that the type has, from a generator, a variable (RngReadAndSkip), which goes on behind them.",
     .cpp = "generator_uniform_full_int",
     .effects = {effects::updates(0), effects::random()},
     .primary = "dtype",
     .shape = generator_shape,
     .body =
         [](CompositeContext& c) {
           const auto [key, counter] = of_generator(c);
           c.set_out(0, stateless_random_uniform_full_int(c.in(2), key, counter, kPhilox, {.dtype = c.type("dtype")}));
         },
     .in_tensorflow = true,
     .no_gradient = "integers have none"});

}  // namespace panto
