// The callbacks of the library, by Keras's names: each does what Keras's does, unless it says otherwise.
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
// A loop of one's own can use the first two: `if (stopping.update(loss)) break;`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/nn/training/loop/callback.h"

namespace panto {

// Whether a number that is watched gets better.
class PANTO_EXPORT Monitor {
 public:
  // `mode`: "min", "max", or "auto", by the name: accuracies, areas under curves, precisions, recalls and scores are to
  // grow, all others to fall. Throws InvalidArgument for another, and for min_delta below 0.
  Monitor(std::string name, double min_delta, const std::string& mode);
  const std::string& name() const { return name_; }
  // By more than min_delta; what is not a number is no better.
  bool better(double value, double than) const;
  // The number in `logs`; none, with a warning, where there is none of that name.
  std::optional<double> find(const Logs& logs) const;

 private:
  std::string name_;
  double min_delta_;
  bool grows_;
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;              // less is no improvement
  int64_t patience = 0;              // so many epochs without one are allowed
  std::string mode = "auto";         // of Monitor
  std::optional<double> baseline{};  // what must be surpassed
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;  // those before do not count
};
class PANTO_EXPORT EarlyStopping final : public Callback {
 public:
  EarlyStopping();
  // Throws InvalidArgument for negative numbers.
  explicit EarlyStopping(EarlyStoppingOptions options);

  // Without `fit`: the number of one more epoch; true where it was the last.
  bool update(double value);
  const std::optional<double>& best() const { return best_; }
  int64_t best_epoch() const { return best_epoch_; }
  // The epoch behind which it stopped; -1: it did not.
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
  int64_t cooldown = 0;  // so many epochs after a reduction do not count
  double min_lr = 0;
};
// The optimizer's rate must be a number.
class PANTO_EXPORT ReduceLROnPlateau final : public Callback {
 public:
  ReduceLROnPlateau();
  // Throws InvalidArgument for a factor of 1 or more, and negative numbers.
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options);
  // Without `fit`: the number of one more epoch. The optimizer's rate from now on, which may be smaller.
  double update(double value, Optimizer& optimizer);
  void on_train_begin() override;
  // Sets "learning_rate", too: the one of this epoch.
  void on_epoch_end(int64_t epoch, Logs& logs) override;

 private:
  ReduceLROnPlateauOptions options_;
  Monitor monitor_;
  int64_t wait_ = 0, cooldown_ = 0;
  std::optional<double> best_;
};

// The rate of each epoch: schedule(epoch, the rate before it). Sets "learning_rate" in the logs. The optimizer's rate
// must be a number. Schedules by step (nn/training/schedule.h) are given to the optimizer.
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
  bool save_weights_only = false;  // of a checkpoint: the model's, not the optimizer's
  std::string mode = "auto";
  int64_t save_every = 1;                 // epochs
  std::optional<double> initial_value{};  // what must be surpassed to be the best
  int64_t max_to_keep = 5;                // of checkpoints; 0: all
};
// Saves after epochs. A name that ends with .safetensors or .npz is a file of the model's variables; "{epoch}" in it
// becomes the number of epochs done, without that it is written anew each time. Another name is that of checkpoints
// (nn/training/saver.h), "run/model.ckpt-3", with all that training changes: Saver::restore_latest goes on from there.
class PANTO_EXPORT ModelCheckpoint final : public Callback {
 public:
  // Throws InvalidArgument for an empty name and numbers below 1.
  explicit ModelCheckpoint(std::string path, ModelCheckpointOptions options);
  explicit ModelCheckpoint(std::string path);
  const std::optional<double>& best() const { return best_; }
  // What was written last; empty: nothing yet.
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

// Stops when a batch's loss is not finite, and says which op gave the first such number: in the log and in
// History::stopped. The batch is computed again for that, op by op. The variables are then those before the batch.
class PANTO_EXPORT TerminateOnNaN final : public Callback {
 public:
  void on_batch_end(int64_t batch, const Logs& logs) override;
};

struct CSVLoggerOptions {
  char separator = ',';
  bool append = false;  // to what the file has
};
// A line for each epoch: its number, and the logs sorted by name. The file is whole after each.
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
// Event files for TensorBoard and `panto report`: "epoch_loss" and so on in FOLDER/train and FOLDER/validation, as
// Keras writes them, and the learning rate.
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
