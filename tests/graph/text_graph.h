// Graphs written in a few readable lines, in the form in which they print:
//
//   Graph g = text_graph(R"(
//     x = Placeholder(; dtype=float32, shape=[?,2])
//     w = Const(; value=float32[2,1]{1, -0.5})
//     y = MatMul(x, w, ^x; transpose_a=true) @/device:CPU:0
//   )");
//
// The lines become the text form of a GraphDef, which is imported: so all that import checks and infers is done.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/graph/graph.h"

namespace panto::test {

Graph text_graph(std::string_view lines);
// The same as the text of a GraphDef.
std::string text_graph_def(std::string_view lines);

}  // namespace panto::test
