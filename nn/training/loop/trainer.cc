// The training loop.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/layers/functional_model.h"
#include "panto/nn/training/loop/callbacks.h"
#include "panto/nn/training/loop/fit.h"
#include "panto/nn/training/loop/model_steps.h"
#include "panto/trace/trace.h"

namespace panto {

using loop::Batch, loop::Batches, loop::batches_of, loop::ModelSteps;

namespace {

// An epoch's progress bar. It reads values, which waits for the device, only as often as it is drawn.
class Bar {
 public:
  Bar(int64_t total, const std::string& title, bool shown, const ProgressOptions& options) {
    if (!shown) return;
    live_ = options.terminal.value_or(!options.write && isatty(STDERR_FILENO) != 0);
    bar_.emplace(total, title, options);
    total_ = total;
    begun_ = latest_ = Clock::now();
  }
  template <class Values>
  void batch_done(int64_t done, const Values& values) {
    constexpr std::chrono::milliseconds kBetween(50);
    if (!live_ || done == total_ || Clock::now() - latest_ < kBetween) return;
    latest_ = Clock::now();
    bar_->update(done, with_rate(done, values()));
  }
  void epoch_done(int64_t done, const ProgressValues& values) {
    if (bar_) bar_->update(done, with_rate(done, values));
  }

 private:
  using Clock = std::chrono::steady_clock;
  ProgressValues with_rate(int64_t done, ProgressValues values) const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
    if (seconds > 0) values.emplace_back("steps/s", static_cast<double>(done) / seconds);
    return values;
  }
  bool live_ = false;
  std::optional<Progress> bar_;
  int64_t total_ = 0;
  Clock::time_point begun_, latest_;
};

int64_t steps_of(const char* what, const Batches& batches, int64_t asked, const char* option) {
  if (asked > 0) return asked;
  const std::optional<int64_t> size = batches.size();
  if (!size) invalid("{}: expected {{.{} = ...}} for a Dataset without end, got none", what, option);
  return *size;
}

Logs evaluate_with(ModelSteps& steps, Batches& batches, int64_t count, Bar& bar, const std::source_location& where) {
  batches.restart();
  steps.reset();
  int64_t done = 0;
  for (Batch batch; done < count && batches.next(batch);) {
    with_context([&] { return fmt::format("in batch {} of evaluation", done); },
                 [&] { steps.test(batch.tensors, where); });
    ++done;
    bar.batch_done(done, [&] { return steps.values(); });
  }
  if (done == 0) invalid("evaluate: expected batches, got none");
  Logs logs(steps.values());
  bar.epoch_done(done, logs.values());
  return logs;
}

std::vector<Tensor> predict_with(ModelSteps& steps, const TrainingData& data, int64_t count,
                                 const std::source_location& where) {
  const auto inputs = steps.layout().inputs;
  // Ignores tensors after the inputs.
  const TrainingData first =
      data.batches() || std::ssize(data.tensors()) < inputs
          ? data
          : TrainingData(std::vector<Tensor>(data.tensors().begin(), data.tensors().begin() + inputs));
  const auto batches = batches_of("predict", first, steps.options().batch_size, false, false, steps.layout());
  count = steps_of("predict", *batches, count, "steps");
  batches->restart();
  std::vector<std::vector<Tensor>> parts;  // of each output
  int64_t done = 0;
  for (Batch batch; done < count && batches->next(batch); ++done) {
    std::vector<Tensor> outputs = with_context([&] { return fmt::format("in batch {} of prediction", done); },
                                               [&] { return steps.predict(batch.tensors, where); });
    parts.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) parts[i].push_back(std::move(outputs[i]));
  }
  if (parts.empty()) invalid("predict: expected batches, got none");
  std::vector<Tensor> whole;
  for (const std::vector<Tensor>& part : parts) whole.push_back(part.size() == 1 ? part[0] : concat(part, 0));
  return whole;
}

Tensor only_one(std::vector<Tensor> outputs) {
  if (outputs.size() != 1) invalid("predict: expected a model of one output (predict_all), got {}", outputs.size());
  return std::move(outputs[0]);
}

}  // namespace

TrainingRun::~TrainingRun() = default;

struct Trainer::Impl final : TrainingRun {
  Impl(const TrainedModel& trained, FitOptions options)
      : layer(trained.layer()), steps(trained, std::move(options), true) {}

  const Layer& model() const override { return layer; }
  Optimizer& optimizer() const override { return steps.optimizer(); }
  int64_t epochs() const override { return steps.options().epochs; }
  int64_t epoch() const override { return now; }
  int64_t batches() const override { return count; }
  void stop(std::string_view reason) override { why.emplace(reason); }
  bool stopped() const override { return why.has_value(); }
  double batch_loss() const override {
    return loss.defined() ? cast(loss, kFloat64).item<double>() : std::numeric_limits<double>::quiet_NaN();
  }
  std::string find_not_finite() override {
    undone = true;
    return steps.find_not_finite();
  }
  std::vector<Variable> variables() const override { return steps.variables(); }

  // Sets the callbacks' run while it lives.
  struct Attached {
    explicit Attached(Impl& run) : impl(run) {
      for (const CallbackRef& c : impl.steps.options().callbacks) attach(*c, &impl);
    }
    ~Attached() {
      for (const CallbackRef& c : impl.steps.options().callbacks) attach(*c, nullptr);
    }
    Attached(const Attached&) = delete;
    Attached& operator=(const Attached&) = delete;
    Impl& impl;
  };
  template <class F>
  void tell(F&& f) const {
    for (const CallbackRef& c : steps.options().callbacks) f(*c);
  }

  History fit(const TrainingData& data, const std::source_location& where);
  int64_t run_batches(Batches& from, Bar& bar, const std::source_location& where);
  void validate(Batches& from, Logs& logs, const std::source_location& where);

  const Layer& layer;
  ModelSteps steps;
  int64_t now = 0, count = 0;
  std::optional<std::string> why;
  Tensor loss;
  bool undone = false;  // the last step was undone by find_not_finite
};

// Runs batches; returns their number.
int64_t Trainer::Impl::run_batches(Batches& from, Bar& bar, const std::source_location& where) {
  int64_t done = 0;
  Batch batch;
  for (int64_t b = 0; b < count && !why; ++b) {
    const auto context = [&] { return fmt::format("in batch {} of epoch {}", b, now); };
    bool more = with_context(context, [&] { return from.next(batch); });
    if (!more && steps.options().steps_per_epoch > 0) {
      from.restart();
      more = with_context(context, [&] { return from.next(batch); });
    }
    if (!more) break;
    tell([&](Callback& c) { c.on_batch_begin(b); });
    undone = false;
    loss = with_context(context, [&] { return steps.train(batch.tensors, where); });
    const Logs logs(Callable<ProgressValues()>([this] { return steps.values(); }));
    tell([&](Callback& c) { c.on_batch_end(b, logs); });
    if (undone) break;
    ++done;
    bar.batch_done(done, [&] { return steps.values(); });
  }
  return done;
}

void Trainer::Impl::validate(Batches& from, Logs& logs, const std::source_location& where) {
  tell([](Callback& c) { c.on_test_begin(); });
  Bar none(0, "", false, {});
  const int64_t limit = steps_of("validation", from, steps.options().validation_steps, "validation_steps");
  const Logs values = evaluate_with(steps, from, limit, none, where);
  tell([&](Callback& c) { c.on_test_end(values); });
  for (const auto& [name, value] : values) logs.set("val_" + name, value);
}

History Trainer::Impl::fit(const TrainingData& data, const std::source_location& where) {
  const FitOptions& options = steps.options();
  TrainingData training = data, validation = options.validation;
  if (options.validation_split > 0 && !validation.defined()) {
    std::tie(training, validation) = loop::split(data, options.validation_split, steps.layout());
  }
  const auto from = batches_of("fit", training, options.batch_size, options.shuffle, true, steps.layout());
  std::unique_ptr<Batches> checked;
  if (validation.defined()) {
    checked = batches_of("validation", validation, options.batch_size, false, true, steps.layout());
  }
  count = steps_of("fit", *from, options.steps_per_epoch, "steps_per_epoch");
  why.reset();
  const auto is_nan_callback = [](const CallbackRef& c) { return dynamic_cast<const TerminateOnNaN*>(&*c) != nullptr; };
  if (std::ranges::any_of(options.callbacks, is_nan_callback)) steps.keep_before_steps();
  History history;
  const Attached attached(*this);
  tell([](Callback& c) { c.on_train_begin(); });
  from->restart();
  for (now = options.initial_epoch; now < options.epochs && !why; ++now) {
    steps.reset();
    tell([&](Callback& c) { c.on_epoch_begin(now); });
    if (options.steps_per_epoch == 0 && now > options.initial_epoch) from->restart();
    Bar bar(count, fmt::format("epoch {}/{}", now + 1, options.epochs), options.progress, options.progress_bar);
    const int64_t done = run_batches(*from, bar, where);
    if (done == 0 && !undone) invalid("fit: expected batches, got none in epoch {}", now);
    Logs logs = done > 0 ? Logs(steps.values()) : Logs({{"loss", batch_loss()}});
    if (checked != nullptr && (now + 1) % options.validation_freq == 0 && done > 0) validate(*checked, logs, where);
    bar.epoch_done(count, logs.values());
    tell([&](Callback& c) { c.on_epoch_end(now, logs); });
    history.epochs.push_back(now);
    for (const auto& [name, value] : logs) {
      auto found = std::ranges::find(history.values, name, &std::pair<std::string, std::vector<double>>::first);
      if (found == history.values.end()) found = history.values.insert(found, {name, {}});
      found->second.push_back(value);
    }
  }
  tell([](Callback& c) { c.on_train_end(); });
  history.stopped = why.value_or("");
  history.not_traced = steps.not_traced();
  return history;
}

// ---- The class -----------------------------------------------------------------------------------------------------

TrainedModel::TrainedModel(const Layer& model) : layer_(&model) {
  if (const auto* graph = dynamic_cast<const FunctionalModel*>(&model)) {
    inputs_ = graph->num_inputs();
    function_ = [graph](const std::vector<Tensor>& inputs) { return graph->run(inputs); };
  }
}
TrainedModel::TrainedModel(const Layer& variables, int64_t inputs, Function function)
    : layer_(&variables), inputs_(inputs), function_(std::move(function)) {
  if (inputs < 1) invalid("model: expected at least one input, got {}", inputs);
}
std::vector<Tensor> TrainedModel::operator()(const std::vector<Tensor>& inputs) const {
  if (function_) return function_(inputs);
  return {(*layer_)(inputs[0])};
}

Trainer::Trainer(const TrainedModel& model, FitOptions options)
    : impl_(std::make_unique<Impl>(model, std::move(options))) {}
Trainer::~Trainer() = default;

History Trainer::fit(const TrainingData& data, std::source_location where) { return impl_->fit(data, where); }

Logs Trainer::evaluate(const TrainingData& data, std::source_location where) {
  const auto from = batches_of("evaluate", data, impl_->steps.options().batch_size, false, true, impl_->steps.layout());
  Bar none(0, "", false, {});
  return evaluate_with(impl_->steps, *from, steps_of("evaluate", *from, 0, "steps"), none, where);
}

Tensor Trainer::predict(const TrainingData& data, std::source_location where) {
  return only_one(predict_all(data, where));
}
std::vector<Tensor> Trainer::predict_all(const TrainingData& data, std::source_location where) {
  return predict_with(impl_->steps, data, 0, where);
}

namespace {
void expect_batch(const char* what, const ModelSteps& steps, const std::vector<Tensor>& batch) {
  batches_of(what, batch, 1, false, true, steps.layout());
}
}  // namespace

Tensor Trainer::train_on_batch(const std::vector<Tensor>& batch, std::source_location where) {
  expect_batch("train_on_batch", impl_->steps, batch);
  return impl_->steps.train(batch, where);
}
Tensor Trainer::test_on_batch(const std::vector<Tensor>& batch, std::source_location where) {
  expect_batch("test_on_batch", impl_->steps, batch);
  return impl_->steps.test(batch, where);
}
Logs Trainer::logs() const { return Logs(impl_->steps.values()); }
void Trainer::reset_metrics() { impl_->steps.reset(); }
std::string Trainer::not_traced() const { return impl_->steps.not_traced(); }
Optimizer& Trainer::optimizer() const { return impl_->optimizer(); }
std::vector<Variable> Trainer::variables() const { return impl_->variables(); }

// ---- The functions -------------------------------------------------------------------------------------------------

// Builds the layers' variables before an optimizer asks for them.
static void build_for(const TrainedModel& model, const TrainingData& data) {
  const std::vector<Tensor>& tensors = data.tensors();
  if (data.batches() || std::ssize(tensors) < model.inputs() || model.layer().built()) return;
  std::vector<TensorSpec> specs;
  for (int64_t i = 0; i < model.inputs(); ++i) {
    const PartialShape& shape = tensors[static_cast<size_t>(i)].partial_shape();
    if (!shape.known_rank() || shape.rank() == 0) return;
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims[0] = kUnknownDim;
    specs.emplace_back(tensors[static_cast<size_t>(i)].dtype(), PartialShape(dims));
  }
  try {
    make_traced([&](std::span<const Tensor> batch) { return model({batch.begin(), batch.end()}); }, specs,
                std::source_location::current());
  } catch (const Error&) {
    return;  // the first step reports the error, if there is one
  }
}

History fit(const TrainedModel& model, const TrainingData& data, const FitOptions& options,
            std::source_location where) {
  build_for(model, data);
  return Trainer(model, options).fit(data, where);
}

Logs evaluate(const TrainedModel& model, const TrainingData& data, const EvaluateOptions& options,
              std::source_location where) {
  if (!options.loss.defined() && options.metrics.empty() && options.weighted_metrics.empty() &&
      options.outputs.empty()) {
    invalid("evaluate: expected a loss or metrics, got neither");
  }
  FitOptions as_fit;
  as_fit.batch_size = options.batch_size;
  as_fit.loss = options.loss;
  as_fit.outputs = options.outputs;
  as_fit.metrics = options.metrics;
  as_fit.weighted_metrics = options.weighted_metrics;
  as_fit.regularization = options.regularization;
  as_fit.traced = options.traced;
  ModelSteps steps(model, std::move(as_fit), false);
  const auto from = batches_of("evaluate", data, options.batch_size, false, true, steps.layout());
  const int64_t count = steps_of("evaluate", *from, options.steps, "steps");
  Bar bar(count, "evaluate", options.progress, options.progress_bar);
  return evaluate_with(steps, *from, count, bar, where);
}

std::vector<Tensor> predict_all(const TrainedModel& model, const TrainingData& data, const PredictOptions& options,
                                std::source_location where) {
  FitOptions as_fit;
  as_fit.batch_size = options.batch_size;
  as_fit.traced = options.traced;
  ModelSteps steps(model, std::move(as_fit), false);
  return predict_with(steps, data, options.steps, where);
}
Tensor predict(const TrainedModel& model, const TrainingData& data, const PredictOptions& options,
               std::source_location where) {
  return only_one(predict_all(model, data, options, where));
}
Tensor predict(const TrainedModel& model, const TrainingData& data, std::source_location where) {
  return predict(model, data, PredictOptions(), where);
}

// ---- History -------------------------------------------------------------------------------------------------------

namespace {
std::string names_in(const auto& pairs) {
  std::string all;
  for (const auto& [name, value] : pairs) all.append(all.empty() ? "" : ", ").append(name);
  return all.empty() ? "none" : all;
}
}  // namespace

bool History::contains(std::string_view name) const {
  return std::ranges::any_of(values, [&](const auto& v) { return v.first == name; });
}

const std::vector<double>& History::operator[](std::string_view name) const {
  for (const auto& [key, numbers] : values) {
    if (key == name) return numbers;
  }
  failf(Code::kNotFound, "history: expected one of {}, got '{}'", names_in(values), name);
}

// ---- Logs ----------------------------------------------------------------------------------------------------------

Logs::Logs() = default;
Logs::Logs(ProgressValues values) : values_(std::move(values)) {}
Logs::Logs(Callable<ProgressValues()> later) : later_(std::move(later)) {}

const ProgressValues& Logs::values() const {
  if (later_) {
    values_ = later_();
    later_ = nullptr;
  }
  return values_;
}

std::optional<double> Logs::find(std::string_view name) const {
  for (const auto& [key, value] : values()) {
    if (key == name) return value;
  }
  return std::nullopt;
}

double Logs::operator[](std::string_view name) const {
  if (const std::optional<double> value = find(name)) return *value;
  failf(Code::kNotFound, "logs: expected one of {}, got '{}'", names_in(values()), name);
}

void Logs::set(std::string_view name, double value) {
  values();
  for (auto& [key, old] : values_) {
    if (key == name) {
      old = value;
      return;
    }
  }
  values_.emplace_back(name, value);
}

std::string Logs::to_string() const {
  std::string text;
  for (const auto& [name, value] : values()) {
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", printable(name), value);
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Logs& logs) { return out << logs.to_string(); }

}  // namespace panto
