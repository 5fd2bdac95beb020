// How costs grow with the amount of work: "growth/import/10000". Each tells the time of an item and, where something is
// kept, its bytes; both should stay the same from line to line.
#include <malloc.h>

#include "panto/autograd/tape.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/core/scopes.h"
#include "panto/lib/graph/io.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/trace/function.h"
#include "panto/trace/graph_scope.h"

namespace panto::bench {
namespace {

// Nodes alternate between what elementwise loops, fused products and single steps are made of.
Graph long_graph(int64_t nodes) {
  Graph graph;
  const GraphScope in(graph);
  const Tensor x = placeholder(kFloat32, {4, 4}, "x");
  Tensor y = x;
  for (int64_t i = 0; i < nodes; ++i)
    y = i % 4 == 0 ? matmul(y, x) : i % 4 == 1 ? sum(y, {0}, {.keep_dims = true}) : mul(y, x);
  named("end", identity(y));
  return graph;
}

double heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

class Growth {
 public:
  explicit Growth(benchmark::State& state) : state_(state), items_(static_cast<double>(state.range(0))) {}
  ~Growth() { per_item(state_, "item", items_); }
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;
  // What `make` keeps alive until its result is dropped.
  template <class Make>
  void bytes(const Make& make) {
    const double before = heap_bytes();
    [[maybe_unused]] const auto kept = make();
    state_.counters["bytes_per_item"] = (heap_bytes() - before) / items_;
  }

 private:
  benchmark::State& state_;
  double items_;
};

void build_graph(benchmark::State& state) {
  Growth growth(state);
  for (auto _ : state) benchmark::DoNotOptimize(long_graph(state.range(0)));
  growth.bytes([&] { return long_graph(state.range(0)); });
}

void export_graph(benchmark::State& state) {
  const Growth growth(state);
  const Graph graph = long_graph(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(to_graph_def(graph));
}

void import_graph(benchmark::State& state) {
  const Growth growth(state);
  const std::string bytes = to_graph_def(long_graph(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(parse_graph(bytes));
}

const Tensor& fed() {
  static const Tensor x = numbers({4, 4});
  return x;
}

// Optimizing, planning and the first run.
void first_run(benchmark::State& state) {
  Growth growth(state);
  const Graph graph = long_graph(state.range(0));
  const auto run = [&] {
    Session session(graph);
    session.run({{"x", fed()}}, {"end"});
    return session;
  };
  for (auto _ : state) benchmark::DoNotOptimize(run());
  growth.bytes(run);
}

void next_run(benchmark::State& state) {
  const Growth growth(state);
  Session session(long_graph(state.range(0)));
  session.run({{"x", fed()}}, {"end"});
  for (auto _ : state) benchmark::DoNotOptimize(session.run({{"x", fed()}}, {"end"}));
}

void tape(benchmark::State& state) {
  const Growth growth(state);
  for (auto _ : state) {
    GradientTape recorded;
    recorded.watch(fed());
    Tensor y = fed();
    for (int64_t i = 0; i < state.range(0); ++i) y = mul(y, fed());
    benchmark::DoNotOptimize(recorded.gradient(y, fed()));
  }
}

// Calls of a traced function: nothing grows.
void traced_calls(benchmark::State& state) {
  Growth growth(state);
  const Function f = trace([](const Tensor& x) { return mul(x, x); });
  f(fed());
  const auto calls = [&] {
    for (int64_t i = 0; i < state.range(0); ++i) benchmark::DoNotOptimize(f(fed()));
    return 0;
  };
  for (auto _ : state) calls();
  growth.bytes(calls);
}

}  // namespace

void enter_growth() {
  const std::pair<const char*, void (*)(benchmark::State&)> all[] = {
      {"build", build_graph}, {"export", export_graph}, {"import", import_graph}, {"first_run", first_run},
      {"next_run", next_run}, {"tape", tape},           {"calls", traced_calls},
  };
  for (const auto& [name, run] : all) {
    for (const int64_t items : {100, 10'000, 1'000'000}) {
      auto* entered = benchmark::RegisterBenchmark((std::string("growth/") + name).c_str(), run);
      entered->Arg(items)->UseRealTime()->Unit(benchmark::kMillisecond);
      if (items > 10'000) entered->Iterations(1)->Repetitions(1);
    }
  }
}

}  // namespace panto::bench
