// Samples of local response normalization.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>

#include "panto/autograd/transforms/derivatives.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::local_response_rows {
namespace {

// bias + alpha * the sum of squares around an element.
double norm(const Given& g, const Array& x, Index index) {
  const int64_t channel = index[3];
  double sum = 0;
  for (index[3] = 0; index[3] < x.dims[3]; ++index[3]) {
    if (std::abs(index[3] - channel) <= g.integer("depth_radius")) sum += at(x, index) * at(x, index);
  }
  return g.real("bias") + g.real("alpha") * sum;
}

std::vector<Array> normalized(const Given& g) {
  return {make(g.in[0].dims, [&](const Index& index) {
    return at(g.in[0], index) / std::pow(norm(g, g.in[0], index), g.real("beta"));
  })};
}

// As TensorFlow defines it, of whatever `y` is given.
std::vector<Array> normalized_gradient(const Given& g) {
  const Array &dy = g.in[0], &x = g.in[1], &y = g.in[2];
  return {make(x.dims, [&](const Index& index) {
    double result = at(dy, index) * std::pow(norm(g, x, index), -g.real("beta"));
    Index other = index;
    for (other[3] = 0; other[3] < x.dims[3]; ++other[3]) {
      if (std::abs(other[3] - index[3]) > g.integer("depth_radius")) continue;
      result -= 2 * g.real("alpha") * g.real("beta") * at(x, index) * at(dy, other) * at(y, other) / norm(g, x, other);
    }
    return result;
  })};
}

// As it is defined, of ops whose derivatives are known, in float64.
Tensor composed(const Tensor& given) {
  const Tensor x = cast(given, kFloat64);
  const Tensor band = matrix_band_part(fill({5, 5}, 1.0), 1, 1);
  const Tensor sums = reshape(mm(reshape(square(x), {-1, 5}), band), {2, 1, 2, 5});
  return x * pow(1.5 + 0.25 * sums, -0.75);
}

// There is no float64 of it to take differences of.
void derivatives() {
  const LRNAttrs attrs = {.depth_radius = 1, .bias = 1.5F, .alpha = 0.25F, .beta = 0.75F};
  const Tensor x = to_tensor(draw({2, 1, 2, 5}), kFloat32), weights = to_tensor(draw({2, 1, 2, 5}, -1, 1, 1), kFloat32);
  const auto op = [&](const Tensor& v) { return sum(local_response_norm(v, attrs) * weights); };
  const auto defined = [&](const Tensor& v) { return cast(sum(composed(v) * cast(weights, kFloat64)), kFloat32); };
  const auto again = [&](const auto& f) {
    return [&](const Tensor& v) { return sum(grad(f)(v) * reverse(weights, {0, 3})); };
  };
  const Tolerance close{.units = 16, .floor = 1};
  BOOST_TEST(difference(to_array(grad(defined)(x)), grad(op)(x), close) == "");
  BOOST_TEST(difference(to_array(grad(again(defined))(x)), grad(again(op))(x), close) == "");
  const Tensor direction = to_tensor(draw({2, 1, 2, 5}, -1, 1, 2), kFloat32);
  BOOST_TEST(difference(to_array(jvp(defined, x, direction).second), jvp(op, x, direction).second, close) == "");
  const auto by_grad = [&](const auto& f) { return [&](const Tensor& v) { return sum(grad(f)(v) * weights); }; };
  BOOST_TEST(difference(to_array(jvp(by_grad(defined), x, direction).second), jvp(by_grad(op), x, direction).second,
                        close) == "");
}

const Attrs kNarrow = {{"depth_radius", 1}, {"bias", 1.5}, {"alpha", 0.25}, {"beta", 0.75}};

const Family local_response(
    "nn", {
              {"LRN",
               {.samples = {{.in = {draw({1, 2, 2, 4})}},
                            {.in = {draw({2, 1, 2, 7})}, .attrs = kNarrow},
                            {.in = {draw({1, 2, 1, 3})}, .attrs = {{"depth_radius", 0}}},
                            {.in = {draw({0, 2, 1, 3})}}},
                .reference = normalized,
                .errors = {{.in = {draw({2, 3})}, .text = "input: expected rank 4, got shape [2,3]"},
                           {.in = {draw({1, 1, 1, 3})},
                            .attrs = {{"depth_radius", -1}},
                            .text = "depth_radius: expected at least 0, got -1"}},
                .own = {{"derivatives", derivatives}}}},
              {"LRNGrad",
               {.samples = {{.in = {draw({1, 2, 2, 4}), draw({1, 2, 2, 4}, -2, 2, 1), draw({1, 2, 2, 4}, -2, 2, 2)}},
                            {.in = {draw({2, 1, 1, 7}), draw({2, 1, 1, 7}, -2, 2, 1), draw({2, 1, 1, 7}, -2, 2, 2)},
                             .attrs = kNarrow}},
                .reference = normalized_gradient,
                .errors = {{.in = {draw({1, 1, 1, 3}), draw({1, 1, 1, 2}), draw({1, 1, 1, 3})},
                            .text = "input_image: expected the shape [1,1,1,3] of input_grads, got [1,1,1,2]"}}}},
          });

}  // namespace
}  // namespace panto::test::local_response_rows
