// Callbacks: what they write, when they stop, and what they say of numbers that are not finite.
#include "panto/nn/training/loop/callbacks.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/graph/events/event_file.h"
#include "panto/nn/training/loop/fit.h"
#include "panto/nn/training/optimizer.h"
#include "panto/nn/training/saver.h"
#include "panto/ops/math.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/loop/loop_models.h"

namespace panto {
namespace {

using namespace loop_models;

TrainingData training() { return {inputs(), numbers(inputs())}; }
TrainingData validation() { return {validation_inputs(), numbers(validation_inputs())}; }

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(callbacks_suite)

BOOST_AUTO_TEST_CASE(they_are_called_in_keras_order) {
  struct Told : Callback {
    std::string text;
    void on_train_begin() override { text += "T("; }
    void on_train_end() override { text += ")"; }
    void on_epoch_begin(int64_t epoch) override { text += "E" + std::to_string(epoch); }
    void on_epoch_end(int64_t, Logs& logs) override {
      text += "e";
      logs.set("mine", 7);
    }
    void on_batch_begin(int64_t batch) override { text += std::to_string(batch); }
    void on_batch_end(int64_t, const Logs& logs) override { text += logs.find("loss") ? "b" : "?"; }
    void on_test_begin() override { text += "t"; }
    void on_test_end(const Logs& logs) override { text += std::to_string(logs.size()); }
  };
  Told told;
  std::string lambda;
  const Sequential model = dense(1);
  FitOptions options = quiet(2, "mse");
  options.validation = validation();
  options.validation_freq = 2;
  options.callbacks = {told, LambdaCallback({.on_epoch_end = [&](int64_t epoch, Logs& logs) {
                         lambda += std::to_string(epoch) + (logs["mine"] == 7 ? "y" : "n");
                       }})};
  const History history = fit(model, training(), options);
  BOOST_TEST(told.text == "T(E00b1b2beE10b1b2bt1e)");
  BOOST_TEST(lambda == "0y1y");
  BOOST_TEST(history["mine"].size() == 2u);
  BOOST_TEST(history["val_loss"].size() == 1u);
  expect_error([&] { told.run(); }, "FailedPrecondition: callback: expected a run of `fit` around it, got none");
}

BOOST_AUTO_TEST_CASE(early_stopping_and_rates_serve_plain_loops) {
  EarlyStopping stopping({.min_delta = 0.1, .patience = 2});
  std::vector<bool> told;
  for (const double loss : {3.0, 2.0, 1.95, 1.5, 1.45, std::nan("")}) told.push_back(stopping.update(loss));
  BOOST_TEST(told == (std::vector<bool>{false, false, false, false, false, true}), boost::test_tools::per_element());
  BOOST_TEST(stopping.best_epoch() == 3);
  BOOST_TEST(*stopping.best() == 1.5);
  BOOST_TEST(stopping.stopped_epoch() == 5);
  EarlyStopping growing({.monitor = "val_accuracy"});
  growing.update(0.5);
  BOOST_TEST(!growing.update(0.75));
  BOOST_TEST(growing.update(0.75));

  const Variable v(tensor(1.0));
  Sgd sgd({v}, {.learning_rate = 1.0});
  ReduceLROnPlateau plateau({.factor = 0.5, .patience = 1, .min_lr = 0.3});
  std::vector<double> rates;
  for (int i = 0; i < 4; ++i) rates.push_back(plateau.update(1.0, sgd));
  BOOST_TEST(rates == (std::vector<double>{1, 0.5, 0.3, 0.3}), boost::test_tools::per_element());
  expect_error([] { EarlyStopping e({.patience = -1}); }, "InvalidArgument: patience: expected at least 0, got -1");
  expect_error([] { EarlyStopping e({.mode = "up"}); },
               "InvalidArgument: mode: expected 'min', 'max' or 'auto', got 'up'");
  expect_error([] { ReduceLROnPlateau r({.factor = 1}); },
               "InvalidArgument: factor: expected a number of at least 0 and below 1, got 1");
}

BOOST_AUTO_TEST_CASE(rates_are_scheduled_by_epoch) {
  const Sequential model = dense(1);
  Sgd sgd(model.variables(), {.learning_rate = 0.5});
  FitOptions options = quiet(3, "mse");
  options.optimizer = sgd;
  options.callbacks = {LearningRateScheduler([](int64_t epoch, double rate) { return epoch == 0 ? rate : rate / 2; })};
  const History history = fit(model, training(), options);
  BOOST_TEST(history["learning_rate"] == (std::vector<double>{0.5, 0.25, 0.125}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(models_and_checkpoints_are_saved) {
  const TestFolder folder;
  const Sequential model = dense(1);
  Adam adam(model.variables(), {.learning_rate = 0.01});
  FitOptions options = quiet(3, "mse");
  options.validation = validation();
  options.optimizer = adam;
  ModelCheckpoint each(folder / "m{epoch}.npz"), best(folder / "best.safetensors", {.save_best_only = true});
  ModelCheckpoint all(folder / "run/model.ckpt", {.max_to_keep = 2});
  options.callbacks = {each, best, all};
  const History history = fit(model, training(), options);
  BOOST_TEST(each.latest() == folder / "m3.npz");
  BOOST_TEST(is_file(folder / "m1.npz"));
  BOOST_TEST(all.latest() == folder / "run/model.ckpt-3");
  BOOST_TEST(*best.best() == std::ranges::min(history["val_loss"]));
  const Tensor trained = model.variables()[0].value();
  model.load(folder / "m1.npz");
  BOOST_TEST(values_of(model.variables()[0].value()) != values_of(trained));
  // The optimizer's are in a checkpoint, too.
  std::vector<Variable> variables = model.variables();
  for (const Variable& slot : adam.slots()) variables.push_back(slot);
  Saver saver(folder / "run/model.ckpt", variables);
  BOOST_TEST(saver.restore_latest().value() == 3);
  BOOST_TEST(values_of(model.variables()[0].value()) == values_of(trained), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(logs_go_to_csv_and_event_files) {
  const TestFolder folder;
  const Sequential model = dense(1);
  FitOptions options = quiet(2, "mse");
  options.validation = validation();
  options.metrics = {"mae"};
  options.callbacks = {CSVLogger(folder / "log.csv"), TensorBoard(folder / "tb", {.histogram_freq = 1})};
  const History history = fit(model, training(), options);
  std::string text = read_file(folder / "log.csv");
  BOOST_TEST(text.starts_with("epoch,loss,mae,val_loss,val_mae\n0,"), text);
  BOOST_TEST(std::ranges::count(text, '\n') == 3);
  options.callbacks = {CSVLogger(folder / "log.csv", {.append = true})};
  options.epochs = 3;
  options.initial_epoch = 2;
  fit(model, training(), options);
  const std::string longer = read_file(folder / "log.csv");
  BOOST_TEST(longer.starts_with(text), longer);
  BOOST_TEST(longer.find("\n2,") != std::string::npos, longer);

  std::vector<std::string> tags;
  for (const SummaryEvent& event : read_events(folder / "tb/train")) {
    for (const SummaryValue& v : event.values) {
      if (v.tag == "epoch_loss") {
        BOOST_TEST(v.value.item<float>() == static_cast<float>(history["loss"][static_cast<size_t>(event.step)]));
      }
      tags.push_back(v.plugin + ":" + v.tag);
    }
  }
  BOOST_TEST(std::ranges::count(tags, "scalars:epoch_mae") == 2);
  BOOST_TEST(std::ranges::count(tags, "histograms:dense/kernel") == 2);
  BOOST_TEST(read_events(folder / "tb/validation").size() == 5u);
}

BOOST_AUTO_TEST_CASE(the_first_op_that_gives_no_finite_number_is_named) {
  struct Logarithm : Layer {
    Dense inner{3, 1, {.dtype = kFloat64}};
    Parts parts() const override { return {inner}; }
    Tensor forward(const Tensor& x) const override { return log(inner(x) * 0.0 + x(Ellipsis, Slice(0, 1))); }
  };
  const Logarithm model;
  Tensor x = abs(inputs()) + 0.5;
  x = where(range(int64_t{0}, int64_t{66}, int64_t{1}).reshape({22, 3}) == int64_t{33}, 0.0, x);  // in the second batch
  for (const bool repeat : {true, false}) {
    FitOptions options = quiet(2, "mse");
    options.optimizer = "sgd";
    options.repeat_failed_step = repeat;
    options.callbacks = {TerminateOnNaN()};
    const Tensor before = model.inner.kernel().value();
    const History history = fit(model, {x, numbers(x)}, options);
    BOOST_TEST(history.epochs.size() == 1u);
    BOOST_TEST(history.stopped.find("in batch 1 of epoch 0: Log(x: float64[8,1]) gave -inf at") != std::string::npos,
               history.stopped);
    BOOST_TEST(history.stopped.find("callbacks_test.cc") != std::string::npos, history.stopped);
    BOOST_TEST(std::isfinite(history["loss"][0]));
    for (const double w : values_of(model.inner.kernel().value())) BOOST_TEST(std::isfinite(w));
  }
  FitOptions options = quiet(1, "mse");
  options.callbacks = {TerminateOnNaN()};
  const History history = fit(dense(1), {inputs() / 0.0, numbers(inputs())}, options);
  BOOST_TEST(history.stopped.find("in batch 0 of epoch 0: the batch's inputs have a") != std::string::npos,
             history.stopped);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
