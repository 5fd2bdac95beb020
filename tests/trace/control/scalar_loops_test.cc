// Loops whose values are single numbers, rounds of which run together (lib/runtime/control/scalar_loop.h): beside the
// same loops in C++, which call op by op.
#include <cmath>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "panto/lib/core/step/step.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/ops/array.h"
#include "panto/ops/lists.h"
#include "panto/panto.h"
#include "panto/tests/device/support.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/trace/control/functions.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(scalar_loops)

const std::vector<int64_t> kScalar = {};

std::vector<Tensor> traced(const TensorFunction& f, const std::vector<Tensor>& inputs) {
  std::vector<TensorSpec> specs;
  for (const Tensor& t : inputs) specs.emplace_back(t.dtype(), t.shape());
  const Function function = trace(f, specs);
  return function.call(inputs);
}

// Eagerly the same lambdas are a loop of C++. Compared by bits.
void same_as_cpp(const TensorFunction& f, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = f(inputs), found = traced(f, inputs);
  BOOST_REQUIRE(found.size() == expected.size());
  for (size_t k = 0; k < found.size(); ++k) {
    BOOST_TEST_CONTEXT("output " << k) BOOST_TEST(test::same_bits(found[k], expected[k]));
  }
}

// Fibonacci numbers: each value becomes the other one.
std::vector<Tensor> fibonacci(std::span<const Tensor> in) {
  auto [i, a, b] =
      while_loop([&](const Tensor& i, const Tensor&, const Tensor&) { return i < in[0]; },
                 [](const Tensor& i, const Tensor& a, const Tensor& b) { return std::tuple(i + 1, b, a + b); },
                 std::tuple(tensor(0), tensor(int64_t{0}), tensor(int64_t{1})));
  return {i, a, b};
}

BOOST_AUTO_TEST_CASE(values_that_change_places) {
  for (const int n : {-1, 0, 1, 2, 3, 50, 90}) same_as_cpp(fibonacci, {tensor(n)});
  BOOST_TEST(traced(fibonacci, {tensor(90)})[1].item<int64_t>() == 2880067194370816120);
}

BOOST_AUTO_TEST_CASE(every_type_gives_the_bits_of_its_ops) {
  for (const DType type : {kFloat16, kBFloat16, kFloat32, kFloat64, kComplex64, kComplex128, kInt8, kUint16, kInt64}) {
    const auto f = [type](std::span<const Tensor> in) {
      const Tensor step = cast(tensor(3), type);
      auto [i, x, y] = while_loop(
          [](const Tensor& i, const Tensor&, const Tensor&) { return i < 7; },
          [&](const Tensor& i, const Tensor& x, const Tensor& y) { return std::tuple(i + 1, x * step + in[0], y - x); },
          std::tuple(tensor(0), in[0], in[0]));
      return std::vector<Tensor>{i, x, y};
    };
    BOOST_TEST_CONTEXT(dtype_name(type)) same_as_cpp(f, {cast(tensor(2), type)});
  }
}

BOOST_AUTO_TEST_CASE(conditions_and_types_that_mix) {
  const auto collatz = [](std::span<const Tensor> in) {
    auto [n, steps, highest, odd] = while_loop(
        [](const Tensor& n, const Tensor&, const Tensor&, const Tensor&) { return n != int64_t{1}; },
        [](const Tensor& n, const Tensor& steps, const Tensor& highest, const Tensor& odd) {
          const Tensor is_odd = floor_mod(n, int64_t{2}) == int64_t{1};
          const Tensor next = where(is_odd, n * int64_t{3} + int64_t{1}, floor_div(n, int64_t{2}));
          return std::tuple(next, steps + 1.0, maximum(highest, cast(next, kFloat32)), logical_or(odd, is_odd));
        },
        std::tuple(in[0], tensor(0.0), cast(in[0], kFloat32), tensor(false)));
    return std::vector<Tensor>{n, steps, highest, odd};
  };
  for (const int64_t n : {1, 2, 27, 97}) same_as_cpp(collatz, {tensor(n)});
  BOOST_TEST(traced(collatz, {tensor(int64_t{27})})[1].item<double>() == 111);
}

BOOST_AUTO_TEST_CASE(a_round_that_fails_says_which_and_where) {
  const auto f = trace(
      [](const Tensor& x) {
        return while_loop([](const Tensor&, const Tensor& y) { return y < 1000; },
                          [](const Tensor& i, const Tensor& y) { return std::tuple(i - 1, y + floor_div(12, i)); },
                          std::tuple(x, tensor(0)));
      },
      {TensorSpec(kInt32, {})});
  BOOST_CHECK_EXCEPTION(f(tensor(5)), Error, [](const Error& e) {
    const std::string text = e.what();
    return e.code() == Code::kInvalidArgument && text.find("iteration 5") != std::string::npos &&
           text.find("FloorDiv") != std::string::npos;
  });
  // 12/-1 ... never reaches 1000 upwards; from 1 the second round divides by 0.
  BOOST_CHECK_EXCEPTION(f(tensor(1)), Error,
                        [](const Error& e) { return std::string(e.what()).find("iteration 1") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(a_loop_without_an_end_is_stopped) {
  const auto f = trace(
      [](const Tensor& x) {
        return while_loop([](const Tensor& i) { return i >= 0.0; }, [](const Tensor& i) { return i * 0.5; }, x);
      },
      {TensorSpec(kFloat64, {})});
  Step step = current_step();
  step.deadline = Step::deadline_in(0.05);
  const StepScope scope(step);
  expect_error_begins([&] { f(tensor(1.0)); }, "DeadlineExceeded: ");
}

BOOST_AUTO_TEST_CASE(gradients_of_both_orders) {
  // x to the power n, by n products.
  const auto f = trace(
      [](const Tensor& x, const Tensor& n) {
        GradientTape outer;
        outer.watch(x);
        Tensor y, dx;
        {
          GradientTape inner;
          inner.watch(x);
          y = test::power(x, n);
          dx = inner.gradient(y, x);
        }
        return std::vector<Tensor>{y, dx, outer.gradient(dx, x)};
      },
      {TensorSpec(kFloat64, {}), TensorSpec(kInt32, {})});
  for (const int n : {0, 1, 2, 5, 300}) {
    const double x = 1.01;
    const std::vector<Tensor> y = f.call(std::vector<Tensor>{tensor(x), tensor(n)});
    expect_near(y[0], std::pow(x, n));
    expect_near(y[1], n * std::pow(x, n - 1));
    expect_near(y[2], n * (n - 1.0) * std::pow(x, n - 2));
  }
}

// What one loop puts into lists another one takes out, and others see.
BOOST_AUTO_TEST_CASE(lists_that_rounds_make) {
  const auto f = [](std::span<const Tensor> in) {
    const Tensor empty = empty_tensor_list(kScalar, -1, kFloat32);
    auto [i, x, squares, halves] =
        while_loop([&](const Tensor& i, const Tensor&, const Tensor&, const Tensor&) { return i < in[0]; },
                   [](const Tensor& i, const Tensor& x, const Tensor& squares, const Tensor& halves) {
                     return std::tuple(i + 1, x + 1.f, tensor_list_push_back(squares, x * x),
                                       tensor_list_push_back(halves, x * 0.5f));
                   },
                   std::tuple(tensor(0), tensor(1.f), empty, empty));
    auto [j, sum, rest] = while_loop([&](const Tensor& j, const Tensor&, const Tensor&) { return j + 2 < in[0]; },
                                     [](const Tensor& j, const Tensor& sum, const Tensor& rest) {
                                       auto [left, last] = tensor_list_pop_back(rest, kScalar, kFloat32);
                                       return std::tuple(j + 1, sum * 0.5f + last, left);
                                     },
                                     std::tuple(tensor(0), tensor(0.f), squares));
    // A list that was shortened, and one that is still whole, go on as any other.
    const Tensor longer = tensor_list_push_back(tensor_list_push_back(rest, -1.f), -2.f);
    return std::vector<Tensor>{sum, tensor_list_stack(squares, kScalar, kFloat32),
                               tensor_list_stack(halves, kScalar, kFloat32),
                               tensor_list_stack(longer, kScalar, kFloat32), tensor_list_length(rest)};
  };
  for (const int n : {0, 1, 2, 3, 70, 1000}) same_as_cpp(f, {tensor(n)});
}

BOOST_AUTO_TEST_CASE(lists_of_others) {
  // Elements of a tensor; a list that ends too soon; one with a limit; one that has elements before.
  const auto total = [](std::span<const Tensor> in) {
    const Tensor given = tensor_list_from_tensor(in[0], kScalar);
    auto [j, sum, rest] = while_loop([&](const Tensor& j, const Tensor&, const Tensor&) { return j < in[1]; },
                                     [](const Tensor& j, const Tensor& sum, const Tensor& rest) {
                                       auto [left, last] = tensor_list_pop_back(rest, kScalar, kFloat32);
                                       return std::tuple(j + 1, sum * 2.f + last, left);
                                     },
                                     std::tuple(tensor(0), tensor(0.f), given));
    return std::vector<Tensor>{sum, tensor_list_length(rest)};
  };
  const Tensor numbers = tensor({1.f, 2.f, 3.f});
  same_as_cpp(total, {numbers, tensor(2)});
  same_as_cpp(total, {numbers, tensor(3)});
  BOOST_CHECK_EXCEPTION(traced(total, {numbers, tensor(4)}), Error, [](const Error& e) {
    const std::string text = e.what();
    return text.find("list: expected at least 1 element, got none") != std::string::npos &&
           text.find("iteration 3") != std::string::npos;
  });
  const auto filled = [](int most, bool begun) {
    return [=](std::span<const Tensor> in) {
      Tensor list = empty_tensor_list(kScalar, most, kFloat32);
      if (begun) list = tensor_list_push_back(list, 7.f);
      auto [i, all] = while_loop([&](const Tensor& i, const Tensor&) { return i < in[0]; },
                                 [](const Tensor& i, const Tensor& all) {
                                   return std::tuple(i + 1, tensor_list_push_back(all, cast(i, kFloat32)));
                                 },
                                 std::tuple(tensor(0), list));
      return std::vector<Tensor>{tensor_list_stack(all, kScalar, kFloat32)};
    };
  };
  same_as_cpp(filled(-1, true), {tensor(5)});
  same_as_cpp(filled(5, false), {tensor(5)});
  expect_error_begins([&] { traced(filled(5, false), {tensor(6)}); },
                      "InvalidArgument: list: expected fewer than its max_num_elements 5, got 5 elements");
}

BOOST_AUTO_TEST_CASE(loops_in_loops_and_captured_values) {
  const auto f = [](std::span<const Tensor> in) {
    auto [i, total] = while_loop([&](const Tensor& i, const Tensor&) { return i < 5; },
                                 [&](const Tensor& i, const Tensor& total) {
                                   auto [j, inner] = while_loop([&](const Tensor& j, const Tensor&) { return j < i; },
                                                                [&](const Tensor& j, const Tensor& y) {
                                                                  return std::tuple(j + 1, y * in[0] + total);
                                                                },
                                                                std::tuple(tensor(0), tensor(1.0)));
                                   return std::tuple(i + 1, total + inner);
                                 },
                                 std::tuple(tensor(0), in[0]));
    GradientTape tape;
    return std::vector<Tensor>{i, total};
  };
  same_as_cpp(f, {tensor(0.75)});
}

// Tensors with one element and any number of dimensions, beside scalars.
BOOST_AUTO_TEST_CASE(values_of_one_element) {
  const auto f = [](std::span<const Tensor> in) {
    auto [i, x, y] = while_loop(
        [](const Tensor& i, const Tensor&, const Tensor&) { return i < 9; },
        [&](const Tensor& i, const Tensor& x, const Tensor& y) { return std::tuple(i + 1, x * 0.75f + in[0], x - y); },
        std::tuple(tensor(0), in[1], in[1]));
    return std::vector<Tensor>{i, x, y};
  };
  for (const Shape& shape : {Shape{1}, Shape{1, 1}, Shape{1, 1, 1}}) {
    same_as_cpp(f, {tensor(0.5f), reshape(tensor(3.f), shape)});
    same_as_cpp(f, {reshape(tensor(0.5f), Shape{1}), reshape(tensor(3.f), shape)});
  }
  // A value that gets a dimension in the first round has no one shape.
  const auto deeper = [](std::span<const Tensor> in) {
    WhileOptions options;
    options.shape_invariants = {PartialShape{}, PartialShape::unknown()};
    auto [i, x] = while_loop([](const Tensor& i, const Tensor&) { return i < 4; },
                             [&](const Tensor& i, const Tensor& x) { return std::tuple(i + 1, x * in[1]); },
                             std::tuple(tensor(0), in[0]), options);
    return std::vector<Tensor>{i, x};
  };
  same_as_cpp(deeper, {tensor(2.f), reshape(tensor(3.f), Shape{1, 1})});
}

BOOST_AUTO_TEST_CASE(lists_of_one_element_each) {
  const std::vector<int64_t> one = {1};
  const auto f = [&](std::span<const Tensor> in) {
    auto [i, x, squares] = while_loop([&](const Tensor& i, const Tensor&, const Tensor&) { return i < in[0]; },
                                      [](const Tensor& i, const Tensor& x, const Tensor& squares) {
                                        return std::tuple(i + 1, x + 1.f, tensor_list_push_back(squares, x * x));
                                      },
                                      std::tuple(tensor(0), tensor({1.f}), empty_tensor_list(one, -1, kFloat32)));
    auto [j, sum, rest] = while_loop([&](const Tensor& j, const Tensor&, const Tensor&) { return j + 2 < in[0]; },
                                     [&](const Tensor& j, const Tensor& sum, const Tensor& rest) {
                                       auto [left, last] = tensor_list_pop_back(rest, one, kFloat32);
                                       return std::tuple(j + 1, sum * 0.5f + last, left);
                                     },
                                     std::tuple(tensor(0), tensor({0.f}), squares));
    return std::vector<Tensor>{sum, tensor_list_stack(squares, one, kFloat32), tensor_list_stack(rest, one, kFloat32)};
  };
  for (const int n : {0, 1, 3, 70, 1000}) same_as_cpp(f, {tensor(n)});
  const auto power = trace(
      [](const Tensor& x, const Tensor& n) {
        GradientTape tape;
        tape.watch(x);
        const Tensor y = test::power(x, n);
        return std::vector<Tensor>{y, tape.gradient(y, x)};
      },
      {TensorSpec(kFloat64, {1}), TensorSpec(kInt32, {})});
  for (const int n : {1, 2, 5, 300}) {
    const std::vector<Tensor> y = power.call(std::vector<Tensor>{tensor({1.01}), tensor(n)});
    expect_near(y[1], {1}, {n * std::pow(1.01, n - 1)});
  }
}

// What is not a scalar where the loop begins, or becomes something else, runs as before.
BOOST_AUTO_TEST_CASE(loops_of_more_than_scalars) {
  const auto f = [](std::span<const Tensor> in) {
    auto [i, x] = while_loop([](const Tensor& i, const Tensor&) { return i < 3; },
                             [](const Tensor& i, const Tensor& x) { return std::tuple(i + 1, x + x); },
                             std::tuple(tensor(0), in[0]));
    return std::vector<Tensor>{i, x};
  };
  same_as_cpp(f, {tensor({1.f, 2.f})});
  same_as_cpp(f, {tensor(std::vector<float>{})});
  const auto grows = [](std::span<const Tensor> in) {
    WhileOptions options;
    options.shape_invariants = {PartialShape{}, PartialShape{-1}};
    auto [i, x] = while_loop([](const Tensor& i, const Tensor&) { return i < 3; },
                             [](const Tensor& i, const Tensor& x) { return std::tuple(i + 1, concat({x, x}, 0)); },
                             std::tuple(tensor(0), in[0]), options);
    return std::vector<Tensor>{i, x};
  };
  same_as_cpp(grows, {tensor(std::vector<float>{4})});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
