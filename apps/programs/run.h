// What `panto train NAME` was told, and what its programs have in common: where data and first values come from, in
// which order examples are taken, where results go.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/apps/programs/settings.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/training/checkpoint.h"
#include "panto/nn/variables/variable_scope.h"
#include "panto/trace/function.h"

namespace panto::apps {

class Run {
 public:
  explicit Run(RunSettings settings);

  bool quick() const { return settings_.quick; }
  int64_t seed() const { return settings_.seed; }
  const std::string& picture() const { return settings_.picture; }
  int64_t steps(int64_t usual, int64_t quick) const;
  // --data, or the folder `name` beside the installed command or in the source tree. Throws NotFound.
  std::string data(const std::string& name) const;

  // The first value of a variable: --start's, where that is given, else `otherwise`. Throws NotFound where the file
  // lacks the name, InvalidArgument where what it has is of another shape or type.
  Tensor first_value(const std::string& name, const Tensor& otherwise) const;
  // The same of all variables of a model, which has its own first values.
  void begin(const Layer& model) const;
  void begin(const std::vector<NamedVariable>& variables) const;
  // Of variables of a graph, in a session where they have been initialized.
  void begin(Session& session, Graph& graph, const std::vector<Variable>& variables) const;
  // And of those that get_variable makes in a scope: `VariableScope scope("", {.custom_getter = run.first_values()})`.
  CustomGetter first_values() const;
  // Whether --start is given: losses are compared, so nothing is to be drawn.
  bool is_compared() const { return !start_.empty(); }
  // An array of --start. Throws NotFound where it has none of that name.
  const Tensor& from_file(const std::string& name) const;
  // Which examples are in which batch, int64 [steps, size]: --start's "order", or `count` shuffled anew for each round.
  Tensor batches(int64_t count, int64_t size, int64_t steps) const;
  // The same drawn anew for each batch: a place may be in several.
  Tensor drawn_batches(int64_t count, int64_t size, int64_t steps) const;

  void keep_loss(double loss) { losses_.push_back(loss); }
  // Writes the variables to --save, where that is given.
  void save(const Layer& model) const;
  void save(const std::vector<NamedVariable>& variables) const;
  void save(Session& session, const std::vector<Variable>& variables) const;
  // Writes what was learned, as one graph with its variables as constants, to --graph, where that is given.
  void save_graph(const Function& function) const;
  // Writes what was kept to --losses.
  void finish() const;

 private:
  Tensor order_from_file(int64_t size, int64_t steps) const;

  RunSettings settings_;
  std::vector<NamedTensor> start_;
  std::vector<double> losses_;
};

}  // namespace panto::apps
