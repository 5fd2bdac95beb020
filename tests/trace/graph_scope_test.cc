// Graphs built by hand, TensorFlow-1 style, and their gradients.
#include "panto/trace/graph_scope.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(graph_scope)

BOOST_AUTO_TEST_CASE(build_then_run) {
  const Variable k(tensor({{1.F}, {2.F}}), "k");
  Graph g;
  Tensor a, b;
  {
    const GraphScope in(g);
    a = placeholder(kFloat32, {-1, 2}, "a");
    b = named("b", relu(matmul(a, k) + 1.F));
  }
  BOOST_TEST(recorders().empty());
  BOOST_TEST(b.partial_shape().to_string() == "[?,1]");
  BOOST_TEST(g.at("b").op().name() == "Relu");
  Session s(g);
  const Tensor x = tensor({{1.F, 1.F}, {-5.F, 0.F}});
  expect_near(s.run("b", {{"a", x}}), {2, 1}, {4, 0});
  expect_near(s.run("b:0", {{"a:0", x}}), {2, 1}, {4, 0});
  expect_near(s.run(b, {{a, x}}), {2, 1}, {4, 0});
}

BOOST_AUTO_TEST_CASE(variables_of_the_graph) {
  Graph g;
  Operation init, step;
  {
    const GraphScope in(g);
    const Variable v(tensor({1.0, 2.0}), "v");
    const Variable w(cast(3.0, kFloat64), "w");
    step = v.assign_add(tensor({10.0, 10.0}));
    named("product", v.value() * w);
    init = global_variables_initializer();
    BOOST_TEST(init.name() == "init");
  }
  BOOST_TEST(g.variables().size() == 2U);
  BOOST_TEST(g.at("v").op().name() == "VarHandleOp");
  Session s(g);
  BOOST_TEST(error_text([&] { s.run({"product"}); }).starts_with("FailedPrecondition: "));
  s.run(init);
  expect_near(s.run("product"), {2}, {3, 6});
  s.run(step);
  expect_near(s.run("product"), {2}, {33, 36});
  // Another session has variables of its own.
  Session other(g);
  other.run(init);
  expect_near(other.run("product"), {2}, {3, 6});
}

BOOST_AUTO_TEST_CASE(nothing_is_done_once_the_scope_is_closed) {
  Graph g;
  Tensor y;
  Variable w;
  {
    const GraphScope in(g);
    w = Variable(tensor(1.f), "w");
    y = placeholder(kFloat32, {2}, "x") * w;
  }
  const char* closed = "FailedPrecondition: symbolic tensor: expected the GraphScope or trace that it is of to be open";
  const int nodes = g.num_nodes();
  expect_error_begins([&] { w.assign(tensor(2.f)); }, closed);
  expect_error_begins([&] { static_cast<void>(y + 1.f); }, closed);
  expect_error_begins([&] { static_cast<void>(w.value()); }, closed);
  expect_error_begins([&] { static_cast<void>(sum(y)); }, closed);
  BOOST_TEST(error_text([&] { static_cast<void>(tanh(y)); }).find("graph_scope_test.cc:") != std::string::npos);
  BOOST_TEST(g.num_nodes() == nodes);
  const GraphScope again(g);
  named("more", y + 1.f);
}

BOOST_AUTO_TEST_CASE(control_dependencies) {
  Graph g;
  {
    const GraphScope in(g);
    const Variable v(tensor(1.0), "v");
    const CollectEffects effects;
    v.assign_add(tensor(5.0));
    BOOST_REQUIRE_EQUAL(effects.operations().size(), 1U);
    {
      const ControlDependencies after(effects.operations());
      named("later", v.value());
    }
    named("free", v.value());
    global_variables_initializer();
  }
  BOOST_TEST(g.at("free").control_inputs().empty());
  BOOST_TEST(g.at("later").control_inputs().size() == 1U);
  Session s(g);
  s.run("init");
  expect_near(s.run("free"), 1);
  expect_near(s.run("later"), 6);
  expect_near(s.run("free"), 6);
}

BOOST_AUTO_TEST_CASE(groups) {
  Graph g;
  {
    const GraphScope in(g);
    const Variable v(tensor(1.0), "v"), w(tensor(2.0), "w");
    const CollectEffects effects;
    v.assign_add(tensor(1.0));
    w.assign_sub(tensor(1.0));
    BOOST_TEST(group(effects.operations(), "both").name() == "both");
    const std::string unknown[] = {"nobody"};
    BOOST_TEST(error_text([&] { group(unknown); }).starts_with("NotFound: "));
    named("v_value", v.value());
    named("w_value", w.value());
    global_variables_initializer();
  }
  Session s(g);
  s.run("init");
  s.run("both");
  const auto values = s.run({"v_value", "w_value"});
  expect_near(values[0], 2);
  expect_near(values[1], 1);
}

BOOST_AUTO_TEST_CASE(scopes_nest) {
  Graph outer, inner;
  const GraphScope in_outer(outer);
  const Tensor a = placeholder(kFloat64, {2}, "a");
  {
    const GraphScope in_inner(inner);
    BOOST_TEST(&current_graph() == &inner);
    const Tensor b = placeholder(kFloat64, {2}, "b");
    named("twice", b * 2.0);
    expect_error_begins(
        [&] { a* b; }, "InvalidArgument: tensor: expected a value of this trace, got <symbolic float64[2]> of another");
  }
  BOOST_TEST(&current_graph() == &outer);
  named("thrice", a * 3.0);
  BOOST_TEST(inner.find("twice") != nullptr);
  BOOST_TEST(inner.find("thrice") == nullptr);
  BOOST_TEST(outer.find("thrice") != nullptr);
  BOOST_TEST(outer.find("twice") == nullptr);
}

BOOST_AUTO_TEST_CASE(a_graph_may_be_opened_again) {
  Graph g;
  Tensor a;
  {
    const GraphScope in(g);
    a = placeholder(kFloat64, {}, "a");
  }
  {
    const GraphScope in(g);
    named("b", a + 1.0);
  }
  BOOST_TEST(g.at("b").input(0).node == g.at("a").id());
}

BOOST_AUTO_TEST_CASE(names) {
  Graph g;
  const GraphScope in(g);
  const Tensor a = placeholder(kFloat64, {}, "a");
  {
    const NameScope scope("layer");
    named("b", a + 1.0);
    const NameScope deeper("inner");
    named("b", a + 1.0);
  }
  named("b", a + 1.0);
  named("b", a + 1.0);
  for (const char* name : {"layer/b", "layer/inner/b", "b", "b_1"}) BOOST_TEST(g.find(name) != nullptr, name);
}

// A scope that is opened again is another one. The names are those that TensorFlow 2.21 gives the same program.
BOOST_AUTO_TEST_CASE(scopes_are_named_as_in_tensorflow) {
  Graph g;
  std::vector<std::string> names;
  {
    const GraphScope in(g);
    const Tensor a = placeholder(kFloat64, {}, "a");
    const auto b = [&] { names.push_back(g.node(named("b", a + a)).name()); };
    for (int i = 0; i < 3; ++i) {
      const NameScope scope("net");
      b();
      for (int j = 0; j < 2; ++j) {
        const NameScope inner("inner");
        b();
      }
      if (i == 1) names.push_back(g.node(named(current_name_scope(), identity(a))).name());
    }
    for (const char* name : {"Net", "net/", "a"}) {
      const NameScope scope(name);
      b();
    }
    names.push_back(g.node(named("net", identity(a))).name());
    {
      const NameScope scope("net_1");
      b();
    }
    for (int i = 0; i < 2; ++i) {
      const std::string prefix = g.node(gradients(a * a, {{a}})[0]).name();
      names.push_back(prefix.substr(0, prefix.find('/')));
    }
    for (int i = 0; i < 2; ++i) {
      const NameScope scope("v");
      names.push_back(Variable(tensor(1.f), "x").name());
    }
    expect_error_begins([&] { named("net_1/", identity(a)); },
                        "InvalidArgument: node name: expected one that is not taken, got 'net_1'");
  }
  const std::vector<std::string> expected = {
      "net/b",     "net/inner/b",   "net/inner_1/b",   "net_1/b", "net_1/inner/b", "net_1/inner_1/b", "net_1",
      "net_2/b",   "net_2/inner/b", "net_2/inner_1/b", "Net_3/b", "net/b_1",       "a_1/b",           "net_4",
      "net_1_1/b", "gradients",     "gradients_1",     "v/x",     "v_1/x"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  // The graph remembers, and so does its copy.
  Graph copy = g;
  for (Graph* graph : {&g, &copy}) {
    const GraphScope in(*graph);
    const NameScope scope("net");
    BOOST_TEST(current_name_scope() == "net_5/");
  }
  // Where nothing is recorded, names are what they are.
  for (int i = 0; i < 2; ++i) {
    const NameScope scope("net");
    BOOST_TEST(current_name_scope() == "net/");
  }
}

// The numbers of TensorFlow 2.21 after tf.compat.v1.set_random_seed(seed), in the first and the second run of a
// session.
BOOST_AUTO_TEST_CASE(seeds_of_graphs_are_tensorflows) {
  struct Expected {
    int64_t seed;
    std::vector<double> uniform[2], normal[2], integers[2], truncated[2];
  };
  const Expected all[] = {
      {42,
       {{0.8354591131210327, 0.9162973165512085, 0.4946495294570923},
        {0.3661808967590332, 0.015453338623046875, 0.6758037805557251}},
       {{-1.49994695186615, -1.2420494556427002}, {-0.8944764733314514, 1.0986292362213135}},
       {{98, 14, 30}, {10, 64, 44}},
       {{0.8021454811096191, 0.5056790113449097}, {0.5065540671348572, 0.3115288019180298}}},
      {0,
       {{0.01975703239440918, 0.0070421695709228516, 0.189872145652771},
        {0.4683527946472168, 0.8424971103668213, 0.2852461338043213}},
       {{0.6803454160690308, 0.8777824640274048}, {1.0154993534088135, -0.8078080415725708}},
       {{91, 49, 26}, {9, 5, 11}},
       {{-1.4095544815063477, -0.5366827845573425}, {-1.1830439567565918, -0.3842615783214569}}},
      {-5,
       {{0.17151343822479248, 0.8472534418106079, 0.44507408142089844},
        {0.25422918796539307, 0.4638725519180298, 0.6060185432434082}},
       {{0.5619710683822632, 0.9027038812637329}, {-0.4649209678173065, -1.8853766918182373}},
       {{3, 91, 29}, {35, 68, 0}},
       {{-1.8564083576202393, 0.5611936450004578}, {-0.20276929438114166, -0.1803901946544511}}},
  };
  for (const Expected& e : all) {
    Graph g;
    {
      const GraphScope in(g);
      set_graph_seed(e.seed);
      named("uniform", random_uniform({3}));
      named("normal", random_normal({2}));
      named("integers", randint(0, 100, {3}, kInt32));
      named("truncated", truncated_normal({2}));
      named("own", random_uniform({3}, {.seed = 7}));
    }
    Graph saved = parse_graph(to_graph_def(g));
    for (const Graph* graph : {&g, &saved}) {
      Session s(*graph);
      for (int run = 0; run < 2; ++run) {
        const auto r = s.run<5>({"uniform", "normal", "integers", "truncated", "own"});
        expect_near(r[0], {3}, e.uniform[run], 1e-6);
        expect_near(r[1], {2}, e.normal[run], 1e-5);
        expect_near(r[2], {3}, e.integers[run]);
        expect_near(r[3], {2}, e.truncated[run], 1e-5);
        expect_near(r[4], {3}, cast(random_uniform({3}, {.seed = 7}), kFloat64).to_vector<double>(), 0);
      }
    }
  }
  expect_error_begins([] { set_graph_seed(1); }, "FailedPrecondition: graph: expected an open GraphScope or a trace");
}

BOOST_AUTO_TEST_CASE(traced_functions_become_part_of_the_graph) {
  const Function f = trace([](const Tensor& x) { return named("tripled", x * 3.0); }, {TensorSpec(kFloat64, {-1})});
  Graph g;
  {
    const GraphScope in(g);
    named("y", f(placeholder(kFloat64, {2}, "a")) + 1.0);
  }
  Session s(g);
  expect_near(s.run("y", {{"a", tensor({1.0, 2.0})}}), {2}, {4, 7});
  BOOST_TEST(g.find("tripled") != nullptr);
}

BOOST_AUTO_TEST_CASE(outside_of_a_graph) {
  const char* text = "FailedPrecondition: graph: expected an open GraphScope or a trace, got neither";
  expect_error([] { placeholder(kFloat32); }, text);
  expect_error([] { current_graph(); }, text);
  expect_error([] { global_variables_initializer(); }, text);
  BOOST_CHECK_THROW(CollectEffects(), Error);
}

BOOST_AUTO_TEST_CASE(values_are_not_there) {
  Graph g;
  const GraphScope in(g);
  const Tensor a = placeholder(kFloat32, {}, "a");
  BOOST_CHECK_THROW((void)a.item<float>(), Error);
  BOOST_TEST(a.to_string() == "<symbolic float32[]>");
}

// ---- Gradients of graphs ----------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(gradients_add_only_gradient_nodes) {
  Graph g;
  Tensor x, y;
  {
    const GraphScope in(g);
    x = placeholder(kFloat64, {-1}, "x");
    y = named("y", sum(sin(square(x))));
  }
  std::vector<NodeSpec> before;
  for (int id : g.ids()) before.push_back(g.at(id).spec());
  const int limit = g.id_limit();
  const NodeOutput ys[] = {g.output("y")}, xs[] = {g.output("x")};
  const auto dxs = gradients(g, ys, xs);
  BOOST_REQUIRE(dxs[0].valid());
  for (int id = limit; id < g.id_limit(); ++id) {
    if (g.find(id) != nullptr) BOOST_TEST(g.at(id).name().starts_with("gradients/"), g.at(id).name());
  }
  for (size_t i = 0; i < before.size(); ++i) {
    const Node& now = g.at(before[i].name);
    BOOST_TEST((now.spec().inputs == before[i].inputs && now.spec().control_inputs == before[i].control_inputs));
  }
  Session s(g);
  const Tensor value = tensor({0.5, -1.5});
  const auto r = s.run({g.output_name(dxs[0]), "y"}, {{"x", value}});
  expect_near(r[0], {2}, {std::cos(0.25), -3 * std::cos(2.25)}, 1e-12);
}

BOOST_AUTO_TEST_CASE(gradients_with_seeds_and_without_dependence) {
  Graph g;
  {
    const GraphScope in(g);
    const Tensor a = placeholder(kFloat64, {2}, "a"), b = placeholder(kFloat64, {2}, "b");
    placeholder(kFloat64, {2}, "seed");
    named("y", a * a);
    named("other", b * 1.0);
  }
  const NodeOutput ys[] = {g.output("y")}, xs[] = {g.output("a"), g.output("b")}, seeds[] = {g.output("seed")};
  const auto dxs = gradients(g, ys, xs, seeds);
  BOOST_TEST(!dxs[1].valid());
  Session s(g);
  const auto r = s.run({g.output_name(dxs[0])}, {{"a", tensor({3.0, 4.0})}, {"seed", tensor({1.0, 10.0})}});
  expect_near(r[0], {2}, {6, 80});
}

BOOST_AUTO_TEST_CASE(gradients_of_gradients) {
  Graph g;
  Tensor second;
  {
    const GraphScope in(g);
    const Tensor x = placeholder(kFloat64, {}, "x");
    const GradSource sources[] = {x};
    const Tensor first = gradients(square(square(x)), sources)[0];
    second = gradients(first, sources)[0];
  }
  Session s(g);
  expect_near(s.run(second, {{"x", tensor(2.0)}}), 48);
}

// Of a table of which rows are looked up, and only that, the gradient is rows.
BOOST_AUTO_TEST_CASE(gradients_that_are_rows) {
  Graph g;
  std::optional<GraphScope> building(std::in_place, g);
  const Variable table(tensor({{1.0}, {2.0}, {3.0}}), "table"), both(tensor({{1.0}, {2.0}}), "both");
  const Variable unused(tensor(1.0), "unused");
  const Tensor y = square(gather(table, {2, 0, 2}, 0)) + sum(gather(both, {0}, 0)) + sum(both);
  const std::vector<GradSource> sources = {table, both, unused};
  const std::vector<Gradient> all = sparse_gradients(y, sources);
  BOOST_TEST(all[0].sparse());
  BOOST_TEST(!all[1].sparse());
  BOOST_TEST(!all[2].defined());
  const Tensor whole = all[0].dense(), seed = tensor({{1.0}, {0.5}, {0.0}});
  const std::vector<Gradient> weighted = sparse_gradients(y, sources, seed);
  expect_error([&] { sparse_gradients(y, sources, tensor({1.0})); },
               "InvalidArgument: seed: expected the target's float64[3,1], got float64[1]");
  expect_error_begins([&] { sparse_gradients(tensor(1.0), sources); },
                      "InvalidArgument: target: expected a tensor of the open graph, got ");
  const Operation init = global_variables_initializer();
  building.reset();
  Session session(g);
  session.run(init);
  expect_near(session.run(all[0].indices), {3}, {2, 0, 2});
  expect_near(session.run(all[0].rows), {3, 1}, {6, 2, 6});
  expect_near(session.run(whole), {3, 1}, {2, 0, 12});
  expect_near(session.run(all[1].whole), {2, 1}, {6, 3});
  expect_near(session.run(weighted[0].rows), {3, 1}, {6, 1, 0});
  expect_near(session.run(weighted[1].whole), {2, 1}, {3, 1.5});
}

// A variable is initialized before what it is made after in a scope of control dependencies.
BOOST_AUTO_TEST_CASE(variables_wait_for_nothing) {
  Graph g;
  std::optional<GraphScope> building(std::in_place, g);
  const Variable a(tensor(2.F), "a");
  const Operation change = a.assign(a + 1.F);
  std::optional<Variable> average;
  {
    const ControlDependencies after({change});
    average.emplace(trainable_variables()[0].initialized_value(), "average");
  }
  const Operation init = global_variables_initializer();
  building.reset();
  Session session(g);
  session.run(init);
  expect_near(session.run(a), 2);
  expect_near(session.run(*average), 2);
}

BOOST_AUTO_TEST_CASE(minimize_makes_a_training_step) {
  Graph g;
  Operation train;
  {
    const GraphScope in(g);
    const Variable v(tensor({0.0, 0.0}), "v"), unused(tensor(1.0), "unused");
    const Tensor loss = named("loss", sum(square(v - tensor({1.0, -2.0}))));
    Sgd sgd({v, unused}, {.learning_rate = 0.25});
    train = sgd.minimize(loss, "train");
    BOOST_TEST(train.name() == "train");
    Sgd nothing({unused});
    BOOST_TEST(error_text([&] {
                 nothing.minimize(loss);
               }).starts_with("InvalidArgument: minimize: expected a loss that depends on a variable"));
    named("v_value", v.value());
    global_variables_initializer();
  }
  Session s(g);
  s.run("init");
  for (int i = 0; i < 3; ++i) s.run(train);
  expect_near(s.run("v_value"), {2}, {1 - 0.125, -2 + 0.25}, 1e-12);
}

BOOST_AUTO_TEST_CASE(adam_in_a_graph) {
  const Variable eager(tensor({0.0, 0.0}), "eager");
  Adam by_hand({eager}, {.learning_rate = 0.1});
  Graph g;
  {
    const GraphScope in(g);
    const Variable v(tensor({0.0, 0.0}), "v");
    Adam adam({v}, {.learning_rate = 0.1});
    adam.minimize(sum(square(v - tensor({1.0, -2.0}))), "train");
    named("v_value", v.value());
    global_variables_initializer();
  }
  Session s(g);
  s.run("init");
  for (int i = 0; i < 4; ++i) {
    s.run("train");
    GradientTape tape;
    by_hand.apply(tape.gradient(sum(square(eager - tensor({1.0, -2.0}))), by_hand.variables()));
    expect_near(s.run("v_value"), {2}, values_of(eager.value()), 1e-12);
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
