#include "panto/nn/training/checkpoints/graph_values.h"

#include <cstddef>
#include <utility>

#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/trace/graph_scope.h"

namespace panto {

GraphValues::GraphValues(std::vector<Variable> variables) : variables_(std::move(variables)) {
  if (variables_.empty()) return;
  const NameScope scope("save");
  for (const Variable& v : variables_) {
    fed_.push_back(placeholder(v.dtype(), v.shape(), "value"));
    assigned_.emplace_back(v.assign(fed_.back()));
  }
}

std::vector<Tensor> GraphValues::read(Session& session) const {
  Fetches fetches;
  for (const Variable& v : variables_) fetches.emplace_back(v);
  return session.run(fetches);
}

void GraphValues::assign(Session& session, const std::vector<Tensor>& values) const {
  Feeds feeds;
  Fetches run;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined()) continue;
    feeds.emplace_back(fed_[i], values[i]);
    run.push_back(assigned_[i]);
  }
  if (!run.empty()) session.run(run, feeds);
}

}  // namespace panto
