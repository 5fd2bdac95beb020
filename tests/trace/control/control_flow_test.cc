// Conditionals and loops: eagerly, traced, in graphs made by hand; their gradients.
#include "panto/trace/control/control_flow.h"
#include "panto/ops/lists.h"

#include <cmath>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/trace/control/functions.h"

namespace panto {
namespace {

using test::power, test::root_or_zero;

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(control_flow)

const Node* node_of(const Function& f, std::string_view op) {
  for (int id : f.graph().ids()) {
    if (f.graph().at(id).op().name() == op) return &f.graph().at(id);
  }
  return nullptr;
}

// A round may write over what the one before it made, and over nothing else.
BOOST_AUTO_TEST_CASE(rounds_write_over_what_is_theirs) {
  const Tensor kept = tensor({1.f, 2.f});
  const auto f = trace(
      [&](const Tensor& x, const Tensor& n) {
        const auto body = [&](const Tensor& i, const Tensor& a, const Tensor&, const Tensor&, const Tensor& list) {
          const Tensor next = -(a + kept);
          return std::tuple(i + 1, next, next * 2.f, a, tensor_list_set_item(list, i, a));
        };
        const Tensor empty = tensor_list_reserve(tensor(std::vector<int32_t>{2}), n, kFloat32);
        auto [i, a, b, c, list] = while_loop(
            [&](const Tensor& i, const Tensor&, const Tensor&, const Tensor&, const Tensor&) { return i < n; }, body,
            std::tuple(tensor(0), x, x, x, empty));
        const Tensor all = tensor_list_stack(list, tensor(std::vector<int32_t>{2}), kFloat32);
        return std::vector<Tensor>{a, b, c, x + kept, all};
      },
      {TensorSpec(kFloat32, {2}), TensorSpec(kInt32, {})});
  const Tensor x = tensor({10.f, 20.f});
  for (int run = 0; run < 2; ++run) {
    const std::vector<Tensor> y = f.call(std::vector<Tensor>{x, tensor(3)});
    // -11 -22, then 10 20, then -11 -22.
    BOOST_TEST(y[0].to_vector<float>() == (std::vector<float>{-11, -22}));
    BOOST_TEST(y[1].to_vector<float>() == (std::vector<float>{-22, -44}));
    BOOST_TEST(y[2].to_vector<float>() == (std::vector<float>{10, 20}));
    BOOST_TEST(y[3].to_vector<float>() == (std::vector<float>{11, 22}));
    BOOST_TEST(y[4].to_vector<float>() == (std::vector<float>{10, 20, -11, -22, 10, 20}));
    BOOST_TEST(x.to_vector<float>() == (std::vector<float>{10, 20}));
    BOOST_TEST(kept.to_vector<float>() == (std::vector<float>{1, 2}));
  }
}

BOOST_AUTO_TEST_CASE(cond_runs_the_branch_that_is_taken) {
  expect_near(root_or_zero(tensor({1.F, 4.F})), {2}, {1, 2});
  expect_near(root_or_zero(tensor({-1.F, -4.F})), {2}, {0, 0});
  const auto f = trace(root_or_zero);
  expect_near(f(tensor({1.F, 4.F})), {2}, {1, 2});
  expect_near(f(tensor({-1.F, -4.F})), {2}, {0, 0});
  BOOST_TEST(f.num_traces() == 1);
  BOOST_TEST((node_of(f, "StatelessIf") != nullptr));
}

BOOST_AUTO_TEST_CASE(conditions_of_every_kind) {
  const auto yes = [] { return tensor(1); };
  const auto no = [] { return tensor(0); };
  expect_near(cond(true, yes, no), 1);
  expect_near(cond(tensor(0.0), yes, no), 0);
  expect_near(cond(tensor(std::string("x")), yes, no), 1);
  const Variable flag(tensor(false), "flag");
  expect_near(cond(flag, yes, no), 0);
  for (const DType type : {kFloat16, kBFloat16, kComplex64, kComplex128}) {
    expect_near(cond(cast(tensor(1.F), type), yes, no), 1);
    expect_near(cond(cast(tensor(0.F), type), yes, no), 0);
  }
  expect_error_begins([&] { cond(flag.handle(), yes, no); },
                      "InvalidArgument: condition: expected a bool, a number or a string, got resource");
}

BOOST_AUTO_TEST_CASE(branches_may_have_effects_and_give_nothing) {
  const Variable count(tensor(0.F), "count");
  const auto f = trace([&](const Tensor& x) {
    cond(x > 0.F, [&] { count.assign_add(tensor(1.F)); }, [&] { count.assign_sub(tensor(10.F)); });
    return count + 0.F;
  });
  expect_near(f(tensor(1.F)), 1);
  expect_near(f(tensor(1.F)), 2);
  expect_near(f(tensor(-1.F)), -8);
  BOOST_TEST((node_of(f, "If") != nullptr));
}

BOOST_AUTO_TEST_CASE(branches_that_differ) {
  const auto f = [](const Tensor& x) { return cond(x > 0.F, [&] { return x; }, [&] { return cast(x, kFloat64); }); };
  expect_error_begins([&] { trace(f)(tensor(1.F)); },
                      "InvalidArgument: branch 1: expected it to give tensors as branch 0 does, (float32), got "
                      "(float64)");
}

BOOST_AUTO_TEST_CASE(cases) {
  const auto pick = [](const Tensor& i, const Tensor& x) {
    return switch_case(i, {[&] { return x; }, [&] { return -x; }, [&] { return x * x; }});
  };
  const auto f = trace(pick);
  const Tensor x = tensor(3.F);
  for (const int i : {0, 1, 2, 7, -1}) {
    const double expected = i == 0 ? 3 : i == 1 ? -3 : 9;
    expect_near(pick(tensor(i), x), expected);
    expect_near(f(tensor(i), x), expected);
  }
  BOOST_TEST((node_of(f, "StatelessCase") != nullptr));
}

BOOST_AUTO_TEST_CASE(loops_of_unknown_length) {
  const auto f = trace(power);
  for (const int n : {0, 1, 5}) {
    expect_near(power(tensor({2.F, 3.F}), tensor(n)), {2}, {std::pow(2, n), std::pow(3, n)});
    expect_near(f(tensor({2.F, 3.F}), tensor(n)), {2}, {std::pow(2, n), std::pow(3, n)});
  }
  BOOST_TEST(f.num_traces() == 1);
  BOOST_TEST((node_of(f, "StatelessWhile") != nullptr));
}

BOOST_AUTO_TEST_CASE(loops_end_after_the_most_rounds) {
  const auto run = [](const Tensor& x) {
    return while_loop([](const Tensor& v) { return v < 100.F; }, [](const Tensor& v) { return v * 2.F; }, x,
                      {.maximum_iterations = 3});
  };
  expect_near(run(tensor(1.F)), 8);
  expect_near(run(tensor(60.F)), 120);
  const auto f = trace(run);
  expect_near(f(tensor(1.F)), 8);
  expect_near(f(tensor(60.F)), 120);
}

BOOST_AUTO_TEST_CASE(shapes_that_grow) {
  const auto run = [](const Tensor& x) {
    return while_loop([](const Tensor& v) { return size(v) < 5; },
                      [](const Tensor& v) { return concat({v, tensor({7.F})}, 0); }, x);
  };
  expect_near(run(tensor({1.F})), {5}, {1, 7, 7, 7, 7});
  const auto f = trace(run);
  expect_near(f(tensor({1.F})), {5}, {1, 7, 7, 7, 7});
  BOOST_TEST(f.outputs()[0].to_string() == "float32[?]");
}

BOOST_AUTO_TEST_CASE(loops_inside_loops) {
  // The sum over i < n of i * (i - 1) / 2.
  const auto run = [](const Tensor& n) {
    auto [i, total] = while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
                                 [](const Tensor& i, const Tensor& total) {
                                   auto [j, inner] = while_loop(
                                       [&](const Tensor& j, const Tensor&) { return j < i; },
                                       [](const Tensor& j, const Tensor& s) { return std::tuple(j + 1, s + j); },
                                       std::tuple(tensor(0), total));
                                   return std::tuple(i + 1, inner);
                                 },
                                 std::tuple(tensor(0), tensor(0)));
    return total;
  };
  expect_near(run(tensor(5)), 10);
  expect_near(trace(run)(tensor(5)), 10);
}

BOOST_AUTO_TEST_CASE(a_loop_changes_a_variable) {
  const Variable total(tensor(0.F), "total");
  const auto f = trace([&](const Tensor& n) {
    return while_loop([&](const Tensor& i) { return i < n; },
                      [&](const Tensor& i) {
                        total.assign_add(cast(i, kFloat32));
                        return i + 1;
                      },
                      tensor(0));
  });
  expect_near(f(tensor(4)), 4);
  expect_near(total.value(), 6);
  BOOST_TEST((node_of(f, "While") != nullptr));
}

BOOST_AUTO_TEST_CASE(a_condition_reads_what_the_body_wrote) {
  const Variable left(tensor(0.F), "left");
  const auto f = trace([&](const Tensor& n) {
    left.assign(n);
    return while_loop([&](const Tensor&) { return left.value() > 0.F; },
                      [&](const Tensor& rounds) {
                        left.assign_sub(tensor(1.F));
                        return rounds + 1;
                      },
                      tensor(0));
  });
  for (const char* passes : {"", "off"}) {
    f.set_optimizer(passes);
    expect_near(f(tensor(5.F)), 5);
    expect_near(f(tensor(0.F)), 0);
  }
}

BOOST_AUTO_TEST_CASE(traces_with_values_record_the_choice) {
  const auto f = trace_with(root_or_zero, {tensor({1.F, 4.F})});
  expect_near(f(tensor({-1.F, -4.F})), {2}, {0, 0});
  expect_near(f(tensor({9.F, 4.F})), {2}, {3, 2});
}

BOOST_AUTO_TEST_CASE(in_a_graph_made_by_hand) {
  Graph g;
  Tensor x, n, y;
  {
    const GraphScope scope(g);
    x = placeholder(kFloat32, {}, "x");
    n = placeholder(kInt32, {}, "n");
    y = named("y", cond(n > 2, [&] { return power(x, n); }, [&] { return x; }));
  }
  Session s(g);
  expect_near(s.run(y, {{x, tensor(2.F)}, {n, tensor(4)}}), 16);
  expect_near(s.run(y, {{x, tensor(2.F)}, {n, tensor(1)}}), 2);
}

// ---- Gradients ----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(gradients_of_cond) {
  const Variable k(tensor({2.F, 3.F}), "k");
  const auto fn = [&](const Tensor& x) {
    return sum(cond(sum(x) > 0.F, [&] { return x * x * k; }, [&] { return sin(x); }));
  };
  const auto f = trace(fn);
  for (const Tensor& x : {tensor({1.F, 2.F}), tensor({-1.F, -2.F})}) {
    GradientTape eager;
    eager.watch(x);
    const Tensor y = fn(x);
    const std::vector<Tensor> expected = eager.gradient(y, {x});
    {
      GradientTape once;
      const Tensor z = f(x);
      expect_near(once.gradient(z, k), {2},
                  x.to_vector<float>()[0] > 0 ? std::vector<double>{1, 4} : std::vector<double>{0, 0});
    }
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor z = f(x);
    expect_near(tape.gradient(z, x), {2}, values_of(expected[0]));
    const Tensor dk = tape.gradient(z, k);
    if (x.to_vector<float>()[0] > 0) {
      expect_near(dk, {2}, {1, 4});
    } else {
      BOOST_TEST(!dk.defined());  // a persistent tape hears the ops that ran
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_loops) {
  const auto f = trace(power);
  for (const int n : {0, 1, 4}) {
    const Tensor x = tensor({2.0, 3.0});
    GradientTape tape;
    tape.watch(x);
    const Tensor y = f(x, tensor(n));
    expect_near(tape.gradient(y, x), {2}, {n * std::pow(2, n - 1), n * std::pow(3, n - 1)});
  }
}

BOOST_AUTO_TEST_CASE(second_gradients_of_loops) {
  const auto f = trace(power);
  const Tensor x = tensor({2.0, 3.0});
  GradientTape outer;
  outer.watch(x);
  Tensor dx;
  {
    GradientTape inner;
    inner.watch(x);
    const Tensor y = f(x, tensor(4));
    dx = inner.gradient(y, x);
  }
  expect_near(dx, {2}, {4 * 8, 4 * 27});
  expect_near(outer.gradient(dx, x), {2}, {12 * 4, 12 * 9});
}

BOOST_AUTO_TEST_CASE(gradients_of_variables_in_loops) {
  const Variable w(tensor(2.0), "w");
  const auto f = trace([&](const Tensor& x) {
    auto [i, y] = while_loop([&](const Tensor& i, const Tensor&) { return i < 3; },
                             [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, y * w + x); },
                             std::tuple(tensor(0), x));
    return y;
  });
  // y = w^3 x + w^2 x + w x + x
  GradientTape tape({.persistent = true});
  const Tensor x = tensor(5.0);
  tape.watch(x);
  const Tensor y = f(x);
  expect_near(y, 5 * 15);
  expect_near(tape.gradient(y, x), 15);
  expect_near(tape.gradient(y, w), 5 * (3 * 4 + 2 * 2 + 1));
}

BOOST_AUTO_TEST_CASE(gradients_in_graphs_of_any_order) {
  Graph g;
  Tensor x, n, y;
  std::vector<Tensor> orders;
  {
    const GraphScope scope(g);
    x = placeholder(kFloat64, {}, "x");
    n = placeholder(kInt32, {}, "n");
    const auto fn = [&] { return cond(n > 2, [&] { return power(x, n) * sin(x); }, [&] { return power(x * x, n); }); };
    y = fn();
    orders.push_back(y);
    for (int k = 0; k < 3; ++k) orders.push_back(gradients(orders.back(), {{x}})[0]);
  }
  Session s(g);
  const double v = 1.3;
  // n = 3: x^3 sin x; n = 2: x^4.
  const std::vector<double> cubic = {
      v * v * v * std::sin(v), 3 * v * v * std::sin(v) + v * v * v * std::cos(v),
      6 * v * std::sin(v) + 6 * v * v * std::cos(v) - v * v * v * std::sin(v),
      6 * std::sin(v) + 18 * v * std::cos(v) - 9 * v * v * std::sin(v) - v * v * v * std::cos(v)};
  const std::vector<double> quartic = {std::pow(v, 4), 4 * std::pow(v, 3), 12 * v * v, 24 * v};
  for (size_t k = 0; k < orders.size(); ++k) {
    expect_near(s.run(orders[k], {{x, tensor(v)}, {n, tensor(3)}}), cubic[k], 1e-9);
    expect_near(s.run(orders[k], {{x, tensor(v)}, {n, tensor(2)}}), quartic[k], 1e-9);
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_loops_inside_loops_and_branches) {
  const auto fn = [](const Tensor& x) {
    auto [i, y] = while_loop(
        [](const Tensor& i, const Tensor&) { return i < 3; },
        [&](const Tensor& i, const Tensor& y) {
          auto [j, z] = while_loop([&](const Tensor& j, const Tensor&) { return j < i; },
                                   [&](const Tensor& j, const Tensor& z) { return std::tuple(j + 1, sin(z * x)); },
                                   std::tuple(tensor(0), y));
          const Tensor w = cond(sum(z) > 0.5, [&, z = z] { return z * z; }, [&, z = z] { return z + x; });
          return std::tuple(i + 1, w);
        },
        std::tuple(tensor(0), x));
    return sum(y);
  };
  const auto f = trace(fn);
  for (const double v : {0.4, 0.9, -0.7}) {
    const Tensor x = tensor({v, v / 2});
    GradientTape eager;
    eager.watch(x);
    const Tensor expected = eager.gradient(fn(x), x);
    GradientTape tape;
    tape.watch(x);
    expect_near(tape.gradient(f(x), x), {2}, values_of(expected), 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(tapes_inside_traces) {
  const auto fn = [](const Tensor& x, const Tensor& n) {
    return sum(cond(n > 2, [&] { return power(x, n); }, [&] { return sin(x); }));
  };
  const auto first = [&](const Tensor& x, const Tensor& n) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = fn(x, n);
    return tape.gradient(y, x);
  };
  const auto second = [&](const Tensor& x, const Tensor& n) {
    GradientTape tape;
    tape.watch(x);
    const Tensor dx = sum(first(x, n));
    return tape.gradient(dx, x);
  };
  const auto persistent = [&](const Tensor& x, const Tensor& n) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor dx = tape.gradient(fn(x, n), x);
    return tape.gradient(sum(dx), x);
  };
  const Tensor x = tensor({1.5, 2.0});
  for (const int n : {3, 4, 1}) {
    const auto derivatives = [&](double v) -> std::pair<double, double> {
      if (n <= 2) return {std::cos(v), -std::sin(v)};
      return {n * std::pow(v, n - 1), n * (n - 1) * std::pow(v, n - 2)};
    };
    const std::vector<double> firsts = {derivatives(1.5).first, derivatives(2).first};
    const std::vector<double> seconds = {derivatives(1.5).second, derivatives(2).second};
    expect_near(first(x, tensor(n)), {2}, firsts);
    expect_near(trace(first)(x, tensor(n)), {2}, firsts);
    expect_near(second(x, tensor(n)), {2}, seconds);
    expect_near(trace(second)(x, tensor(n)), {2}, seconds);
    expect_near(trace(persistent)(x, tensor(n)), {2}, seconds);
    // What is traced with values records the choice too.
    const auto with_values = trace_with(first, {x, tensor(4)});
    expect_near(with_values(x, tensor(n)), {2}, firsts);
  }
}

BOOST_AUTO_TEST_CASE(a_training_step_with_a_loop) {
  const Variable w(tensor(0.5), "w");
  const auto step = trace([&](const Tensor& x, const Tensor& target) {
    GradientTape tape;
    auto [i, y] = while_loop([](const Tensor& i, const Tensor&) { return i < 3; },
                             [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, tanh(y * w)); },
                             std::tuple(tensor(0), x));
    const Tensor loss = square(y - target);
    const Tensor dw = tape.gradient(loss, w);
    w.assign_sub(dw * 0.5);
    return loss;
  });
  double before = 1e9;
  for (int k = 0; k < 20; ++k) {
    const double loss = step(tensor(1.0), tensor(0.3)).item<double>();
    BOOST_TEST((loss < before || loss < 1e-20));
    before = loss;
  }
  BOOST_TEST(before < 1e-3);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
