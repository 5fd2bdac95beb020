// Random numbers.
//
//   Tensor w = random_normal({784, 128}, {.seed = 7, .stddev = 0.05});   // the same numbers at every call
//   set_seed(1);
//   Tensor a = random_uniform({3});                    // the process's generator advances at every call
//   Tensor b = random_uniform({3}, {.dtype = kInt32, .min = 0, .max = 6});
//
// A shape is a list of integers, an int32 or int64 vector, or the length of a vector.
//
// The generator is Philox-4x32-10: an element depends only on the key, the counter and its index, so numbers do not
// depend on the number of threads. They equal TensorFlow's: with a seed, of `tf.random.stateless_uniform(shape, [seed,
// 0])`; without, of `tf.random.Generator.from_seed(s)` after `set_seed(s)`. Inside a trace the ops are recorded: a
// traced function draws new numbers at every call unless it passes a seed.
// Thread-safe; threads that draw from the generator at once get different numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

struct Step;

struct RandomUniformOptions {
  std::optional<int64_t> seed = std::nullopt;
  DType dtype = kFloat32;  // floating; or int32, int64
  double min = 0;
  double max = 1;  // exclusive
};
// Throws InvalidArgument unless min < max.
PANTO_EXPORT Tensor random_uniform(Arg shape, const RandomUniformOptions& options = {});
// The same in TensorFlow's order: random_uniform({2, 3}, -1.f, 1.f), random_uniform({600}, 0, 3, kInt32).
PANTO_EXPORT Tensor random_uniform(Arg shape, double min, double max = 1, DType dtype = kFloat32,
                                   std::optional<int64_t> seed = std::nullopt);

struct RandomNormalOptions {
  std::optional<int64_t> seed = std::nullopt;
  DType dtype = kFloat32;
  double mean = 0;
  double stddev = 1;
};
PANTO_EXPORT Tensor random_normal(Arg shape, const RandomNormalOptions& options = {});
// The same in TensorFlow's order: random_normal({2, 2}, 0.f, 0.5f).
PANTO_EXPORT Tensor random_normal(Arg shape, double mean, double stddev = 1, DType dtype = kFloat32,
                                  std::optional<int64_t> seed = std::nullopt);

// Normal numbers, redrawn while they are further than 2 stddev from the mean. Always computed on the CPU, also for
// other devices.
PANTO_EXPORT Tensor truncated_normal(Arg shape, const RandomNormalOptions& options = {});

// Integers in [low, high), or in [0, high). Throws InvalidArgument unless low < high and both fit the dtype, int32 or
// int64.
PANTO_EXPORT Tensor randint(int64_t low, int64_t high, Arg shape, DType dtype = kInt64);
PANTO_EXPORT Tensor randint(int64_t high, std::initializer_list<int64_t> shape, DType dtype = kInt64,
                            Arg::Where where = Arg::Where::current());

// Restarts the process's generator. Without it, the generator starts differently in every process.
PANTO_EXPORT void set_seed(int64_t seed);
// The process's generator: an int64 variable of three numbers, the counter's two halves and the key. Save it in a
// checkpoint to continue the sequence.
PANTO_EXPORT const Variable& random_generator();

namespace detail {
struct RandomStart {
  uint64_t key, low, high;  // a Philox stream (device/math/random/philox.h)
};
// Reserves the numbers of `elements` elements in the step's generator, or else the process's. For kernels.
PANTO_EXPORT RandomStart take_random(const Step& step, uint64_t elements);
// The handle of the generator of the thread's step, or else of the process.
PANTO_EXPORT Tensor generator_handle();
// Advances the counter in generator state `state` by that amount and returns the previous position.
PANTO_EXPORT RandomStart advance_random(int64_t* state, uint64_t elements);
}  // namespace detail

}  // namespace panto
