// The differences between two graphs, for display.
//
//   std::cout << graph_difference(before, after).to_string();
//     - y = Mul(x, two) -> float32[?]
//     + y = AddV2(x, x) -> float32[?]
//       product_1 is called product
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct FunctionDifference;

// Two nodes are the same if they compute the same from the same inputs: matched by equal names first, then by any
// names. Of the remaining nodes, two with the same name count as changed. Each node is in at most one list.
struct PANTO_EXPORT GraphDifference {
  std::vector<std::string> removed, added;                   // as Graph::node_text
  std::vector<std::pair<std::string, std::string>> changed;  // the same
  std::vector<std::pair<std::string, std::string>> renamed;  // names
  std::vector<FunctionDifference> functions;                 // of functions that both graphs call
  std::vector<std::string> removed_functions, added_functions;

  bool empty() const noexcept;
  // One line for each difference; "" if there is none.
  std::string to_string() const;
};

struct PANTO_EXPORT FunctionDifference {
  std::string name;
  GraphDifference body;
};

PANTO_EXPORT GraphDifference graph_difference(const Graph& before, const Graph& after);

}  // namespace panto
