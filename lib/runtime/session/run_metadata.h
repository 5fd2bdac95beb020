// RunMetadata: the trace of a run of a session.
//
//   RunMetadata metadata;
//   session.run({"y"}, {{"x", x}}, {.trace = RunOptions::Trace::kFull}, &metadata);
//   for (const NodeStats& node : metadata.nodes) std::cout << node.name << ' ' << node.end - node.start << '\n';
//   write_file("trace.json", metadata.chrome_trace());   // for chrome://tracing and ui.perfetto.dev
//
// Nodes are those of the optimized graph and of the functions, branches and bodies of loops that it calls, one entry
// for each execution. A GPU kernel counts as finished when it was handed to the device. Work of other threads that a
// run causes (elements of a Dataset) is not included.
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
  int depth = 0;   // how many function calls it is nested in
  int64_t start = 0;
  int64_t end = 0;
  std::vector<OutputStats> outputs;  // of outputs that it produced; a Switch produces one
};

// A node of the graph, with the sum of its executions.
struct CostNode {
  struct Input {
    int node = 0;  // its position in the list
    int output = 0;
  };
  std::string name;
  std::string device;
  std::vector<Input> inputs;
  std::vector<int> waits_for;        // positions
  std::vector<OutputStats> outputs;  // of the last execution; as inferred, if it did not run
  int64_t executions = 0;
  int64_t nanoseconds = 0;  // of all executions
  bool is_final = false;    // no node reads it
};

struct PANTO_EXPORT RunMetadata {
  int64_t began = 0;                 // nanoseconds since 1970
  int64_t took = 0;                  // nanoseconds
  std::vector<NodeStats> nodes;      // with RunOptions::trace: in the order in which they ended
  std::vector<CostNode> cost_graph;  // with RunOptions::trace
  // With RunOptions::partition_graphs: the nodes of each device; a value from another device comes from a _Recv, a
  // value for another device goes to a _Send.
  std::vector<std::pair<std::string, Graph>> partition_graphs;

  // Returns JSON for chrome://tracing: one process per device, one event per execution, with op, shapes and bytes.
  std::string chrome_trace() const;
};

}  // namespace panto
