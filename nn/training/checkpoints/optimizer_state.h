// What a checkpoint has of an optimizer, and under which names TensorFlow and Keras have the same. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

class Optimizer;

// What an optimizer keeps for all its variables together.
struct SharedValue {
  std::string name;  // "beta1_power", "step", "learning_rate"
  Variable variable;
  double initial = 0;
};

struct OptimizerState {
  // In the order of slots().
  static std::vector<SharedValue> shared(const Optimizer& optimizer);
  // Of what it keeps for this variable: (name, variable).
  static std::vector<std::pair<std::string, Variable>> slots(const Optimizer& optimizer, const Variable& variable);
  // Whether it may get further variables: it was made without.
  static bool may_grow(const Optimizer& optimizer);
  // From now on `restore` is called when slots were made.
  static void when_built(Optimizer& optimizer, Callable<void(Optimizer&)> restore);
};

// Names of one slot. Empty ones: TensorFlow, or Keras, has no such optimizer, or keeps something else.
struct SlotNames {
  std::string stored;         // among the slots of a graph of objects: as tf.compat.v1.train calls it
  std::string second = "";    // as Keras 2 called it in such a graph, where it was another name
  std::string keras = "";     // the list of an optimizer of Keras 3 that has one for each variable
  std::string variable = "";  // behind the variable's name in a checkpoint of names: "Adam_1"
  bool keras_may_lack = false;
};
SlotNames slot_names(const Optimizer& optimizer, std::string_view slot);

}  // namespace panto
