// Checkpoint: saves everything that a training run needs to continue in one file, by the objects that own the values.
//
//   Checkpoint checkpoint({{"model", model}, {"optimizer", adam}, {"data", train}, {"step", step},
//                          {"random", random_generator()}});
//   checkpoint.save("run/ckpt");                                     // run/ckpt-1, then run/ckpt-2, ...
//   checkpoint.restore(*latest_checkpoint("run")).assert_consumed();
//
// The format is TensorFlow's. Keys are paths through the objects, "model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE"; an
// optimizer's slots have keys "model/dense/kernel/.OPTIMIZER_SLOT/optimizer/m/..."; and the file lists the objects
// (TrackableObjectGraph). tf.train.Checkpoint restores such files, and Checkpoint restores its files; the same holds
// for tf.compat.v1.train.Saver, which calls slots "dense/kernel/Adam". Optimizers of tf.compat.v1.train are recognized
// by their slots, those of Keras by their variables: beta1_power is then computed from the number of steps.
//
// A model saved by Keras has other paths ("_functional/_operations/1/_kernel"): a variable that is not found by its
// path is the only one below that object whose own name ends with its name here ("sequential/dense/kernel"). In a
// checkpoint without objects, such as a Saver's, values are found by variable names.
//
// Values for variables that an optimizer makes only at its first step are restored at that step.
//
// For variables of a graph, make the Checkpoint inside the GraphScope when the graph is complete; their values are in a
// session: `checkpoint.save(session, prefix)`. Other objects may be among them (random_generator(), a Dataset's
// position). Objects are not owned and must outlive the Checkpoint. Thread-safety: one call at a time.
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
// A type that keeps variables between steps and is not an optimizer: LossScale, GradientAccumulator.
template <class T>
concept KeepsSlots = !std::convertible_to<T*, const Optimizer*> && requires(const T& t) {
  { t.slots() } -> std::same_as<std::vector<Variable>>;
};
// A type that saves its position as bytes and continues from them: a Dataset.
template <class T>
concept HasPosition = requires(const T& t, std::string_view bytes) {
  { t.state() } -> std::same_as<std::string>;
  t.restore(bytes);
};
}  // namespace detail

// An object that a Checkpoint can hold.
class PANTO_EXPORT CheckpointObject {
 public:
  using Named = std::pair<std::string, CheckpointObject>;
  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  CheckpointObject(const Variable& variable);
  // Variables and state, by their names in files.
  CheckpointObject(const Layer& layer);
  CheckpointObject(const Layer&&) = delete;  // a dangling reference
  // The optimizer's slots, shared variables, number of steps and rate. The variables that it trains must also be in the
  // checkpoint.
  CheckpointObject(Optimizer& optimizer);
  CheckpointObject(const metrics::Metric& metric);
  // The averages that exist: so construct it with its variables.
  CheckpointObject(const ExponentialMovingAverage& average);
  CheckpointObject(const ExponentialMovingAverage&&) = delete;
  template <detail::KeepsSlots T>
  CheckpointObject(const T& object)
      : CheckpointObject(Callable<std::vector<Variable>()>([&object] { return object.slots(); })) {}
  template <detail::KeepsSlots T>
  CheckpointObject(const T&&) = delete;
  // The position of a Dataset's pass. The handle is copied.
  template <detail::HasPosition T>
  CheckpointObject(const T& object)
      : CheckpointObject(
            Callable<std::string()>([object] { return object.state(); }),
            Callable<void(std::string_view)>([object](std::string_view bytes) { object.restore(bytes); })) {}
  // Variables by the last part of their names, "total"; of several with the same name, later ones get numbers.
  CheckpointObject(Callable<std::vector<Variable>()> variables);
  // Several objects: named "0", "1", ..., or by the given names.
  CheckpointObject(const std::vector<CheckpointObject>& list);
  CheckpointObject(std::vector<Named> objects);
  // Any other state as a tensor: `save` returns it and `restore` takes it (and throws if it cannot).
  CheckpointObject(Callable<Tensor()> save, Callable<void(const Tensor&)> restore);
  CheckpointObject(Callable<std::string()> save, Callable<void(std::string_view)> restore);
  // NOLINTEND(google-explicit-constructor)

 private:
  friend class ObjectTree;
  SharedImpl<const CheckpointNode> node_;
};

// The outcome of a `restore`. Unless one of its functions is called, a warning lists what was not found.
class PANTO_EXPORT RestoreStatus {
 public:
  // Throw InvalidArgument, saying what was expected: assert_existing_objects_matched if an object has a value that the
  // checkpoint lacks; assert_consumed also if the checkpoint has a value that no object (so far) has;
  // assert_nontrivial_match if no value was found at all.
  const RestoreStatus& assert_existing_objects_matched() const;
  const RestoreStatus& assert_consumed() const;
  const RestoreStatus& assert_nontrivial_match() const;
  // Suppresses the warning.
  const RestoreStatus& expect_partial() const;

  // Paths of values that the checkpoint lacks: "model/dense/kernel (float32[3,2])".
  std::vector<std::string> missing() const;
  // Keys of values that no object has so far: "optimizer/step/.ATTRIBUTES/VARIABLE_VALUE (int64[])".
  std::vector<std::string> unused() const;

 private:
  friend class Checkpoint;
  struct State;
  explicit RestoreStatus(std::shared_ptr<State> state);
  SharedImpl<State> state_;
};

class PANTO_EXPORT Checkpoint {
 public:
  // Throws InvalidArgument for names that are empty, contain a slash or are given twice, and for the names
  // "save_counter" and "session"; FailedPrecondition for variables of a graph whose GraphScope is not open.
  Checkpoint(std::initializer_list<CheckpointObject::Named> objects);
  explicit Checkpoint(std::vector<CheckpointObject::Named> objects);
  ~Checkpoint();
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  // Writes under this name, whole or not at all, creating the folder if needed. Returns the name. Throws
  // InvalidArgument for an optimizer whose variables are not in the checkpoint; FailedPrecondition inside a trace, for
  // a variable without a value, and for variables of a graph without a session; and as write_checkpoint.
  std::string write(const std::string& prefix) const;
  std::string write(Session& session, const std::string& prefix) const;
  // Writes PREFIX-1, PREFIX-2, ..., which latest_checkpoint finds. Returns that name.
  std::string save(const std::string& prefix);
  std::string save(Session& session, const std::string& prefix);
  // Gives objects the values that a checkpoint has for them; `prefix` is a name that `save` returned, or any other.
  // Throws InvalidArgument, and changes nothing, for values of other dtypes or shapes; FailedPrecondition inside a
  // trace; and as CheckpointReader. A missing value is no error: see RestoreStatus.
  RestoreStatus restore(const std::string& prefix);
  RestoreStatus restore(Session& session, const std::string& prefix);
  // The same, but `save` keeps counting as if nothing had been restored.
  RestoreStatus read(const std::string& prefix);
  RestoreStatus read(Session& session, const std::string& prefix);
  // The number of calls of `save`, including those in earlier processes.
  int64_t save_counter() const;

 private:
  friend class CheckpointManager;
  CheckpointValues& values();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
