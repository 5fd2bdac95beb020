// Shapes and values that are known only when a graph runs: whatever comes, a run gives what eager calls give, or their
// error. (The same is asked of every op alone by the question "late" of the op table.)
#include <boost/test/unit_test.hpp>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/trace/trace.h"

namespace panto::test {
namespace {

using Floats = std::vector<float>;

// As many ones as `n` says: an operand whose length nobody knows before the run.
Tensor some_ones(const Tensor& n) { return cast(ones_like(range(0, n, 1)), kFloat32); }

const std::vector<TensorSpec> kHundredAndCount = {TensorSpec(kFloat32, {100}), TensorSpec(kInt32, {})};

BOOST_AUTO_TEST_SUITE(late_shapes)

BOOST_AUTO_TEST_CASE(operands_that_turn_out_not_to_fit_are_refused) {
  const Function f = trace([](const Tensor& a, const Tensor& n) { return a * some_ones(n); }, kHundredAndCount);
  for (const char* passes : {"", "off"}) {
    f.set_optimizer(passes);
    for (const int n : {3, 99, 101}) {
      expect_error_begins([&] { f(ones({100}), tensor(n)); },
                          error_text([&] { mul(ones({100}), ones({n})); }).substr(0, 60));
    }
    BOOST_TEST((f(ones({100}), tensor(100)).to_vector<float>() == Floats(100, 1.f)));
    BOOST_TEST((f(ones({100}), tensor(1)).to_vector<float>() == Floats(100, 1.f)));
  }
}

BOOST_AUTO_TEST_CASE(operands_of_a_loop_are_refused_too) {
  const Function f = trace(
      [](const Tensor& a, const Tensor& n) {
        const Tensor b = some_ones(n);
        return tanh(a * b + 1.f) - select(a > b, b, a);
      },
      kHundredAndCount);
  for (const char* passes : {"", "off"}) {
    f.set_optimizer(passes);
    expect_error_begins([&] { f(ones({100}), tensor(3)); }, "InvalidArgument: shapes: expected");
    BOOST_TEST(f(ones({100}), tensor(100)).shape() == Shape{100});
    BOOST_TEST(f(ones({100}), tensor(1)).shape() == Shape{100});
  }
}

// Inference has it that there are as many elements as before: only the run shows that the shape says otherwise.
BOOST_AUTO_TEST_CASE(reshapes_that_turn_out_not_to_fit_are_refused) {
  const auto twice = [](const Tensor& s) { return reshape(reshape(tensor({3.f}), s), {1}); };
  const auto once = [](const Tensor& s) { return exp(reshape(tensor({1.f, 2.f}), s)); };
  const auto integers = [](const Tensor& s) { return maximum(reshape(tensor({0, 2}), s), tensor({0, 0})); };
  const auto repeated = [](const Tensor& s) { return ones({2}) + reshape(broadcast_to(ones({1}), s), {2}); };
  for (const char* passes : {"", "off"}) {
    const auto check = [&](Function f, const std::vector<int32_t>& fits, const std::vector<int32_t>& other) {
      f.set_optimizer(passes);
      BOOST_TEST(f(tensor(fits)).numel() == (fits[0] < 0 ? 1 : fits[0]));
      expect_error_begins([&] { f(tensor(other)); }, "InvalidArgument: number of elements: expected ");
    };
    const std::vector<TensorSpec> spec = {TensorSpec(kInt32, {1})};
    check(trace(twice, spec), {1}, {0});
    check(trace(twice, spec), {-1}, {2});
    check(trace(once, spec), {2}, {1});
    check(trace(integers, spec), {2}, {1});
    check(trace(repeated, spec), {2}, {3});
  }
}

// Of the sum's shape only the bias tells the last dimension.
BOOST_AUTO_TEST_CASE(a_bias_that_turns_out_not_to_fit_is_refused) {
  const Function f = trace([](const Tensor& dims) { return bias_add(broadcast_to(ones({2, 1}), dims), ones({2})); },
                           {TensorSpec(kInt32, {2})});
  for (const char* passes : {"", "off"}) {
    f.set_optimizer(passes);
    for (const int columns : {1, 5}) {
      expect_error_begins([&] { f(tensor({2, columns})); }, "InvalidArgument: bias: number of channels: expected ");
    }
    BOOST_TEST((f(tensor({2, 2})).to_vector<float>() == Floats(4, 2.f)));
  }
}

BOOST_AUTO_TEST_CASE(gradients_that_turn_out_not_to_fit_are_refused) {
  // ReluGrad does not broadcast: one number is not a hundred.
  Session s(text_graph(R"(
    dy = Placeholder(; dtype=float32, shape=[100])
    n = Placeholder(; dtype=int32, shape=[])
    zero = Const(; value=int32{0})
    one = Const(; value=int32{1})
    counted = Range(zero, n, one)
    y = Cast(counted; SrcT=int32, DstT=float32)
    dx = ReluGrad(dy, y)
    twice = AddV2(dx, dx)
  )"));
  for (const int n : {1, 99}) {
    expect_error_begins([&] { s.run({"twice"}, {{"dy", ones({100})}, {"n", tensor(n)}}); },
                        "InvalidArgument: shapes: expected equal ones, got [100] and [" + std::to_string(n) + "]");
  }
  BOOST_TEST(s.run("twice", {{"dy", ones({100})}, {"n", tensor(100)}}).shape() == Shape{100});
}

BOOST_AUTO_TEST_CASE(a_plan_for_ever_new_shapes_checks_each_of_them) {
  Session s(text_graph(R"(
    a = Placeholder(; dtype=float32, shape=[100])
    b = Placeholder(; dtype=float32, shape=[?])
    y = Mul(a, b)
    z = AddN(a, b; N=2)
  )"));
  for (int n = 1; n < 40; ++n) {
    const Tensor a = ones({100}), b = ones({n});
    if (n == 1) {
      BOOST_TEST((s.run("y", {{"a", a}, {"b", b}}).to_vector<float>() == Floats(100, 1.f)));
    } else {
      expect_error_begins([&] { s.run({"y"}, {{"a", a}, {"b", b}}); }, "InvalidArgument: shapes: expected");
    }
    expect_error_begins([&] { s.run({"z"}, {{"a", a}, {"b", b}}); }, "InvalidArgument: shapes: expected equal ones");
  }
  // The same where many shapes were right: the plan then knows none.
  Session open(text_graph(R"(
    a = Placeholder(; dtype=float32, shape=[?])
    b = Placeholder(; dtype=float32, shape=[?])
    c = Const(; value=float32[3]{1, 2, 3})
    y = Mul(a, b)
    z = Mul(y, c)
  )"));
  for (int n = 1; n < 40; ++n) BOOST_TEST(open.run("y", {{"a", ones({n})}, {"b", ones({n})}}).dim(0) == n);
  expect_error_begins([&] { open.run({"y"}, {{"a", ones({50})}, {"b", ones({51})}}); },
                      "InvalidArgument: shapes: expected");
  for (int n = 1; n < 40; ++n) {
    const auto run = [&] { return open.run("z", {{"a", ones({n})}, {"b", ones({n})}}); };
    if (n == 1 || n == 3) {
      BOOST_TEST((run().to_vector<float>() == Floats{1, 2, 3}));
    } else {
      expect_error_begins(run, "InvalidArgument: shapes: expected");
    }
  }
}

BOOST_AUTO_TEST_CASE(values_of_variables_of_any_length_are_checked) {
  Session s(text_graph(R"(
    v = VarHandleOp(; dtype=float32, shape=[?])
    new = Placeholder(; dtype=float32, shape=[?])
    assign = AssignVariableOp(v, new; dtype=float32)
    value = ReadVariableOp(v; dtype=float32)
    a = Placeholder(; dtype=float32, shape=[100])
    y = Mul(a, value)
  )"));
  s.run("assign", {{"new", ones({3})}});
  expect_error_begins([&] { s.run({"y"}, {{"a", ones({100})}}); }, "InvalidArgument: shapes: expected");
  s.run("assign", {{"new", ones({100})}});
  BOOST_TEST(s.run("y", {{"a", ones({100})}}).shape() == Shape{100});
}

BOOST_AUTO_TEST_CASE(values_that_come_late_are_checked) {
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[10])
    begin = Placeholder(; dtype=int32, shape=[1])
    size = Const(; value=int32[1]{3})
    y = Slice(x, begin, size)
  )"));
  const Tensor x = cast(range(0, 10, 1), kFloat32);
  BOOST_TEST((s.run("y", {{"x", x}, {"begin", tensor({7})}}).to_vector<float>() == Floats{7, 8, 9}));
  const std::string eager = error_text([&] { slice(x, tensor({9}), tensor({3})); });
  expect_error_begins([&] { s.run({"y"}, {{"x", x}, {"begin", tensor({9})}}); }, eager.substr(0, eager.find(" [in")));
  expect_error_begins([&] { s.run({"y"}, {{"x", x}, {"begin", tensor({-1})}}); }, "InvalidArgument: begin");
}

BOOST_AUTO_TEST_CASE(what_depends_on_a_fed_tensor_is_inferred_anew) {
  for (const char* passes : {"", "off"}) {
    Session s(text_graph(R"(
      x = Placeholder(; dtype=float32, shape=[2,3])
      shape = Const(; value=int32[2]{2, 3})
      y = Reshape(x, shape)
      z = Reshape(y, shape)
      w = Relu(y)
      rows = Shape(y)
      size = Const(; value=int32[2]{2, 2})
      one = Const(; value=float32{1})
      filled = Fill(size, one)
      sum = Mul(filled, filled)
    )"),
              {.passes = passes});
    const Tensor x = tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}});
    const auto got = s.run({"y", "z", "w", "rows"}, {{"x", x}, {"shape", tensor({3, 2})}});
    BOOST_TEST((got[0].shape() == Shape{3, 2}), passes);
    BOOST_TEST((got[1].shape() == Shape{3, 2}), passes);
    BOOST_TEST((got[2].shape() == Shape{3, 2}), passes);
    BOOST_TEST((got[3].to_vector<int32_t>() == std::vector<int32_t>{3, 2}), passes);
    BOOST_TEST((s.run("sum", {{"size", tensor({4, 1})}}).shape() == Shape{4, 1}), passes);
    expect_error_begins([&] { s.run({"w"}, {{"x", x}, {"shape", tensor({4, 2})}}); }, "InvalidArgument: ");
  }
}

BOOST_AUTO_TEST_CASE(comparisons_may_answer_where_shapes_do_not_broadcast) {
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[2,1])
    shape = Const(; value=int32[2]{16, 33})
    one = Const(; value=float32{1})
    many = Fill(shape, one)
    tall = Placeholder(; dtype=float32, shape=[3,33])
    same = Equal(many, tall; incompatible_shape_error=false)
  )"));
  BOOST_TEST(!s.run("same", {{"tall", ones({3, 33})}}).item<bool>());
  BOOST_TEST(s.plan_stats().passes_undone == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
