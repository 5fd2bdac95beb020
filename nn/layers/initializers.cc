#include "panto/nn/layers/initializers.h"

#include <algorithm>
#include <cmath>

#include "panto/lib/ops/random/random.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

struct Fans {
  double in = 1;
  double out = 1;
};

Fans fans_of(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return {};
  double window = 1;
  for (int k = 0; k + 2 < rank; ++k) window *= static_cast<double>(shape.dim(k));
  const auto last = static_cast<double>(shape.dim(rank - 1));
  if (rank == 1) return {last, last};
  return {window * static_cast<double>(shape.dim(rank - 2)), window * last};
}

// A layer without inputs or outputs is empty: any scale will do.
double at_least_one(double fan) { return std::max(fan, 1.0); }

Initializer uniform_within(double (*limit)(const Fans&), Seed seed) {
  return [limit, seed](const Shape& shape, DType dtype) {
    const double bound = limit(fans_of(shape));
    return random_uniform(shape, {.seed = seed, .dtype = dtype, .min = -bound, .max = bound});
  };
}

Initializer normal_of(double (*deviation)(const Fans&), Seed seed) {
  return [deviation, seed](const Shape& shape, DType dtype) {
    return random_normal(shape, {.seed = seed, .dtype = dtype, .stddev = deviation(fans_of(shape))});
  };
}

}  // namespace

Initializer glorot_uniform(Seed seed) {
  return uniform_within([](const Fans& f) { return std::sqrt(6 / at_least_one(f.in + f.out)); }, seed);
}
Initializer glorot_normal(Seed seed) {
  return normal_of([](const Fans& f) { return std::sqrt(2 / at_least_one(f.in + f.out)); }, seed);
}
Initializer he_uniform(Seed seed) {
  return uniform_within([](const Fans& f) { return std::sqrt(6 / at_least_one(f.in)); }, seed);
}
Initializer he_normal(Seed seed) {
  return normal_of([](const Fans& f) { return std::sqrt(2 / at_least_one(f.in)); }, seed);
}

Initializer uniform_initializer(double min, double max, Seed seed) {
  return [min, max, seed](const Shape& shape, DType dtype) {
    return random_uniform(shape, {.seed = seed, .dtype = dtype, .min = min, .max = max});
  };
}

Initializer constant_initializer(double value) {
  return [value](const Shape& shape, DType dtype) { return fill(shape, cast(value, dtype)); };
}

}  // namespace panto
