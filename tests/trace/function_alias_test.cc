// Functions whose outputs are one value in several roles: an output given twice, an argument or a captured value given
// back, an output that another one is made of, and what passes merge. Their gradients are those of the eager function.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/tests/autograd/orders.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

const TensorSpec kVector(kFloat64, {-1}, "x");

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(function_aliases)

// ---- Closed forms -----------------------------------------------------------------------------------------------

// y = a^2 at a = 3: dy/da = 6; the stopped output adds nothing.
BOOST_AUTO_TEST_CASE(an_output_and_the_same_value_stopped) {
  const Function after = trace(
      [](const Tensor& a) {
        const Tensor y = a * a;
        return std::vector<Tensor>{y, stop_gradient(y)};
      },
      {kVector});
  const Function before = trace(
      [](const Tensor& a) {
        const Tensor y = a * a;
        return std::vector<Tensor>{stop_gradient(y), y};
      },
      {kVector});
  const Tensor x = tensor({3.0});
  for (const char* passes : {"", "off"}) {
    for (const bool first : {true, false}) {
      const Function& f = first ? after : before;
      f.set_optimizer(passes);
      GradientTape tape({.persistent = true});
      tape.watch(x);
      const auto out = f.call({&x, 1});
      expect_near(tape.gradient(out[first ? 0 : 1], x), {1}, {6});
      const Tensor stopped = tape.gradient(out[first ? 1 : 0], x);
      BOOST_TEST((!stopped.defined() || values_of(stopped)[0] == 0));
      expect_near(tape.gradient(out[0] * out[1], x), {1}, {54});  // d(y * 9)/da
    }
  }
}

// d(stop(x) * x)/dx = stop(x) = 3.
BOOST_AUTO_TEST_CASE(a_function_that_only_stops) {
  const Function f = trace([](const Tensor& a) { return stop_gradient(a); }, {kVector});
  const Tensor x = tensor({3.0});
  GradientTape tape;
  tape.watch(x);
  expect_near(tape.gradient(f(x) * x, x), {1}, {3});
}

// d(y * y + 3 f(y))/dy at y = 9, f the identity: 2 * 9 + 3.
BOOST_AUTO_TEST_CASE(a_function_that_gives_back_its_argument) {
  const Function f = trace([](const Tensor& a) { return a; }, {kVector});
  const Tensor x = tensor({3.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = x * x;
  expect_near(tape.gradient(y * y + 3.0 * f(y), y), {1}, {21});
  const Tensor z = tensor({9.0});
  GradientTape leaf;
  leaf.watch(z);
  expect_near(leaf.gradient(z * z + 3.0 * f(z), z), {1}, {21});
}

// What comes out is a value of its own, also where no tape listens: who watches it does not watch the argument.
BOOST_AUTO_TEST_CASE(outputs_are_values_of_their_own) {
  const Tensor captured = tensor({7.0, 8.0});
  const Function f = trace(
      [&](const Tensor& a) {
        const Tensor y = a * 2.0;
        return std::vector<Tensor>{a, captured, y, stop_gradient(y), fill({2}, 1.5), a};
      },
      {kVector});
  const Tensor large = random_uniform({100}, {.seed = 1, .dtype = kFloat64});  // more than lies beside a header
  for (const Tensor& x : {tensor({1.0, 2.0}), large}) {
    for (const char* passes : {"", "off"}) {
      f.set_optimizer(passes);
      std::vector<int64_t> ids{x.id(), captured.id()};
      for (int i = 0; i < 2; ++i) {
        for (const Tensor& out : f.call({&x, 1})) ids.push_back(out.id());
      }
      std::ranges::sort(ids);
      BOOST_TEST((std::ranges::adjacent_find(ids) == ids.end()));
    }
  }
  const Tensor x = tensor({3.0});
  const Tensor y = f.call({&x, 1})[0];
  GradientTape tape;
  tape.watch(y);
  expect_near(tape.gradient(x * y, y), {1}, {3});
}

// b = tanh(a), f = sum(b * stop(b) * a): df = stop(b) (1 - b^2) a + b^2. In the second order stop(b) is a constant, but
// the b^2 of df is b * stop(b): d2f = stop(b) (1 - b^2) - 2 stop(b) b (1 - b^2) a + stop(b) (1 - b^2).
BOOST_AUTO_TEST_CASE(second_order_through_a_stopped_value) {
  const auto eager = [](const Tensor& a) {
    const Tensor b = tanh(a);
    return sum(b * stop_gradient(b) * a);
  };
  const Function f = trace(eager, {kVector});
  const std::vector<double> at{0.5, -1.25, 2.0};
  std::vector<double> first, second;
  for (const double a : at) {
    const double b = std::tanh(a), d = 1 - b * b;
    first.push_back(b * d * a + b * b);
    second.push_back(2 * b * d - 2 * b * b * d * a);
  }
  for (const char* passes : {"", "off"}) {
    f.set_optimizer(passes);
    const auto orders = three_orders(f, tensor(at));
    expect_near(orders[0], {3}, first, 1e-12);
    expect_near(orders[1], {3}, second, 1e-12);
    expect_near(three_orders(eager, tensor(at))[2], {3}, values_of(orders[2]), 1e-12);
  }
}

// ---- Every way that one value may stand in two places --------------------------------------------------------------

struct AliasCase {
  const char* name;
  // Of a, b (arguments), c (a tensor from outside), v (a variable).
  std::function<std::vector<Tensor>(const Tensor&, const Tensor&, const Tensor&, const Variable&)> fn;
};

using List = std::vector<Tensor>;

const AliasCase kCases[] = {
    {"the argument", [](auto& a, auto&, auto&, auto&) { return List{a}; }},
    {"the argument twice", [](auto& a, auto&, auto&, auto&) { return List{a, a}; }},
    {"both arguments, exchanged", [](auto& a, auto& b, auto&, auto&) { return List{b, a}; }},
    {"the argument and what is made of it", [](auto& a, auto& b, auto&, auto&) { return List{a, a * b, a}; }},
    {"the argument stopped", [](auto& a, auto&, auto&, auto&) { return List{stop_gradient(a), a}; }},
    {"identities", [](auto& a, auto&, auto&, auto&) { return List{identity(identity(a)), identity(a)}; }},
    {"one output twice",
     [](auto& a, auto& b, auto&, auto&) {
       const Tensor y = a * b;
       return List{y, y};
     }},
    {"one output, stopped and not",
     [](auto& a, auto& b, auto&, auto&) {
       const Tensor y = sin(a * b);
       return List{stop_gradient(y), y, stop_gradient(y), y};
     }},
    {"outputs made of outputs",
     [](auto& a, auto& b, auto&, auto&) {
       const Tensor y = tanh(a * b), z = y * y;
       return List{z * y, y, z};
     }},
    {"outputs made of stopped outputs",
     [](auto& a, auto& b, auto&, auto&) {
       const Tensor y = tanh(a * b), s = stop_gradient(y);
       return List{s * y * a, s, y * s, s};
     }},
    {"the same computed twice", [](auto& a, auto& b, auto&, auto&) { return List{exp(a * b), exp(a * b)}; }},
    {"views of one output",
     [](auto& a, auto& b, auto&, auto&) {
       const Tensor y = a * b;
       return List{reshape(y, {-1}), y, reshape(expand_dims(y, 0), {-1})};
     }},
    {"views of the argument", [](auto& a, auto&, auto&, auto&) { return List{reshape(a, {-1}), a}; }},
    {"a tensor from outside", [](auto& a, auto&, auto& c, auto&) { return List{c, a * c, c}; }},
    {"a tensor from outside, stopped", [](auto& a, auto&, auto& c, auto&) { return List{stop_gradient(c) * a, c}; }},
    {"a variable's value", [](auto&, auto&, auto&, auto& v) { return List{v.value(), v.value()}; }},
    {"a variable's value, stopped and not",
     [](auto& a, auto&, auto&, auto& v) {
       const Tensor w = v.value();
       return List{stop_gradient(w) * a, w, stop_gradient(w), w * w};
     }},
    {"constants", [](auto& a, auto&, auto&, auto&) { return List{ones_like(a), a, fill({2}, 2.5), ones_like(a)}; }},
    {"what passes take away", [](auto& a, auto& b, auto&, auto&) { return List{a * 1.0, a + 0.0, -(-b), b / 1.0}; }},
    {"inner values that are stopped",
     [](auto& a, auto& b, auto&, auto&) {
       const Tensor s = stop_gradient(a), t = stop_gradient(tanh(b));
       return List{s * a * t * tanh(b), tanh(s * b)};
     }},
};

// The sum of all outputs, each weighed and squared, with the arguments mixed in: a role taken for another shows.
Tensor objective(const std::vector<Tensor>& out, const Tensor& a, const Tensor& b) {
  Tensor total = sum(a * a * b) + sum(b * b);
  for (size_t k = 0; k < out.size(); ++k) {
    const auto weight = static_cast<double>(k + 2);
    total = total + weight * sum(out[k] * a) + sum(out[k] * out[k] * b) / weight;
  }
  return total;
}

struct Derivatives {
  std::vector<Tensor> first, second;
};

// With respect to a, b, c and v: gradients, and those of the sum of all squared gradients.
template <class F>
Derivatives derivatives(const F& f, const List& at, const Variable& v, bool persistent) {
  const std::vector<GradSource> sources{at[0], at[1], at[2], v};
  Derivatives result;
  GradientTape outer({.persistent = persistent});
  for (const Tensor& t : at) outer.watch(t);
  const auto squares = [](const List& gradients) {
    Tensor total = tensor(0.0);
    for (const Tensor& g : gradients) {
      if (g.defined()) total = total + sum(g * g);
    }
    return total;
  };
  if (persistent) {
    const Tensor y = objective(f(at[0], at[1]), at[0], at[1]);
    result.first = outer.gradient(y, sources);
    result.second = outer.gradient(squares(result.first), sources);
    return result;
  }
  Tensor g2;
  {
    GradientTape inner;
    for (const Tensor& t : at) inner.watch(t);
    result.first = inner.gradient(objective(f(at[0], at[1]), at[0], at[1]), sources);
    g2 = squares(result.first);
  }
  result.second = outer.gradient(g2, sources);
  return result;
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected, const std::string& what) {
  for (size_t i = 0; i < expected.size(); ++i) {
    BOOST_TEST_CONTEXT(what << ", source " << i) {
      // A gradient that is zero may be undefined instead.
      if (!got[i].defined() || !expected[i].defined()) {
        const Tensor& there = got[i].defined() ? got[i] : expected[i];
        if (!there.defined()) continue;
        for (const double x : values_of(there)) BOOST_TEST(x == 0.0);
        continue;
      }
      expect_near(got[i], expected[i].shape(), values_of(expected[i]), 1e-11);
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_first_and_second_order_as_eager) {
  for (const AliasCase& c : kCases) {
    const Tensor outside = tensor({0.25, -1.5});
    const Variable v(tensor({1.5, 0.75}), "v");
    const List at{tensor({0.5, -0.75}), tensor({1.25, 2.0}), outside};
    const auto eager = [&](const Tensor& a, const Tensor& b) { return c.fn(a, b, outside, v); };
    for (const TensorSpec& spec : {kVector, TensorSpec(kFloat64, {2})}) {
      const Function function = trace(eager, {spec, spec});
      const Function inside =
          trace([&](const Tensor& a, const Tensor& b) { return function.call(List{a, b}); }, {spec, spec});
      for (const char* passes : {"", "off"}) {
        for (const Function& f : {function, inside}) {
          f.set_optimizer(passes);
          const auto traced = [&](const Tensor& a, const Tensor& b) { return f.call(List{a, b}); };
          for (const bool persistent : {false, true}) {
            const Derivatives expected = derivatives(eager, at, v, persistent);
            const Derivatives got = derivatives(traced, at, v, persistent);
            const std::string what = std::string(c.name) + ", passes '" + passes + "'";
            expect_same(got.first, expected.first, what + ", first order");
            expect_same(got.second, expected.second, what + ", second order");
          }
        }
      }
    }
  }
}

// One tensor given for both arguments, and captured besides.
BOOST_AUTO_TEST_CASE(one_tensor_for_every_input) {
  const Tensor x = tensor({0.5, -0.75});
  const Variable v(tensor({1.5, 0.75}), "v");
  for (const AliasCase& c : kCases) {
    const auto eager = [&](const Tensor& a, const Tensor& b) { return c.fn(a, b, x, v); };
    const Function f = trace(eager, {kVector, kVector});
    const auto traced = [&](const Tensor& a, const Tensor& b) { return f.call(List{a, b}); };
    const List at{x, x, x};
    const Derivatives expected = derivatives(eager, at, v, false), got = derivatives(traced, at, v, false);
    expect_same(got.first, expected.first, std::string(c.name) + ", first order");
    expect_same(got.second, expected.second, std::string(c.name) + ", second order");
  }
}

// Seeds for one output at a time: what flows into the others does not leak.
BOOST_AUTO_TEST_CASE(each_output_by_itself) {
  for (const AliasCase& c : kCases) {
    const Tensor outside = tensor({0.25, -1.5}), a = tensor({0.5, -0.75}), b = tensor({1.25, 2.0});
    const Variable v(tensor({1.5, 0.75}), "v");
    const auto eager = [&](const Tensor& l, const Tensor& r) { return c.fn(l, r, outside, v); };
    const Function f = trace(eager, {kVector, kVector});
    GradientTape tape({.persistent = true}), eager_tape({.persistent = true});
    const std::vector<GradSource> sources{a, b, outside, v};
    for (const Tensor& t : {a, b, outside}) {
      tape.watch(t);
      eager_tape.watch(t);
    }
    const List got = f.call(List{a, b}), expected = eager(a, b);
    for (size_t k = 0; k < got.size(); ++k) {
      const Tensor seed = tensor({3.0, -2.0});
      expect_same(tape.gradient(got[k], sources, seed), eager_tape.gradient(expected[k], sources, seed),
                  std::string(c.name) + ", output " + std::to_string(k));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
