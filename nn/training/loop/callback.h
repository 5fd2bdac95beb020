// Callbacks: functions that are called during a training run, and may change it.
//
//   struct Printer : Callback {
//     void on_epoch_end(int64_t epoch, Logs& logs) override { std::cout << epoch << ' ' << logs["loss"] << '\n'; }
//   };
//   fit(model, {x, y}, {.epochs = 5, .callbacks = {Printer(), EarlyStopping({.patience = 3})}, ...});
//
// callbacks.h has the library's callbacks. Thread-safety: the training thread calls them.
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

// Numbers by name, in order: "loss", then the metrics; for an epoch also "val_loss" and the validation metrics.
class PANTO_EXPORT Logs {
 public:
  Logs();
  explicit Logs(ProgressValues values);
  // Computed at the first access, since a batch's numbers wait for the device.
  explicit Logs(Callable<ProgressValues()> later);

  // Throws NotFound, naming the existing ones.
  double operator[](std::string_view name) const;
  std::optional<double> find(std::string_view name) const;
  // Adds a number, or replaces the one of that name.
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

// Epochs and batches count from 0. An error thrown by a callback ends the training, and reaches the caller of `fit`.
class PANTO_EXPORT Callback {
 public:
  virtual ~Callback();
  virtual void on_train_begin();
  virtual void on_train_end();
  virtual void on_epoch_begin(int64_t epoch);
  // Numbers set in `logs` also appear in the history.
  virtual void on_epoch_end(int64_t epoch, Logs& logs);
  virtual void on_batch_begin(int64_t batch);
  // `logs`: over the epoch up to this batch.
  virtual void on_batch_end(int64_t batch, const Logs& logs);
  // Called around validation, and around `evaluate`.
  virtual void on_test_begin();
  virtual void on_test_end(const Logs& logs);

  // The run that calls the callback. Throws FailedPrecondition outside of one.
  TrainingRun& run() const;

 private:
  friend class TrainingRun;
  TrainingRun* run_ = nullptr;
};

// The training run as callbacks see it.
class PANTO_EXPORT TrainingRun {
 public:
  virtual ~TrainingRun();
  virtual const Layer& model() const = 0;
  virtual Optimizer& optimizer() const = 0;
  virtual int64_t epochs() const = 0;
  virtual int64_t epoch() const = 0;
  // Batches in an epoch; 0: not known yet.
  virtual int64_t batches() const = 0;
  // Ends the training after this batch, or epoch. History::stopped keeps the reason.
  virtual void stop(std::string_view reason) = 0;
  virtual bool stopped() const = 0;
  // The loss of the last batch alone; on_batch_end's `logs` are means over the epoch.
  virtual double batch_loss() const = 0;
  // Recomputes the last batch with the variables from before it, which it restores, and returns the op that first gave
  // a number that is not finite: "Log(float32[32,10]) -> float32[32,10]: -inf, at train.cc:12". Empty if there is none.
  virtual std::string find_not_finite() = 0;
  // All variables that training changes: the model's, the optimizer's, and accumulated gradients.
  virtual std::vector<Variable> variables() const = 0;

 protected:
  // Sets the run of a callback; null: none.
  static void attach(Callback& callback, TrainingRun* run) { callback.run_ = run; }
};

// An element of a list of callbacks. A temporary is moved into it; a named object is referred to, so it can be read
// after the training, and must outlive it.
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
