// _ScalarLoop: rounds of a loop whose values are single numbers. Internal.
#pragma once

#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math/elementwise_program.h"

namespace panto {

// A round of such a loop. The program's inputs are the loop's values and, behind them, the elements that lists give.
struct ScalarRound {
  ElementwiseProgram program;  // its only output: whether to go on
  std::vector<int> carried;    // by value of the loop: the program's value that it has in the next round
  std::vector<int> pushed;     // by list that is written: the program's value that it gets in each round
  // Of one element each: of the loop's values, of what lists give, of what they get.
  std::vector<Shape> shapes, read_shapes, pushed_shapes;

  int num_values() const { return static_cast<int>(carried.size()); }
};

// From the call's attributes. Throws InvalidArgument where they do not make a loop.
ScalarRound parse_scalar_round(const CallView& call);

}  // namespace panto
