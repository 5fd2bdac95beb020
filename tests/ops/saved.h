// For tests of single ops as nodes of a graph that was written and read.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/graph/files/io.h"
#include "panto/lib/runtime/session.h"
#include "panto/trace/graph_scope.h"

namespace panto::test {

// What `build` makes in a GraphScope, as it comes out of a binary file and out of a text file.
template <class Build>
std::vector<Graph> saved_and_loaded(Build build) {
  Graph graph;
  {
    const GraphScope building(graph);
    build();
  }
  std::vector<Graph> loaded;
  loaded.push_back(parse_graph(to_graph_def(graph)));
  loaded.push_back(parse_graph(to_graph_def_text(graph)));
  return loaded;
}

}  // namespace panto::test
