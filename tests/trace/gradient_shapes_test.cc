// Gradients inside functions where shapes are known in part: what is known of a shape, of values that size it and of
// captured variables is used, and the rest is found when the graph runs.
#include <functional>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/tests/autograd/orders.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(gradient_shapes)

using List = std::vector<Tensor>;

// sum((a + 1) v): d/da is the row sums of v, d/dv the column sums of a + 1.
BOOST_AUTO_TEST_CASE(a_broadcast_before_a_product_with_a_variable) {
  const Variable v(tensor({{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}}), "v");
  const auto eager = [&](const Tensor& a) { return sum(matmul(a + 1.0, v)); };
  const Tensor a = reshape(range(0.0, 12.0, 1.0), {4, 3});
  for (const TensorSpec& spec : {TensorSpec(kFloat64, {4, 3}), TensorSpec(kFloat64, {-1, 3}),
                                 TensorSpec(kFloat64, {-1, -1}), TensorSpec(kFloat64, PartialShape())}) {
    const Function f = trace(eager, {spec});
    GradientTape tape({.persistent = true});
    tape.watch(a);
    const Tensor y = f(a);
    const auto grads = tape.gradient(y, {a, v});
    expect_near(grads[0], {4, 3}, {3, 7, 11, 3, 7, 11, 3, 7, 11, 3, 7, 11});
    expect_near(grads[1], {3, 2}, {22, 22, 26, 26, 30, 30});
  }
}

// w - mean(w): each column's gradient has mean 0.
BOOST_AUTO_TEST_CASE(a_variable_less_its_mean) {
  const Variable w(tensor({{1.0, 2.0}, {3.0, 5.0}}), "w");
  const auto eager = [&](const Tensor& a) {
    const Tensor value = w.value();
    return sum(square(value - mean(value, {0}, {.keep_dims = true})) * a);
  };
  const Tensor a = tensor({{1.0, -1.0}, {2.0, 0.5}});
  for (const TensorSpec& spec : {TensorSpec(kFloat64, {2, 2}), TensorSpec(kFloat64, {-1, 2})}) {
    const Function f = trace(eager, {spec});
    GradientTape persistent({.persistent = true});
    persistent.watch(a);
    const Tensor y = f(a);
    const Tensor dw = persistent.gradient(y, w);
    // d_ij = w_ij - mean_j: (-1, -1.5; 1, 1.5). dw_kj = 2 (a_kj d_kj - mean_i(a_ij d_ij)).
    expect_near(dw, {2, 2}, {-3, 0.75, 3, -0.75}, 1e-12);
    // The sum of dw_0j is linear in w: its gradient is a constant matrix.
    const Tensor ddw = persistent.gradient(dw, w, tensor({{1.0, 0.0}, {0.0, 0.0}}));
    // d dw_00 / d w_k0 = 2 (a_00 (d_0k - 1/2) - mean_i a_i0 (d_ik - 1/2)); a_00 = 1, a_10 = 2.
    expect_near(ddw, {2, 2}, {1.5, 0, -1.5, 0}, 1e-12);
    GradientTape outer;
    Tensor inner_gradient;
    {
      GradientTape inner;
      inner_gradient = inner.gradient(f(a), w);
    }
    expect_near(outer.gradient(inner_gradient, w, tensor({{1.0, 0.0}, {0.0, 0.0}})), {2, 2}, {1.5, 0, -1.5, 0}, 1e-12);
  }
}

struct OrderCase {
  const char* name;
  std::function<Tensor(const Tensor&)> fn;
};

// Orders one to three of functions whose gradients ask for shapes, at every degree of knowledge, as eagerly.
BOOST_AUTO_TEST_CASE(higher_orders_with_unknown_dimensions) {
  const Variable w(tensor({{0.5, -1.0, 0.25}, {1.5, 0.75, -0.5}, {0.1, 0.2, 0.3}}), "w");
  const Variable bias(tensor({0.5, -0.25, 1.0}), "bias");
  const Tensor labels = tensor({{0.25, 0.5, 0.25}, {0.0, 1.0, 0.0}});
  const OrderCase cases[] = {
      {"log_softmax", [](const Tensor& a) { return sum(square(log_softmax(a))); }},
      {"keep-dims sum", [](const Tensor& a) { return sum(exp(a) / sum(exp(a), {1}, {.keep_dims = true}) * a * a); }},
      {"keep-dims sum over rows",
       [](const Tensor& a) { return sum(a / (1.0 + sum(square(a), {0}, {.keep_dims = true}))); }},
      {"sum over both", [](const Tensor& a) { return sum(a * sum(square(a), {0, 1}, {.keep_dims = true})); }},
      {"mean", [](const Tensor& a) { return sum(square(a - mean(a, {0}, {.keep_dims = true})) * a); }},
      {"mean of all", [](const Tensor& a) { return mean(square(a) * a); }},
      {"largest", [](const Tensor& a) { return sum(square(a - reduce_max(a, {1}, {.keep_dims = true}))); }},
      {"product", [](const Tensor& a) { return sum(square(reduce_prod(a, {1}))); }},
      {"cross entropy",
       [&](const Tensor& a) { return sum(square(softmax_cross_entropy_and_backprop(a, labels).loss)); }},
      {"sparse cross entropy",
       [&](const Tensor& a) { return sum(square(sparse_softmax_cross_entropy_and_backprop(a, tensor({1, 2})).loss)); }},
      {"layer", [&](const Tensor& a) { return sum(square(tanh(matmul(a, w) + bias))); }},
      {"layer, softmax", [&](const Tensor& a) { return sum(square(softmax(matmul(a + 1.0, w) * bias))); }},
      {"variable less its mean",
       [&](const Tensor& a) {
         const Tensor v = w.value();
         return sum(square(matmul(a, v - mean(v, {0}, {.keep_dims = true}))));
       }},
      {"concat", [&](const Tensor& a) { return sum(square(concat({a, a * a, a + bias}, 0))); }},
      {"slices",
       [](const Tensor& a) { return sum(square(slice(a, {0, 1}, {-1, 2}) * slice(a * a, {0, 0}, {-1, 2}))); }},
      {"transpose", [](const Tensor& a) { return sum(square(matmul(transpose(a, {1, 0}), a))); }},
      {"reshape", [](const Tensor& a) { return sum(square(reshape(a, {-1}) * reshape(square(a), {-1}))); }},
      {"broadcast_to",
       [](const Tensor& a) { return sum(square(broadcast_to(a, concat({tensor({2}), shape(a)}, 0))) * a); }},
      {"tile", [](const Tensor& a) { return sum(square(tile(a, {2, 3}))); }},
      {"pad", [](const Tensor& a) { return sum(square(pad(a * a, tensor({{1, 0}, {0, 2}})))); }},
      {"gather", [](const Tensor& a) { return sum(square(gather(a, tensor({1, 0, 1}), 0))); }},
      {"split",
       [](const Tensor& a) {
         const auto p = split(1, a, 3);
         return sum(p[0] * p[1] * p[1] + square(p[2]));
       }},
      {"select", [](const Tensor& a) { return sum(select(greater(a, 0.0), a * a * a, 2.0 * a * a)); }},
      {"pack", [](const Tensor& a) { return sum(square(pack({a, a * a}))); }},
      {"squeeze", [](const Tensor& a) { return sum(square(squeeze(expand_dims(a, 0)) * a)); }},
      {"cumsum", [](const Tensor& a) { return sum(square(cumsum(a, 0))); }},
  };
  const Tensor x = tensor({{0.5, -0.25, 1.0}, {-1.5, 0.75, 2.0}});
  const TensorSpec specs[] = {TensorSpec(kFloat64, {2, 3}), TensorSpec(kFloat64, {-1, 3}),
                              TensorSpec(kFloat64, {-1, -1}), TensorSpec(kFloat64, PartialShape())};
  for (const OrderCase& c : cases) {
    const auto expected = three_orders(c.fn, x);
    for (const TensorSpec& spec : specs) {
      BOOST_TEST_CONTEXT(c.name << ", " << spec.to_string()) {
        try {
          const Function f = trace(c.fn, {spec});
          const auto got = three_orders(f, x);
          for (size_t k = 0; k < 3; ++k) {
            BOOST_TEST_CONTEXT("order " << k + 1) {
              if (!expected[k].defined()) continue;
              // The third sums in another order: what cancels leaves other roundings.
              expect_near(got[k], x.shape(), values_of(expected[k]), 1e-9, k < 2 ? 0 : 1e-6);
            }
          }
          // The same where the tapes are inside the function.
          const Function inside = trace(
              [&](const Tensor& a) {
                const auto orders = three_orders(c.fn, a);
                return List{orders[0], orders[1]};
              },
              {spec});
          const List two = inside.call({&x, 1});
          for (size_t k = 0; k < 2; ++k) expect_near(two[k], x.shape(), values_of(expected[k]), 1e-9, 1);
          // With respect to variables, by a persistent tape.
          GradientTape tape({.persistent = true}), eager({.persistent = true});
          const List dw = tape.gradient(f(x), {w, bias}), expected_dw = eager.gradient(c.fn(x), {w, bias});
          for (size_t k = 0; k < 2; ++k) {
            BOOST_TEST(dw[k].defined() == expected_dw[k].defined());
            if (!dw[k].defined() || !expected_dw[k].defined()) continue;
            expect_near(dw[k], expected_dw[k].shape(), values_of(expected_dw[k]), 1e-9, 1);
            const Tensor ddw = tape.gradient(dw[k], w), expected_ddw = eager.gradient(expected_dw[k], w);
            if (expected_ddw.defined()) expect_near(ddw, expected_ddw.shape(), values_of(expected_ddw), 1e-9, 1);
          }
        } catch (const Error& error) {
          BOOST_ERROR(error.what());
        }
      }
    }
  }
}

// The shape is an argument: it is known only when the function is called.
BOOST_AUTO_TEST_CASE(a_shape_that_is_an_argument) {
  const Function f = trace([](const Tensor& x, const Tensor& s) { return broadcast_to(x, s) * 2.0; },
                           {TensorSpec(kFloat64, {3}), TensorSpec(kInt32, {2})});
  const Function open = trace([](const Tensor& x, const Tensor& s) { return broadcast_to(x, s) * x; },
                              {TensorSpec(kFloat64, {-1}), TensorSpec(kInt32, {-1})});
  const Tensor x = tensor({1.0, 2.0, 3.0}), s = tensor({4, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  expect_near(tape.gradient(f(x, s), x), {3}, {8, 8, 8});
  const Tensor dx = tape.gradient(open(x, s), x);
  expect_near(dx, {3}, {8, 16, 24});
  expect_near(tape.gradient(dx, x), {3}, {8, 8, 8});
  const Function filled = trace([](const Tensor& value, const Tensor& size) { return fill(size, value) * value; },
                                {TensorSpec(kFloat64, {}), TensorSpec(kInt32, {-1})});
  const Tensor v = tensor(3.0);
  tape.watch(v);
  expect_near(tape.gradient(filled(v, s), v), 72);
  const Function reshaped =
      trace([](const Tensor& a, const Tensor& size) { return reshape(a, size) * reshape(a + 1.0, size); },
            {TensorSpec(kFloat64, {-1}), TensorSpec(kInt32, {-1})});
  expect_near(tape.gradient(reshaped(x, tensor({3, 1})), x), {3}, {3, 5, 7});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
