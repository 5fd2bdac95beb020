// The library's callbacks, under Keras's names: each does what Keras's does, unless it says otherwise.
//
//   History history = fit(model, {x, y}, {
//       .epochs = 100,
//       .validation = {xv, yv},
//       .callbacks = {EarlyStopping({.patience = 5, .restore_best_weights = true}),
//                     ReduceLROnPlateau({.patience = 2}),
//                     ModelCheckpoint("best.safetensors", {.save_best_only = true}),
//                     CSVLogger("log.csv"),
//                     TensorBoard("runs/1"),
//                     TerminateOnNaN(),
//                     LambdaCallback({.on_epoch_end = [](int64_t epoch, Logs& logs) { ... }})},
//       ...});
//
// Your own loop can use the first two: `if (stopping.update(loss)) break;`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/nn/training/loop/callback.h"

namespace panto {

// Decides whether a watched number improves.
class PANTO_EXPORT Monitor {
 public:
  // `mode`: "min", "max", or "auto", which goes by the name: accuracies, areas under curves, precisions, recalls and
  // scores should grow, all others should fall. Throws InvalidArgument for another mode, and for min_delta below 0.
  Monitor(std::string name, double min_delta, const std::string& mode);
  const std::string& name() const { return name_; }
  // Whether `value` is better by more than min_delta; NaN is not better.
  bool better(double value, double than) const;
  // The number in `logs`; if it has none of that name, logs a warning and returns none.
  std::optional<double> find(const Logs& logs) const;

 private:
  std::string name_;
  double min_delta_;
  bool grows_;
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;              // smaller changes are no improvement
  int64_t patience = 0;              // epochs without improvement that are allowed
  std::string mode = "auto";         // of Monitor
  std::optional<double> baseline{};  // improvements reset the patience only if better than this
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;  // earlier epochs do not count
};
class PANTO_EXPORT EarlyStopping final : public Callback {
 public:
  EarlyStopping();
  // Throws InvalidArgument for negative numbers.
  explicit EarlyStopping(EarlyStoppingOptions options);

  // For loops without `fit`: takes the number of one more epoch; returns true if training should stop.
  bool update(double value);
  const std::optional<double>& best() const { return best_; }
  int64_t best_epoch() const { return best_epoch_; }
  // The epoch after which it stopped; -1: it did not stop.
  int64_t stopped_epoch() const { return stopped_epoch_; }

  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;
  void on_train_end() override;

 private:
  bool step(int64_t epoch, double value, bool& improved);
  EarlyStoppingOptions options_;
  Monitor monitor_;
  int64_t wait_ = 0, best_epoch_ = 0, stopped_epoch_ = -1, updates_ = 0;
  std::optional<double> best_;
  std::vector<Tensor> best_weights_;
};

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;  // below 1
  int64_t patience = 10;
  std::string mode = "auto";
  double min_delta = 1e-4;
  int64_t cooldown = 0;  // epochs after a reduction that do not count
  double min_lr = 0;
};
// The optimizer's rate must be a number, not a schedule.
class PANTO_EXPORT ReduceLROnPlateau final : public Callback {
 public:
  ReduceLROnPlateau();
  // Throws InvalidArgument for a factor of 1 or more, and for negative numbers.
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options);
  // For loops without `fit`: takes the number of one more epoch; returns the optimizer's rate from now on, perhaps
  // reduced.
  double update(double value, Optimizer& optimizer);
  void on_train_begin() override;
  // Also sets "learning_rate" in the logs: the rate of this epoch.
  void on_epoch_end(int64_t epoch, Logs& logs) override;

 private:
  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  int64_t wait_ = 0, cooldown_ = 0;
  std::optional<double> best_;
};

// Sets the rate of each epoch to schedule(epoch, previous rate), and "learning_rate" in the logs. The optimizer's rate
// must be a number. Schedules by step (nn/training/schedule.h) are given to the optimizer instead.
class PANTO_EXPORT LearningRateScheduler final : public Callback {
 public:
  // Throws InvalidArgument for an empty function.
  explicit LearningRateScheduler(Callable<double(int64_t epoch, double rate)> schedule);
  void on_epoch_begin(int64_t epoch) override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;

 private:
  Callable<double(int64_t, double)> schedule_;
};

struct ModelCheckpointOptions {
  std::string monitor = "val_loss";
  bool save_best_only = false;
  bool save_weights_only = false;  // in a checkpoint: only the model's variables, not the optimizer's
  std::string mode = "auto";
  int64_t save_every = 1;                 // epochs
  std::optional<double> initial_value{};  // the best must be better than this
  int64_t max_to_keep = 5;                // of checkpoints; 0: all
};
// Saves after epochs. A name that ends with .safetensors or .npz is a file of the model's variables; "{epoch}" in it
// becomes the number of finished epochs, without it the file is overwritten each time. Any other name is a prefix of
// checkpoints (nn/training/saver.h), "run/model.ckpt-3", with all that training changes: Saver::restore_latest
// continues from there.
class PANTO_EXPORT ModelCheckpoint final : public Callback {
 public:
  // Throws InvalidArgument for an empty name and numbers below 1.
  explicit ModelCheckpoint(std::string path, ModelCheckpointOptions options);
  explicit ModelCheckpoint(std::string path);
  const std::optional<double>& best() const { return best_; }
  // The file or checkpoint written last; empty: none yet.
  const std::string& latest() const { return latest_; }
  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;

 private:
  struct Checkpoints;
  std::string path_;
  ModelCheckpointOptions options_;
  Monitor monitor_;
  std::optional<double> best_;
  std::string latest_;
  SharedImpl<Checkpoints> checkpoints_;
};

// Stops if a batch's loss is not finite, and names the op that gave the first such number, in the log and in
// History::stopped. For that it recomputes the batch op by op. The variables are then those from before the batch.
class PANTO_EXPORT TerminateOnNaN final : public Callback {
 public:
  void on_batch_end(int64_t batch, const Logs& logs) override;
};

struct CSVLoggerOptions {
  char separator = ',';
  bool append = false;  // append to the existing file
};
// Writes a line per epoch: its number, and the logs sorted by name. The file is complete after each.
class PANTO_EXPORT CSVLogger final : public Callback {
 public:
  explicit CSVLogger(std::string path, CSVLoggerOptions options);
  explicit CSVLogger(std::string path);
  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;

 private:
  std::string path_, text_;
  CSVLoggerOptions options_;
  std::vector<std::string> names_;
};

struct TensorBoardOptions {
  int64_t histogram_freq = 0;  // epochs between histograms of the model's variables; 0: none
  int64_t update_freq = 0;     // batches between numbers of batches ("batch_loss"); 0: only those of epochs
};
// Writes event files for TensorBoard and `panto report`: "epoch_loss" and so on in FOLDER/train and FOLDER/validation,
// as Keras does, and the learning rate.
class PANTO_EXPORT TensorBoard final : public Callback {
 public:
  // Throws InvalidArgument for negative numbers.
  explicit TensorBoard(std::string folder, TensorBoardOptions options);
  explicit TensorBoard(std::string folder);
  void on_train_begin() override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;
  void on_batch_end(int64_t batch, const Logs& logs) override;
  void on_train_end() override;

 private:
  struct Writers;
  std::string folder_;
  TensorBoardOptions options_;
  SharedImpl<Writers> writers_;
  int64_t batches_ = 0;
};

struct LambdaCallbackOptions {
  Callable<void()> on_train_begin = nullptr;
  Callable<void()> on_train_end = nullptr;
  Callable<void(int64_t epoch)> on_epoch_begin = nullptr;
  Callable<void(int64_t epoch, Logs& logs)> on_epoch_end = nullptr;
  Callable<void(int64_t batch)> on_batch_begin = nullptr;
  Callable<void(int64_t batch, const Logs& logs)> on_batch_end = nullptr;
};
class PANTO_EXPORT LambdaCallback final : public Callback {
 public:
  explicit LambdaCallback(LambdaCallbackOptions functions);
  void on_train_begin() override;
  void on_train_end() override;
  void on_epoch_begin(int64_t epoch) override;
  void on_epoch_end(int64_t epoch, Logs& logs) override;
  void on_batch_begin(int64_t batch) override;
  void on_batch_end(int64_t batch, const Logs& logs) override;

 private:
  LambdaCallbackOptions functions_;
};

}  // namespace panto
