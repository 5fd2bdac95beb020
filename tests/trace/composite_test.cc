// Composites: one call, or the calls of their bodies; eagerly, under tapes, in traces, transforms and files.
#include "panto/lib/core/call/composite.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/autograd/transforms/vmap.h"
#include "panto/define_op.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/gpu.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using test::text_graph;

int kernel_calls = 0;

// A kernel for float32 only, and no gradient of the whole: 3 x.
const Op& kTriple = define_op(
    "TestTriple(x: T; T: float32|float64) -> (y: T)",
    {.doc = "3 x.", .shape = shapes::same_as_input, .body = [](CompositeContext& c) { c.set_out(0, c.in(0) * 3); }});
const CpuKernel triple_kernel("TestTriple", TypeList<float>{}, []<class T>(KernelContext& c) {
  ++kernel_calls;
  for (int64_t i = 0; i < c.numel(0); ++i) c.out_data<T>(0)[i] = c.data<T>(0)[i] * T{3};
});

// A kernel for float64 only, and a gradient of the whole, 100 times that of the body so that it is told from that.
const Op& kGraded = define_op("TestGraded(x: T; T: float32|float64) -> (y: T)",
                              {.doc = "x * x.",
                               .shape = shapes::same_as_input,
                               .body = [](CompositeContext& c) { c.set_out(0, c.in(0) * c.in(0)); },
                               .saves = {in(0)},
                               .gradient = [](GradContext& g) { g.set(0, g.dy() * 200 * g.in(0)); }});
const CpuKernel graded_kernel("TestGraded", TypeList<double>{}, []<class T>(KernelContext& c) {
  for (int64_t i = 0; i < c.numel(0); ++i) c.out_data<T>(0)[i] = c.data<T>(0)[i] * c.data<T>(0)[i];
});

// A composite in the body of another one, and several outputs, one of which is an input.
const Op& kNested = define_op("TestNested(x: T, y: T; T: float32|float64) -> (a: T, b: T)",
                              {.doc = "(3 x + y, y).", .body = [](CompositeContext& c) {
                                 const Tensor& x = c.in(0);
                                 c.set_out(0, dispatch::call("TestTriple", std::span(&x, 1))[0] + c.in(1));
                                 c.set_out(1, c.in(1));
                               }});

const Op& kSecret = define_op("TestSecret(x: float32) -> (y: float32)",
                              {.doc = "Draws a number that its block says nothing of.",
                               .body = [](CompositeContext& c) { c.set_out(0, c.in(0) + random_uniform({})); }});

const Op& kOpen = define_op("TestOpen(x: float32) -> (y: float32)",
                            {.doc = "Draws a number.", .effects = {effects::random()}, .body = [](CompositeContext& c) {
                               c.set_out(0, c.in(0) + random_uniform({}));
                             }});

Tensor call_op(const Op& op, const Tensor& x) { return dispatch::call(op, dispatch::pointers_to({&x, 1}), {})[0]; }
Tensor triple(const Tensor& x) { return call_op(kTriple, x); }
Tensor graded(const Tensor& x) { return call_op(kGraded, x); }
Tensor nested(const Tensor& x, const Tensor& y) {
  const Tensor in[] = {x, y};
  const dispatch::Outputs made = dispatch::call("TestNested", in);
  return made[0] * made[1];
}

class Names final : public Recorder {
 public:
  bool keeps(const Call&) override { return false; }
  void record(const Call& call) override { names += call.op->name() + " "; }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {}
  std::string names;
};

std::string heard(const std::function<void()>& call) {
  Names names;
  const RecorderScope scope(&names);
  call();
  return names.names;
}

std::string ops_of(const Graph& graph) {
  std::string ops;
  for (int id : graph.topological_order()) ops += graph.at(id).op().name() + " ";
  return ops;
}

// How often the kernel ran in `call`.
int calls_in(const std::function<void()>& call) {
  const int before = kernel_calls;
  call();
  return kernel_calls - before;
}

BOOST_AUTO_TEST_SUITE(trace_)
BOOST_AUTO_TEST_SUITE(composites)

BOOST_AUTO_TEST_CASE(one_call_where_there_is_a_kernel) {
  const Tensor x = tensor({1.F, 2.F}), d = tensor({1.0, 2.0});
  BOOST_TEST(calls_in([&] { expect_near(triple(x), {2}, {3, 6}); }) == 1);
  BOOST_TEST(calls_in([&] { expect_near(triple(d), {2}, {3, 6}); }) == 0);
  BOOST_TEST(heard([&] { triple(x); }) == "TestTriple ");
  BOOST_TEST(heard([&] { triple(d); }) == "Mul ");
  BOOST_TEST(heard([&] { nested(x, x); }) == "TestTriple AddV2 Mul ");
}

BOOST_AUTO_TEST_CASE(a_tape_looks_inside) {
  const Tensor x = tensor({1.F, 2.F}), other = tensor({5.F, 6.F});
  GradientTape tape;
  tape.watch(x);
  Tensor y;
  // All who listen hear the same.
  BOOST_TEST(heard([&] { y = triple(x); }) == "Mul ");
  BOOST_TEST(heard([&] { triple(other); }) == "TestTriple ");
  expect_near(tape.gradient(y, x), {2}, {3, 3});
}

BOOST_AUTO_TEST_CASE(a_gradient_of_its_own) {
  const Tensor x = tensor({1.0, 2.0});
  GradientTape outer, tape;
  outer.watch(x);
  tape.watch(x);
  const Tensor y = graded(x);
  BOOST_TEST(tape.size() == 1U);
  const Tensor dx = tape.gradient(y, x);
  expect_near(dx, {2}, {200, 400});
  expect_near(outer.gradient(dx, x), {2}, {200, 200});
  // Without a kernel there are the calls of the body, and their gradients.
  const Tensor f = tensor({1.F, 2.F});
  GradientTape of_parts;
  of_parts.watch(f);
  expect_near(of_parts.gradient(graded(f), f), {2}, {2, 4});
}

BOOST_AUTO_TEST_CASE(a_node_in_a_trace) {
  for (const DType type : {kFloat32, kFloat64}) {
    const Function f = trace([](const Tensor& x) { return triple(x) + 1; }, {TensorSpec(type, {-1})});
    BOOST_TEST(ops_of(f.graph()).starts_with("Placeholder TestTriple "), ops_of(f.graph()));
    // A plan has the kernel, or the body.
    const Tensor x = cast(tensor({1.F, 2.F}), type);
    for (const char* passes : {"", "off"}) {
      f.set_optimizer(passes);
      BOOST_TEST(calls_in([&] { expect_near(f(x), {2}, {4, 7}); }) == (type == kFloat32 ? 1 : 0));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_trace_with_values_has_what_ran) {
  const auto f = trace_with([](const Tensor& x) { return triple(x); }, {tensor({1.F})});
  BOOST_TEST(ops_of(f.graph()).find("TestTriple") != std::string::npos);
}

// Without a shape function, by the body.
BOOST_AUTO_TEST_CASE(shapes_in_traces) {
  const Function f = trace([](const Tensor& a, const Tensor& b) { return einsum({a, b}, "ij,jk->ik"); },
                           {TensorSpec(kFloat32, {-1, 2}), TensorSpec(kFloat32, {2, 3})});
  BOOST_TEST(ops_of(f.graph()) == "Placeholder Placeholder Einsum ");
  for (int id : f.graph().ids()) {
    const Node& node = f.graph().at(id);
    if (node.op().name() == "Einsum") BOOST_TEST(node.output(0).shape.to_string() == "[?,3]");
  }
  expect_error_begins([] { trace([](const Tensor& a) { return einsum({a}, "ijk"); }, {TensorSpec(kFloat32, {2, 2})}); },
                      "InvalidArgument: ");
}

BOOST_AUTO_TEST_CASE(gradients_of_a_traced_function) {
  for (const DType type : {kFloat32, kFloat64}) {
    const Function f = trace([](const Tensor& x, const Tensor& y) { return nested(x, y) + graded(triple(x)); },
                             {TensorSpec(type, {2}), TensorSpec(type, {2})});
    const Tensor x = cast(tensor({1.F, 2.F}), type), y = cast(tensor({3.F, 4.F}), type);
    GradientTape outer;
    outer.watch(y);
    Tensor dx;
    {
      GradientTape tape;
      tape.watch(x);
      const Tensor z = f(x, y);
      expect_near(z, {2}, {27, 76});  // (3 x + y) y + 9 x x
      dx = tape.gradient(z, x);
    }
    expect_near(dx, {2}, {3 * 3 + 200 * 9 * 1, 3 * 4 + 200 * 9 * 2});
    expect_near(outer.gradient(dx, y), {2}, {3, 3});
  }
}

// A node that gradients go through stays where it is, for those who know it.
BOOST_AUTO_TEST_CASE(gradients_in_a_graph) {
  Graph g;
  Tensor x, y, z, dx;
  {
    const GraphScope in(g);
    x = placeholder(kFloat32, {2}, "x");
    y = named("y", triple(x));
    z = named("z", triple(constant(tensor({1.F, 1.F}), kFloat32)) + y);
  }
  const int id = g.at("y").id();
  {
    const GraphScope in(g);
    dx = gradients(named("out", square(z)), {{x}})[0];
  }
  BOOST_TEST(g.at("y").id() == id);
  BOOST_TEST(g.at("y").op().name() == "Identity");
  BOOST_TEST(ops_of(g).find("TestTriple") != std::string::npos);  // no gradient goes there
  Session session(g);
  expect_near(session.run(y, {{x, tensor({1.F, 2.F})}}), {2}, {3, 6});
  expect_near(session.run(dx, {{x, tensor({1.F, 2.F})}}), {2}, {2 * 6 * 3, 2 * 9 * 3});
}

BOOST_AUTO_TEST_CASE(inside_transforms) {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const auto [value, tangent] = jvp([](const Tensor& t) { return triple(t) + graded(t); }, x, ones_like(x));
  expect_near(value, {2, 2}, {4, 10, 18, 28});
  expect_near(tangent, {2, 2}, {3 + 2, 3 + 4, 3 + 6, 3 + 8});  // graded by its body: it has no rule
  const auto f = [](const Tensor& t) { return triple(t); };
  std::string inside;
  expect_near(vmap([&](const Tensor& t) {
                Tensor y;
                inside = heard([&] { y = f(t); });
                return y;
              })(x),
              {2, 2}, {3, 6, 9, 12});
  BOOST_TEST(inside == "Mul ");
  // With a rule for the whole it is one call, inside and outside.
  const Tensor one = ones({2}, kFloat64), zero = zeros({2}, kFloat64);
  const auto norm = [&](const Tensor& t) { return layer_norm(t, one, zero); };
  BOOST_TEST(heard([&] {
               vmap([&](const Tensor& t) {
                 Tensor y;
                 inside = heard([&] { y = norm(t); });
                 return y;
               })(x);
             }) == "LayerNorm ");
  BOOST_TEST(inside == "LayerNorm ");
}

std::string graph_of(const std::function<void()>& build, bool own_ops) {
  Graph g;
  {
    const GraphScope in(g);
    build();
  }
  return ops_of(parse_graph(to_graph_def(g, {.own_ops = own_ops})));
}

BOOST_AUTO_TEST_CASE(files_hold_what_tensorflow_has) {
  const auto build = [] {
    const Tensor x = placeholder(kFloat32, {2, 2}, "x"), w = placeholder(kFloat32, {4, 8}, "w");
    const Tensor v = placeholder(kFloat32, {2}, "v"), b = placeholder(kFloat32, {8}, "b");
    named("h", lstm_block_cell(x, x, x, w, v, v, v, b).h);
    named("n", layer_norm(x, v, v));
  };
  const std::string ops = graph_of(build, false);
  BOOST_TEST(ops.find("LSTMBlockCell ") != std::string::npos, ops);
  BOOST_TEST(ops.find("LayerNorm ") == std::string::npos, ops);
  BOOST_TEST(ops.find("Rsqrt ") != std::string::npos, ops);
  BOOST_TEST(graph_of(build, true).find("LayerNorm ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_loaded_composite_runs_as_it_is) {
  const Graph g = parse_graph(
      "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
      "shape { dim { size: 2 } } } } } node { name: 'y' op: 'TestTriple' input: 'x' attr { key: 'T' value { type: "
      "DT_FLOAT } } } node { name: 'z' op: 'Gelu' input: 'y' attr { key: 'T' value { type: DT_FLOAT } } }");
  BOOST_TEST(ops_of(g) == "Placeholder TestTriple Gelu ");
  BOOST_TEST(g.at("z").output(0).shape.to_string() == "[2]");
  Session session(g);
  BOOST_TEST(calls_in([&] {
               expect_near(session.run("z", {{"x", tensor({1.F, 2.F})}}), {2}, values_of(gelu(tensor({3.F, 6.F}))));
             }) == 1);
}

// Whoever reads an optimized graph finds the outputs by their names.
BOOST_AUTO_TEST_CASE(an_optimized_graph_has_all_outputs) {
  const Graph g = text_graph(
      "x = Placeholder(; dtype=float32, shape=[2])\n y = Neg(x)\n z = TestNested(x, y)\n s = Silu(x)\n t = Silu(y)\n"
      "u = Neg(t)");
  const NodeOutput fetches[] = {g.output("z"), g.output("z:1"), g.output("s"), g.output("u"), g.output("t")};
  const Graph optimized = optimize(g, fetches, {});
  const auto run = [](const Graph& graph, const char* name) {
    Session session(graph);
    return values_of(session.run(name, {{"x", tensor({1.F, 2.F})}}));
  };
  for (const char* name : {"z", "z:1", "s", "t", "u"}) BOOST_TEST((run(optimized, name) == run(g, name)), name);
}

// The nodes of a body come where the composite came.
BOOST_AUTO_TEST_CASE(an_expansion_keeps_the_order) {
  Graph g = text_graph(
      "x = Placeholder(; dtype=float32, shape=[2])\n y = TestGraded(x)\n n1 = Neg(x)\n n2 = Neg(n1)\n z = Sub(n2, y)");
  expand_composites(g, [](const Node&) { return true; });
  BOOST_TEST(ops_of(g) == "Placeholder Mul Neg Neg Sub ");
  g.remove(g.at("z").id());
  g.remove(g.at("y").id());
  BOOST_TEST(ops_of(g) == "Placeholder Neg Neg ");
}

// Hears the calls of all bodies.
class Inside final : public Recorder {
 public:
  bool keeps(const Call&) override { return false; }
  void record(const Call&) override {}
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {}
  bool looks_inside(const Call&) const override { return true; }
};

// So a plan needs as many steps and as much memory as that of a graph that was traced by the bodies.
BOOST_AUTO_TEST_CASE(a_plan_is_that_of_a_trace_of_the_bodies) {
  const int64_t batch = 64, width = 128;
  std::vector<TensorSpec> specs = {TensorSpec(kFloat32, {batch, width}, "x")};
  for (int layer = 0; layer < 4; ++layer) {
    specs.emplace_back(kFloat32, PartialShape({width, width}));
    specs.emplace_back(kFloat32, PartialShape({width}));
  }
  const auto plan = [&](bool inside) {
    const Function f = make_traced(
        [&](std::span<const Tensor> in) {
          Inside inside_recorder;
          std::optional<RecorderScope> scope;
          if (inside) scope.emplace(&inside_recorder);
          GradientTape tape;
          std::vector<GradSource> parameters;
          for (size_t i = 1; i < in.size(); ++i) {
            tape.watch(in[i]);
            parameters.emplace_back(in[i]);
          }
          Tensor h = in[0];
          for (size_t i = 1; i < in.size(); i += 2) h = gelu(bias_add(matmul(h, in[i]), in[i + 1]));
          return tape.gradient(sum(square(h)), parameters);
        },
        specs, std::source_location::current());
    BOOST_TEST((ops_of(f.graph()).find("BiasAddGrad") == std::string::npos) == inside);
    const Graph graph = f.frozen_graph();
    const Endpoints ends = endpoints_of(graph);
    std::vector<ExecutableFeed> feeds;
    for (size_t i = 0; i < specs.size(); ++i) feeds.push_back({ends.inputs[i], {kFloat32, specs[i].shape}});
    return Executable::make(graph, feeds, ends.outputs, ends.effects, {})->stats();
  };
  const PlanStats by_bodies = plan(true), whole = plan(false);
  BOOST_TEST(whole.steps == by_bodies.steps);
  BOOST_TEST(whole.planned_bytes == by_bodies.planned_bytes);
}

BOOST_AUTO_TEST_CASE(bodies_within_bodies_expand) {
  Graph g =
      text_graph("x = Placeholder(; dtype=float32, shape=[2])\n y = TestNested(x, x)\n a = Neg(y)\n b = Neg(y:1, ^y)");
  Graph whole = g;
  expand_composites(g, [](const Node&) { return true; });
  for (int id : g.ids()) BOOST_TEST(!g.at(id).op().is_composite());
  BOOST_TEST(ops_of(g).find("IdentityN ") != std::string::npos);
  for (const Graph* graph : {&g, &whole}) {
    Session session(*graph);
    const auto results = session.run({"a", "b"}, {{"x", tensor({1.F, 2.F})}});
    expect_near(results[0], {2}, {-4, -8});
    expect_near(results[1], {2}, {-1, -2});
  }
}

BOOST_AUTO_TEST_CASE(effects_of_a_body_are_its_blocks) {
  expect_error_begins([] { trace([](const Tensor& x) { return call_op(kSecret, x); }, {TensorSpec(kFloat32, {})}); },
                      "Internal: op TestSecret: expected `effects` to say what its body does, got nothing of `reads`");
  // What acts on something besides its arguments is always the calls of its body.
  const Function f =
      trace([](const Tensor& x) { return call_op(kOpen, x) + call_op(kOpen, x); }, {TensorSpec(kFloat32, {})});
  BOOST_TEST(ops_of(f.graph()).find("TestOpen") == std::string::npos);
  const auto draw = [&](const std::function<Tensor(const Tensor&)>& two) {
    set_seed(7);
    return two(tensor(1.F)).item<float>();
  };
  BOOST_TEST(draw([&](const Tensor& x) { return f(x); }) ==
             draw([&](const Tensor& x) { return call_op(kOpen, x) + call_op(kOpen, x); }));
}

BOOST_AUTO_TEST_CASE(a_kernel_needs_a_shape_function) {
  expect_error(
      [] {
        define_op("TestShapeless(x: float32) -> (y: float32)",
                  {.doc = "x.", .body = [](CompositeContext& c) { c.set_out(0, identity(c.in(0))); }});
        KernelEntry("TestShapeless", "CPU", DType::kInvalid, Kernel{.run = [](KernelContext&) {}});
        link_ops();
      },
      "InvalidArgument: op TestShapeless: expected a shape function beside a kernel for CPU, got a body only");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
