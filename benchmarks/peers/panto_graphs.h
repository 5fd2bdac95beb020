// Graphs of nodes that do little or nothing, in the shapes of TensorFlow's benchmark of its executor
// (core/common_runtime/executor_test.cc), as a Session runs them without optimization: what a node costs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/benchmarks/peers/contestant.h"
#include "panto/panto.h"

namespace panto::peer_graphs {

// The nodes that nobody waits for: tensors, or names where they have no output.
struct Ends {
  std::vector<Tensor> tensors;
  std::vector<std::string> names;
};

// `depth` nodes one after the other, before and after each of which `width` stand side by side.
inline Ends no_ops(int64_t width, int64_t depth) {
  std::vector<std::string> layer(static_cast<size_t>(width));
  for (std::string& name : layer) name = group({}, "node");
  for (int64_t d = 0; d < depth; ++d) {
    const std::vector<std::string> joint = {group(layer, "node")};
    for (std::string& name : layer) name = group(joint, "node");
  }
  return {.tensors = {}, .names = layer};
}

// `depth` Identity nodes of each constant.
inline Ends identities(const std::vector<Tensor>& constants, int64_t depth) {
  Ends ends;
  for (const Tensor& c : constants) {
    for (int64_t d = 0; d < depth; ++d) ends.tensors.push_back(identity(c));
  }
  return ends;
}

// Each constant negated `depth` times.
inline Ends chains(const std::vector<Tensor>& constants, int64_t depth) {
  Ends ends;
  for (Tensor y : constants) {
    for (int64_t d = 0; d < depth; ++d) y = neg(y);
    ends.tensors.push_back(y);
  }
  return ends;
}

// `depth` layers of sums, each of the whole layer before.
inline Ends sums(std::vector<Tensor> layer, int64_t depth) {
  for (int64_t d = 0; d < depth; ++d) {
    std::vector<Tensor> next;
    for (size_t i = 0; i < layer.size(); ++i) next.push_back(add_n(layer));
    layer = std::move(next);
  }
  return {.tensors = layer, .names = {}};
}

// The input's shape is width and depth, its first numbers are the constants. Output: how many nodes, and the tensors at
// the ends.
inline std::optional<peers::Workload> workload(const std::string& work, const peers::Input& in) {
  const int64_t width = in.shape[0], depth = in.shape[1];
  Graph graph;
  Fetches fetches;
  {
    const GraphScope building(graph);
    std::vector<Tensor> constants;
    for (int64_t i = 0; i < width; ++i) constants.push_back(tensor(in.floats[static_cast<size_t>(i)]));
    Ends ends = work == "no_ops"       ? no_ops(width, depth)
                : work == "identities" ? identities(constants, depth)
                : work == "chains"     ? chains(constants, depth)
                : work == "sums"       ? sums(constants, depth)
                                       : Ends();
    for (const Tensor& t : ends.tensors) ends.names.push_back(graph.node(t).name());
    if (ends.names.empty()) return std::nullopt;
    fetches.assign(ends.tensors.begin(), ends.tensors.end());
    group(ends.names, "all");
  }
  const auto nodes = static_cast<float>(graph.num_nodes());
  const auto session = std::make_shared<Session>(std::move(graph), SessionOptions{.passes = "off"});
  peers::Workload result = peers::calls([session] { return session->run({}, {}, {"all"}); },
                                        [](const std::vector<Tensor>&) { return std::vector<float>(); });
  result.output = [session, fetches, nodes] {
    std::vector<float> values = {nodes};
    for (const Tensor& t : session->run({}, fetches, {"all"})) values.push_back(t.item<float>());
    return values;
  };
  return result;
}

}  // namespace panto::peer_graphs
