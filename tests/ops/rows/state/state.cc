// Samples of ops with state or effects: variables, optimizer steps, assertions, printing.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"
#include "panto/tests/written.h"

namespace panto::test::state_rows {
namespace {

std::vector<Array> same(const Given& g) {
  Array y = g.in[0];
  y.is_variable = false;
  return {y};
}

template <class F>
std::vector<Array> combined(const Given& g, F f) {
  Array y = g.in[0];
  for (size_t i = 0; i < y.values.size(); ++i) y.values[i] = f(y.values[i], g.in[1].values[i]);
  return {y};
}

Tensor handle_of(const char* name, const PartialShape& shape = {2}) {
  return var_handle_op(kFloat32, shape, {.container = "state_rows", .shared_name = name});
}

void named_handles() {
  assign_variable_op(handle_of("shared"), tensor({1.f, 2.f}));
  BOOST_TEST(difference(list({1, 2}), read_variable_op(handle_of("shared"), kFloat32), {}) == "");
  BOOST_TEST(&variable_of(handle_of("shared")) == &variable_of(handle_of("shared")));
  BOOST_TEST(&variable_of(handle_of("shared")) != &variable_of(handle_of("other")));
  expect_error_begins(
      [] { handle_of("shared", {3}); },
      "InvalidArgument: variable \"shared\": expected float32 of shape [3], got one declared before as ");
}

void uninitialized() {
  const Tensor handle = handle_of("never assigned");
  BOOST_TEST(!var_is_initialized_op(handle).item<bool>());
  expect_error_begins(
      [&] { read_variable_op(handle, kFloat32); },
      "FailedPrecondition: variable \"never assigned\": expected an initialized one, got none assigned yet "
      "[in ReadVariableOp(");
  expect_error_begins([&] { assign_add_variable_op(handle, tensor({1.f, 2.f})); }, "FailedPrecondition: ");
}

// Two nodes that name one variable are one variable, and a third is not.
void handles_saved() {
  const auto build = [] {
    named("one", handle_of("shared"));
    const Tensor other = named("other", handle_of("other"));
    const CollectEffects effects;
    assign_variable_op(handle_of("shared"), tensor({1.f, 2.f}));
    group(effects.operations(), "assign");
    named("read", read_variable_op(named("two", handle_of("shared")), kFloat32));
    named("read_other", read_variable_op(other, kFloat32));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    expect_error_begins([&] { session.run({"read"}); }, "FailedPrecondition: variable \"shared\": ");
    session.run("assign");
    BOOST_TEST(difference(list({1, 2}), session.run("read"), {}) == "");
    expect_error_begins([&] { session.run({"read_other"}); }, "FailedPrecondition: variable \"other\": ");
  }
}

void shapes_and_counts() {
  const auto build = [] {
    const Tensor any = named("any", var_handle_op(kInt64, PartialShape()));
    BOOST_TEST(variable_shape(any).partial_shape().to_string() == "[?]");
    BOOST_TEST(variable_shape(handle_of("shared")).partial_shape().to_string() == "[1]");
    const auto operation = [](const char* name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    operation("scalar", [&] { assign_variable_op(any, tensor(int64_t{3})); });
    operation("matrix", [&] { assign_variable_op(any, tensor({{int64_t{1}, int64_t{2}}})); });
    operation("no_copies", [&] { disable_copy_on_read(any); });
    named("shape", variable_shape(any, {.out_type = kInt64}));
    named("count", resource_count_up_to(any, 5, kInt64));
    named("read", read_variable_op(any, kInt64));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    expect_error_begins([&] { session.run({"shape"}); }, "FailedPrecondition: variable ");
    session.run("scalar");
    session.run("no_copies");
    BOOST_TEST(session.run("shape").to_string() == "[]");
    for (const int64_t i : {3, 4}) BOOST_TEST(session.run("count").item<int64_t>() == i);
    expect_error_begins([&] { session.run({"count"}); }, "OutOfRange: limit: expected a count below 5, got 5");
    BOOST_TEST(session.run("read").item<int64_t>() == 5);
    session.run("matrix");
    BOOST_TEST(session.run("shape").to_string() == "[1 2]");
    expect_error_begins([&] { session.run({"count"}); },
                        "InvalidArgument: resource: expected a scalar, got shape [1,2]");
  }
}

const Sample kVariable = {.in = {variable(draw({2, 3}))}};
const std::vector<Sample> kVariableAndValue = {{.in = {variable(draw({2, 3})), draw({2, 3}, -2, 2, 1)}},
                                               {.in = {variable(draw({})), draw({}, -2, 2, 1)}},
                                               {.in = {variable(draw({37})), draw({37}, -2, 2, 1)}},
                                               {.in = {variable(draw({0})), draw({0})}}};
const ErrorSample kWrongShape = {.in = {variable(draw({2, 3})), draw({3})},
                                 .text = "value: expected the variable's shape [2,3], got [3] [variable \"test_array_"};
const ErrorSample kWrongType = {.in = {variable(draw({2}).as(kFloat64)), draw({2}).as(kFloat32)},
                                .text = "dtype: expected the variable's float64, got float32 [variable \"test_array_"};

const Family variables(
    "state",
    {
        {"VarHandleOp",
         {.errors = {{.in = {}, .attrs = {{"dtype", kFloat32}}, .text = "attribute shape: expected a value, got none"}},
          .own = {{"named", named_handles}, {"saved", handles_saved}}}},
        {"VariableShape", {.own = {{"saved", shapes_and_counts}}}},
        {"DisableCopyOnRead", {.own = {{"saved", shapes_and_counts}}}},
        {"VarIsInitializedOp",
         {.samples = {kVariable},
          .reference = [](const Given&) { return std::vector<Array>{scalar(1)}; },
          .own = {{"uninitialized", uninitialized}}}},
        {"ReadVariableOp",
         {.samples = {kVariable, {.in = {variable(draw({}))}}, {.in = {variable(draw({0}))}}},
          .reference = same,
          .gradient = false,
          .data_dependent_shape = true}},
        {"AssignVariableOp",
         {.samples = kVariableAndValue,
          .after = [](const Given& g) { return std::vector<Array>{g.in[1]}; },
          .errors = {kWrongShape, kWrongType},
          .effect = true}},
        {"AssignAddVariableOp",
         {.samples = kVariableAndValue,
          .after = [](const Given& g) { return combined(g, [](double x, double y) { return x + y; }); },
          .errors = {kWrongShape, kWrongType},
          .effect = true}},
        {"AssignSubVariableOp",
         {.samples = kVariableAndValue,
          .after = [](const Given& g) { return combined(g, [](double x, double y) { return x - y; }); },
          .errors = {kWrongShape, kWrongType},
          .types = dtypes::kAny - DTypeSet{kUint8, kUint16, kUint32, kUint64},
          .effect = true}},
    });

// ---- Optimizer steps --------------------------------------------------------------------------------------------

std::vector<Array> gradient_descent(const Given& g) {
  Array var = g.in[0];
  for (size_t i = 0; i < var.values.size(); ++i) var.values[i] -= g.in[1].values[0] * g.in[2].values[i];
  return {var};
}

// Kingma and Ba 2015, in the order of TensorFlow's arguments.
std::vector<Array> adam(const Given& g) {
  Array var = g.in[0], m = g.in[1], v = g.in[2];
  auto number = [&](size_t i) { return g.in[i].values[0]; };
  const double beta1_power = number(3), beta2_power = number(4), lr = number(5), beta1 = number(6), beta2 = number(7);
  const double epsilon = number(8), rate = lr * std::sqrt(1 - beta2_power) / (1 - beta1_power);
  for (size_t i = 0; i < var.values.size(); ++i) {
    const double grad = g.in[9].values[i];
    m.values[i] = beta1 * m.values[i] + (1 - beta1) * grad;
    v.values[i] = beta2 * v.values[i] + (1 - beta2) * grad * grad;
    const double step = g.flag("use_nesterov") ? beta1 * m.values[i] + (1 - beta1) * grad : m.values[i];
    var.values[i] -= rate * step / (std::sqrt(v.values[i]) + epsilon);
  }
  return {var, m, v};
}

Sample adam_sample(const Index& dims, bool nesterov) {
  return {.in = {variable(draw(dims)), variable(draw(dims, -1, 1, 1)), variable(draw(dims, 0.1, 1, 2)), scalar(0.81),
                 scalar(0.998), scalar(0.01), scalar(0.9), scalar(0.999), scalar(1e-7), draw(dims, -1, 1, 3)},
          .attrs = {{"use_nesterov", nesterov}}};
}

// Both forms, in the order of TensorFlow's arguments: the rate applied to the sum, or (Keras) to each gradient.
template <bool kKeras>
std::vector<Array> momentum(const Given& g) {
  Array var = g.in[0], accum = g.in[1];
  const double lr = g.in[2].values[0], momentum = g.in[4].values[0];
  for (size_t i = 0; i < var.values.size(); ++i) {
    const double last = accum.values[i], grad = g.in[3].values[i];
    accum.values[i] = kKeras ? momentum * last - lr * grad : momentum * last + grad;
    const double sum = accum.values[i];
    if (kKeras) {
      var.values[i] += g.flag("use_nesterov") ? momentum * sum - lr * grad : sum;
    } else {
      var.values[i] -= lr * (g.flag("use_nesterov") ? grad + momentum * sum : sum);
    }
  }
  return {var, accum};
}

Sample momentum_sample(const Index& dims, bool nesterov) {
  return {
      .in = {variable(draw(dims)), variable(draw(dims, -1, 1, 1)), scalar(0.125), draw(dims, -1, 1, 3), scalar(0.9)},
      .attrs = {{"use_nesterov", nesterov}}};
}

// Hinton's lecture 6e (2012); with the mean of gradients, Graves 2013, equations 38 to 40.
std::vector<Array> rms_prop(const Given& g) {
  const bool centered = g.in.size() == 9;
  const size_t first = centered ? 4 : 3;
  Array var = g.in[0], mg = g.in[1], ms = g.in[first - 2], mom = g.in[first - 1];
  auto number = [&](size_t i) { return g.in[first + i].values[0]; };
  const double lr = number(0), rho = number(1), momentum = number(2), epsilon = number(3);
  for (size_t i = 0; i < var.values.size(); ++i) {
    const double grad = g.in.back().values[i];
    ms.values[i] = rho * ms.values[i] + (1 - rho) * grad * grad;
    if (centered) mg.values[i] = rho * mg.values[i] + (1 - rho) * grad;
    const double mean = centered ? mg.values[i] : 0;
    mom.values[i] = momentum * mom.values[i] + lr * grad / std::sqrt(ms.values[i] - mean * mean + epsilon);
    var.values[i] -= mom.values[i];
  }
  if (centered) return {var, mg, ms, mom};
  return {var, ms, mom};
}

Sample rms_prop_sample(const Index& dims) {
  return {.in = {variable(draw(dims)), variable(draw(dims, 0.1, 1, 1)), variable(draw(dims, -1, 1, 2)), scalar(0.01),
                 scalar(0.9), scalar(0.5), scalar(1e-7), draw(dims, -1, 1, 3)}};
}

// The mean's square is smaller than the mean square, as it always is.
Sample centered_rms_prop_sample(const Index& dims) {
  Sample sample = rms_prop_sample(dims);
  sample.in[1] = variable(draw(dims, 0.5, 1, 1));
  sample.in.insert(sample.in.begin() + 1, variable(draw(dims, -0.5, 0.5, 4)));
  return sample;
}

// Duchi et al. 2011, in the order of TensorFlow's arguments.
std::vector<Array> adagrad(const Given& g) {
  Array var = g.in[0], accum = g.in[1];
  const double lr = g.in[2].values[0], epsilon = g.in[3].values[0];
  for (size_t i = 0; i < var.values.size(); ++i) {
    const double grad = g.in[4].values[i];
    if (g.flag("update_slots")) accum.values[i] += grad * grad;
    var.values[i] -= lr * grad / (std::sqrt(accum.values[i]) + epsilon);
  }
  return {var, accum};
}

Sample adagrad_sample(const Index& dims, bool update_slots) {
  return {
      .in = {variable(draw(dims)), variable(draw(dims, 0.1, 1, 1)), scalar(0.125), scalar(1e-3), draw(dims, -1, 1, 3)},
      .attrs = {{"update_slots", update_slots}}};
}

// The sample's inputs, one of them replaced.
std::vector<Array> with(const Sample& sample, size_t input, Array value) {
  std::vector<Array> in = sample.in;
  in[input] = std::move(value);
  return in;
}

// What every step but the simplest refuses: a gradient (input `grad`) and a rate (input `rate`) of other shapes.
std::vector<ErrorSample> step_errors(const Sample& sample, size_t grad, size_t rate) {
  return {{.in = with(sample, grad, draw({3})),
           .text = "grad: expected the variable's shape [2,3], got [3] [variable \"test_array_"},
          {.in = with(sample, rate, list({1, 2})), .text = "lr: expected a scalar, got shape [2]"}};
}

// Slots that are one variable would be changed twice.
void same_slots() {
  const Tensor first = handle_of("slot"), second = handle_of("another");
  const Tensor x = tensor({1.f, 2.f}), rate = tensor(0.5f);
  assign_variable_op(first, x);
  assign_variable_op(second, x);
  expect_error_begins([&] { resource_apply_momentum(first, first, rate, x, rate); },
                      "InvalidArgument: var and accum: expected two variables, got \"slot\" twice");
  expect_error_begins([&] { resource_apply_rms_prop(first, second, second, rate, rate, rate, rate, x); },
                      "InvalidArgument: ms and mom: expected two variables, got \"another\" twice");
  BOOST_TEST(difference(x, read_variable_op(first, kFloat32)) == "");
}

const Family optimizers(
    "state",
    {
        {"ResourceApplyGradientDescent",
         {.samples = {{.in = {variable(draw({2, 3})), scalar(0.25), draw({2, 3}, -2, 2, 1)}},
                      {.in = {variable(draw({37})), scalar(0.25), draw({37}, -2, 2, 1)}},
                      {.in = {variable(draw({0})), scalar(0.25), draw({0})}}},
          .after = gradient_descent,
          .errors = {{.in = {variable(draw({2})), scalar(1), draw({3})},
                      .text = "delta: expected the variable's shape [2], got [3] [variable \"test_array_"},
                     {.in = {variable(draw({2})), list({1, 2}), draw({2})},
                      .text = "alpha: expected a scalar, got shape [2]"}},
          .effect = true}},
        {"ResourceApplyAdam",
         {.samples = {adam_sample({2, 3}, false), adam_sample({37}, false), adam_sample({5}, true),
                      adam_sample({0}, false)},
          .after = adam,
          .errors = step_errors(adam_sample({2, 3}, false), 9, 5),
          .units = 16,
          .effect = true}},
        {"ResourceApplyMomentum",
         {.samples = {momentum_sample({2, 3}, false), momentum_sample({37}, true), momentum_sample({0}, true)},
          .after = momentum<false>,
          .errors = step_errors(momentum_sample({2, 3}, false), 3, 2),
          .own = {{"slots differ", same_slots}},
          .effect = true}},
        {"ResourceApplyKerasMomentum",
         {.samples = {momentum_sample({2, 3}, false), momentum_sample({37}, true), momentum_sample({0}, true)},
          .after = momentum<true>,
          .errors = step_errors(momentum_sample({2, 3}, false), 3, 2),
          .effect = true}},
        {"ResourceApplyRMSProp",
         {.samples = {rms_prop_sample({2, 3}), rms_prop_sample({37}), rms_prop_sample({0})},
          .after = rms_prop,
          .errors = step_errors(rms_prop_sample({2, 3}), 7, 3),
          .units = 16,
          .effect = true}},
        {"ResourceApplyCenteredRMSProp",
         {.samples = {centered_rms_prop_sample({2, 3}), centered_rms_prop_sample({37}), centered_rms_prop_sample({0})},
          .after = rms_prop,
          .errors = step_errors(centered_rms_prop_sample({2, 3}), 8, 4),
          .units = 16,
          .effect = true}},
        {"ResourceApplyAdagradV2",
         {.samples = {adagrad_sample({2, 3}, true), adagrad_sample({37}, false), adagrad_sample({0}, true)},
          .after = adagrad,
          .errors = step_errors(adagrad_sample({2, 3}, true), 4, 2),
          .units = 8,
          .effect = true}},
    });

// ---- Assertions and printing ------------------------------------------------------------------------------------

void print_shows() {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
  Tensor y;
  BOOST_TEST(written([&] { y = print_data(x, {x, tensor("text")}, {.message = "values: "}); }) ==
             "values: [[1 2][3...]...][text]\n");
  BOOST_TEST(difference(x, y) == "");
  BOOST_TEST(written([&] { print_data(x, {x}, {.summarize = -1}); }) == "[[1 2][3 4]]\n");
}

void print_text_shows() {
  BOOST_TEST(written([] { print_text("a line"); }) == "a line\n");
  BOOST_TEST(written([] { print_text("no line", {.end = ""}); }) == "no line");
}

void print_saved() {
  const auto build = [] {
    const Tensor x = placeholder(kFloat32, {-1}, "x");
    named("y", print_data(x, {x, tensor("text")}, {.message = "values: ", .summarize = 2}));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    const Tensor x = tensor({1.f, 2.f, 3.f});
    Tensor y;
    BOOST_TEST(written([&] { y = session.run("y", {{"x", x}}); }) == "values: [1 2...][text]\n");
    BOOST_TEST(difference(x, y) == "");
  }
}

void print_text_saved() {
  const auto build = [] {
    const CollectEffects effects;
    print_text(placeholder(kString, {}, "text"), {.end = "!\n"});
    group(effects.operations(), "say");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    BOOST_TEST(written([&] { session.run("say", {{"text", tensor("one")}}); }) == "one!\n");
  }
}

void assertion_saved() {
  const auto build = [] {
    const CollectEffects effects;
    assert_true(placeholder(kBool, {}, "good"), {tensor({1, 2, 3, 4}), tensor("text")}, {.summarize = 2});
    group(effects.operations(), "check");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    BOOST_CHECK_NO_THROW(session.run("check", {{"good", tensor(true)}}));
    expect_error_begins([&] { session.run("check", {{"good", tensor(false)}}); },
                        "InvalidArgument: assertion: expected true, got false; [1 2...] [text] ");
  }
}

// ---- Transfers ----------------------------------------------------------------------------------------------------

// A graph that was cut, with both halves in it; the Recv is written first.
template <class Receive, class Send>
void transfer_saved(const Receive& receive, const Send& send) {
  const auto build = [&] {
    const Tensor x = placeholder(kFloat32, {-1}, "x");
    named("y", mul(receive(), tensor(2.f)));
    send(add(x, tensor(1.f)));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    for (const float value : {3.f, 4.f}) {  // each run has a rendezvous of its own
      const Tensor y = session.run("y", {{"x", tensor({value, 1.f})}});
      BOOST_TEST(difference(tensor({2 * value + 2, 4.f}), y) == "");
    }
  }
}
Tensor receive() { return receive_tensor(kFloat32, "edge", "/device:CPU:0", 1, "/device:CPU:1"); }
void send(const Tensor& x) { send_tensor(x, "edge", "/device:CPU:0", 1, "/device:CPU:1"); }

void device_transfer_saved() { transfer_saved(receive, send); }
void host_transfer_saved() {
  transfer_saved([] { return receive_host_tensor(kFloat32, "edge", "/device:CPU:0", 1, "/device:CPU:1"); },
                 [](const Tensor& x) { send_host_tensor(x, "edge", "/device:CPU:0", 1, "/device:CPU:1"); });
}

// What was sent is not written over by what the graph computes before it is read where it is received.
void transfer_is_kept() {
  const auto others = [](const Tensor& x, const Tensor& sent) {
    return add(mul(sent, tensor(2.f)), cumsum(cumsum(mul(x, tensor(3.f)), 0), 0));
  };
  Graph graph;
  {
    const GraphScope scope(graph);
    const Tensor x = placeholder(kFloat32, {64}, "x");
    const Tensor sent = exp(x);
    send(sent);
    const Tensor received = receive();
    named("y", add(received, others(x, sent)));
  }
  const Tensor x = full({64}, 0.5f);
  const Tensor expected = add(exp(x), others(x, exp(x)));
  for (const char* passes : {"", "off"}) {
    Session session(graph, {.passes = passes});
    for (int run = 0; run < 2; ++run) BOOST_TEST(difference(expected, session.run("y", {{"x", x}})) == "");
  }
}

// What is sent is made of what is received.
void transfer_to_itself() {
  Graph graph;
  {
    const GraphScope scope(graph);
    const Tensor received = receive();
    send(received);
    named("y", identity(received));
  }
  Session session(graph);
  expect_error_begins([&] { session.run("y"); },
                      "InvalidArgument: graph: expected no cycle, got 'n_Recv' -> 'n_Send' -> 'n_Recv'");
}

const Family transfers("state", {{"_Send", {.own = {{"saved", device_transfer_saved}, {"kept", transfer_is_kept}}}},
                                 {"_Recv", {.own = {{"saved", device_transfer_saved}, {"cycle", transfer_to_itself}}}},
                                 {"_HostSend", {.own = {{"saved", host_transfer_saved}}}},
                                 {"_HostRecv", {.own = {{"saved", host_transfer_saved}}}}});

const Family effects(
    "state",
    {
        {"Assert",
         {.samples = {{.in = {scalar(1), draw({2}).as(kFloat32)}}},
          .errors = {{.in = {scalar(0), list({1, 2, 3, 4}).as(kInt32), texts({}, {"text"})},
                      .text = "assertion: expected true, got false; [1 2 3...] [text] [in Assert("},
                     {.in = {list({1, 1}), scalar(0).as(kInt32)},
                      .text = "condition: expected a scalar, got shape [2]"},
                     {.in = {scalar(1)}, .text = "T: expected at least 1 elements, got 0"}},
          .own = {{"fails after a file", assertion_saved}},
          .effect = true}},
        {"Print", {.errors = {}, .own = {{"written", print_shows}, {"saved", print_saved}}, .effect = true}},
        {"PrintV2",
         {.errors = {{.in = {texts({}, {"a"})},
                      .attrs = {{"output_stream", "/tmp/file"}},
                      .code = Code::kUnimplemented,
                      .text = "output_stream: expected stderr, stdout, log(info), log(warning) or log(error), got "},
                     {.in = {texts({1}, {"a"})}, .text = "input: expected a scalar, got shape [1]"}},
          .own = {{"written", print_text_shows}, {"saved", print_text_saved}},
          .effect = true}},
    });

}  // namespace
}  // namespace panto::test::state_rows
