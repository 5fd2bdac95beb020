// Loops over scalar values, run as one call of the op `_ScalarLoop` instead of op by op. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/executable.h"

namespace panto {

class ScalarLoop {
 public:
  // Makes one for a loop whose round is `graph`. A round reads the loop's values from `feeds` and computes the values
  // listed in `made`, then whether to go on. Returns null if a round does more than arithmetic on scalars in host
  // memory and popping from, or pushing to, the end of lists.
  static std::unique_ptr<ScalarLoop> make(const Graph& graph, const Endpoints& round,
                                          std::span<const ExecutableFeed> feeds, std::span<const size_t> made);

  // Runs rounds, updating `values` in place, and adds their number to `rounds`. Returns false after the last round.
  // Returns true if the caller must run the next round by other means: the round fails, or a list is not one that this
  // program can use.
  bool run(const Step& step, std::span<Tensor> values, int64_t& rounds) const;

 private:
  friend class ScalarLoopMaker;
  std::shared_ptr<dispatch::Prepared> prepared_;
  std::vector<size_t> inputs_;     // the call's inputs, as positions of the loop's values: scalars, then lists
  std::vector<Tensor> constants_;  // inputs of the call that follow the scalars and precede the lists
  size_t scalars_ = 0;             // how many of `inputs_` are scalars
};

}  // namespace panto
