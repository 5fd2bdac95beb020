// What two graphs have that differs, for people.
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

// Nodes are the same that compute the same of the same, by the same name if there is one, else by another; of the
// others, two of one name are one that changed. Each node is in one list at most.
struct PANTO_EXPORT GraphDifference {
  std::vector<std::string> removed, added;                   // as Graph::node_text
  std::vector<std::pair<std::string, std::string>> changed;  // the same
  std::vector<std::pair<std::string, std::string>> renamed;  // names
  std::vector<FunctionDifference> functions;                 // of those that both call
  std::vector<std::string> removed_functions, added_functions;

  bool empty() const noexcept;
  // A line each; "" if nothing differs.
  std::string to_string() const;
};

struct PANTO_EXPORT FunctionDifference {
  std::string name;
  GraphDifference body;
};

PANTO_EXPORT GraphDifference graph_difference(const Graph& before, const Graph& after);

}  // namespace panto
