// Random numbers. Numbers, keys and counters equal TensorFlow's to the bit: device/math/random/philox.h.

#include "panto/ops/random.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/random/stream_inputs.h"

namespace panto {
namespace {

void sample_shape(ShapeContext& c) { c.output(c.shape_from(0)); }

void stateless_shape(ShapeContext& c) {
  sample_shape(c);
  expect_stream(c);
}

}  // namespace

const Op& kRandomUniform = define_op(
    "RandomUniform(shape: T @host; seed: int = 0, seed2: int = 0, dtype: floating, T: index) -> (output: dtype)",
    {.doc = "Numbers in [0, 1). A graph's node goes on where its last run ended; seeds that are both 0 are drawn from "
            "the generator that `set_seed` seeds. In C++ use random_uniform.",
     .cpp = "stateful_random_uniform",
     .effects = {effects::random()},
     .primary = "dtype",
     .shape = sample_shape,
     .no_gradient = "the numbers depend on nothing"});

const Op& kRandomStandardNormal = define_op(
    "RandomStandardNormal(shape: T @host; seed: int = 0, seed2: int = 0, dtype: floating, T: index) -> (output: dtype)",
    {.doc = "Normal numbers of mean 0 and standard deviation 1. A graph's node goes on where its last run ended; seeds "
            "that are both 0 are drawn from the generator that `set_seed` seeds. In C++ use random_normal.",
     .cpp = "stateful_random_normal",
     .effects = {effects::random()},
     .primary = "dtype",
     .shape = sample_shape,
     .no_gradient = "the numbers depend on nothing"});

const Op& kStatelessRandomGetKeyCounter = define_op(
    "StatelessRandomGetKeyCounter(seed: Tseed @host; Tseed: index = int64) -> (key: uint64 @host, counter: uint64 "
    "@host)",
    {.doc = "The Philox key [1] and counter [2] that a seed of two numbers stands for.",
     .shape =
         [](ShapeContext& c) {
           c.expect_equal(2, c.vector(0), "length of seed");
           c.output(0, {1});
           c.output(1, {2});
         },
     .no_gradient = "integers have none"});

const Op& kStatelessRandomUniformV2 = define_op(
    "StatelessRandomUniformV2(shape: Tshape @host, key: uint64 @host, counter: uint64 @host, alg: int32 @host; "
    "dtype: floating = float32, Tshape: index = int32) -> (output: dtype)",
    {.doc = "Numbers in [0, 1): the same arguments give the same numbers. alg: 1 is Philox, 3 lets the library choose "
            "(Philox).",
     .primary = "dtype",
     .shape = stateless_shape,
     .no_gradient = "the numbers depend on integers only"});

const Op& kStatelessRandomNormalV2 = define_op(
    "StatelessRandomNormalV2(shape: Tshape @host, key: uint64 @host, counter: uint64 @host, alg: int32 @host; "
    "dtype: floating = float32, Tshape: index = int32) -> (output: dtype)",
    {.doc = "Normal numbers of mean 0 and standard deviation 1: the same arguments give the same numbers. alg: as in "
            "StatelessRandomUniformV2.",
     .primary = "dtype",
     .shape = stateless_shape,
     .no_gradient = "the numbers depend on integers only"});

const Op& kStatelessRandomUniformIntV2 = define_op(
    "StatelessRandomUniformIntV2(shape: Tshape @host, key: uint64 @host, counter: uint64 @host, alg: int32 @host, "
    "minval: dtype @host, maxval: dtype @host; dtype: int32|int64|uint32|uint64, Tshape: index = int32) -> "
    "(output: dtype)",
    {.doc = "Integers in [minval, maxval): the same arguments give the same numbers. alg: as in "
            "StatelessRandomUniformV2.",
     .cpp = "stateless_random_uniform_int",
     .primary = "dtype",
     .shape =
         [](ShapeContext& c) {
           stateless_shape(c);
           c.expect_scalar(4);
           c.expect_scalar(5);
         },
     .no_gradient = "integers have none"});

const Op& kRngReadAndSkip = define_op(
    "RngReadAndSkip(resource: resource, alg: int32 @host, delta: uint64 @host) -> (value: int64 @host)",
    {.doc = "The state of a generator, an int64 variable of three numbers (counter, counter, key); then its counter is "
            "advanced by what `delta` elements need.",
     .effects = {effects::updates(0), effects::random()},
     .shape =
         [](ShapeContext& c) {
           for (int i = 0; i < 3; ++i) c.expect_scalar(i);
           c.output({3});
         },
     .no_gradient = "integers have none"});

const Op& kRngSkip =
    define_op("RngSkip(resource: resource, algorithm: int64 @host, delta: int64 @host) -> ()",
              {.doc = "Advances the counter of a generator (RngReadAndSkip) by what `delta` elements need.",
               .effects = {effects::updates(0)},
               .shape =
                   [](ShapeContext& c) {
                     for (int i = 0; i < 3; ++i) c.expect_scalar(i);
                   },
               .no_gradient = "it has no outputs"});

const Op& kTruncatedNormal = define_op(
    "TruncatedNormal(shape: T @host; seed: int = 0, seed2: int = 0, dtype: floating, T: index) -> (output: dtype)",
    {.doc =
         "Normal numbers of mean 0 and standard deviation 1, without those of an absolute value of 2 or more. Seeds: "
         "as in RandomUniform.",
     .cpp = "stateful_truncated_normal",
     .effects = {effects::random()},
     .primary = "dtype",
     .shape = sample_shape,
     .no_gradient = "the numbers depend on nothing"});

const Op& kRandomUniformInt = define_op(
    "RandomUniformInt(shape: T @host, minval: Tout @host, maxval: Tout @host; seed: int = 0, seed2: int = 0, "
    "Tout: index, T: index) -> (output: Tout)",
    {.doc = "Integers in [minval, maxval). Seeds: as in RandomUniform. In C++ use randint.",
     .cpp = "stateful_random_uniform_int",
     .effects = {effects::random()},
     .primary = "Tout",
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(1);
           c.expect_scalar(2);
           sample_shape(c);
         },
     .no_gradient = "integers have none",
     .batch = batching::loop});

const Op& kStatelessTruncatedNormalV2 = define_op(
    "StatelessTruncatedNormalV2(shape: Tshape @host, key: uint64 @host, counter: uint64 @host, alg: int32 @host; "
    "dtype: floating = float32, Tshape: index = int32) -> (output: dtype)",
    {.doc = "Normal numbers of mean 0 and standard deviation 1, without those of an absolute value of 2 or more: the "
            "same arguments give the same numbers. alg: as in StatelessRandomUniformV2.",
     .primary = "dtype",
     .shape = stateless_shape,
     .no_gradient = "the numbers depend on integers only",
     .batch = batching::loop});

const Op& kStatelessRandomUniformFullIntV2 = define_op(
    "StatelessRandomUniformFullIntV2(shape: Tshape @host, key: uint64 @host, counter: uint64 @host, alg: int32 @host; "
    "dtype: int32|int64|uint32|uint64 = uint64, Tshape: index = int32) -> (output: dtype)",
    {.doc = "Integers, any that the type has: the same arguments give the same numbers. alg: as in "
            "StatelessRandomUniformV2.",
     .cpp = "stateless_random_uniform_full_int",
     .primary = "dtype",
     .shape = stateless_shape,
     .no_gradient = "integers have none",
     .batch = batching::loop});

}  // namespace panto
