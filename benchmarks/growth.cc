// How costs grow with the amount of work: "growth/import/10000" reads a graph of 10000 nodes. Each benchmark reports
// the time per item and, if it keeps something, the bytes per item; both should be the same for all sizes.
#include <malloc.h>

#include <algorithm>

#include "panto/autograd/tape.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/base/varint.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/runtime/executable.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto::bench {
namespace {

// Alternates nodes that become elementwise loops, fused products and single steps.
Graph long_graph(int64_t nodes) {
  Graph graph;
  const GraphScope in(graph);
  const Tensor x = placeholder(kFloat32, {4, 4}, "x");
  Tensor y = x;
  for (int64_t i = 0; graph.num_nodes() < nodes - 1; ++i)
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
  // Measures the memory that the result of `make` keeps alive.
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

// Placing, optimizing and planning.
std::shared_ptr<Executable> planned(const Graph& graph) {
  const auto output = [&](const char* node) { return NodeOutput{graph.at(node).id(), 0}; };
  const ExecutableFeed x{output("x"), {fed().dtype(), fed().partial_shape()}};
  const NodeOutput end = output("end");
  return Executable::make(graph, {&x, 1}, {&end, 1}, {}, {});
}

void plan(benchmark::State& state) {
  Growth growth(state);
  const Graph graph = long_graph(state.range(0));
  std::shared_ptr<Executable> made;  // destroyed outside the measured time
  for (auto _ : state) {
    state.PauseTiming();
    made.reset();
    state.ResumeTiming();
    made = planned(graph);
  }
  made.reset();
  growth.bytes([&] { return planned(graph); });
}

// The start-up time of a program with a large model.
void load_and_plan(benchmark::State& state) {
  const std::string bytes = to_graph_def(long_graph(1'000'000));
  std::shared_ptr<Executable> made;
  for (auto _ : state) made = planned(parse_graph(bytes));
}

// The same nodes in functions of a thousand each, called one after the other.
void functions(benchmark::State& state) {
  const Growth growth(state);
  constexpr int64_t kEach = 1000;
  const int64_t count = std::max<int64_t>(1, state.range(0) / kEach), nodes = state.range(0) / count;
  std::string bytes, library;
  const auto field = [](std::string& to, char tag, const std::string& message) {
    to += tag;
    append_varint(to, message.size());
    to += message;
  };
  Graph arguments;
  {
    const GraphScope in(arguments);
    placeholder(kFloat32, {4, 4}, "x");
  }
  for (int64_t f = 0; f < count; ++f) {
    const Function body = trace(
        [&](const Tensor& a) {
          Tensor b = a;
          for (int64_t i = 0; i < nodes; ++i) b = i % 4 == 0 ? matmul(b, a) : mul(b, a);
          return b;
        },
        {TensorSpec(kFloat32, {4, 4}, "a")});
    const std::string name = "f" + std::to_string(f);
    field(library, 0x0a, body.to_function_def(name));
    // A node whose op is the function; the parser turns it into a PartitionedCall.
    std::string node;
    field(node, 0x0a, name);
    field(node, 0x12, name);
    field(node, 0x1a, f == 0 ? "x" : "f" + std::to_string(f - 1));
    field(bytes, 0x0a, node);
  }
  std::string end;
  field(end, 0x0a, "end");
  field(end, 0x12, "Identity");
  field(end, 0x1a, "f" + std::to_string(count - 1));
  const std::string type("\x0a\x01T\x12\x02\x30\x01", 7);  // T: DT_FLOAT
  field(end, 0x2a, type);
  field(bytes, 0x0a, end);
  bytes = to_graph_def(arguments) + bytes;
  field(bytes, 0x12, library);
  std::shared_ptr<Executable> made;
  for (auto _ : state) made = planned(parse_graph(bytes));
}

void run(benchmark::State& state) {
  const Growth growth(state);
  const std::shared_ptr<Executable> executable = planned(long_graph(state.range(0)));
  const std::unique_ptr<RunState> run_state = executable->new_state();
  const Tensor* const in = &fed();
  Tensor out;
  for (auto _ : state) executable->run(*run_state, current_step(), {&in, 1}, {&out, 1});
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

// Calls of a traced function: memory must not grow.
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
      {"build", build_graph}, {"export", export_graph}, {"import", import_graph},
      {"plan", plan},         {"functions", functions}, {"run", run},
      {"tape", tape},         {"calls", traced_calls},
  };
  for (const auto& [name, run] : all) {
    for (const int64_t items : {100, 10'000, 1'000'000}) {
      auto* entered = benchmark::RegisterBenchmark((std::string("growth/") + name).c_str(), run);
      entered->Arg(items)->UseRealTime()->Unit(benchmark::kMillisecond);
      if (items > 10'000) entered->Iterations(1)->Repetitions(1);
    }
  }
  auto* entered = benchmark::RegisterBenchmark("load_and_plan_1m", load_and_plan);
  entered->UseRealTime()->Unit(benchmark::kSecond)->Iterations(1)->Repetitions(3);
}

}  // namespace panto::bench
