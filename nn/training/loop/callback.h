// Callbacks: what is told of a training run, and may change it.
//
//   struct Printer : Callback {
//     void on_epoch_end(int64_t epoch, Logs& logs) override { std::cout << epoch << ' ' << logs["loss"] << '\n'; }
//   };
//   fit(model, {x, y}, {.epochs = 5, .callbacks = {Printer(), EarlyStopping({.patience = 3})}, ...});
//
// Those of the library are in callbacks.h. Thread-safety: the thread that trains calls them.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/progress.h"

namespace panto {

class Layer;
class Optimizer;
class TrainingRun;

// Numbers by name, in order: "loss", then the metrics; of an epoch also "val_loss" and the metrics of validation.
class PANTO_EXPORT Logs {
 public:
  Logs();
  explicit Logs(ProgressValues values);
  // Computed when somebody first looks: the numbers of a batch wait for the device.
  explicit Logs(Callable<ProgressValues()> later);

  // Throws NotFound, naming those there are.
  double operator[](std::string_view name) const;
  std::optional<double> find(std::string_view name) const;
  // Adds it, or replaces what has that name.
  void set(std::string_view name, double value);
  const ProgressValues& values() const;
  size_t size() const { return values().size(); }
  ProgressValues::const_iterator begin() const { return values().begin(); }
  ProgressValues::const_iterator end() const { return values().end(); }
  // "loss 0.25, accuracy 0.9".
  std::string to_string() const;

 private:
  mutable ProgressValues values_;
  mutable Callable<ProgressValues()> later_;
};
PANTO_EXPORT std::ostream& operator<<(std::ostream& out, const Logs& logs);

// Epochs and batches count from 0. What one throws ends the training, and reaches who called `fit`.
class PANTO_EXPORT Callback {
 public:
  virtual ~Callback();
  virtual void on_train_begin();
  virtual void on_train_end();
  virtual void on_epoch_begin(int64_t epoch);
  // What is set in `logs` is in the history, too.
  virtual void on_epoch_end(int64_t epoch, Logs& logs);
  virtual void on_batch_begin(int64_t batch);
  // Of the epoch up to this batch.
  virtual void on_batch_end(int64_t batch, const Logs& logs);
  // Around validation, and `evaluate`.
  virtual void on_test_begin();
  virtual void on_test_end(const Logs& logs);

  // The run that it is told of. Throws FailedPrecondition outside of one.
  TrainingRun& run() const;

 private:
  friend class TrainingRun;
  TrainingRun* run_ = nullptr;
};

// What callbacks may ask of the run, and do to it.
class PANTO_EXPORT TrainingRun {
 public:
  virtual ~TrainingRun();
  virtual const Layer& model() const = 0;
  virtual Optimizer& optimizer() const = 0;
  virtual int64_t epochs() const = 0;
  virtual int64_t epoch() const = 0;
  // In an epoch; 0: nobody knows yet.
  virtual int64_t batches() const = 0;
  // The training ends behind this batch, or epoch. History::stopped keeps the reason.
  virtual void stop(std::string_view reason) = 0;
  virtual bool stopped() const = 0;
  // The loss of the batch before: what on_batch_end's `logs` are means of.
  virtual double batch_loss() const = 0;
  // Which op first gave a number that is not finite when the batch before is computed again with the variables that it
  // began with, and these are put back: "Log(float32[32,10]) -> float32[32,10]: -inf, at train.cc:12". Empty where none
  // does.
  virtual std::string find_not_finite() = 0;
  // All that training changes: of the model, of the optimizer, and what gradients have accumulated.
  virtual std::vector<Variable> variables() const = 0;

 protected:
  // Tells callbacks which run they are of; null: none.
  static void attach(Callback& callback, TrainingRun* run) { callback.run_ = run; }
};

// An element of a list of callbacks: a temporary is moved into it; what has a name is referred to, and may be asked
// afterwards: it must outlive the training.
class PANTO_EXPORT CallbackRef {
 public:
  // NOLINTBEGIN(google-explicit-constructor, bugprone-forwarding-reference-overload): in braces
  template <class C>
    requires std::derived_from<std::remove_cvref_t<C>, Callback>
  CallbackRef(C&& callback) {
    if constexpr (std::is_lvalue_reference_v<C>) {
      borrow(&callback);
    } else {
      callback_ = std::shared_ptr<Callback>(std::make_shared<C>(std::forward<C>(callback)));
    }
  }
  // Throws InvalidArgument for null.
  CallbackRef(std::shared_ptr<Callback> callback);
  // NOLINTEND(google-explicit-constructor, bugprone-forwarding-reference-overload)
  Callback& operator*() const { return *callback_; }
  Callback* operator->() const { return &**this; }

 private:
  void borrow(Callback* callback);
  SharedImpl<Callback> callback_;
};

}  // namespace panto
