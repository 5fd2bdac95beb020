#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/random.h"

namespace panto {
namespace {

constexpr int kPhilox = 1;
constexpr uint64_t kBlocksPerElement = 256;  // as in device/math/random/philox.h, which lib may not include

Tensor generator_state(int64_t seed) {
  Tensor state = allocate_tensor(cpu_device(), kInt64, Shape{3});
  int64_t* numbers = mutable_data<int64_t>(state);
  numbers[0] = seed;
  numbers[1] = numbers[2] = 0;
  return state;
}

Variable make_generator() {
  std::random_device entropy;
  auto resource = std::make_shared<VariableResource>("", "random_generator", kInt64, PartialShape{3});
  resource->assign(generator_state(static_cast<int64_t>((uint64_t{entropy()} << 32) | entropy())));
  return Variable::from_handle(resource_tensor(std::move(resource)), kInt64, {3}, "random_generator");
}

struct KeyCounter {
  Tensor key, counter;
};

// The key and counter of one call. Computed by recorded ops, so that a trace draws new numbers at every call.
KeyCounter key_and_counter(const std::optional<int64_t>& seed, const Tensor& shape) {
  if (seed) {
    auto [key, counter] = stateless_random_get_key_counter({*seed, 0});
    return {key, counter};
  }
  const std::optional<PartialValues> dims = known_integers(shape);
  int64_t count = 1;
  for (size_t i = 0; dims && count >= 0 && i < dims->size(); ++i) {
    if (!(*dims)[i] || __builtin_mul_overflow(count, *(*dims)[i], &count)) count = -1;
  }
  const Tensor state = dims && count >= 0 ? rng_read_and_skip(detail::generator_handle(), kPhilox, count)
                                          : rng_read_and_skip(detail::generator_handle(), kPhilox,
                                                              cast(reduce_prod(cast(shape, kInt64)), kUint64));
  return {cast(slice(state, {2}, {1}), kUint64), cast(slice(state, {0}, {2}), kUint64)};
}

// Whether a stateful random node draws the numbers: inside a GraphScope without a seed. A file can hold such a node,
// but not the generator's handle. The node also draws from the generator, unless the graph has a seed.
bool a_node_draws(const std::optional<int64_t>& seed) {
  const Recorder* recorder = seed ? nullptr : symbolic_recorder();
  return recorder != nullptr && recorder->makes_constants();
}

// Integers in [low, high); the bounds are scalars of the result's type.
Tensor integers_between(const Tensor& dims, const std::optional<int64_t>& seed, const Tensor& low, const Tensor& high) {
  if (a_node_draws(seed)) {
    const Tensor inputs[] = {dims, low, high};
    return std::move(dispatch::call("RandomUniformInt", inputs, {})[0]);
  }
  const auto [key, counter] = key_and_counter(seed, dims);
  return stateless_random_uniform_int(dims, key, counter, kPhilox, low, high);
}

// Numbers of `op` (RandomUniform, RandomStandardNormal) if a node draws them (a_node_draws); undefined otherwise.
Tensor drawn_by_node(std::string_view op, const Tensor& dims, DType dtype, const std::optional<int64_t>& seed) {
  if (!a_node_draws(seed)) return {};
  const std::pair<std::string, AttrValue> attrs[] = {{"dtype", AttrValue(dtype)}};
  return std::move(dispatch::call(op, {&dims, 1}, attrs)[0]);
}

Tensor shape_tensor(const Arg& shape) {
  switch (shape.kind()) {
    case Arg::Kind::kIntegers:
    case Arg::Kind::kList: return dispatch::list_tensor(shape, kInt64);
    case Arg::Kind::kInt: return dispatch::list_tensor(Arg({shape.integer()}), kInt64);
    case Arg::Kind::kBorrowed:
    case Arg::Kind::kOwned: return shape.tensor();
    case Arg::Kind::kVariable: return shape.variable().value(shape.where());
    default: invalid("shape: expected integers, got something else");
  }
}

// x * scale + shift, computed in x's type, with scale and shift rounded to it first, as in TensorFlow.
Tensor scaled(const Tensor& x, double scale, double shift) {
  if (scale == 1 && shift == 0) return x;
  return add(mul(x, scale), shift);
}

// Maps `draws` in [0, 1) to [min, max). The largest draws may round up to `max`; they become the number before it
// (TensorFlow returns `max`: docs/differences.md).
template <class T>
Tensor between(const Tensor& draws, double range, double min, double max) {
  Tensor x = scaled(draws, range, min);
  const T low = static_cast<T>(min), end = static_cast<T>(max);
  const T last = 1 - std::numeric_limits<T>::epsilon();     // of the draws
  const volatile T product = last * static_cast<T>(range);  // volatile: rounded before the addition, as in kernels
  if (product + low < end) return x;
  return minimum(x, static_cast<double>(std::max(low, std::nextafter(end, -std::numeric_limits<T>::infinity()))));
}

}  // namespace

const Variable& random_generator() {
  static const auto* generator = new Variable(make_generator());  // leaked on purpose
  return *generator;
}

void set_seed(int64_t seed) { variable_of(random_generator().handle()).assign(generator_state(seed)); }

namespace detail {

RandomStart advance_random(int64_t* state, uint64_t elements) {
  const RandomStart start{static_cast<uint64_t>(state[2]), static_cast<uint64_t>(state[0]),
                          static_cast<uint64_t>(state[1])};
  const uint64_t low = start.low + elements * kBlocksPerElement;
  state[0] = static_cast<int64_t>(low);
  if (low < start.low) state[1] = static_cast<int64_t>(start.high + 1);
  return start;
}

Tensor generator_handle() {
  const std::shared_ptr<VariableResource>& own = current_step().random;
  return own != nullptr ? resource_tensor(own) : random_generator().handle();
}

RandomStart take_random(const Step& step, uint64_t elements) {
  RandomStart start{};
  VariableResource& generator = step.random != nullptr ? *step.random : variable_of(random_generator().handle());
  generator.update(cpu_device(),
                   [&](Tensor& state) { start = advance_random(mutable_data<int64_t>(state), elements); });
  return start;
}

}  // namespace detail

Tensor random_uniform(Arg shape, const RandomUniformOptions& options) {
  return from_caller(shape.where(), [&]() -> Tensor {
    if (!(options.min < options.max)) invalid("min: expected less than max {}, got {}", options.max, options.min);
    const Tensor dims = shape_tensor(shape);
    if (dtypes::kInteger.contains(options.dtype)) {
      const auto bound = [&](double x) { return cast(constant(tensor(x), kFloat64), options.dtype); };
      return integers_between(dims, options.seed, bound(options.min), bound(options.max));
    }
    Tensor x = drawn_by_node("RandomUniform", dims, options.dtype, options.seed);
    if (!x.defined()) {
      const auto [key, counter] = key_and_counter(options.seed, dims);
      x = stateless_random_uniform(dims, key, counter, kPhilox, {.dtype = options.dtype});
    }
    const bool narrow = options.dtype != kFloat64;
    const double range = narrow ? static_cast<double>(static_cast<float>(options.max) - static_cast<float>(options.min))
                                : options.max - options.min;
    if (options.dtype == kFloat64) return between<double>(x, range, options.min, options.max);
    if (options.dtype == kFloat32) return between<float>(x, range, options.min, options.max);
    return scaled(x, range, options.min);  // 16-bit types have no arithmetic here
  });
}

Tensor random_normal(Arg shape, const RandomNormalOptions& options) {
  return from_caller(shape.where(), [&]() -> Tensor {
    const Tensor dims = shape_tensor(shape);
    Tensor x = drawn_by_node("RandomStandardNormal", dims, options.dtype, options.seed);
    if (!x.defined()) {
      const auto [key, counter] = key_and_counter(options.seed, dims);
      x = stateless_random_normal(dims, key, counter, kPhilox, {.dtype = options.dtype});
    }
    return scaled(x, options.stddev, options.mean);
  });
}

Tensor truncated_normal(Arg shape, const RandomNormalOptions& options) {
  return from_caller(shape.where(), [&]() -> Tensor {
    const Tensor dims = shape_tensor(shape);
    const DeviceScope only_there("CPU:0");
    Tensor x = drawn_by_node("TruncatedNormal", dims, options.dtype, options.seed);
    if (!x.defined()) {
      const auto [key, counter] = key_and_counter(options.seed, dims);
      x = stateless_truncated_normal(dims, key, counter, kPhilox, {.dtype = options.dtype});
    }
    return scaled(x, options.stddev, options.mean);
  });
}

Tensor random_uniform(Arg shape, double min, double max, DType dtype, std::optional<int64_t> seed) {
  return random_uniform(std::move(shape), {.seed = seed, .dtype = dtype, .min = min, .max = max});
}
Tensor random_normal(Arg shape, double mean, double stddev, DType dtype, std::optional<int64_t> seed) {
  return random_normal(std::move(shape), {.seed = seed, .dtype = dtype, .mean = mean, .stddev = stddev});
}

Tensor randint(int64_t low, int64_t high, Arg shape, DType dtype) {
  return from_caller(shape.where(), [&]() -> Tensor {
    if (low >= high) invalid("low: expected less than high {}, got {}", high, low);
    using Narrow = std::numeric_limits<int32_t>;
    if (dtype != kInt64 && dtype != kInt32) invalid("dtype: expected int32 or int64, got {}", dtype_name(dtype));
    if (dtype == kInt32 && (low < Narrow::min() || high > Narrow::max())) {
      invalid("low and high: expected numbers of int32, got {} and {}", low, high);
    }
    const auto bound = [&](int64_t x) { return cast(constant(tensor(x), kInt64), dtype); };
    return integers_between(shape_tensor(shape), std::nullopt, bound(low), bound(high));
  });
}
Tensor randint(int64_t high, std::initializer_list<int64_t> shape, DType dtype, Arg::Where where) {
  return randint(0, high, Arg(shape, where), dtype);
}

}  // namespace panto
