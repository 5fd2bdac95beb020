// What all optimizers have in common: slots, the two halves of minimize, and optimizers of one's own.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/checkpoint.h"
#include "panto/nn/training/clipping.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

// v -= rate * growth * m, where m = 0.5 * m + dv, of rows only those, and growth doubles at each step.
class Own final : public Optimizer {
 public:
  Own(std::vector<Variable> variables, Schedule rate, bool builds = true)
      : Optimizer(std::move(variables), std::move(rate)) {
    if (builds) build();
  }

 private:
  void create_slots(const std::vector<Variable>& variables) override {
    for (const Variable& v : variables) add_slot(v, "m");
    growth_ = add_shared("growth", 1);
  }
  void prepare() override { now_ = Scalar(growth_.value()); }
  void apply_dense(const Tensor& gradient, const Variable& v) override {
    const Variable& slot = get_slot(v, "m");
    const Tensor m = 0.5 * slot.value() + gradient;
    slot.assign(m);
    v.assign_sub(rate(v) * now_.as(v.dtype()) * m);
  }
  void apply_sparse(const Gradient& rows, const Variable& v) override {
    resource_scatter_sub(v, rows.indices, rate(v) * now_.as(v.dtype()) * rows.rows);
  }
  void finish() override { growth_.assign(now_.value() * 2.0); }

  Variable growth_;
  Scalar now_;
};

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(own_optimizers)

// Steps of gradient 1 at rate 1: m is 1, 1.5, 1.75, and counts 1, 2, 4 times.
BOOST_AUTO_TEST_CASE(four_functions_and_a_fifth) {
  const Variable v(tensor({0.F, 10.F}), "v"), w(tensor(0.0), "w");
  Own own({v, w}, 1);
  const auto step = [&] {
    own.apply({tensor({1.F, 2.F}), tensor(1.0)});
    return w.value();
  };
  const Function traced = trace(step);
  step();
  expect_near(v.value(), {2}, {-1, 8});
  traced();
  step();
  expect_near(v.value(), {2}, {-11, -12});
  expect_near(w.value(), -11);
  BOOST_TEST(own.slots().size() == 4U);  // m of each, growth, learning_rate
}

BOOST_AUTO_TEST_CASE(in_a_graph) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable v(tensor({0.0, 10.0}), "v");
  Own own({v}, 1);
  const Operation train = own.minimize(sum(v * tensor({1.0, 2.0})));
  const Operation init = global_variables_initializer();
  building.reset();
  Session session(graph);
  session.run(init);
  for (int i = 0; i < 3; ++i) session.run(train);
  expect_near(session.run(v), {2}, {-11, -12});
}

BOOST_AUTO_TEST_CASE(rows_are_added_up_first) {
  const Variable v(zeros({4, 1}, kFloat64), "v");
  Own own({v}, 1);
  own.apply(std::vector<Gradient>{
      {.indices = tensor({3, 1, 3}), .rows = tensor({{1.0}, {2.0}, {4.0}}), .num_rows = tensor(4)}});
  expect_near(v.value(), {4, 1}, {0, -2, 0, -5});
}

// One that does not say so when it is made makes its slots at its first step; a trace is too late for that.
BOOST_AUTO_TEST_CASE(slots_that_are_made_late) {
  const Variable v(tensor(0.0), "v");
  Own own({v}, 1, false);
  BOOST_TEST(own.slot_names().empty());
  const auto step = [&] {
    own.apply({tensor(1.0)});
    return v.value();
  };
  expect_error_begins([&] { trace(step)(); }, "FailedPrecondition: variable '");
  step();
  BOOST_TEST(own.slot_names() == (std::vector<std::string>{"m"}), boost::test_tools::per_element());
  trace(step)();
  expect_near(v.value(), -4);
}

BOOST_AUTO_TEST_CASE(slots_by_name) {
  const Variable a(tensor({1.F, 2.F}), "a"), b(tensor({{3.F, 4.F}}), "b"), other(tensor(1.F), "other");
  Adam adam({a, b}, {.amsgrad = true});
  BOOST_TEST(adam.slot_names() == (std::vector<std::string>{"m", "v", "vhat"}), boost::test_tools::per_element());
  adam.apply({tensor({1.F, 2.F}), Tensor()});
  expect_near(adam.get_slot(a, "m").value(), {2}, {0.1, 0.2});
  expect_near(adam.get_slot(b, "m").value(), {1, 2}, {0, 0});
  BOOST_TEST(adam.get_slot(b, "vhat").name().starts_with(b.name() + "/vhat"));
  expect_error([&] { adam.get_slot(a, "momentum"); },
               "InvalidArgument: get_slot: expected one of [m, v, vhat] of '" + a.name() + "', got 'momentum'");
  expect_error([&] { adam.get_slot(other, "m"); },
               "InvalidArgument: get_slot 'm': expected a variable of the optimizer, got '" + other.name() + "'");
  const Adafactor factored({a, b});
  BOOST_TEST(factored.slot_names() == (std::vector<std::string>{"v", "r", "c"}), boost::test_tools::per_element());
  BOOST_TEST(factored.get_slot(b, "r").shape().to_string() == "[1]");
  BOOST_TEST(factored.get_slot(b, "c").shape().to_string() == "[2]");
  const Muon muon({a, b});
  BOOST_TEST(muon.slot_names() == (std::vector<std::string>{"m", "v", "momentum"}), boost::test_tools::per_element());
  const Muon without({b}, {.by_adam = {b}});
  BOOST_TEST(without.slot_names() == (std::vector<std::string>{"m", "v"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_global_step) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable w(tensor({1.F, 2.F}), "w"), step(tensor(int64_t{0}), "global_step");
  Sgd sgd({.learning_rate = piecewise_constant({0}, {0.25, 0.125})(step.value())});
  auto gradients = sgd.compute_gradients(sum(square(w)));
  for (auto& [g, v] : gradients) g = clip_by_value(g, -3, 3);
  const Operation train = sgd.apply_gradients(gradients, {.global_step = step, .name = "train"});
  BOOST_TEST(train.name() == "train");
  const Operation init = global_variables_initializer();
  building.reset();
  Session session(graph);
  session.run(init);
  session.run(train);
  expect_near(session.run(w), {2}, {0.5, 1.25});
  expect_near(session.run(step), 1);
  session.run(train);
  expect_near(session.run(w), {2}, {0.375, 0.9375});
  expect_near(session.run(step), 2);
}

BOOST_AUTO_TEST_CASE(some_of_the_variables) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable w(tensor(1.F), "w"), b(tensor(1.F), "b"), c(tensor(1.F), "c");
  const Tensor loss = square(w) + square(b) + square(c);
  Adam adam({.learning_rate = 0.5});
  const Operation first = adam.minimize(loss, {.var_list = {w}, .name = "first"});
  const Operation second = adam.minimize(loss, {.var_list = {b}, .name = "second"});
  BOOST_TEST(adam.variables().size() == 2U);
  const Operation doubled = Sgd({.learning_rate = 0.5}).minimize(loss, {.var_list = {c}, .grad_loss = tensor(0.25F)});
  expect_error_begins([&] { Sgd({w}).minimize(loss, {.var_list = {b}}); },
                      "InvalidArgument: variables: expected some of the 1 that the optimizer was given, got 'b'");
  expect_error_begins([&] { adam.minimize(loss, {.var_list = {c}, .grad_loss = tensor({1.F, 1.F})}); },
                      "InvalidArgument: seed: expected the target's float32[], got float32[2]");
  const Operation init = global_variables_initializer();
  building.reset();
  Session session(graph);
  session.run(init);
  session.run(first);
  expect_near(session.run(w), 0.5, 1e-5);
  expect_near(session.run(b), 1);
  session.run(second);
  BOOST_TEST(session.run(b).item<float>() < 0.9F);
  session.run(doubled);
  expect_near(session.run(c), 0.75);
}

BOOST_AUTO_TEST_CASE(minimize_a_function) {
  const Variable w(tensor({1.0, 2.0}), "w"), b(tensor(3.0), "b"), count(tensor(0), "count");
  Sgd sgd({w, b}, {.learning_rate = 0.25});
  const auto loss = [&] { return sum(square(w)) + b; };
  const Operation done = sgd.minimize(loss, {.global_step = count});
  BOOST_TEST(!done.defined());
  expect_near(w.value(), {2}, {0.5, 1});
  expect_near(b.value(), 2.75);
  expect_near(count.value(), 1);
  sgd.minimize(loss, {.var_list = {b}, .grad_loss = tensor(2.0)});
  expect_near(w.value(), {2}, {0.5, 1});
  expect_near(b.value(), 2.25);
  const Function traced = trace([&] {
    sgd.minimize(loss);
    return w.value();
  });
  traced();
  expect_near(w.value(), {2}, {0.25, 0.5});
  // One without variables is told, once.
  Adam adam({.learning_rate = 0.5});
  expect_error_begins([&] { adam.minimize(loss); },
                      "InvalidArgument: minimize: expected an optimizer of variables, or a var_list, got neither");
  adam.build({b});
  adam.minimize(loss);
  expect_near(b.value(), 1.5, 1e-5);
  expect_error_begins([&] { adam.minimize([&] { return sum(square(w)); }); },
                      "InvalidArgument: minimize: expected a loss that depends on a variable of the optimizer");
}

BOOST_AUTO_TEST_CASE(gradients_and_variables_that_do_not_fit) {
  const Variable w(tensor(1.0), "w"), b(tensor(1.0), "b");
  Sgd sgd({w}, {.learning_rate = 1});
  using Pairs = std::vector<GradientAndVariable>;
  const Gradient one{.whole = tensor(1.0)};
  expect_error_begins([&] { sgd.apply_gradients(Pairs{{one, w}, {one, w}}); },
                      "InvalidArgument: apply_gradients: expected each variable once, got '" + w.name() + "' again");
  expect_error_begins([&] { sgd.apply_gradients(Pairs{{Gradient(), w}}); },
                      "InvalidArgument: apply_gradients: expected a gradient for at least one variable, got none");
  expect_error_begins(
      [&] { sgd.apply_gradients(Pairs{{one, b}}); },
      "InvalidArgument: variables: expected some of the 1 that the optimizer was given, got '" + b.name() + "'");
  expect_error_begins([&] { sgd.apply_gradients(Pairs{{one, Variable()}}); },
                      "InvalidArgument: variables: expected variables to train, got a default-constructed one");
  expect_error_begins([&] { sgd.apply_gradients(Pairs{{{.whole = tensor({1.0})}, w}}); },
                      "InvalidArgument: gradient of '" + w.name() + "': expected float64[], got float64[1]");
  expect_error_begins([&] { Sgd({Variable()}); },
                      "InvalidArgument: variables: expected variables to train, got a default-constructed one");
  expect_near(w.value(), 1);
}

// In a graph the gradient of one variable reads another one: all are computed before one changes.
// Of what is gated as TensorFlow's GATE_NONE, GATE_OP and GATE_GRAPH are, all gradients are of the values before the
// step.
BOOST_AUTO_TEST_CASE(gates_and_the_collection_of_steps) {
  for (const GateGradients gate : {GateGradients::kNone, GateGradients::kOp, GateGradients::kGraph}) {
    Graph graph;
    std::optional<GraphScope> building(std::in_place, graph);
    const Variable a(tensor(3.0), "a"), b(tensor(5.0), "b");
    Sgd sgd({.learning_rate = 0.5});
    const Operation train = sgd.minimize(a * b, {.gate_gradients = gate});
    const std::vector<GraphElement> steps = get_collection(graph, "train_op");
    BOOST_TEST(steps.size() == 1U);
    const Operation init = global_variables_initializer();
    building.reset();
    Session session(graph);
    session.run(init);
    session.run(steps);
    expect_near(session.run(a), {}, {0.5});
    expect_near(session.run(b), {}, {3.5});
    session.run(train);
    expect_near(session.run(a), {}, {-1.25});
  }
}

BOOST_AUTO_TEST_CASE(gradients_come_first_in_a_graph) {
  for (int round = 0; round < 20; ++round) {
    Graph graph;
    std::optional<GraphScope> building(std::in_place, graph);
    const Variable a(tensor({2.0, 3.0}), "a"), b(tensor({5.0, 7.0}), "b");
    const Operation train = Sgd({.learning_rate = 0.5, .weight_decay = 0.5}).minimize(sum(a.value() * b.value()));
    const Operation init = global_variables_initializer();
    building.reset();
    Session session(graph);
    session.run(init);
    session.run(train);
    expect_near(session.run(a), {2}, {1.5 - 2.5, 2.25 - 3.5});
    expect_near(session.run(b), {2}, {3.75 - 1, 5.25 - 1.5});
  }
}

// ---- What is kept ---------------------------------------------------------------------------------------------------

template <class O, class Options>
void check_resumes(const Options& options) {
  const TestFolder folder;
  const auto make = [] { return Variable(tensor({{0.5F, -1.F}, {2.F, 0.25F}, {1.F, -0.75F}}), "k"); };
  const auto step = [](Optimizer& o) {
    o.minimize([&] { return sum(square(o.variables()[0] - 0.125F) * tensor({1.F, 3.F})); });
  };
  const Variable all = make(), first = make(), again = make();
  O straight({all}, options), before({first}, options), after({again}, options);
  for (int i = 0; i < 6; ++i) step(straight);
  for (int i = 0; i < 3; ++i) step(before);
  const std::string path = folder / "optimizer.npz";
  save_variables(path, before.slots());
  again.assign(first.value());
  load_variables(path, after.slots());
  for (int i = 0; i < 3; ++i) step(after);
  BOOST_TEST(again.value().template to_vector<float>() == all.value().template to_vector<float>(),
             boost::test_tools::per_element());
  BOOST_TEST(again.value().template to_vector<float>() != make().value().template to_vector<float>());
}

BOOST_AUTO_TEST_CASE(training_goes_on_from_a_file) {
  const Schedule rate = cosine_decay_restarts(0.125, 2);
  check_resumes<Sgd>(SgdOptions{.learning_rate = rate, .momentum = 0.5});
  check_resumes<Momentum>(MomentumOptions{.learning_rate = rate});
  check_resumes<ProximalGradientDescent>(ProximalGradientDescentOptions{.learning_rate = rate, .l1 = 0.125});
  check_resumes<Adagrad>(AdagradOptions{.learning_rate = 0.5});
  check_resumes<AdagradDA>(AdagradDAOptions{.learning_rate = 0.5});
  check_resumes<ProximalAdagrad>(ProximalAdagradOptions{.learning_rate = 0.5, .l1 = 0.125});
  check_resumes<Adadelta>(AdadeltaOptions{.learning_rate = 0.5});
  check_resumes<RMSprop>(RMSpropOptions{.learning_rate = rate, .momentum = 0.5, .centered = true});
  check_resumes<Ftrl>(FtrlOptions{.learning_rate = 0.5});
  check_resumes<Adam>(AdamOptions{.learning_rate = rate, .amsgrad = true});
  check_resumes<AdamW>(AdamWOptions{.learning_rate = rate});
  check_resumes<Adamax>(AdamaxOptions{.learning_rate = rate});
  check_resumes<Nadam>(NadamOptions{.learning_rate = 0.125});
  check_resumes<Lion>(LionOptions{.learning_rate = 0.125});
  check_resumes<Lamb>(LambOptions{.learning_rate = 0.125});
  check_resumes<Adafactor>(AdafactorOptions{.learning_rate = 0.125});
  check_resumes<ScheduleFreeAdamW>(ScheduleFreeAdamWOptions{.learning_rate = 0.125, .warmup_steps = 4});
  check_resumes<Muon>(MuonOptions{.learning_rate = 0.125});
  check_resumes<AddSign>(AddSignOptions{.sign_decay = rate});
  check_resumes<PowerSign>(PowerSignOptions{.sign_decay = rate});
}

// Halves are computed with as such, but for what all share.
BOOST_AUTO_TEST_CASE(variables_of_halves) {
  const auto check = []<class O>(std::in_place_type_t<O>) {
    for (const DType type : {kFloat16, kBFloat16}) {
      const Variable v(cast(tensor({{1.0, -2.0}, {0.5, 4.0}}), type), "v");
      O optimizer({v});
      const Tensor before = v.value();
      for (int i = 0; i < 3; ++i) optimizer.minimize([&] { return cast(sum(square(v)), kFloat32); });
      BOOST_TEST(dtype_name(v.dtype()) == dtype_name(type));
      BOOST_TEST(all(isfinite(v.value())).template item<bool>());
    }
  };
  check(std::in_place_type<Sgd>);
  check(std::in_place_type<Momentum>);
  check(std::in_place_type<Adagrad>);
  check(std::in_place_type<AdagradDA>);
  check(std::in_place_type<ProximalAdagrad>);
  check(std::in_place_type<RMSprop>);
  check(std::in_place_type<Ftrl>);
  check(std::in_place_type<Lion>);
  check(std::in_place_type<AddSign>);
  check(std::in_place_type<PowerSign>);
  check(std::in_place_type<Muon>);
}

BOOST_AUTO_TEST_CASE(what_a_schedule_free_optimizer_evaluates) {
  const Variable v(tensor(1.0), "v"), still(tensor(1.0), "still");
  ScheduleFreeAdamW adam({v, still}, {.learning_rate = 0.5, .beta1 = 0.75, .epsilon = 0, .weight_decay = 0.25});
  adam.exclude_from_weight_decay({v});
  adam.apply({tensor(2.0), tensor(0.5)});
  expect_near(adam.get_slot(v, "z").value(), 0.5);
  expect_near(adam.get_slot(still, "z").value(), 1 - 0.5 * 1.25);
  adam.apply({tensor(2.0), Tensor()});
  expect_near(adam.get_slot(v, "z").value(), Shape(), {0}, 1e-12, 1);
  expect_near(adam.evaluated(v), 0.25);  // the mean of 0.5 and 0
  expect_near(v.value(), 0.75 * 0.25);
}

BOOST_AUTO_TEST_CASE(options_out_of_range) {
  const std::vector<Variable> v = {Variable(tensor(1.0), "v")};
  const auto expect_invalid = [](const auto& make, const std::string& text) {
    expect_error(make, "InvalidArgument: " + text);
  };
  const std::string at_least_0 = ": expected a finite number of at least 0, got -1";
  expect_invalid([&] { Momentum(v, {.momentum = 1.5}); }, "momentum: expected a number in [0, 1], got 1.5");
  expect_invalid([&] { ProximalGradientDescent(v, {.l1 = -1}); }, "l1" + at_least_0);
  expect_invalid([&] { ProximalGradientDescent(v, {.l2 = -1}); }, "l2" + at_least_0);
  expect_invalid([&] { AdagradDA(v, {.initial_gradient_squared_accumulator = 0}); },
                 "initial_gradient_squared_accumulator: expected a positive number, got 0");
  expect_invalid([&] { ProximalAdagrad(v, {.initial_accumulator = 0}); },
                 "initial_accumulator: expected a positive number, got 0");
  expect_invalid([&] { Adadelta(v, {.rho = 1}); }, "rho: expected a number in [0, 1), got 1");
  expect_invalid([&] { Adadelta(v, {.epsilon = 0}); }, "epsilon: expected a positive number, got 0");
  expect_invalid([&] { Ftrl(v, {.learning_rate_power = 0.5}); },
                 "learning_rate_power: expected a finite number of at most 0, got 0.5");
  expect_invalid([&] { Ftrl(v, {.l2_shrinkage = -1}); }, "l2_shrinkage" + at_least_0);
  expect_invalid([&] { Ftrl(v, {.beta = -1}); }, "beta" + at_least_0);
  expect_invalid([&] { Adamax(v, {.beta1 = 1}); }, "beta1: expected a number in [0, 1), got 1");
  expect_invalid([&] { Nadam(v, {.beta2 = -0.5}); }, "beta2: expected a number in [0, 1), got -0.5");
  expect_invalid([&] { ScheduleFreeAdamW(v, {.beta1 = 0}); }, "beta1: expected a positive number, got 0");
  expect_invalid([&] { ScheduleFreeAdamW(v, {.warmup_steps = -1}); }, "warmup_steps: expected at least 0, got -1");
  expect_invalid([&] { Lion(v, {.beta2 = 1}); }, "beta2: expected a number in [0, 1), got 1");
  expect_invalid([&] { Lamb(v, {.epsilon = -1}); }, "epsilon" + at_least_0);
  expect_invalid([&] { Adafactor(v, {.beta2_decay = 0}); }, "beta2_decay: expected a finite number below 0, got 0");
  expect_invalid([&] { Adafactor(v, {.clip_threshold = 0}); }, "clip_threshold: expected a positive number, got 0");
  expect_invalid([&] { Muon(v, {.steps = 0}); }, "steps: expected at least 1, got 0");
  expect_invalid([&] { Muon(v, {.rms_rate = -1}); }, "rms_rate" + at_least_0);
  expect_invalid([&] { AddSign(v, {.alpha = -1}); }, "alpha" + at_least_0);
  expect_invalid([&] { PowerSign(v, {.base = 0}); }, "base: expected a positive number, got 0");
  expect_invalid([&] { PowerSign(v, {.beta = 1}); }, "beta: expected a number in [0, 1), got 1");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
