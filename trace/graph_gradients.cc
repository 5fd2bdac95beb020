// Method: the nodes between xs and ys are replayed under a tape, on symbolic tensors. A recorder makes this replay
// symbolic without adding nodes. Then the tape's gradient runs with the tracer on, so exactly the gradient nodes are
// added (design §1).
#include "panto/trace/graph_gradients.h"

#include <algorithm>
#include <map>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/raise.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/graph/functions/replay.h"
#include "panto/ops/array.h"
#include "panto/trace/control/function_gradients.h"
#include "panto/trace/control/raise_arrays.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/possible_gradients.h"
#include "panto/trace/tracer.h"

namespace panto {
namespace {

// Nodes that the ys depend on, in topological order.
std::vector<int> ancestors(const Graph& graph, std::span<const NodeOutput> ys) {
  std::vector<uint8_t> wanted(static_cast<size_t>(graph.id_limit()), 0);
  std::vector<int> stack;
  for (NodeOutput y : ys) stack.push_back(y.node);
  while (!stack.empty()) {
    const int id = stack.back();
    stack.pop_back();
    if (std::exchange(wanted[static_cast<size_t>(id)], uint8_t{1}) != 0) continue;
    for (NodeOutput in : graph.at(id).inputs()) stack.push_back(in.node);
  }
  std::vector<int> order = graph.topological_order();
  std::erase_if(order, [&](int id) { return wanted[static_cast<size_t>(id)] == 0; });
  return order;
}

// Computes the node's symbolic values and binds them to its outputs.
void replay_symbolically(Graph& graph, Replay& replay, int id) {
  const Node& node = graph.at(id);
  if (node.is(OpKind::kPlaceholder) && !replay.has(id)) {
    const OutputInfo& info = node.output(0);
    replay.set(id, {meta_tensor(info.dtype, info.shape, std::nullopt, graph.identity())});
  }
  replay.run(id);
  const dispatch::Outputs& outputs = replay.values(id);
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].is_meta()) outputs[k].impl()->meta->trace = graph.identity();
    graph.bind(outputs[k], {id, static_cast<int>(k)});
  }
}

// Whether the node reads one of `xs`, which are sorted, or a node with a mark in `reads_x`.
bool reads_any(const Node& node, const std::vector<uint8_t>& reads_x, std::span<const NodeOutput> xs) {
  return std::ranges::any_of(node.inputs(), [&](NodeOutput in) {
    return reads_x[static_cast<size_t>(in.node)] != 0 || std::ranges::binary_search(xs, in);
  });
}

// The nodes on paths from `xs`, which are sorted, to `ys`; in topological order.
std::vector<int> on_the_way(const Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs) {
  std::vector<uint8_t> reads_x(static_cast<size_t>(graph.id_limit()), 0);
  std::vector<int> order = ancestors(graph, ys);
  std::erase_if(order, [&](int id) {
    const bool reads = reads_any(graph.at(id), reads_x, xs);
    reads_x[static_cast<size_t>(id)] = reads ? 1 : 0;
    return !reads;
  });
  return order;
}

bool has_no_gradient_as_a_whole(const Node& node) {
  return is_composite(node) && node.op().gradient() == nullptr && node.op().no_gradient().empty();
}

// Whether the node calls functions that can be made ready for gradients.
bool has_ready_form(const Node& node) {
  return (node.is(OpKind::kCond) || node.is(OpKind::kCase) || node.is(OpKind::kLoop)) && !is_unknown(node);
}

// The parts of a Gradient as node outputs; missing ones are invalid.
struct GradientOutputs {
  NodeOutput whole, indices, rows, num_rows;
};

// `sparse` and `stopped` as in detail::graph_gradients.
std::vector<GradientOutputs> add_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs,
                                           std::span<const NodeOutput> seeds,
                                           std::span<const std::pair<NodeOutput, Tensor>> known, bool sparse,
                                           bool* stopped) {
  const RecorderPause quiet;
  expand_for_gradients(graph, ys, xs);
  Replay replay(graph);
  for (const auto& [output, value] : known) replay.set(output.node, {value});
  GradientTape tape(GradientTape::Options{});
  {
    const SymbolicScope symbolic;
    std::vector<NodeOutput> sorted(xs.begin(), xs.end());
    std::ranges::sort(sorted);
    for (int id : ancestors(graph, ys)) {
      replay_symbolically(graph, replay, id);
      for (auto x = std::ranges::lower_bound(sorted, NodeOutput{id, 0}); x != sorted.end() && x->node == id; ++x) {
        if (differentiable(graph.info(*x).dtype)) tape.watch(replay.value(*x));
      }
    }
  }
  tape.stop();
  std::vector<Tensor> targets, seed_values;
  std::vector<GradSource> sources;
  std::vector<size_t> positions;
  for (size_t i = 0; i < ys.size(); ++i) {
    targets.push_back(replay.value(ys[i]));
    const bool seeded = i < seeds.size() && seeds[i].valid();
    if (!seeded) {
      seed_values.emplace_back();
      continue;
    }
    const OutputInfo& info = graph.info(seeds[i]);
    seed_values.push_back(meta_tensor(info.dtype, info.shape, std::nullopt, graph.identity()));
    graph.bind(seed_values.back(), seeds[i]);
  }
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!replay.has(xs[i].node)) continue;
    sources.emplace_back(replay.value(xs[i]));
    positions.push_back(i);
  }
  Tracer tracer(graph, {.symbolic = true, .order_effects = false, .capture = false});
  const RecorderScope recording(&tracer);
  const NameScope scope("gradients");
  const std::vector<Gradient> grads = detail::graph_gradients(tape, targets, sources, seed_values, sparse, stopped);
  const auto output = [&tracer](const Tensor& t) { return t.defined() ? tracer.output_of(t) : NodeOutput(); };
  std::vector<GradientOutputs> result(xs.size());
  for (size_t i = 0; i < grads.size(); ++i) {
    const Gradient& g = grads[i];
    result[positions[i]] = {output(g.whole), output(g.indices), output(g.rows), output(g.num_rows)};
  }
  return result;
}

std::vector<NodeOutput> wholes(const std::vector<GradientOutputs>& gradients) {
  std::vector<NodeOutput> result;
  for (const GradientOutputs& g : gradients) result.push_back(g.whole);
  return result;
}

std::vector<GradientOutputs> gradients_of(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs,
                                          std::span<const NodeOutput> seeds,
                                          std::span<const std::pair<NodeOutput, Tensor>> known, bool sparse) {
  if (!graph.has_control_flow()) return add_gradients(graph, ys, xs, seeds, known, sparse, nullptr);
  // Raise loops and conditionals of TensorFlow 1 to While and If, which have gradients.
  std::vector<int> kept;
  for (const std::span<const NodeOutput> outputs : {ys, xs, seeds}) {
    for (const NodeOutput& o : outputs) {
      if (o.valid()) kept.push_back(o.node);
    }
  }
  raise_arrays(graph, kept);
  const Raised raised = raise_control_flow(graph, kept);
  const auto moved = [&](std::span<const NodeOutput> outputs) {
    std::vector<NodeOutput> found;
    for (const NodeOutput& o : outputs) found.push_back(o.valid() ? raised.find(graph, o) : o);
    return found;
  };
  return add_gradients(graph, moved(ys), moved(xs), moved(seeds), known, sparse, nullptr);
}

// The output that a symbolic tensor of the open graph stands for.
NodeOutput expect_output(const Graph& graph, const char* what, const Tensor& t) {
  const NodeOutput output = graph.output_of(t);
  if (!output.valid()) invalid("{} of the open graph, got {}", what, t.to_string());
  return output;
}

std::vector<NodeOutput> expect_sources(const Graph& graph, std::span<const GradSource> xs) {
  std::vector<NodeOutput> sources;
  for (const GradSource& x : xs) {
    sources.push_back(expect_output(graph, "source: expected a tensor or variable", x.tensor()));
  }
  return sources;
}

}  // namespace

void expand_for_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs) {
  const auto any_left = [&] {
    return std::ranges::any_of(graph.ids(), [&](int id) { return has_no_gradient_as_a_whole(graph.at(id)); });
  };
  const auto any_functions = [&] {
    return std::ranges::any_of(graph.ids(), [&](int id) { return has_ready_form(graph.at(id)); });
  };
  if (!any_left() && !any_functions()) return;
  std::vector<NodeOutput> sorted(xs.begin(), xs.end());
  std::ranges::sort(sorted);
  CallTrail trail;
  for (bool again = true; again;) {  // bodies may contain composites
    again = false;
    const std::vector<int> way = on_the_way(graph, ys, sorted);
    std::vector<uint8_t> reads_x(static_cast<size_t>(graph.id_limit()), 0);
    for (const int id : way) reads_x[static_cast<size_t>(id)] = 1;
    const auto expand = [&](int id) {
      const auto first = static_cast<size_t>(graph.id_limit());
      expand_in_place(graph, id, trail);
      reads_x.resize(static_cast<size_t>(graph.id_limit()), 0);
      for (size_t made = first; made < reads_x.size(); ++made) {
        const Node* node = graph.find(static_cast<int>(made));
        reads_x[made] = node != nullptr && reads_any(*node, reads_x, sorted) ? 1 : 0;
      }
    };
    const auto goes_on = [&](int id) {
      return reads_x[static_cast<size_t>(id)] != 0 && has_no_gradient_as_a_whole(graph.at(id));
    };
    for (const int id : way) {
      if (has_ready_form(graph.at(id)) && !is_ready_for_gradients(graph, id, ys)) make_ready_for_gradients(graph, id);
      if (!has_no_gradient_as_a_whole(graph.at(id))) continue;
      for_calls_within(graph, id, goes_on, expand);
      again = true;
    }
  }
}

void make_ready_for_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs,
                              int orders) {
  std::vector<NodeOutput> sorted(xs.begin(), xs.end());
  std::ranges::sort(sorted);
  for (int id : on_the_way(graph, ys, sorted)) {
    for (int k = 0; k < orders && has_ready_form(graph.at(id)); ++k) make_ready_for_gradients(graph, id);
  }
}

std::vector<std::vector<uint64_t>> gradient_ways(const Graph& graph, std::span<const NodeOutput> ys,
                                                 std::span<const NodeOutput> xs) {
  const size_t words = (xs.size() + 63) / 64;
  std::map<NodeOutput, std::vector<uint64_t>> from;  // outputs that depend on some x
  const auto add_way = [&](NodeOutput to, const std::vector<uint64_t>& more) {
    std::vector<uint64_t>& bits = from.try_emplace(to, words, 0).first->second;
    for (size_t w = 0; w < words; ++w) bits[w] |= more[w];
  };
  for (size_t i = 0; i < xs.size(); ++i) {
    std::vector<uint64_t> own(words, 0);
    own[i / 64] = uint64_t{1} << (i % 64);
    add_way(xs[i], own);
  }
  for (int id : ancestors(graph, ys)) {
    const Node& node = graph.at(id);
    if (ends_gradients(node.op())) continue;
    std::vector<uint64_t> bits;
    for (NodeOutput in : node.inputs()) {
      const auto way = from.find(in);
      if (way == from.end()) continue;
      if (bits.empty()) bits.resize(words, 0);
      for (size_t w = 0; w < words; ++w) bits[w] |= way->second[w];
    }
    for (int k = 0; !bits.empty() && k < node.num_outputs(); ++k) {
      if (differentiable(node.output(k).dtype)) add_way({id, k}, bits);
    }
  }
  std::vector<std::vector<uint64_t>> result;
  for (NodeOutput y : ys) {
    const auto way = from.find(y);
    result.push_back(way == from.end() ? std::vector<uint64_t>(words, 0) : way->second);
  }
  return result;
}

std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs,
                                  std::span<const NodeOutput> seeds,
                                  std::span<const std::pair<NodeOutput, Tensor>> known) {
  return wholes(gradients_of(graph, ys, xs, seeds, known, false));
}

std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs,
                                  std::span<const NodeOutput> seeds) {
  return gradients(graph, ys, xs, seeds, {});
}

std::vector<NodeOutput> gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs) {
  return gradients(graph, ys, xs, {}, {});
}

std::vector<NodeOutput> possible_gradients(Graph& graph, std::span<const NodeOutput> ys, std::span<const NodeOutput> xs,
                                           std::span<const NodeOutput> seeds,
                                           std::span<const std::pair<NodeOutput, Tensor>> known, bool& stopped) {
  return wholes(add_gradients(graph, ys, xs, seeds, known, false, &stopped));
}

std::vector<Tensor> gradients(const Tensor& y, std::span<const GradSource> xs) {
  Graph& graph = current_graph();
  const NodeOutput target = expect_output(graph, "target: expected a tensor", y);
  const std::vector<NodeOutput> sources = expect_sources(graph, xs);
  std::vector<Tensor> result;
  for (NodeOutput g : gradients(graph, {&target, 1}, sources)) result.push_back(symbol_of(graph, g));
  return result;
}

std::vector<Gradient> sparse_gradients(const Tensor& y, std::span<const GradSource> xs, const Tensor& seed) {
  Graph& graph = current_graph();
  const NodeOutput target = expect_output(graph, "target: expected a tensor", y);
  const std::vector<NodeOutput> sources = expect_sources(graph, xs);
  std::vector<NodeOutput> seeds;
  if (seed.defined()) {
    if (seed.dtype() != y.dtype() || !seed.partial_shape().compatible_with(y.partial_shape())) {
      invalid("seed: expected the target's {}{}, got {}{}", dtype_name(y.dtype()), y.partial_shape().to_string(),
              dtype_name(seed.dtype()), seed.partial_shape().to_string());
    }
    // A value from outside becomes a node.
    seeds.push_back(expect_output(graph, "seed: expected a tensor", seed.is_meta() ? seed : identity(seed)));
  }
  std::vector<Gradient> result;
  for (const GradientOutputs& g : gradients_of(graph, {&target, 1}, sources, seeds, {}, true)) {
    result.push_back({.whole = symbol_of(graph, g.whole),
                      .indices = symbol_of(graph, g.indices),
                      .rows = symbol_of(graph, g.rows),
                      .num_rows = symbol_of(graph, g.num_rows)});
  }
  return result;
}

}  // namespace panto
