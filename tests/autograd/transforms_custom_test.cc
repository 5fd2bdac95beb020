// custom_gradient and checkpoint: eager, under tapes, in traces, in vmap and jvp.
#include <utility>
#include <vector>

#include "panto/tests/autograd/transforms.h"

namespace panto {

using test::HasText;
using test::near;
using test::numbers;

namespace {

// x^2, whose gradient is said to be 10 x dy.
const auto odd_square = custom_gradient([](const Tensor& x) { return square(x); },
                                        [](const Tensor& x, const Tensor&, const Tensor& dy) { return 10 * x * dy; });

Tensor deep(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 8; ++i) y = tanh(y * 1.1f + 0.1f);
  return y;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transforms)
BOOST_AUTO_TEST_SUITE(custom_suite)

BOOST_AUTO_TEST_CASE(a_gradient_is_what_was_written) {
  const Tensor x = numbers({3});
  BOOST_TEST(near(odd_square(x), square(x)));
  const auto f = [](const Tensor& x) { return sum(odd_square(x) * 2); };
  BOOST_TEST(near(grad(f)(x), 20 * x));
  // In a trace, and of one.
  BOOST_TEST(near(trace([&](const Tensor& x) { return grad(f)(x); })(x), 20 * x));
  const auto traced = trace(f);
  BOOST_TEST(near(grad([&](const Tensor& x) { return traced(x); })(x), 20 * x));
  // By example, and under a tape outside.
  const Tensor batch = numbers({4, 3});
  BOOST_TEST(near(vmap(grad(f))(batch), 20 * batch));
  BOOST_TEST(near(grad([&](const Tensor& b) { return sum(vmap(f)(b)); })(batch), 20 * batch));
  // The derivative along a direction is that of which this is the gradient.
  const Tensor v = numbers({3}, 1);
  BOOST_TEST(near(jvp(f, x, v).second, sum(20 * x * v)));
  // The gradient's gradient is that of the function that was written.
  BOOST_TEST(near(grad([&](const Tensor& x) { return sum(grad(f)(x)); })(x), fill({3}, 20.f)));
}

BOOST_AUTO_TEST_CASE(structures_and_arguments_of_a_batch_that_share_one) {
  const auto f = custom_gradient(
      [](const Tensor& a, const std::vector<Tensor>& list) { return std::pair(a * list[0], list[1] + 1); },
      [](const Tensor& a, const std::vector<Tensor>& list, const std::pair<Tensor, Tensor>&,
         const std::pair<Tensor, Tensor>& dy) {
        return std::vector<Tensor>{dy.first * list[0] * 3, dy.first * a * 5, dy.second * 7};
      });
  const Tensor a = numbers({2}), b = numbers({2}, 1), c = numbers({2}, 2);
  GradientTape tape;
  for (const Tensor* t : {&a, &b, &c}) tape.watch(*t);
  const auto [y, z] = f(a, std::vector<Tensor>{b, c});
  const std::vector<Tensor> g = tape.gradients(std::vector<Tensor>{y, z}, std::vector<GradSource>{a, b, c});
  BOOST_TEST(near(g[0], b * 3));
  BOOST_TEST(near(g[1], a * 5));
  BOOST_TEST(near(g[2], fill({2}, 7.f)));
  const Tensor batch = numbers({4, 2});
  const Tensor shared = grad([&](const Tensor& b) {
    return sum(vmap([&](const Tensor& a) { return f(a, std::vector<Tensor>{b, c}).first; })(batch));
  })(b);
  BOOST_TEST(near(shared, sum(batch, {0}) * 5));
}

BOOST_AUTO_TEST_CASE(gradients_that_do_not_fit_are_refused) {
  const auto f = custom_gradient([](const Tensor& x) { return sum(x); },
                                 [](const Tensor&, const Tensor&, const Tensor& dy) { return dy; });
  BOOST_CHECK_EXCEPTION(grad([&](const Tensor& x) { return f(x); })(numbers({3})), Error,
                        HasText{"custom gradient 0: expected float32[3], got float32[]"});
}

BOOST_AUTO_TEST_CASE(stop_gradient_stops_both_ways) {
  const Tensor x = numbers({3});
  const auto f = [](const Tensor& x) { return sum(x * stop_gradient(x)); };
  BOOST_TEST(near(grad(f)(x), x));
  BOOST_TEST(near(jvp(f, x, ones_like(x)).second, sum(x)));
  BOOST_TEST(near(vmap(grad(f))(numbers({2, 3})), numbers({2, 3})));
}

BOOST_AUTO_TEST_CASE(checkpoint_changes_neither_values_nor_gradients) {
  const Tensor x = numbers({3}, 0, kFloat64), v = numbers({3}, 1, kFloat64);
  const auto plain = [](const Tensor& x) { return sum(square(deep(x))); };
  const auto light = [](const Tensor& x) { return sum(square(checkpoint(deep)(x))); };
  BOOST_TEST(near(light(x), plain(x), 1e-12));
  BOOST_TEST(near(grad(light)(x), grad(plain)(x), 1e-12));
  BOOST_TEST(near(hessian(light)(x), hessian(plain)(x), 1e-10));
  BOOST_TEST(near(jvp(light, x, v).second, jvp(plain, x, v).second, 1e-12));
  BOOST_TEST(near(trace([&](const Tensor& x) { return grad(light)(x); })(x), grad(plain)(x), 1e-12));
  const auto traced = trace(light);
  BOOST_TEST(near(grad([&](const Tensor& x) { return traced(x); })(x), grad(plain)(x), 1e-12));
  const Tensor batch = numbers({4, 3}, 2, kFloat64);
  BOOST_TEST(near(vmap(grad(light))(batch), vmap(grad(plain))(batch), 1e-12));
  BOOST_TEST(near(grad([&](const Tensor& b) { return sum(vmap(light)(b)); })(batch), vmap(grad(plain))(batch), 1e-12));
}

BOOST_AUTO_TEST_CASE(checkpoint_reaches_variables_and_tensors_that_are_used_besides) {
  const Variable w(numbers({3}, 1), "w");
  const Tensor x = numbers({3}), c = numbers({3}, 2);
  const auto f = checkpoint([&](const Tensor& x) { return tanh(x * w) * c; });
  GradientTape tape;
  tape.watch(x);
  tape.watch(c);
  const Tensor y = sum(f(x));
  const std::vector<Tensor> g = tape.gradient(y, {GradSource(x), GradSource(w), GradSource(c)});
  const Tensor t = tanh(x * w);
  BOOST_TEST(near(g[0], (1 - square(t)) * w * c));
  BOOST_TEST(near(g[1], (1 - square(t)) * x * c));
  BOOST_TEST(near(g[2], t));
}

BOOST_AUTO_TEST_CASE(checkpoint_keeps_less) {
  const Tensor x = numbers({64, 1024});
  const auto peak = [&](const auto& f) {
    const int64_t before = cpu_device().memory_stats().bytes_in_use;
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x);
    const int64_t kept = cpu_device().memory_stats().bytes_in_use - before;
    const Tensor loss = sum(y);
    BOOST_TEST(tape.gradient(loss, x).defined());
    return kept;
  };
  const int64_t plain = peak(deep), light = peak(checkpoint(deep));
  BOOST_TEST_MESSAGE(plain << " and " << light << " bytes");
  BOOST_TEST(light * 3 < plain);
}

BOOST_AUTO_TEST_CASE(a_plan_with_checkpoints_takes_less, *boost::unit_test::label("heavy")) {
  const Tensor at = numbers({64, 256}), k = numbers({256, 256}) * 0.1F;
  const auto products = [&](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 6; ++i) y = tanh(matmul(y, k));
    return y;
  };
  const auto layers = [](const auto& block) {
    return [block](const Tensor& x) { return sum(block(block(block(block(block(block(x))))))); };
  };
  const auto planned = [&](const auto& f) {
    Graph g;
    Tensor x, dx;
    {
      const GraphScope in(g);
      x = placeholder(kFloat32, {64, 256}, "x");
      const GradSource source(x);
      dx = gradients(f(x), {&source, 1})[0];
    }
    Session session(g);
    const Tensor got = session.run(dx, {{x, at}});
    BOOST_TEST(near(got, grad(f)(at)));
    BOOST_TEST(session.plan_stats().passes_undone == 0);
    return session.plan_stats().planned_bytes;
  };
  const int64_t plain = planned(layers(products)), light = planned(layers(checkpoint(products)));
  BOOST_TEST_MESSAGE(plain << " and " << light << " bytes");
  BOOST_TEST(light * 2 < plain);
}

BOOST_AUTO_TEST_CASE(what_a_trace_computed_is_an_argument_of_a_checkpoint) {
  const Tensor x = numbers({3});
  BOOST_CHECK_EXCEPTION(trace([](const Tensor& x) {
                          const Tensor y = x * 2;
                          return checkpoint([&](const Tensor& a) { return a * y; })(x);
                        })(x),
                        Error, HasText{"to be an argument"});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
