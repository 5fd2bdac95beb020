// Loops whose values are single numbers: rounds of them as one call of `_ScalarLoop`. Internal.
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
  // Of a loop whose round is `graph`: from `feeds`, the loop's values, to those of `made`, then whether to go on. Null
  // where a round does more than arithmetic on scalars in host memory, elements taken from the end of lists and
  // elements put there.
  static std::unique_ptr<ScalarLoop> make(const Graph& graph, const Endpoints& round,
                                          std::span<const ExecutableFeed> feeds, std::span<const size_t> made);

  // Runs rounds from `values`, which become what they are after them; counts them in `rounds`. False after the last
  // round. True where another round is to be run by other means: it fails, or a list is none that rounds can use here.
  bool run(const Step& step, std::span<Tensor> values, int64_t& rounds) const;

 private:
  friend class ScalarLoopMaker;
  std::shared_ptr<dispatch::Prepared> prepared_;
  std::vector<size_t> inputs_;     // of the call: which values of the loop, ...
  std::vector<Tensor> constants_;  // ... and behind the scalars among them these; lists follow
  size_t scalars_ = 0;             // of `inputs_`, how many are no lists
};

}  // namespace panto
