// Functions: tracing, calling, capturing, saving.
#include "panto/trace/trace.h"

#include <algorithm>
#include <source_location>
#include <thread>

#include "panto/lib/base/log.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/tests/written.h"

namespace panto {
namespace {

// "<this file>:<line>"
std::string line_text(uint32_t line) {
  return std::string(std::source_location::current().file_name()) + ":" + std::to_string(line);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int count_ops(const Graph& graph, const std::string& op) {
  const std::vector<int> ids = graph.ids();
  return static_cast<int>(std::ranges::count_if(ids, [&](int id) { return graph.at(id).op().name() == op; }));
}

const TensorSpec kVector(kFloat64, {-1}, "x");

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(functions)

BOOST_AUTO_TEST_CASE(with_unknown_dimensions) {
  const Variable k(tensor({{1.F, -2.F, 0.5F}, {3.F, 4.F, -1.F}}), "k");
  const auto eager = [&](const Tensor& a) { return relu(matmul(a, k) + 0.25F); };
  int calls = 0;
  const Function f = trace(
      [&](const Tensor& a) {
        ++calls;
        BOOST_TEST(a.is_meta());
        BOOST_TEST(a.partial_shape().to_string() == "[?,2]");
        return eager(a);
      },
      {TensorSpec(kFloat32, {-1, 2}, "a")});
  for (int64_t batch : {int64_t{1}, int64_t{3}, int64_t{0}, int64_t{3}, int64_t{40}}) {
    const Tensor x = random_uniform({batch, 2}, {.seed = batch, .min = -1});
    expect_near(f(x), {batch, 3}, values_of(eager(x)), 1e-6);
  }
  BOOST_TEST(calls == 1);
  BOOST_TEST(f.num_traces() == 1);
  BOOST_REQUIRE_EQUAL(f.inputs().size(), 1U);
  BOOST_TEST(f.inputs()[0].name == "a");
  BOOST_TEST(f.outputs()[0].to_string() == "float32[?,3]");
  BOOST_TEST(f.to_string().starts_with("(a: float32[?,2]) -> (float32[?,3]), "), f.to_string());
  BOOST_TEST(f.graph().at("a").output(0).shape.to_string() == "[?,2]");
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit) {
  const Function f = trace([](const Tensor& a, const Tensor& b) { return a + b; },
                           {TensorSpec(kFloat32, {-1, 2}, "a"), TensorSpec(kFloat32, {}, "b")});
  const Tensor a = tensor({{1.F, 2.F}}), b = tensor(1.F);
  expect_error_begins([&] { f(a); }, "InvalidArgument: arguments: expected 2, got 1 ");
  expect_error_begins([&] { f(tensor({1.F, 2.F}), b); },
                      "InvalidArgument: argument 'a': expected float32[?,2], got float32[2] ");
  expect_error_begins([&] { f(a, tensor(1.0)); }, "InvalidArgument: argument 'b': expected float32[], got float64[] ");
  expect_error_begins([&] { f(a, Tensor()); },
                      "InvalidArgument: argument 'b': expected float32[], got an undefined tensor ");
  expect_error_begins([&] { trace([](const Tensor& x) { return x; }, {kVector, kVector}); },
                      "InvalidArgument: function: expected 1 specs, one for each argument, got 2 ");
  expect_error([] { Function()(tensor(1.F)); },
               "FailedPrecondition: function: expected one that was traced or loaded, got none");
}

BOOST_AUTO_TEST_CASE(kinds_of_results) {
  const Tensor x = tensor({1.0, 2.0});
  const Function pair = trace([](const Tensor& a) { return std::pair(a + 1.0, a * 2.0); }, {kVector});
  const auto two = pair.call({&x, 1});
  BOOST_REQUIRE_EQUAL(two.size(), 2U);
  expect_near(two[1], {2}, {2, 4});
  const Function list = trace([](const Tensor& a) { return std::vector<Tensor>{a, a * 2.0, a}; }, {kVector});
  BOOST_TEST(list.call({&x, 1}).size() == 3U);
  expect_near(list.call({&x, 1})[2], {2}, {1, 2});
  const Function three = trace([](const Tensor& a) { return std::tuple(a, a, a * 3.0); }, {kVector});
  expect_near(three.call({&x, 1})[2], {2}, {3, 6});
  const Function span = trace([](std::span<const Tensor> in) { return in[0] - in[1]; }, {kVector, kVector});
  expect_near(span(x, tensor({1.0, 1.0})), {2}, {0, 1});
  expect_error_begins([&] { pair(x); },
                      "FailedPrecondition: function: expected one with at most one output, got 2 (use call)");
  expect_error_begins([] { trace([](const Tensor&) { return Tensor(); }, {kVector}); },
                      "InvalidArgument: output 0: expected a tensor, got an undefined handle ");
}

BOOST_AUTO_TEST_CASE(outputs_that_are_no_results) {
  const Tensor outside = tensor({7.0, 8.0});
  const Function f =
      trace([&](const Tensor& a) { return std::vector<Tensor>{a, outside, cast(3.0, kFloat64), a}; }, {kVector});
  const Tensor x = tensor({1.0});
  const auto out = f.call({&x, 1});
  expect_near(out[0], {1}, {1});
  expect_near(out[1], {2}, {7, 8});
  expect_near(out[2], 3);
  expect_near(out[3], {1}, {1});
}

BOOST_AUTO_TEST_CASE(without_a_signature_each_new_one_is_traced) {
  int calls = 0;
  const Function f = trace([&](const Tensor& a) {
    ++calls;
    return a * a.dim(0);  // a shape is known here: it becomes a constant
  });
  expect_error([&] { (void)f.graph(); },
               "FailedPrecondition: function: expected it to be called first, got no trace yet");
  expect_near(f(tensor({1.0, 2.0})), {2}, {2, 4});
  expect_near(f(tensor({1.0, 3.0})), {2}, {2, 6});
  BOOST_TEST(calls == 1);
  expect_near(f(tensor({1.0})), {1}, {1});
  expect_near(f(tensor({1.F, 2.F})), {2}, {2, 4});
  BOOST_TEST(calls == 3);
  expect_near(f(tensor({5.0, 5.0})), {2}, {10, 10});  // the first trace again
  BOOST_TEST(calls == 3);
  BOOST_TEST(f.num_traces() == 3);
}

BOOST_AUTO_TEST_CASE(retraces_are_logged_with_the_reason) {
  const std::string before = set_log_level("info");
  const uint32_t line = std::source_location::current().line() + 1;
  const Function f = trace([](std::span<const Tensor> a) { return a[0] * a[a.size() - 1]; });
  const std::string start = "retrace {} of the function traced at " + line_text(line);
  const auto reason = [&](const std::vector<Tensor>& inputs, const char* number = "") {
    const std::string text = test::written([&] { static_cast<void>(f.call(inputs)); });
    if (*number == '\0') return text;
    std::string wanted = start;
    wanted.replace(wanted.find("{}"), 2, number);
    const size_t at = text.find(wanted);
    return at == std::string::npos ? "no retrace in: " + text : text.substr(at + wanted.size());
  };
  const Tensor two = tensor({1.0, 2.0}), three = tensor({1.0, 2.0, 3.0}), floats = tensor({1.F, 2.F});
  BOOST_TEST(reason({two, two}).empty());
  BOOST_TEST(reason({two, two}).empty());
  BOOST_TEST(reason({three, three}, "1") == ": argument 'arg_0' is float64[3], was float64[2]\n");
  BOOST_TEST(reason({three, tensor(2.0)}, "2") == ": argument 'arg_1' is float64[], was float64[3]\n");
  BOOST_TEST(reason({floats, floats}, "3") == ": argument 'arg_0' is float32[2], was float64[3]\n");
  BOOST_TEST(reason({floats}, "4") == ": 1 arguments instead of 2\n");
  BOOST_TEST(reason({three, three}).empty());  // the second signature again
  BOOST_TEST(set_log_level("warn") == "info");
  BOOST_TEST(reason({three}).empty());
  set_log_level(before);
  BOOST_TEST(f.num_traces() == 6);
}

BOOST_AUTO_TEST_CASE(without_arguments) {
  const Variable k(tensor({1.0, 2.0}), "k");
  int calls = 0;
  const auto twice = [&] {
    ++calls;
    return k.value() * 2.0;
  };
  const Function f = trace(twice, {});
  BOOST_TEST(calls == 1);  // at once
  BOOST_TEST(f.inputs().empty());
  expect_near(f(), {2}, {2, 4});
  k.assign(tensor({5.0, 6.0}));
  expect_near(f(), {2}, {10, 12});
  BOOST_TEST(calls == 1);
  const std::vector<TensorSpec> none;
  expect_near(trace(twice, none)(), {2}, {10, 12});
  expect_near(trace(twice)(), {2}, {10, 12});
  expect_error_begins([&] { trace([](const Tensor& a) { return a; }, {}); },
                      "InvalidArgument: function: expected 1 specs, one for each argument, got 0");
  const Tensor x = tensor(1.0);
  expect_error_begins([&] { static_cast<void>(f(x)); }, "InvalidArgument: ");
}

BOOST_AUTO_TEST_CASE(too_many_signatures) {
  const Function f = trace([](const Tensor& a) { return a + 1.0; });
  const auto call = [&](int64_t n) { f(tensor(std::vector<double>(static_cast<size_t>(n)))); };
  for (int64_t n = 0; n < 64; ++n) call(n);
  expect_error_begins([&] { call(64); },
                      "FailedPrecondition: function: expected at most 64 signatures, got another (argument 'arg_0' is "
                      "float64[64], was float64[63]): trace it with specs that have -1 for the dimensions that change");
  call(3);
}

// ---- Values in traces -------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(reading_a_value_names_the_line_and_the_fix) {
  uint32_t line = 0;
  const std::string text = error_text([&] {
    trace(
        [&](const Tensor& a) {
          line = std::source_location::current().line() + 1;
          return a.item<double>() > 0 ? a : -a;
        },
        {TensorSpec(kFloat64, {}, "a")});
  });
  BOOST_TEST(text.starts_with("FailedPrecondition: value: expected a tensor that has one, got symbolic float64[]"),
             text);
  BOOST_TEST(contains(text, "[at " + line_text(line) + "]"), text);
  BOOST_TEST(contains(text, "trace_with"), text);
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_CASE(tracing_with_values_lists_what_it_bakes_in) {
  uint32_t line = 0;
  const auto fn = [&](const Tensor& a) {
    line = std::source_location::current().line() + 1;
    return a.item<double>() > 0 ? a * 2.0 : a * 3.0;
  };
  const Function f = trace_with(fn, {tensor(5.0)});
  BOOST_REQUIRE_EQUAL(f.baked().size(), 1U);
  BOOST_TEST(f.baked()[0] == line_text(line) + ": float64[]");
  expect_near(f(tensor(1.0)), 2);
  expect_near(f(tensor(-1.0)), -2);  // the branch is fixed
  expect_error_begins([&] { f(tensor({1.0})); },
                      "InvalidArgument: argument 'arg_0': expected float64[], got float64[1]");
  const Function plain = trace_with([](const Tensor& a) { return a * 2.0; }, {tensor({1.0, 2.0})});
  BOOST_TEST(plain.baked().empty());
  expect_near(plain(tensor({4.0, 5.0})), {2}, {8, 10});
}

BOOST_AUTO_TEST_CASE(symbolic_tensors_do_not_leave_their_trace) {
  Tensor leaked;
  (void)trace(
      [&](const Tensor& a) {
        leaked = a * 2.0;
        return leaked;
      },
      {kVector});
  expect_error_begins(
      [&] { trace([&](const Tensor& a) { return a + leaked; }, {kVector}); },
      "InvalidArgument: tensor: expected a value of this trace, got <symbolic float64[?]> of another one");
  BOOST_TEST(recorders().empty());
}

BOOST_AUTO_TEST_CASE(variables_are_made_outside) {
  uint32_t line = 0;
  const std::string text = error_text([&] {
    trace(
        [&](const Tensor& a) {
          line = std::source_location::current().line() + 1;
          const Variable v(tensor(1.0), "inside");
          return a * v;
        },
        {kVector});
  });
  BOOST_TEST(text.starts_with("FailedPrecondition: variable 'inside': expected it to be made before the function is "
                              "traced, got one inside [at " +
                              line_text(line) + "]"),
             text);
}

BOOST_AUTO_TEST_CASE(errors_inside_name_both_lines) {
  const std::source_location here = std::source_location::current();
  const std::string text =
      error_text([&] { trace([](const Tensor& a) { return mm(a, tensor({{1.0}})); }, {kVector}); });
  BOOST_TEST(contains(text, "while tracing, at " + line_text(here.line() + 2)), text);
  BOOST_TEST(contains(text, "in MatMul("), text);
  BOOST_TEST(recorders().empty());
}

// Shapes that fit only some values: found when the graph runs, with the line that made the node.
BOOST_AUTO_TEST_CASE(errors_at_run_time_name_the_node_and_its_line) {
  const uint32_t line = std::source_location::current().line() + 1;
  const Function f = trace([](const Tensor& a, const Tensor& b) { return named("total", a + b); }, {kVector, kVector});
  const std::string text = error_text([&] { f(tensor({1.0, 2.0}), tensor({1.0, 2.0, 3.0})); });
  BOOST_TEST(text.starts_with("InvalidArgument: "), text);
  BOOST_TEST(contains(text, "node 'total'"), text);
  BOOST_TEST(contains(text, line_text(line)), text);
}

// ---- Captures and effects ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(variables_are_captured_by_reference) {
  const Variable k(tensor({1.0, 2.0}), "captured");
  const Variable same = k;
  const Function f = trace([&](const Tensor& a) { return a * k + same; }, {kVector});
  const Tensor x = tensor({1.0, 1.0});
  expect_near(f(x), {2}, {2, 4});
  k.assign(tensor({10.0, 20.0}));
  expect_near(f(x), {2}, {20, 40});
  BOOST_REQUIRE_EQUAL(f.variables().size(), 1U);
  BOOST_TEST(f.variables()[0].name() == k.name());
  f.variables()[0].assign(tensor({0.0, 0.0}));
  expect_near(k.value(), {2}, {0, 0});
}

BOOST_AUTO_TEST_CASE(a_function_keeps_its_variables_alive) {
  Function f;
  {
    const Variable k(tensor(3.0), "short_lived");
    f = trace([&](const Tensor& a) { return a * k; }, {kVector});
  }
  expect_near(f(tensor({2.0})), {1}, {6});
}

BOOST_AUTO_TEST_CASE(effects_keep_their_order) {
  const Variable v(tensor(1.0), "v");
  const Function f = trace(
      [&](const Tensor& a) {
        const Tensor before = v.value();
        v.assign_add(a);
        const Tensor between = v.value();
        v.assign(between * 10.0);
        const Tensor after = v.value();
        return std::vector<Tensor>{before, between, after};
      },
      {TensorSpec(kFloat64, {}, "a")});
  for (const char* passes : {"off", ""}) {
    f.set_optimizer(passes);
    v.assign(tensor(1.0));
    const Tensor a = tensor(2.0);
    const auto first = f.call({&a, 1});
    expect_near(first[0], 1);
    expect_near(first[1], 3);
    expect_near(first[2], 30);
    expect_near(f.call({&a, 1})[2], 320);
    expect_near(v.value(), 320);
  }
}

BOOST_AUTO_TEST_CASE(effects_happen_though_nobody_asks_for_a_value) {
  const Variable count(tensor(int64_t{0}), "count");
  const Function f = trace([&](const Tensor&) { count.assign_add(tensor(int64_t{1})); }, {kVector});
  for (int i = 0; i < 3; ++i) BOOST_TEST(!f(tensor({1.0})).defined());
  BOOST_TEST(count.value().item<int64_t>() == 3);
}

BOOST_AUTO_TEST_CASE(prints_are_chained) {
  const Function f = trace(
      [](const Tensor& a) {
        print_text("one");
        assert_true(equal(size(a), 2), {a});
        print_text("three");
        return a;
      },
      {kVector});
  const Graph& g = f.graph();
  int previous = -1, chained = 0;
  for (int id : g.ids()) {
    if (!g.at(id).op().has_effect(Effect::kExternal)) continue;
    if (previous >= 0) {
      BOOST_TEST((std::ranges::find(g.at(id).control_inputs(), previous) != g.at(id).control_inputs().end()));
      ++chained;
    }
    previous = id;
  }
  BOOST_TEST(chained == 2);
  expect_error_begins([&] { f(tensor({1.0})); }, "InvalidArgument: ");
}

BOOST_AUTO_TEST_CASE(random_numbers_are_drawn_at_each_call) {
  const Function f = trace([](const Tensor& a) { return a + random_uniform({2}, {.dtype = kFloat64}); }, {kVector});
  const Tensor zero = tensor({0.0, 0.0});
  set_seed(9);
  const auto first = values_of(f(zero)), second = values_of(f(zero));
  BOOST_TEST((first != second));
  set_seed(9);
  BOOST_TEST((values_of(f(zero)) == first));
  const Function fixed =
      trace([](const Tensor& a) { return a + random_uniform({2}, {.seed = 4, .dtype = kFloat64}); }, {kVector});
  BOOST_TEST((values_of(fixed(zero)) == values_of(random_uniform({2}, {.seed = 4, .dtype = kFloat64}))));
  BOOST_TEST((values_of(fixed(zero)) == values_of(fixed(zero))));
}

// ---- Inside another trace ---------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_function_inside_another_becomes_part_of_it) {
  const Variable k(tensor({2.0, 3.0}), "k");
  const Function inner = trace(
      [&](const Tensor& a) {
        k.assign_add(tensor({1.0, 1.0}));
        return named("scaled", a * k);
      },
      {kVector});
  const Function outer = trace(
      [&](const Tensor& a) {
        const Tensor first = tanh(inner(a));
        return first + inner(a);
      },
      {kVector});
  BOOST_TEST(count_ops(outer.graph(), "Mul") == 2);
  BOOST_TEST(outer.variables().size() == 1U);
  const Tensor x = tensor({0.5, 0.25});
  const Tensor y = outer(x);
  expect_near(y, {2}, {std::tanh(0.5 * 3) + 0.5 * 4, std::tanh(0.25 * 4) + 0.25 * 5}, 1e-12);
  expect_near(k.value(), {2}, {4, 5});
}

BOOST_AUTO_TEST_CASE(many_threads_may_call) {
  const Variable k(tensor({2.0, 3.0}), "k");
  const Function f = trace([&](const Tensor& a) { return a * k + 1.0; });
  std::vector<std::thread> threads;
  std::vector<int> good(4, 0);
  for (size_t t = 0; t < good.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor y = t % 2 == 0 ? f(tensor({1.0, 2.0})) : f(tensor({{1.0, 2.0}}));
        if (y.to_vector<double>() == std::vector<double>{3, 7}) ++good[t];
      }
    });
  }
  for (auto& t : threads) t.join();
  for (int n : good) BOOST_TEST(n == 50);
  BOOST_TEST(f.num_traces() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
