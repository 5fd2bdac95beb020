// The options of `panto train NAME`, and helpers for its programs: data, initial values, the order of examples, and
// where results go.
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
  // Returns --data, or the folder `name` of the installation or of the source tree. Throws NotFound.
  std::string data(const std::string& name) const;

  // Returns the initial value of a variable: from --start if given, else `otherwise`. Throws NotFound if the file lacks
  // the name, InvalidArgument if its value has another shape or type.
  Tensor first_value(const std::string& name, const Tensor& otherwise) const;
  // Sets all variables of a model to their values in --start; without --start they keep their initial values.
  void begin(const Layer& model) const;
  void begin(const std::vector<NamedVariable>& variables) const;
  // The same for variables of a graph, in a session that has initialized them.
  void begin(Session& session, Graph& graph, const std::vector<Variable>& variables) const;
  // The same for variables made by get_variable in a scope: `VariableScope scope("", {.custom_getter =
  // run.first_values()})`.
  CustomGetter first_values() const;
  // True if --start is given: losses are then compared with another program's, so nothing may be random.
  bool is_compared() const { return !start_.empty(); }
  // Returns an array of --start. Throws NotFound if there is none of that name.
  const Tensor& from_file(const std::string& name) const;
  // Returns the examples of each batch, int64 [steps, size]: "order" of --start, else `count` examples, reshuffled in
  // each round.
  Tensor batches(int64_t count, int64_t size, int64_t steps) const;
  // The same, but drawn independently for each batch: an example may occur repeatedly.
  Tensor drawn_batches(int64_t count, int64_t size, int64_t steps) const;

  void keep_loss(double loss) { losses_.push_back(loss); }
  // Writes the variables to --save, if given.
  void save(const Layer& model) const;
  void save(const std::vector<NamedVariable>& variables) const;
  void save(Session& session, const std::vector<Variable>& variables) const;
  // Writes the trained model, frozen to one graph with constants for variables, to --graph, if given.
  void save_graph(const Function& function) const;
  // Writes the kept losses to --losses, if given.
  void finish() const;

 private:
  Tensor order_from_file(int64_t size, int64_t steps) const;

  RunSettings settings_;
  std::vector<NamedTensor> start_;
  std::vector<double> losses_;
};

}  // namespace panto::apps
