// Transforms in one another, on networks: against loops.
#include <utility>
#include <vector>

#include "panto/tests/autograd/transforms.h"

namespace panto {

using test::near;
using test::numbers;

BOOST_AUTO_TEST_SUITE(transforms)
BOOST_AUTO_TEST_SUITE(nest_suite)

BOOST_AUTO_TEST_CASE(convolutions_have_gradients_by_example) {
  const Tensor images = numbers({3, 6, 6, 2}), filter = numbers({3, 3, 2, 4}, 1), weights = numbers({36, 3}, 2);
  const auto loss = [](const Tensor& image, const Tensor& filter, const Tensor& weights) {
    const Tensor h = relu(conv2d(expand_dims(image, 0), filter, {1, 1, 1, 1}, "SAME"));
    const Tensor pooled = max_pool(h, {1, 2, 2, 1}, {1, 2, 2, 1}, "SAME");
    return sum(square(matmul(reshape(pooled, {1, -1}), weights)));
  };
  const auto gradients = [&](const Tensor& image) {
    return value_and_grad([&](const Tensor& f, const Tensor& w) { return loss(image, f, w); })(filter, weights);
  };
  const auto [values, all] = vmap(gradients)(images);
  for (int e = 0; e < 3; ++e) {
    const auto [value, one] = gradients(images[e]);
    BOOST_TEST(near(values[e], value));
    for (size_t k = 0; k < one.size(); ++k) BOOST_TEST(near(all[k][e], one[k]));
  }
  // Filters that differ.
  const Tensor filters = numbers({4, 3, 3, 2, 4}, 3);
  const auto convolve = [](const Tensor& x, const Tensor& f) { return conv2d(x, f, {1, 1, 1, 1}, "VALID"); };
  const Tensor many = vmap(convolve, {.in_axes = {kNoBatch, 0}})(images, filters);
  for (int e = 0; e < 4; ++e) BOOST_TEST(near(many[e], convolve(images, filters[e])));
}

BOOST_AUTO_TEST_CASE(derivatives_of_batches_of_gradients) {
  const Tensor x = numbers({4, 3}, 0, kFloat64), v = numbers({4, 3}, 1, kFloat64);
  const auto f = [](const Tensor& x) { return sum(sin(x) * x[0]); };
  const auto gradients = [&](const Tensor& batch) { return vmap(grad(f))(batch); };
  const Tensor along = jvp(gradients, x, v).second;
  const Tensor inside = vmap([&](const Tensor& x, const Tensor& v) { return hvp(f, x, v); })(x, v);
  BOOST_TEST(near(along, inside, 1e-12));
  for (int e = 0; e < 4; ++e) BOOST_TEST(near(along[e], hvp(f, x[e], v[e]), 1e-12));
  const Tensor j =
      jacobian([&](const Tensor& w) { return vmap([&](const Tensor& x) { return sum(sin(x * w)); })(x); })(x[0]);
  BOOST_TEST(near(j, cos(x * x[0]) * x, 1e-12));
}

BOOST_AUTO_TEST_CASE(written_gradients_in_batches_of_batches) {
  const auto f = custom_gradient([](const Tensor& x, const Tensor& w) { return sum(x * w); },
                                 [](const Tensor& x, const Tensor& w, const Tensor&, const Tensor& dy) {
                                   return std::vector<Tensor>{dy * w * 2, dy * x * 3};
                                 });
  const Tensor x = numbers({3, 2, 4}), w = numbers({4}, 1);
  const auto total = [&](const Tensor& x, const Tensor& w) {
    const auto inner = vmap(f, {.in_axes = {0, kNoBatch}});
    return sum(vmap(inner, {.in_axes = {0, kNoBatch}})(x, w));
  };
  const auto [value, g] = value_and_grad(total)(x, w);
  BOOST_TEST(near(value, sum(x * w)));
  BOOST_TEST(near(g[0], broadcast_to(w * 2, {3, 2, 4})));
  BOOST_TEST(near(g[1], sum(x, {0, 1}) * 3));
}

BOOST_AUTO_TEST_CASE(checkpoints_of_batches_reach_variables) {
  const Variable w(numbers({3}, 1), "w");
  const Tensor x = numbers({4, 3});
  const auto plain = [&](const Tensor& x) { return sum(tanh(x * w)); };
  const auto gradient = [&](const auto& f) {
    GradientTape tape;
    const Tensor y = sum(vmap([&](const Tensor& x) { return f(x); })(x));
    return tape.gradient(y, w);
  };
  BOOST_TEST(near(gradient(checkpoint(plain)), gradient(plain)));
  const auto outside = checkpoint([&](const Tensor& batch) { return sum(vmap(plain)(batch)); });
  GradientTape tape;
  const Tensor y = outside(x);
  BOOST_TEST(near(tape.gradient(y, w), gradient(plain)));
}

BOOST_AUTO_TEST_CASE(batches_without_examples_and_with_one) {
  const auto f = [](const Tensor& x) { return std::pair(sum(square(x)), nonzero(x > 5.F)); };
  BOOST_TEST((vmap(f)(zeros({0, 3})).first.shape() == Shape{0}));
  BOOST_TEST((vmap(f)(zeros({1, 3})).second.shape() == Shape{1, 0, 1}));
  BOOST_TEST(near(vmap(grad([](const Tensor& x) { return sum(square(x)); }))(numbers({1, 3})), 2 * numbers({1, 3})));
}

BOOST_AUTO_TEST_CASE(a_gradient_of_a_loop_over_a_batch_is_that_of_vmap_in_a_trace) {
  const Tensor x = numbers({4, 3}), w = numbers({3, 2}, 1);
  const auto f = [](const Tensor& x, const Tensor& w) { return logsumexp(tanh(matmul(expand_dims(x, 0), w))); };
  const auto loss = [&](const Tensor& w, const Tensor& x) { return mean(vmap(f, {.in_axes = {0, kNoBatch}})(x, w)); };
  Tensor expected = zeros({3, 2});
  for (int e = 0; e < 4; ++e) {
    expected = expected + grad([&](const Tensor& w) { return f(x[e], w); })(w) / 4;
  }
  const auto by_w = [&](const Tensor& w) { return grad([&](const Tensor& w) { return loss(w, x); })(w); };
  BOOST_TEST(near(by_w(w), expected));
  BOOST_TEST(near(trace(by_w)(w), expected));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
