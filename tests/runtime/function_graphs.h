// Graphs with functions, as files have them: calls, recursion, conditionals, loops of both kinds, gradients.
#pragma once

#include <string>
#include <vector>

#include "panto/tests/runtime/reference_graphs.h"

namespace panto::test {

struct FunctionGraph {
  ReferenceGraph reference;  // of no file; what its runs give is known in closed form
  std::string text;          // of its GraphDef
};

const std::vector<FunctionGraph>& function_graphs();

}  // namespace panto::test
