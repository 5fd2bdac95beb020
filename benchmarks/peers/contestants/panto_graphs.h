// Graphs of tiny nodes, shaped like TensorFlow's executor benchmark (core/common_runtime/executor_test.cc), run by a
// Session without optimization: the cost of a node.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/benchmarks/peers/contestants/contestant.h"
#include "panto/panto.h"

namespace panto::peer_graphs {

// Negates each constant `depth` times.
inline std::vector<Tensor> chains(std::vector<Tensor> constants, int64_t depth) {
  for (Tensor& y : constants) {
    for (int64_t d = 0; d < depth; ++d) y = neg(y);
  }
  return constants;
}

// Builds `depth` layers in which each node is the sum of the whole previous layer.
inline std::vector<Tensor> sums(std::vector<Tensor> layer, int64_t depth) {
  for (int64_t d = 0; d < depth; ++d) {
    std::vector<Tensor> next;
    for (size_t i = 0; i < layer.size(); ++i) next.push_back(add_n(layer));
    layer = std::move(next);
  }
  return layer;
}

// The input's shape is [width, depth]; its first numbers are the constants. Output: the number of nodes, and the last
// tensors.
inline std::optional<peers::Workload> workload(const std::string& work, const peers::Input& in) {
  const int64_t width = in.shape[0], depth = in.shape[1];
  Graph graph;
  Fetches fetches;
  {
    const GraphScope building(graph);
    std::vector<Tensor> constants;
    for (int64_t i = 0; i < width; ++i) constants.push_back(tensor(in.floats[static_cast<size_t>(i)]));
    if (work != "chains" && work != "sums") return std::nullopt;
    const std::vector<Tensor> ends = work == "chains" ? chains(constants, depth) : sums(constants, depth);
    fetches.assign(ends.begin(), ends.end());
    group(fetches, "all");
  }
  const auto nodes = static_cast<float>(graph.num_nodes());
  const auto session = std::make_shared<Session>(std::move(graph), SessionOptions{.passes = "off"});
  peers::Workload result =
      peers::calls([session] { return session->run("all"); }, [](const Tensor&) { return std::vector<float>(); });
  result.output = [session, fetches, nodes] {
    peers::Parts values = {{nodes}, {}};
    for (const Tensor& t : session->run(fetches)) values[1].push_back(t.item<float>());
    return values;
  };
  return result;
}

}  // namespace panto::peer_graphs
