// _ScalarLoop: an op that runs rounds of a loop whose values are scalars. Internal.
#pragma once

#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math/elementwise_program.h"

namespace panto {

// One round of such a loop. The program's inputs are the loop's values, followed by the elements popped from lists.
struct ScalarRound {
  ElementwiseProgram program;  // its only output: whether to continue
  std::vector<int> carried;    // by value of the loop: the program value that it becomes in the next round
  std::vector<int> pushed;     // by written list: the program value that each round pushes
  // One element each: shapes of the loop's values, of the elements popped, of the elements pushed.
  std::vector<Shape> shapes, read_shapes, pushed_shapes;

  int num_values() const { return static_cast<int>(carried.size()); }
};

// Parses the call's attributes. Throws InvalidArgument if they do not describe a loop.
ScalarRound parse_scalar_round(const CallView& call);

}  // namespace panto
