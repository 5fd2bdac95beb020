// The cost of the dataflow executor: a node of a chain after a conditional, with the optimizer off
// (traced_chain_unfused is the same chain on the sequential executor); a node in a loop's rounds; a round of the same
// loop raised to a While; a Recv whose value is there.
#include "panto/benchmarks/chain.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/step/rendezvous.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/trace/graph_scope.h"

namespace panto::bench {
namespace {

void dataflow_chain(benchmark::State& state) {
  Graph graph;
  {
    const GraphScope scope(graph);
    const Tensor x = placeholder(kFloat32, {8, 8}, "x"), factor = placeholder(kFloat32, {8, 8}, "factor");
    const auto [no, yes] = switch_op(x, placeholder(kBool, {}, "p"));
    named("y", chain(merge_op({neg(no), yes}).output, factor));
  }
  Session session(graph, {.passes = "off"});
  const Feeds feeds{{"x", numbers({8, 8})}, {"factor", numbers({8, 8}, 2)}, {"p", tensor(true)}};
  for (auto _ : state) benchmark::DoNotOptimize(session.run("y", feeds));
  per_item(state, "node", kChain);
}
BENCHMARK(dataflow_chain);

constexpr int kRounds = 1000;

// for (i = 0, sum = 0; i < 1000; ++i) sum += i;
Graph counting_loop() {
  Graph graph;
  {
    const GraphScope scope(graph);
    const auto enter = [](const Tensor& value, bool constant) {
      return enter_op(value, "loop", {.is_constant = constant});
    };
    const Tensor zero = enter(panto::constant(tensor(0.f), kFloat32), false);
    const Tensor one = enter(panto::constant(tensor(1.f), kFloat32), true);
    const Tensor limit = enter(placeholder(kFloat32, {}, "limit"), true);
    const Tensor i = named("i", merge_op({zero, zero}).output), sum = named("sum", merge_op({zero, zero}).output);
    const Tensor go = loop_cond(less(i, limit));
    const auto of_i = switch_op(i, go), of_sum = switch_op(sum, go);
    named("next_i", next_iteration(add(of_i.output_true, one)));
    named("next_sum", next_iteration(add(of_sum.output_true, of_i.output_true)));
    named("y", exit_op(of_sum.output_false));
  }
  graph.set_input(graph.at("i").id(), 1, graph.output("next_i"));
  graph.set_input(graph.at("sum").id(), 1, graph.output("next_sum"));
  return graph;
}

void dataflow_loop(benchmark::State& state) {
  constexpr int kNodes = 10;
  const Feeds feeds{{"limit", tensor(static_cast<float>(kRounds))}};
  Session session(counting_loop(), {.raise_control_flow = false});
  for (auto _ : state) benchmark::DoNotOptimize(session.run("y", feeds));
  per_item(state, "node", kRounds * kNodes);
}
BENCHMARK(dataflow_loop);

// The same as a While.
void raised_loop(benchmark::State& state) {
  const Feeds feeds{{"limit", tensor(static_cast<float>(kRounds))}};
  Session session(counting_loop());
  for (auto _ : state) benchmark::DoNotOptimize(session.run("y", feeds));
  per_item(state, "round", kRounds);
}
BENCHMARK(raised_loop);

void dataflow_receive(benchmark::State& state) {
  constexpr int kValues = 100;
  const auto name = [](int i) { return "t" + std::to_string(i); };
  Graph graph;
  {
    const GraphScope scope(graph);
    std::vector<Tensor> values;
    for (int i = 0; i < kValues; ++i) values.push_back(receive_tensor(kFloat32, name(i), "a", 1, "b"));
    named("y", add_n(values));
  }
  Session session(graph);
  Step step = current_step();
  step.rendezvous = std::make_shared<Rendezvous>();
  const StepScope scope(step);
  const Tensor value = tensor(1.f);
  for (auto _ : state) {
    for (int i = 0; i < kValues; ++i) send_tensor(value, name(i), "a", 1, "b");
    benchmark::DoNotOptimize(session.run("y"));
  }
  per_item(state, "value", kValues);
}
BENCHMARK(dataflow_receive);

}  // namespace
}  // namespace panto::bench
