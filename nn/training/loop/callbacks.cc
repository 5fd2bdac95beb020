#include "panto/nn/training/loop/callbacks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <ranges>
#include <set>

#include "panto/lib/base/file.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/summaries/summary_writer.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/nn/training/options.h"
#include "panto/nn/training/saver.h"

namespace panto {
namespace {

void at_least(const char* what, int64_t least, int64_t value) {
  if (value < least) invalid("{}: expected at least {}, got {}", what, least, value);
}

bool to_grow(std::string_view name, const std::string& mode) {
  if (mode == "max") return true;
  if (mode == "min") return false;
  if (mode != "auto") invalid("mode: expected 'min', 'max' or 'auto', got '{}'", mode);
  static constexpr std::string_view kGrowing[] = {"accuracy", "acc",         "auc",       "precision",
                                                  "recall",   "score",       "f1",        "iou",
                                                  "r2_score", "fbeta_score", "at_recall", "at_precision"};
  return std::ranges::any_of(kGrowing, [&](std::string_view end) { return name.ends_with(end); });
}

std::vector<Tensor> values_of(const Layer& model) {
  std::vector<Tensor> values;
  for (const auto& list : {model.variables(), model.state()}) {
    for (const Variable& v : list) values.push_back(v.value());
  }
  return values;
}

void assign_to(const Layer& model, const std::vector<Tensor>& values) {
  size_t i = 0;
  for (const auto& list : {model.variables(), model.state()}) {
    for (const Variable& v : list) v.assign(values[i++]);
  }
}

}  // namespace

// ---- Callbacks -----------------------------------------------------------------------------------------------------

Callback::~Callback() = default;
void Callback::on_train_begin() {}
void Callback::on_train_end() {}
void Callback::on_epoch_begin(int64_t) {}
void Callback::on_epoch_end(int64_t, Logs&) {}
void Callback::on_batch_begin(int64_t) {}
void Callback::on_batch_end(int64_t, const Logs&) {}
void Callback::on_test_begin() {}
void Callback::on_test_end(const Logs&) {}

TrainingRun& Callback::run() const {
  if (run_ == nullptr) fail(Code::kFailedPrecondition, "callback: expected a run of `fit` around it, got none");
  return *run_;
}

CallbackRef::CallbackRef(std::shared_ptr<Callback> callback) : callback_(std::move(callback)) {
  if (callback_.get() == nullptr) invalid("callback: expected one, got null");
}
void CallbackRef::borrow(Callback* callback) {
  callback_ = std::shared_ptr<Callback>(std::shared_ptr<void>(), callback);
}

// ---- Monitor --------------------------------------------------------------------------------------------------------

Monitor::Monitor(std::string name, double min_delta, const std::string& mode)
    : name_(std::move(name)), min_delta_(not_negative("min_delta", min_delta)), grows_(to_grow(name_, mode)) {}

bool Monitor::better(double value, double than) const {
  return grows_ ? value - min_delta_ > than : value + min_delta_ < than;
}

std::optional<double> Monitor::find(const Logs& logs) const {
  const std::optional<double> value = logs.find(name_);
  if (!value) {
    std::string all;
    for (const auto& [name, number] : logs) all.append(all.empty() ? "" : ", ").append(name);
    log_warn_once(fmt::format("callback: expected '{}' among the logs, got {}", printable(name_), printable(all)));
  }
  return value;
}

// ---- EarlyStopping -------------------------------------------------------------------------------------------------

EarlyStopping::EarlyStopping() : EarlyStopping(EarlyStoppingOptions()) {}
EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : options_(std::move(options)), monitor_(options_.monitor, options_.min_delta, options_.mode) {
  at_least("patience", 0, options_.patience);
  at_least("start_from_epoch", 0, options_.start_from_epoch);
}

void EarlyStopping::on_train_begin() {
  wait_ = best_epoch_ = updates_ = 0;
  stopped_epoch_ = -1;
  best_.reset();
  best_weights_.clear();
}

// As Keras's on_epoch_end. Returns true if training should stop.
bool EarlyStopping::step(int64_t epoch, double value, bool& improved) {
  ++wait_;
  improved = !best_ || monitor_.better(value, *best_);
  if (improved) {
    best_ = value;
    best_epoch_ = epoch;
    if (!options_.baseline || monitor_.better(value, *options_.baseline)) wait_ = 0;
    return false;
  }
  if (wait_ < options_.patience || epoch == 0) return false;
  stopped_epoch_ = epoch;
  return true;
}

bool EarlyStopping::update(double value) {
  const int64_t epoch = updates_++;
  bool improved = false;
  return epoch >= options_.start_from_epoch && step(epoch, value, improved);
}

void EarlyStopping::on_epoch_end(int64_t epoch, Logs& logs) {
  const std::optional<double> value = monitor_.find(logs);
  if (!value || epoch < options_.start_from_epoch) return;
  bool improved = false;
  const bool over = step(epoch, *value, improved);
  if (options_.restore_best_weights && (improved || best_weights_.empty())) best_weights_ = values_of(run().model());
  if (over) {
    run().stop(
        fmt::format("early stopping: {} has not been better than {} for {} epochs", monitor_.name(), *best_, wait_));
  }
}

void EarlyStopping::on_train_end() {
  if (!best_weights_.empty()) assign_to(run().model(), best_weights_);
  best_weights_.clear();
}

// ---- Learning rates -------------------------------------------------------------------------------------------------

ReduceLROnPlateau::ReduceLROnPlateau() : ReduceLROnPlateau(ReduceLROnPlateauOptions()) {}
ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : options_(std::move(options)), monitor_(options_.monitor, options_.min_delta, options_.mode) {
  if (!(options_.factor >= 0 && options_.factor < 1)) {
    invalid("factor: expected a number of at least 0 and below 1, got {}", options_.factor);
  }
  not_negative("min_lr", options_.min_lr);
  at_least("patience", 0, options_.patience);
  at_least("cooldown", 0, options_.cooldown);
}

void ReduceLROnPlateau::on_train_begin() {
  wait_ = cooldown_ = 0;
  best_.reset();
}

double ReduceLROnPlateau::update(double value, Optimizer& optimizer) {
  if (cooldown_ > 0) {
    --cooldown_;
    wait_ = 0;
  }
  const double rate = optimizer.learning_rate();
  if (!best_ || monitor_.better(value, *best_)) {
    best_ = value;
    wait_ = 0;
    return rate;
  }
  if (cooldown_ > 0 || ++wait_ < options_.patience || rate <= options_.min_lr) return rate;
  const double next = std::max(rate * options_.factor, options_.min_lr);
  optimizer.set_learning_rate(next);
  cooldown_ = options_.cooldown;
  wait_ = 0;
  return next;
}

void ReduceLROnPlateau::on_epoch_end(int64_t, Logs& logs) {
  logs.set("learning_rate", run().optimizer().learning_rate());
  if (const std::optional<double> value = monitor_.find(logs)) update(*value, run().optimizer());
}

LearningRateScheduler::LearningRateScheduler(Callable<double(int64_t epoch, double rate)> schedule)
    : schedule_(std::move(schedule)) {
  if (!schedule_) invalid("LearningRateScheduler: expected a function, got an empty one");
}
void LearningRateScheduler::on_epoch_begin(int64_t epoch) {
  Optimizer& optimizer = run().optimizer();
  optimizer.set_learning_rate(schedule_(epoch, optimizer.learning_rate()));
}
void LearningRateScheduler::on_epoch_end(int64_t, Logs& logs) {
  logs.set("learning_rate", run().optimizer().learning_rate());
}

// ---- Files ---------------------------------------------------------------------------------------------------------

struct ModelCheckpoint::Checkpoints {
  std::unique_ptr<Saver> saver;
};

ModelCheckpoint::ModelCheckpoint(std::string path) : ModelCheckpoint(std::move(path), ModelCheckpointOptions()) {}
ModelCheckpoint::ModelCheckpoint(std::string path, ModelCheckpointOptions options)
    : path_(std::move(path)), options_(std::move(options)), monitor_(options_.monitor, 0, options_.mode) {
  if (path_.empty()) invalid("ModelCheckpoint: expected a name, got none");
  at_least("save_every", 1, options_.save_every);
  at_least("max_to_keep", 0, options_.max_to_keep);
}

void ModelCheckpoint::on_train_begin() {
  best_ = options_.initial_value;
  latest_.clear();
  if (path_.ends_with(".safetensors") || path_.ends_with(".npz")) return;
  checkpoints_ = std::make_shared<Checkpoints>();
  std::vector<Variable> all = run().variables();
  if (options_.save_weights_only) {
    all = run().model().variables();
    const std::vector<Variable> state = run().model().state();
    all.insert(all.end(), state.begin(), state.end());
  }
  checkpoints_->saver = std::make_unique<Saver>(path_, all, SaverOptions{.max_to_keep = options_.max_to_keep});
}

void ModelCheckpoint::on_epoch_end(int64_t epoch, Logs& logs) {
  const int64_t done = epoch + 1;
  if (done % options_.save_every != 0) return;
  if (options_.save_best_only) {
    const std::optional<double> value = monitor_.find(logs);
    if (!value || (best_ && !monitor_.better(*value, *best_))) return;
    best_ = value;
  }
  if (checkpoints_.get() != nullptr) {
    latest_ = checkpoints_->saver->save(done);
    return;
  }
  std::string path = path_;
  if (const size_t at = path.find("{epoch}"); at != std::string::npos) path.replace(at, 7, std::to_string(done));
  run().model().save(path);
  latest_ = path;
}

CSVLogger::CSVLogger(std::string path) : CSVLogger(std::move(path), CSVLoggerOptions()) {}
CSVLogger::CSVLogger(std::string path, CSVLoggerOptions options) : path_(std::move(path)), options_(options) {
  if (path_.empty()) invalid("CSVLogger: expected a name, got none");
}

void CSVLogger::on_train_begin() {
  text_.clear();
  names_.clear();
  if (!options_.append || !is_file(path_)) return;
  text_ = read_file(path_);
  // Keeps the columns of the existing file.
  const std::string_view head = std::string_view(text_).substr(0, text_.find('\n'));
  for (const auto part : head | std::views::split(options_.separator)) names_.emplace_back(part.begin(), part.end());
  if (!names_.empty() && names_[0] == "epoch") names_.erase(names_.begin());
}

void CSVLogger::on_epoch_end(int64_t epoch, Logs& logs) {
  if (names_.empty()) {
    for (const auto& [name, value] : logs) names_.push_back(name);
    std::ranges::sort(names_);
    if (text_.empty()) {
      text_ = "epoch";
      for (const std::string& name : names_) text_.append(1, options_.separator).append(name);
      text_ += '\n';
    }
  }
  text_ += std::to_string(epoch);
  for (const std::string& name : names_) {
    const std::optional<double> value = logs.find(name);
    text_ += options_.separator;
    text_ += value ? fmt::format("{}", *value) : "NA";
  }
  text_ += '\n';
  write_file(path_, text_);
}

struct TensorBoard::Writers {
  explicit Writers(const std::string& folder) : train(folder + "/train") {}
  SummaryWriter& validation(const std::string& folder) {
    if (other == nullptr) other = std::make_unique<SummaryWriter>(folder + "/validation");
    return *other;
  }
  SummaryWriter train;
  std::unique_ptr<SummaryWriter> other;
};

TensorBoard::TensorBoard(std::string folder) : TensorBoard(std::move(folder), TensorBoardOptions()) {}
TensorBoard::TensorBoard(std::string folder, TensorBoardOptions options)
    : folder_(std::move(folder)), options_(options) {
  if (folder_.empty()) invalid("TensorBoard: expected a folder, got none");
  at_least("histogram_freq", 0, options.histogram_freq);
  at_least("update_freq", 0, options.update_freq);
}

void TensorBoard::on_train_begin() {
  batches_ = 0;
  writers_ = std::make_shared<Writers>(folder_);
}

void TensorBoard::on_batch_end(int64_t, const Logs& logs) {
  ++batches_;
  if (options_.update_freq == 0 || batches_ % options_.update_freq != 0) return;
  for (const auto& [name, value] : logs) writers_->train.scalar("batch_" + name, value, batches_);
}

void TensorBoard::on_epoch_end(int64_t epoch, Logs& logs) {
  for (const auto& [name, value] : logs) {
    if (name.starts_with("val_")) {
      writers_->validation(folder_).scalar("epoch_" + name.substr(4), value, epoch);
    } else {
      writers_->train.scalar("epoch_" + name, value, epoch);
    }
  }
  if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) {
    for (const auto& [name, v] : run().model().named_variables()) writers_->train.histogram(name, v.value(), epoch);
  }
  writers_->train.flush();
  if (writers_->other != nullptr) writers_->other->flush();
}

void TensorBoard::on_train_end() { writers_ = {}; }

// ---- NaN -----------------------------------------------------------------------------------------------------------

void TerminateOnNaN::on_batch_end(int64_t batch, const Logs&) {
  const double loss = run().batch_loss();
  if (std::isfinite(loss)) return;
  const std::string found = run().find_not_finite();
  std::string reason = fmt::format("the loss is {} in batch {} of epoch {}: {}", loss, batch, run().epoch(),
                                   found.empty() ? "op by op it is finite" : found);
  log_warn(fmt::format("fit: {}", reason));
  run().stop(reason);
}

// ---- Functions -----------------------------------------------------------------------------------------------------

LambdaCallback::LambdaCallback(LambdaCallbackOptions functions) : functions_(std::move(functions)) {}
void LambdaCallback::on_train_begin() {
  if (functions_.on_train_begin) functions_.on_train_begin();
}
void LambdaCallback::on_train_end() {
  if (functions_.on_train_end) functions_.on_train_end();
}
void LambdaCallback::on_epoch_begin(int64_t epoch) {
  if (functions_.on_epoch_begin) functions_.on_epoch_begin(epoch);
}
void LambdaCallback::on_epoch_end(int64_t epoch, Logs& logs) {
  if (functions_.on_epoch_end) functions_.on_epoch_end(epoch, logs);
}
void LambdaCallback::on_batch_begin(int64_t batch) {
  if (functions_.on_batch_begin) functions_.on_batch_begin(batch);
}
void LambdaCallback::on_batch_end(int64_t batch, const Logs& logs) {
  if (functions_.on_batch_end) functions_.on_batch_end(batch, logs);
}

}  // namespace panto
