// The state of an optimizer in a checkpoint, and the names that TensorFlow and Keras use for it. Internal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

class Optimizer;

// A value that an optimizer keeps for all its variables together.
struct SharedValue {
  std::string name;  // "beta1_power", "step", "learning_rate"
  Variable variable;
  double initial = 0;
};

struct OptimizerState {
  // In the order of slots().
  static std::vector<SharedValue> shared(const Optimizer& optimizer);
  // The slots of this variable: (name, variable).
  static std::vector<std::pair<std::string, Variable>> slots(const Optimizer& optimizer, const Variable& variable);
  // Whether the optimizer may get further variables: it was constructed without any.
  static bool may_grow(const Optimizer& optimizer);
  // Sets the function to be called after slots were made.
  static void when_built(Optimizer& optimizer, Callable<void(Optimizer&)> restore);
};

// The names of one slot. Empty: TensorFlow, or Keras, has no such optimizer, or keeps something else.
struct SlotNames {
  std::string stored;         // in the slots of an object graph: tf.compat.v1.train's name
  std::string second = "";    // Keras 2's name there, if it differs
  std::string keras = "";     // the list in a Keras 3 optimizer that has one entry per variable
  std::string variable = "";  // after the variable's name in a checkpoint of names: "Adam_1"
  bool keras_may_lack = false;
};
SlotNames slot_names(const Optimizer& optimizer, std::string_view slot);

}  // namespace panto
