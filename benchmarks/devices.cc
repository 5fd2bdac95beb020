// The cost of going from one device to another: an edge between two CPU devices that run one after the other on one
// thread, an edge between two that run in parallel, and the bare signal from one thread to another.
#include "panto/benchmarks/support.h"
#include "panto/define_op.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/runtime/parts/side_by_side.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"

namespace panto::bench {
namespace {

constexpr int kEdges = 1000;

// An op of unknown cost, so that parts of the graph run in parallel.
const Op& kStep = define_op("_BenchStep(x: float) -> (y: float)", {.doc = "x.", .shape = shapes::same_as_input});
const CpuKernel step_kernel("_BenchStep", [](KernelContext& c) { c.out_data<float>(0)[0] = c.data<float>(0)[0]; });

template <class Op>
void run_chain(benchmark::State& state, const Op& op, int devices) {
  set_cpu_device_count(3);
  Graph graph;
  {
    const GraphScope building(graph);
    Tensor y = placeholder(kFloat32, {1}, "x");
    for (int i = 0; i <= kEdges; ++i) {
      const DeviceScope scope("/cpu:" + std::to_string(i % devices));
      y = op(y);
    }
    named("y", y);
    // Work for a third device, so that parts with ops of unknown cost get threads of their own.
    const DeviceScope scope(devices == 1 ? "/cpu:0" : "/cpu:2");
    Tensor beside = placeholder(kFloat32, {1}, "other");
    for (int i = 0; i < 20; ++i) beside = op(beside);
    named("beside", beside);
  }
  Session session(std::move(graph), {.passes = "off"});
  const Feeds feeds{{"x", tensor({1.F})}, {"other", tensor({1.F})}};
  for (auto _ : state) benchmark::DoNotOptimize(session.run({"y", "beside"}, feeds));
  per_item(state, "edge", kEdges);
}

void devices_chain_one_device(benchmark::State& state) {
  run_chain(state, [](const Tensor& x) { return neg(x); }, 1);
}
BENCHMARK(devices_chain_one_device);
void devices_chain_one_thread(benchmark::State& state) {
  run_chain(state, [](const Tensor& x) { return neg(x); }, 2);
}
BENCHMARK(devices_chain_one_thread);
void devices_chain_side_by_side(benchmark::State& state) {
  run_chain(state, [](const Tensor& x) { return dispatch::call(kStep.name(), {&x, 1})[0]; }, 2);
}
BENCHMARK(devices_chain_side_by_side)->UseRealTime();

void devices_signal(benchmark::State& state) {
  Signals signals(kEdges);
  for (auto _ : state) {
    signals.begin();
    run_side_by_side(2, [&](size_t lane) {
      for (size_t e = 0; e < kEdges; ++e) {
        if (e % 2 == lane) {
          signals.give(e);
        } else {
          signals.wait(e);
        }
      }
    });
  }
  per_item(state, "edge", kEdges);
}
BENCHMARK(devices_signal)->UseRealTime();

}  // namespace
}  // namespace panto::bench
