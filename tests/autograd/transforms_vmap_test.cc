// vmap by itself: against loops and closed forms. That every op's batches are right is the op table's question.
#include "panto/tests/autograd/transforms.h"

#include <utility>
#include <vector>

namespace panto {

using test::HasText;
using test::near;
using test::numbers;

BOOST_AUTO_TEST_SUITE(transforms)
BOOST_AUTO_TEST_SUITE(vmap_suite)

BOOST_AUTO_TEST_CASE(the_function_sees_one_example) {
  Shape seen;
  const Tensor n = vmap([&](const Tensor& x) {
    seen = x.shape();
    return sqrt(sum(square(x)));
  })(tensor({{3.f, 4.f}, {6.f, 8.f}, {0.f, 1.f}}));
  BOOST_TEST((seen == Shape{2}));
  BOOST_TEST(near(n, tensor({5.f, 10.f, 1.f})));
}

BOOST_AUTO_TEST_CASE(axes_are_where_the_options_say) {
  const Tensor x = numbers({2, 3, 4}), k = numbers({4, 5}, 1);
  const auto f = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };
  const Tensor all = vmap(f, {.in_axes = {1, kNoBatch}, .out_axes = {-1}})(x, k);
  BOOST_REQUIRE((all.shape() == Shape{2, 5, 3}));
  for (int i = 0; i < 3; ++i) BOOST_TEST(near(all(Slice(), Slice(), i), matmul(x(Slice(), i), k)));
  const Tensor moved = vmap(f, {.in_axes = {kNoBatch, -1}})(x[0], numbers({4, 5, 2}));
  BOOST_TEST((moved.shape() == Shape{2, 3, 5}));
}

BOOST_AUTO_TEST_CASE(what_does_not_depend_on_the_batch_is_repeated_or_given_once) {
  const Tensor x = numbers({3, 2}), c = tensor({7.f, 8.f});
  const auto f = [&](const Tensor& own) { return std::pair(own * 2, c + 1); };
  const auto [a, b] = vmap(f)(x);
  BOOST_TEST(near(a, x * 2));
  BOOST_TEST(near(b, broadcast_to(c + 1, {3, 2})));
  const auto once = vmap(f, {.out_axes = {0, kNoBatch}})(x).second;
  BOOST_TEST(near(once, c + 1));
  BOOST_CHECK_EXCEPTION(vmap(f, {.out_axes = {kNoBatch}})(x), Error, HasText{"without a batch"});
}

BOOST_AUTO_TEST_CASE(vmap_nests) {
  const Tensor x = numbers({3, 4}), y = numbers({5, 4}, 2);
  const auto dot = [](const Tensor& a, const Tensor& b) { return sum(a * b); };
  const Tensor gram = vmap([&](const Tensor& a) { return vmap([&](const Tensor& b) { return dot(a, b); })(y); })(x);
  BOOST_TEST(near(gram, matmul(x, transpose(y))));
  const Tensor both = vmap(vmap(dot, {.in_axes = {kNoBatch, 0}}), {.in_axes = {0, kNoBatch}})(x, y);
  BOOST_TEST(near(both, matmul(x, transpose(y))));
}

BOOST_AUTO_TEST_CASE(a_tape_inside_does_not_sum_over_the_batch) {
  const Tensor x = numbers({4, 3}), w = numbers({3}, 1);
  const auto loss = [](const Tensor& w, const Tensor& x) { return square(sum(w * x)); };
  const Tensor each =
      vmap([&](const Tensor& w,
               const Tensor& x) { return value_and_grad([&](const Tensor& w) { return loss(w, x); })(w).second[0]; },
           {.in_axes = {kNoBatch, 0}})(w, x);
  const Tensor expected = 2 * sum(x * w, {1}, {.keep_dims = true}) * x;
  BOOST_TEST(near(each, expected));
}

BOOST_AUTO_TEST_CASE(a_tape_outside_sums_over_it) {
  const Tensor x = numbers({4, 3}), w = numbers({3}, 1);
  GradientTape tape;
  tape.watch(w);
  const Tensor losses =
      vmap([](const Tensor& w, const Tensor& x) { return square(sum(w * x)); }, {.in_axes = {kNoBatch, 0}})(w, x);
  const Tensor expected = sum(2 * sum(x * w, {1}, {.keep_dims = true}) * x, {0});
  BOOST_TEST(near(tape.gradient(losses, w), expected));
}

BOOST_AUTO_TEST_CASE(a_tape_around_both_differentiates_gradients_of_examples) {
  const Tensor x = numbers({4, 3}), w = numbers({3}, 1);
  GradientTape tape;
  tape.watch(w);
  const Tensor each = vmap(
      [](const Tensor& w, const Tensor& x) {
        return value_and_grad([&](const Tensor& w) { return square(sum(w * x)); })(w).second[0];
      },
      {.in_axes = {kNoBatch, 0}})(w, x);
  // sum_e sum_i 2 (w.x_e) x_ei, by w.
  const Tensor expected = sum(2 * sum(x, {1}, {.keep_dims = true}) * x, {0});
  BOOST_TEST(near(tape.gradient(each, w), expected));
}

BOOST_AUTO_TEST_CASE(layers_have_gradients_by_example) {
  set_seed(3);
  const Sequential net{Dense(4, 8, {.activation = panto::tanh}), Dense(8, 2)};
  const Tensor x = numbers({5, 4});
  net(x);
  const std::vector<Variable> variables = net.variables();
  const auto gradients = [&](const Tensor& example) {
    GradientTape tape;
    const Tensor loss = sum(square(net(expand_dims(example, 0))));
    std::vector<GradSource> sources(variables.begin(), variables.end());
    return tape.gradient(loss, std::span<const GradSource>(sources));
  };
  const std::vector<Tensor> all = vmap(gradients)(x);
  BOOST_REQUIRE(all.size() == variables.size());
  for (int e = 0; e < 5; ++e) {
    const std::vector<Tensor> one = gradients(x[e]);
    for (size_t k = 0; k < one.size(); ++k) BOOST_TEST(near(all[k][e], one[k]));
  }
}

BOOST_AUTO_TEST_CASE(a_trace_of_vmap_and_vmap_of_a_trace_compute_the_same) {
  const Tensor x = numbers({3, 4}), k = numbers({4, 2}, 1);
  const auto f = [&](const Tensor& a) { return tanh(sum(matmul(expand_dims(a, 0), k), {0})); };
  const Tensor expected = tanh(matmul(x, k));
  BOOST_TEST(near(vmap(f)(x), expected));
  BOOST_TEST(near(trace([&](const Tensor& batch) { return vmap(f)(batch); })(x), expected));
  const auto traced = trace(f);
  BOOST_TEST(near(vmap([&](const Tensor& a) { return traced(a); })(x), expected));
  const auto open = trace([&](const Tensor& batch) { return vmap(f)(batch); }, {{kFloat32, {-1, 4}}});
  BOOST_TEST(near(open(x), expected));
  // A trace that begins inside and captures an example.
  BOOST_TEST(
      near(vmap([&](const Tensor& a) { return trace([&](const Tensor& b) { return a * b; })(a); })(x), square(x)));
}

BOOST_AUTO_TEST_CASE(values_cannot_be_read_inside) {
  const Tensor x = numbers({3});
  BOOST_CHECK_EXCEPTION(vmap([](const Tensor& a) { return a.item<float>() > 0 ? a : -a; })(x), Error,
                        HasText{"inside vmap"});
  BOOST_CHECK_EXCEPTION(vmap([](const Tensor& a) { return a * static_cast<float>(a.data<float>().size()); })(x), Error,
                        HasText{"use select"});
  vmap([](const Tensor& a) {
    BOOST_TEST(a.to_string() == "<float32[] inside vmap>");
    return a;
  })(x);
}

BOOST_AUTO_TEST_CASE(a_variable_is_read_and_not_assigned_one_value_for_each) {
  const Variable v(tensor({1.f, 2.f}), "v");
  BOOST_TEST(near(vmap([&](const Tensor& a) { return a * v; })(numbers({3, 2})), numbers({3, 2}) * v));
  BOOST_CHECK_EXCEPTION(vmap([&](const Tensor& a) {
                          v.assign(a);
                          return a;
                        })(numbers({3, 2})),
                        Error, HasText{"value for a variable"});
  BOOST_TEST(near(v.value(), tensor({1.f, 2.f})));
}

BOOST_AUTO_TEST_CASE(random_numbers_are_asked_about) {
  const Tensor x = zeros({4, 3});
  const auto f = [](const Tensor& a) { return a + random_normal({3}); };
  BOOST_CHECK_EXCEPTION(vmap(f)(x), Error, HasText{"kSame or kDifferent"});
  const Tensor same = vmap(f, {.randomness = Randomness::kSame})(x);
  BOOST_TEST(near(same[0], same[3]));
  const Tensor different = vmap(f, {.randomness = Randomness::kDifferent})(x);
  BOOST_TEST(!near(different[0], different[3]));
}

BOOST_AUTO_TEST_CASE(faults_are_said_of_one_example) {
  BOOST_CHECK_EXCEPTION(vmap([](const Tensor& a) { return matmul(a, a); })(numbers({5, 2, 3})), Error,
                        HasText{"inner dimensions: expected 3, got 2"});
  BOOST_CHECK_EXCEPTION(vmap([](const Tensor& a, const Tensor& b) { return a + b; })(numbers({3}), numbers({4})), Error,
                        HasText{"expected a batch of 3, got 4"});
  BOOST_CHECK_EXCEPTION(vmap([](const Tensor& a) { return a; }, {.in_axes = {1}})(numbers({3})), Error,
                        HasText{"in_axes of vmap"});
  BOOST_CHECK_EXCEPTION(vmap([](const Tensor& a) { return a; }, {.in_axes = {kNoBatch}})(numbers({3})), Error,
                        HasText{"at least one argument"});
  Tensor kept;
  vmap([&](const Tensor& a) {
    kept = a;
    return a;
  })(numbers({3}));
  BOOST_CHECK_EXCEPTION(kept + 1, Error, HasText{"got one outside"});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
