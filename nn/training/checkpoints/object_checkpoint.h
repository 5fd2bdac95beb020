// Checkpoint: all that a training run needs to go on, in one file, by the objects that it belongs to.
//
//   Checkpoint checkpoint({{"model", model}, {"optimizer", adam}, {"data", train}, {"step", step},
//                          {"random", random_generator()}});
//   checkpoint.save("run/ckpt");                                     // run/ckpt-1, then run/ckpt-2, ...
//   checkpoint.restore(*latest_checkpoint("run")).assert_consumed();
//
// It is TensorFlow's: values are named by the ways to them, "model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE", what an
// optimizer keeps for a variable "model/dense/kernel/.OPTIMIZER_SLOT/optimizer/m/...", and the file says which objects
// there are (TrackableObjectGraph). tf.train.Checkpoint restores it, and the other way round; so does
// tf.compat.v1.train.Saver, which calls slots "dense/kernel/Adam". Optimizers of tf.compat.v1.train are known by their
// slots, those of Keras by their variables: beta1_power is then computed from the number of steps.
//
// A model that Keras saved has other ways ("_functional/_operations/1/_kernel"): where a variable is not found by its
// way, it is the only one below the object whose own name ends as its name here does ("sequential/dense/kernel"). In a
// checkpoint without objects, as of a Saver, values are found by the names of variables.
//
// What an optimizer makes only at its first step is restored then.
//
// Variables of a graph, in whose GraphScope the Checkpoint is made when all of it is there, have their values in a
// session: `checkpoint.save(session, prefix)`. Others may be beside them (random_generator(), the place in the data).
// Objects are not owned: they outlive the Checkpoint. Thread-safety: one call at a time.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

class ExponentialMovingAverage;
class Layer;
class Optimizer;
class Session;
struct CheckpointNode;
class CheckpointValues;
namespace metrics {
class Metric;
}

namespace detail {
// What keeps variables from step to step, and is no optimizer: LossScale, GradientAccumulator.
template <class T>
concept KeepsSlots = !std::convertible_to<T*, const Optimizer*> && requires(const T& t) {
  { t.slots() } -> std::same_as<std::vector<Variable>>;
};
// What says where it stands as bytes, and goes on there: a Dataset.
template <class T>
concept HasPosition = requires(const T& t, std::string_view bytes) {
  { t.state() } -> std::same_as<std::string>;
  t.restore(bytes);
};
}  // namespace detail

// What may be in a Checkpoint.
class PANTO_EXPORT CheckpointObject {
 public:
  using Named = std::pair<std::string, CheckpointObject>;
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  CheckpointObject(const Variable& variable);
  // Variables and state, by the names that they have in files.
  CheckpointObject(const Layer& layer);
  CheckpointObject(const Layer&&) = delete;  // it would be gone
  // Its slots, what all variables share, the number of steps and the rate. The variables that it trains must be in the
  // checkpoint too.
  CheckpointObject(Optimizer& optimizer);
  CheckpointObject(const metrics::Metric& metric);
  // Its averages: those that are there, so it is made with its variables.
  CheckpointObject(const ExponentialMovingAverage& average);
  CheckpointObject(const ExponentialMovingAverage&&) = delete;
  template <detail::KeepsSlots T>
  CheckpointObject(const T& object)
      : CheckpointObject(Callable<std::vector<Variable>()>([&object] { return object.slots(); })) {}
  template <detail::KeepsSlots T>
  CheckpointObject(const T&&) = delete;
  // The position of a Dataset's pass. A handle like a Dataset is copied.
  template <detail::HasPosition T>
  CheckpointObject(const T& object)
      : CheckpointObject(
            Callable<std::string()>([object] { return object.state(); }),
            Callable<void(std::string_view)>([object](std::string_view bytes) { object.restore(bytes); })) {}
  // Variables by the last parts of their names, "total"; of several of one name the later ones get numbers.
  CheckpointObject(Callable<std::vector<Variable>()> variables);
  // Several: "0", "1", ...; or by names.
  CheckpointObject(const std::vector<CheckpointObject>& list);
  CheckpointObject(std::vector<Named> objects);
  // Something else, as a tensor, which `save` gives and `restore` takes (it throws where it cannot).
  CheckpointObject(Callable<Tensor()> save, Callable<void(const Tensor&)> restore);
  CheckpointObject(Callable<std::string()> save, Callable<void(std::string_view)> restore);
  // NOLINTEND(google-explicit-constructor)

 private:
  friend class ObjectTree;
  SharedImpl<const CheckpointNode> node_;
};

// What became of a `restore`. Unless one of its functions is called, a warning tells what was not found.
class PANTO_EXPORT RestoreStatus {
 public:
  // Throw InvalidArgument, with what was expected: where an object has a value that the checkpoint lacks; the same, and
  // where the checkpoint has one that no object (so far) has; where no value was found at all.
  const RestoreStatus& assert_existing_objects_matched() const;
  const RestoreStatus& assert_consumed() const;
  const RestoreStatus& assert_nontrivial_match() const;
  // No warning.
  const RestoreStatus& expect_partial() const;

  // Ways to values that the checkpoint lacks: "model/dense/kernel (float32[3,2])".
  std::vector<std::string> missing() const;
  // Keys of values that no object has, so far: "optimizer/step/.ATTRIBUTES/VARIABLE_VALUE (int64[])".
  std::vector<std::string> unused() const;

 private:
  friend class Checkpoint;
  struct State;
  explicit RestoreStatus(std::shared_ptr<State> state);
  SharedImpl<State> state_;
};

class PANTO_EXPORT Checkpoint {
 public:
  // Throws InvalidArgument for names that are empty, have a slash or are given twice, and for "save_counter" and
  // "session"; FailedPrecondition for variables of a graph whose GraphScope is not open.
  Checkpoint(std::initializer_list<CheckpointObject::Named> objects);
  explicit Checkpoint(std::vector<CheckpointObject::Named> objects);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  // Under this name, in a folder that is made where it is not there; as a whole or not at all. Returns it. Throws
  // InvalidArgument for an optimizer of variables that are not in the checkpoint; FailedPrecondition inside a trace,
  // for a variable without a value, and for variables of a graph without a session; and as write_checkpoint.
  std::string write(const std::string& prefix) const;
  std::string write(Session& session, const std::string& prefix) const;
  // As PREFIX-1, PREFIX-2, ..., which latest_checkpoint finds. Returns that name.
  std::string save(const std::string& prefix);
  std::string save(Session& session, const std::string& prefix);
  // Gives objects what a checkpoint has of them: `restore` and a name that `save` returned, or any other. Throws
  // InvalidArgument, and changes nothing, for values of other dtypes or shapes; FailedPrecondition inside a trace; and
  // as CheckpointReader. A value that is not there is no error: see RestoreStatus.
  RestoreStatus restore(const std::string& prefix);
  RestoreStatus restore(Session& session, const std::string& prefix);
  // The same, but that `save` goes on counting as if nothing had been restored.
  RestoreStatus read(const std::string& prefix);
  RestoreStatus read(Session& session, const std::string& prefix);
  // How often `save` has been called, also in processes before this one.
  int64_t save_counter() const;

 private:
  friend class CheckpointManager;
  CheckpointValues& values();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
