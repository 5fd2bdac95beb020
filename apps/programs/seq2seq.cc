// A sequence to sequence model (Sutskever et al. 2014) that reverses numbers. The encoder and the decoder are placed on
// two devices; tensors are sent between them.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

constexpr int64_t kDigits = 10, kBegin = 10;  // the decoder's first input

struct Model {
  Tensor source, fed, target, loss, right;  // [batch, length]; scalars
  Operation init, train;
  std::vector<Variable> variables;
};

Model build(Graph& graph, const Run& run, int64_t length, int64_t units) {
  const GraphScope building(graph);
  Model m;
  m.source = placeholder(kInt32, {-1, length}, "source");
  m.fed = placeholder(kInt32, {-1, length}, "fed");
  m.target = placeholder(kInt32, {-1, length}, "target");
  LstmState state;
  {
    const DeviceScope reader("/cpu:0");
    const Embedding embed(kDigits, 16, {.name = "read/embedding"});
    const Lstm memory(16, units, {.cell = {.name = "read/lstm"}});
    state = memory.run(embed(m.source)).state;
  }
  {
    const DeviceScope writer("/cpu:1");
    const Embedding embed(kDigits + 1, 16, {.name = "write/embedding"});
    const Lstm memory(16, units, {.return_sequences = true, .cell = {.name = "write/lstm"}});
    const Dense head(units, kDigits, {.name = "write/dense"});
    const Tensor logits = head(memory.run(embed(m.fed), state).sequence);
    m.loss = mean(sparse_softmax_cross_entropy_with_logits(logits, m.target));
    m.right = mean(cast(argmax(logits, 2) == cast(m.target, kInt64), kFloat32));
  }
  m.variables = trainable_variables();
  m.train = Adam({.learning_rate = run.quick() ? 0.01 : 0.003}).minimize(m.loss);
  m.init = global_variables_initializer();
  return m;
}

}  // namespace

void seq2seq(Run& run) {
  set_cpu_device_count(2);
  const int64_t batch = 64, length = run.quick() ? 3 : 8;
  Graph graph;
  const Model m = build(graph, run, length, run.quick() ? 32 : 128);
  Session session(graph);
  session.run(m.init);
  run.begin(session, graph, m.variables);
  const int64_t steps = run.steps(3000, 150);
  const Tensor digits = run.drawn_batches(kDigits, batch * length, steps + 1).cast(kInt32);  // last: for testing
  const auto feeds = [&](int64_t i) -> Feeds {
    const Tensor source = digits(i).reshape({batch, length}), target = flip(source, {1});
    const Tensor begin = fill({batch, 1}, static_cast<int32_t>(kBegin));
    return {{m.source, source}, {m.fed, concat({begin, target(Slice(), Slice(0, -1))}, 1)}, {m.target, target}};
  };
  for (int64_t i = 1; i <= steps; ++i) {
    const auto [loss, done] = session.run<2>({m.loss, m.train}, feeds(i - 1));
    run.keep_loss(loss.item<double>());
    if (i % std::max<int64_t>(steps / 10, 1) == 0) {
      std::printf("step %d loss %f\n", static_cast<int>(i), loss.item<double>());
    }
  }
  const Tensor right = session.run(m.right, feeds(steps));
  std::printf("digits right %.1f %%\n", 100 * right.item<double>());
  int nodes[2] = {0, 0};
  const Graph placed = session.optimized_graph();
  for (const int id : placed.ids()) {
    for (const int k : {0, 1}) nodes[k] += placed.at(id).device().ends_with("CPU:" + std::to_string(k)) ? 1 : 0;
  }
  std::printf("/device:CPU:0 has %s, /device:CPU:1 has %s, %s between them\n", nodes[0] > 0 ? "nodes" : "none",
              nodes[1] > 0 ? "nodes" : "none", session.plan_stats().transfers > 0 ? "transfers" : "no transfers");
  run.save(session, m.variables);
}

}  // namespace panto::apps
