// RunMetadata: what a run of a session tells of itself.
//
//   RunMetadata metadata;
//   session.run({"y"}, {{"x", x}}, {.trace = RunOptions::Trace::kFull}, &metadata);
//   for (const NodeStats& node : metadata.nodes) std::cout << node.name << ' ' << node.end - node.start << '\n';
//   write_file("trace.json", metadata.chrome_trace());   // for chrome://tracing and ui.perfetto.dev
//
// Nodes are those of the optimized graph, and in calls of functions, branches and bodies of loops those that ran there,
// once for each time. A kernel of a GPU ends when it was handed to the device. What a run makes other threads do
// (elements of a Dataset) is not told.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct OutputStats {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  int64_t bytes = 0;  // of the elements; 0 for strings, handles and variants
};

// One execution of a node. Times are nanoseconds since `RunMetadata::began`.
struct NodeStats {
  std::string name;
  std::string op;
  std::string device;
  int thread = 0;  // 0: the one that called `run`
  int depth = 0;   // in how many calls of functions it is
  int64_t start = 0;
  int64_t end = 0;
  std::vector<OutputStats> outputs;  // of those it made; a Switch makes one
};

// A node of the graph that ran, whether it was traced or not.
struct CostNode {
  struct Input {
    int node = 0;  // its position in the list
    int output = 0;
  };
  std::string name;
  std::string device;
  std::vector<Input> inputs;
  std::vector<int> waits_for;        // positions
  std::vector<OutputStats> outputs;  // as they were made last; as far as known before, where it was not traced
  int64_t executions = 0;
  int64_t nanoseconds = 0;  // of all executions
  bool is_final = false;    // nobody reads it
};

struct PANTO_EXPORT RunMetadata {
  int64_t began = 0;                 // nanoseconds since 1970
  int64_t took = 0;                  // nanoseconds
  std::vector<NodeStats> nodes;      // with RunOptions::trace: in the order in which they ended
  std::vector<CostNode> cost_graph;  // with RunOptions::trace
  // With RunOptions::partition_graphs: of each device its nodes; what comes from another is a _Recv, what goes there a
  // _Send.
  std::vector<std::pair<std::string, Graph>> partition_graphs;

  // For chrome://tracing: a process for each device, a line for each execution, with op, shapes and bytes.
  std::string chrome_trace() const;
};

}  // namespace panto
