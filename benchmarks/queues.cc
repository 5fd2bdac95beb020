// The cost of an element that goes through a queue: 1000 elements by a session that runs once for each, by name or by
// callables, and eagerly, one at a time and many at once; beside it the cost of a staging area, which is found by name.
#include "panto/benchmarks/support.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/trace/graph_scope.h"

namespace panto::bench {
namespace {

constexpr int kElements = 1000;
const std::vector<DType> kFloats = {kFloat32};

void queue_eager(benchmark::State& state) {
  const Tensor queue = fifo_queue(kFloats, {.shapes = {Shape{}}});
  const Tensor element = tensor(1.f);
  for (auto _ : state) {
    for (int i = 0; i < kElements; ++i) queue_enqueue(queue, {element});
    for (int i = 0; i < kElements; ++i) benchmark::DoNotOptimize(queue_dequeue(queue, kFloats));
  }
  per_item(state, "element", kElements);
}
BENCHMARK(queue_eager);

void queue_many(benchmark::State& state) {
  const Tensor queue = fifo_queue(kFloats, {.shapes = {Shape{}}});
  const Tensor elements = numbers({kElements});
  for (auto _ : state) {
    queue_enqueue_many(queue, {elements});
    benchmark::DoNotOptimize(queue_dequeue_many(queue, kElements, kFloats));
  }
  per_item(state, "element", kElements);
}
BENCHMARK(queue_many);

// Node "put" enqueues a number; node "y" dequeues it.
Graph queue_graph() {
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor queue = named("queue", fifo_queue(kFloats, {.shapes = {Shape{}}}));
    const CollectEffects effects;
    queue_enqueue(queue, {tensor(1.f)});
    group(effects.operations(), "put");
    named("y", identity(queue_dequeue(queue, kFloats)[0]));
  }
  return graph;
}

void queue_session(benchmark::State& state) {
  Session session(queue_graph());
  for (auto _ : state) {
    for (int i = 0; i < kElements; ++i) session.run("put");
    for (int i = 0; i < kElements; ++i) benchmark::DoNotOptimize(session.run("y"));
  }
  per_item(state, "element", kElements);
}
BENCHMARK(queue_session);

void queue_callables(benchmark::State& state) {
  Session session(queue_graph());
  const SessionCallable put = session.make_callable({"put"}), take = session.make_callable({"y"});
  for (auto _ : state) {
    for (int i = 0; i < kElements; ++i) put();
    for (int i = 0; i < kElements; ++i) benchmark::DoNotOptimize(take());
  }
  per_item(state, "element", kElements);
}
BENCHMARK(queue_callables);

void staging_eager(benchmark::State& state) {
  const Tensor element = tensor(1.f);
  for (auto _ : state) {
    for (int i = 0; i < kElements; ++i) stage({element}, {.shared_name = "bench"});
    for (int i = 0; i < kElements; ++i) benchmark::DoNotOptimize(unstage(kFloats, {.shared_name = "bench"}));
  }
  per_item(state, "element", kElements);
}
BENCHMARK(staging_eager);

}  // namespace
}  // namespace panto::bench
