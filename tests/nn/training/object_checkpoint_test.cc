#include "panto/nn/training/checkpoints/object_checkpoint.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

constexpr const char* kValue = "/.ATTRIBUTES/VARIABLE_VALUE";

std::vector<float> floats(const Variable& v) { return v.value().to_vector<float>(); }

std::vector<std::string> names_in(const std::string& prefix) {
  std::vector<std::string> names;
  for (const CheckpointVariable& v : list_variables(prefix)) {
    std::string name = v.name;
    if (name.ends_with(kValue)) name.resize(name.size() - std::string(kValue).size());
    names.push_back(name);
  }
  return names;
}

using Names = std::vector<std::string>;

// A training run of what keeps something from step to step.
struct Run {
  Dense model{3, 2};
  Adam adam{model.variables(), {.learning_rate = 0.1}};
  LossScale scale{{.initial = 8, .growth_steps = 3}};
  GradientAccumulator accumulator{adam, {.steps = 2}};
  ExponentialMovingAverage average{model.variables(), {.decay = 0.9}};
  metrics::Mean loss;
  Dataset data = Dataset::from_tensors({arange(6.0)});
  std::string note = "none";
  Variable step{tensor(int64_t{0}), "step"};
  Checkpoint checkpoint{{"model", model},
                        {"optimizer", adam},
                        {"scale", scale},
                        {"accumulator", accumulator},
                        {"average", average},
                        {"metrics", std::vector<CheckpointObject>{loss}},
                        {"data", data},
                        {"random", random_generator()},
                        {"note", {[this] { return note; }, [this](std::string_view text) { note = text; }}},
                        {"step", step}};

  void advance() {
    GradientTape tape;
    const Tensor value = mean(square(model(random_uniform({4, 3}))));
    accumulator.apply(scale.unscale_gradients(tape.gradient(scale.scale_loss(value), adam.variables())));
    average.apply();
    loss.update_state(value);
    step.assign_add(1);
  }
  std::vector<Variable> everything() const {
    std::vector<Variable> all = model.variables();
    for (const auto& more : {adam.slots(), scale.slots(), accumulator.slots(), average.averages(), loss.state()}) {
      all.insert(all.end(), more.begin(), more.end());
    }
    all.push_back(step);
    return all;
  }
};

void expect_same(const Run& a, const Run& b) {
  const std::vector<Variable> of_a = a.everything(), of_b = b.everything();
  BOOST_REQUIRE(of_a.size() == of_b.size());
  for (size_t i = 0; i < of_a.size(); ++i) {
    BOOST_TEST_CONTEXT(of_a[i].name()) {
      BOOST_TEST(of_a[i].dtype() == of_b[i].dtype());
      BOOST_TEST(all(of_a[i].value() == of_b[i].value()).item<bool>());
    }
  }
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(object_checkpoint)

BOOST_AUTO_TEST_CASE(all_of_a_run) {
  const TestFolder folder;
  set_seed(3);
  Run run;
  for (int i = 0; i < 3; ++i) run.advance();
  Dataset::Iterator at = run.data.begin();
  ++at;
  run.note = "three steps";
  BOOST_TEST(run.checkpoint.save(folder / "run/ckpt") == folder / "run/ckpt-1");
  BOOST_TEST(latest_checkpoint(folder / "run").value() == folder / "run/ckpt-1");
  BOOST_TEST((names_in(folder / "run/ckpt-1") == Names{"_CHECKPOINTABLE_OBJECT_GRAPH",
                                                       "accumulator/accumulated_steps",
                                                       "accumulator/gradient_accumulator",
                                                       "accumulator/gradient_accumulator_1",
                                                       "average/ExponentialMovingAverage",
                                                       "average/ExponentialMovingAverage_1",
                                                       "data/.ATTRIBUTES/STATE",
                                                       "metrics/0/count",
                                                       "metrics/0/total",
                                                       "model/dense/bias",
                                                       "model/dense/bias/.OPTIMIZER_SLOT/optimizer/m",
                                                       "model/dense/bias/.OPTIMIZER_SLOT/optimizer/v",
                                                       "model/dense/kernel",
                                                       "model/dense/kernel/.OPTIMIZER_SLOT/optimizer/m",
                                                       "model/dense/kernel/.OPTIMIZER_SLOT/optimizer/v",
                                                       "note/.ATTRIBUTES/STATE",
                                                       "optimizer/beta1_power",
                                                       "optimizer/beta2_power",
                                                       "optimizer/learning_rate",
                                                       "random/_state_var",
                                                       "save_counter",
                                                       "scale/finite_steps",
                                                       "scale/loss_scale",
                                                       "step"}));
  for (int i = 0; i < 4; ++i) run.advance();
  set_seed(99);
  Run other;
  other.checkpoint.restore(folder / "run/ckpt-1").assert_consumed();
  BOOST_TEST(other.note == "three steps");
  BOOST_TEST(other.checkpoint.save_counter() == 1);
  BOOST_TEST((*other.data.begin())[0].item<double>() == 2.0);
  for (int i = 0; i < 4; ++i) other.advance();
  expect_same(run, other);
  BOOST_TEST(other.checkpoint.save(folder / "run/ckpt") == folder / "run/ckpt-2");
  // The rate is kept, and by `read` the count is not taken.
  other.adam.set_learning_rate(0.5);
  BOOST_TEST(other.checkpoint.write(folder / "as_it_is") == folder / "as_it_is");
  run.checkpoint.read(folder / "as_it_is").assert_consumed();
  BOOST_TEST(run.adam.learning_rate() == 0.5, boost::test_tools::tolerance(1e-7));
  BOOST_TEST(run.checkpoint.save_counter() == 1);
}

// An optimizer that has not seen its variables yet.
BOOST_AUTO_TEST_CASE(slots_that_are_made_later) {
  const TestFolder folder;
  const Variable w(tensor({1.f, 2.f}), "w"), b(tensor({3.f}), "b");
  const auto loss = [&] { return sum(square(w.value())) + sum(square(b.value())); };
  const MinimizeOptions both{.var_list = {w, b}};
  Adam adam(AdamOptions{.learning_rate = 0.1});
  Checkpoint saved({{"w", w}, {"b", b}, {"optimizer", adam}});
  for (int i = 0; i < 3; ++i) adam.minimize(loss, both);
  saved.write(folder / "m");
  saved.write(folder / "again");
  for (int i = 0; i < 3; ++i) adam.minimize(loss, both);
  const std::vector<float> expected_w = floats(w), expected_b = floats(b);

  for (const bool in_parts : {false, true}) {
    const std::string prefix = folder / (in_parts ? "again" : "m");
    Adam later(AdamOptions{.learning_rate = 0.7});
    Checkpoint checkpoint({{"w", w}, {"b", b}, {"optimizer", later}});
    const RestoreStatus status = checkpoint.restore(prefix);
    BOOST_TEST(status.missing().empty());
    BOOST_TEST(status.unused().size() == 7U);
    expect_error_begins([&] { status.assert_consumed(); },
                        "InvalidArgument: checkpoint '" + prefix + "': expected values that objects have, got '");
    remove_checkpoint(prefix);  // what is awaited was read
    if (in_parts) {
      later.build({w});
      BOOST_TEST(status.unused().size() == 2U);
    }
    for (int i = 0; i < 3; ++i) later.minimize(loss, both);
    status.assert_consumed();
    BOOST_TEST(floats(w) == expected_w);
    BOOST_TEST(floats(b) == expected_b);
  }
}

BOOST_AUTO_TEST_CASE(what_was_not_found_is_named) {
  const TestFolder folder;
  const Variable a(tensor({1.f}), "a"), b(tensor({2.f, 3.f}), "b");
  Checkpoint({{"a", a}}).write(folder / "a");
  Checkpoint both({{"a", a}, {"b", b}});
  const std::string in = "InvalidArgument: checkpoint '" + (folder / "a") + "': ";
  RestoreStatus status = both.restore(folder / "a").expect_partial();
  BOOST_TEST((status.missing() == Names{"b (float32[2])"}));
  expect_error([&] { status.assert_existing_objects_matched(); },
               in + "expected values of all objects, got none of 'b (float32[2])'");
  both.write(folder / "both");
  Checkpoint only({{"a", a}});
  status = only.restore(folder / "both").assert_existing_objects_matched();
  BOOST_TEST((status.unused() == Names{"b/.ATTRIBUTES/VARIABLE_VALUE (float32[2])"}));
  expect_error([&] { status.assert_consumed(); },
               "InvalidArgument: checkpoint '" + (folder / "both") +
                   "': expected values that objects have, got 'b/.ATTRIBUTES/VARIABLE_VALUE (float32[2])' too");
  Checkpoint other({{"c", a}});
  status = other.restore(folder / "a");
  expect_error([&] { status.assert_nontrivial_match(); },
               in + "expected a value of one of the objects, got only others: 'a/.ATTRIBUTES/VARIABLE_VALUE "
                    "(float32[1])'");
  // Nothing changes where one does not fit.
  a.assign(tensor({7.f}));
  const Variable wide(tensor({0.f, 0.f, 0.f}), "wide");
  Checkpoint unfit({{"a", a}, {"b", wide}});
  expect_error([&] { unfit.restore(folder / "both"); },
               "InvalidArgument: checkpoint '" + (folder / "both") + "': expected float32[3] for 'b', got float32[2]");
  BOOST_TEST(a.value().item<float>() == 7.f);
  expect_error_begins([&] { unfit.restore(folder / "none"); }, "NotFound: ");
}

BOOST_AUTO_TEST_CASE(misuse) {
  const TestFolder folder;
  const Variable w(tensor({1.f, 2.f}), "w");
  Adam adam({w});
  Checkpoint alone({{"optimizer", adam}});
  expect_error(
      [&] { alone.write(folder / "m"); },
      "InvalidArgument: checkpoint: expected the variables of 'optimizer' among its objects (add the model), got "
      "none that has '" +
          w.name() + "'");
  const auto make = [&](const char* name) { return [=] { const Checkpoint c({{name, w}}); }; };
  expect_error(make(""), "InvalidArgument: checkpoint: expected names of objects without slashes, got ''");
  expect_error(make("a/b"), "InvalidArgument: checkpoint: expected names of objects without slashes, got 'a/b'");
  expect_error(make("save_counter"),
               "InvalidArgument: checkpoint: expected other names than 'save_counter', which is its own");
  expect_error([&] { const Checkpoint c({{"a", w}, {"a", w}}); },
               "InvalidArgument: checkpoint: expected each name once, got 'a' twice");
  expect_error([] { const Checkpoint c({{"a", Variable()}}); },
               "InvalidArgument: checkpoint: expected variables with values, got a default-constructed one");
  Checkpoint checkpoint({{"w", w}});
  checkpoint.write(folder / "m");
  for (const bool saves : {true, false}) {
    expect_error_begins(
        [&] {
          (void)trace([&](const Tensor& x) {
            saves ? (void)checkpoint.write(folder / "n") : (void)checkpoint.restore(folder / "m");
            return x;
          })(tensor(1.f));
        },
        saves ? "FailedPrecondition: save: expected" : "FailedPrecondition: restore: expected");
  }
  expect_error([&] { checkpoint.save(folder / "run/"); },
               "InvalidArgument: checkpoint: expected a prefix with a name, got '" + (folder / "run/") + "'");
  BOOST_TEST(checkpoint.save_counter() == 0);
}

// One variable by several ways, names that TensorFlow escapes, and a variable below another.
BOOST_AUTO_TEST_CASE(ways) {
  const TestFolder folder;
  const Variable a(tensor(1.f), "a"), b(tensor(2.f), "b");
  const CheckpointObject inner(std::vector<CheckpointObject::Named>{{"x.y", a}, {"again", a}, {"b", b}});
  Checkpoint({{"o", inner}, {"a", a}}).write(folder / "m");
  BOOST_TEST((names_in(folder / "m") == Names{"_CHECKPOINTABLE_OBJECT_GRAPH", "o/b", "o/x..y"}));
  a.assign(tensor(0.f));
  Checkpoint by_other({{"a", a}});
  by_other.restore(folder / "m").assert_existing_objects_matched();
  BOOST_TEST(a.value().item<float>() == 1.f);
}

// A checkpoint of names: of tf.compat.v1.train.Saver, and of ours.
BOOST_AUTO_TEST_CASE(checkpoints_of_names) {
  const TestFolder folder;
  const Variable w(tensor({1.f, 2.f}), "w");
  RMSprop rmsprop({w}, {.learning_rate = 0.1, .momentum = 0.5, .centered = true});
  Momentum momentum({w});
  write_checkpoint(folder / "m", {{"w", tensor({5.f, 6.f})},
                                  {"w/RMSProp", tensor({1.f, 1.f})},
                                  {"w/RMSProp_1", tensor({2.f, 2.f})},
                                  {"w/RMSProp_2", tensor({3.f, 3.f})},
                                  {"w/momentum", tensor({4.f, 4.f})}});
  Checkpoint checkpoint({{"w", w}, {"first", rmsprop}, {"second", momentum}});
  checkpoint.restore(folder / "m").assert_consumed();
  BOOST_TEST(floats(w)[0] == 5.f);
  BOOST_TEST(floats(rmsprop.get_slot(w, "ms"))[0] == 1.f);
  BOOST_TEST(floats(rmsprop.get_slot(w, "mg"))[0] == 2.f);
  BOOST_TEST(floats(rmsprop.get_slot(w, "mom"))[0] == 3.f);
  BOOST_TEST(floats(momentum.get_slot(w, "momentum"))[0] == 4.f);
}

// Whatever the graph of objects says, it ends in values or an Error.
BOOST_AUTO_TEST_CASE(damaged_graphs) {
  const TestFolder folder;
  const Variable w(tensor({1.f, 2.f}), "w");
  Adam adam({w});
  Checkpoint checkpoint({{"w", w}, {"optimizer", adam}});
  checkpoint.write(folder / "m");
  std::vector<NamedTensor> values = read_checkpoint(folder / "m");
  const auto graph = std::ranges::find(values, "_CHECKPOINTABLE_OBJECT_GRAPH", &NamedTensor::first);
  const std::string bytes = graph->second.item<std::string>();
  std::mt19937 random(5);
  int refused = 0;
  for (int i = 0; i < 60; ++i) {
    std::string damaged = bytes;
    if (i % 4 == 0) damaged.resize(random() % damaged.size());
    for (int n = 0; n < 1 + i % 3 && !damaged.empty(); ++n) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    graph->second = tensor(damaged);
    write_checkpoint(folder / "d", values);
    try {
      checkpoint.restore(folder / "d").expect_partial();
    } catch (const Error&) {
      ++refused;
    }
  }
  BOOST_TEST(refused > 0);
}

// As in TensorFlow 1, with what is the process's beside it.
BOOST_AUTO_TEST_CASE(variables_of_a_graph) {
  const TestFolder folder;
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Variable w(tensor({1.f, 2.f}), "w");
  Adam adam(AdamOptions{.learning_rate = 0.1});
  const Operation step = adam.minimize(sum(square(w.value())));
  const Operation init = global_variables_initializer();
  Checkpoint checkpoint({{"w", w}, {"optimizer", adam}, {"random", random_generator()}});
  building.reset();
  Session session(graph);
  session.run(init);
  for (int i = 0; i < 3; ++i) session.run(step);
  checkpoint.save(session, folder / "m");
  const int64_t drawn = random_generator().value().to_vector<int64_t>()[0];
  (void)random_uniform({3});
  for (int i = 0; i < 2; ++i) session.run(step);
  const std::vector<float> expected = session.run(w).to_vector<float>();
  Session fresh(graph);  // without its initializer
  checkpoint.restore(fresh, folder / "m-1").assert_consumed();
  BOOST_TEST(random_generator().value().to_vector<int64_t>()[0] == drawn);
  for (int i = 0; i < 2; ++i) fresh.run(step);
  BOOST_TEST(fresh.run(w).to_vector<float>() == expected);
  expect_error([&] { checkpoint.write(folder / "n"); },
               "FailedPrecondition: checkpoint: expected a session, since variables are of a graph, got none");
  expect_error([&] { checkpoint.restore(folder / "m-1"); },
               "FailedPrecondition: checkpoint: expected a session, since variables are of a graph, got none");
  // Eager variables get the values of a graph's, and the other way round.
  const Variable eager(tensor({0.f, 0.f}), "w");
  Checkpoint of_eager({{"w", eager}});
  of_eager.restore(folder / "m-1").assert_existing_objects_matched();
  BOOST_TEST(eager.value().to_vector<float>()[0] < 1.f);
  expect_error([&] { of_eager.write(session, folder / "n"); },
               "FailedPrecondition: checkpoint: expected variables of a graph, since there is a session, got none");
}

// Whose order nobody can give again, a checkpoint does not pretend to keep: it names the stage, when it is taken and
// when it is to go on.
BOOST_AUTO_TEST_CASE(stages_without_an_order) {
  const TestFolder folder;
  const auto doubled = [](const Tensor& x) { return x * 2.f; };
  Dataset sure = Dataset::from_tensors({arange(6.0f)}).map(doubled, {.threads = 2});
  Dataset any = Dataset::from_tensors({arange(6.0f)}).map(doubled, {.threads = 2, .ordered = false}).batch(2);
  Checkpoint good({{"data", sure}}), bad({{"data", any}});
  const std::string path = good.write(folder / "good");
  Dataset::Iterator at = any.begin();
  ++at;
  const char* text =
      "FailedPrecondition: state: expected stages whose order is the same in every run, got map with .ordered = false";
  expect_error_begins([&] { bad.write(folder / "bad"); }, text);
  BOOST_TEST(!checkpoint_exists(folder / "bad"));
  CheckpointManager manager(bad, folder / "run");
  expect_error_begins([&] { (void)manager.save(1); }, text);
  BOOST_TEST(!manager.latest_checkpoint().has_value());
  BOOST_CHECK_THROW((void)bad.restore(path), Error);
}

// ---- CheckpointManager ---------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(now_and_then) {
  const TestFolder folder;
  const Variable v(tensor(1.f), "v");
  double time = 1e9;
  Checkpoint checkpoint({{"v", v}});
  const CheckpointManagerOptions options{.max_to_keep = 2, .checkpoint_interval = 10};
  {
    CheckpointManager manager(checkpoint, folder / "run", options);
    BOOST_TEST(!manager.restore_latest().has_value());
    Names written;
    for (int64_t step = 0; step < 35; ++step) {
      v.assign(tensor(static_cast<float>(step)));
      if (step == 20) {
        written.push_back(manager.save_async(step)->get());
      } else if (const auto prefix = manager.save(step)) {
        written.push_back(*prefix);
      }
    }
    BOOST_TEST((written ==
                Names{folder / "run/ckpt-0", folder / "run/ckpt-10", folder / "run/ckpt-20", folder / "run/ckpt-30"}));
    BOOST_TEST((manager.checkpoints() == Names{folder / "run/ckpt-20", folder / "run/ckpt-30"}));
    expect_error([&] { (void)manager.save(-1); }, "InvalidArgument: checkpoint manager: expected a step >= 0, got -1");
  }
  CheckpointManager manager(checkpoint, folder / "run", options);  // goes on
  BOOST_TEST(!manager.save(39).has_value());
  manager.restore_latest()->assert_consumed();
  BOOST_TEST(v.value().item<float>() == 30.f);
  BOOST_TEST(checkpoint.save_counter() == 4);
  BOOST_TEST(manager.save() == folder / "run/ckpt-5");
  // By the clock, and by the numbers of saves.
  CheckpointManager by_time(checkpoint, folder / "timed",
                            {.checkpoint_name = "m", .seconds_between = 60, .clock = [&time] { return time; }});
  int saves = 0;
  for (int64_t step = 0; step < 20; ++step, time += 25) saves += by_time.save(step).has_value() ? 1 : 0;
  BOOST_TEST(saves == 7);
  BOOST_TEST(by_time.latest_checkpoint().value() == folder / "timed/m-18");
  for (const CheckpointManagerOptions& bad :
       {CheckpointManagerOptions{.checkpoint_name = "a/b"}, CheckpointManagerOptions{.checkpoint_interval = -1},
        CheckpointManagerOptions{.seconds_between = -1}, CheckpointManagerOptions{.max_to_keep = -1}}) {
    expect_error_begins([&] { const CheckpointManager m(checkpoint, folder / "x", bad); },
                        "InvalidArgument: checkpoint manager: expected ");
  }
}

// A disk that is full: the newest checkpoint that was acknowledged stays, and when there is room again saving goes on.
BOOST_AUTO_TEST_CASE(full_disks) {
  const TestFolder folder;
  const Variable half(zeros({20000}, kFloat16), "half"), brain(zeros({20000}, kBFloat16), "brain");
  Checkpoint checkpoint({{"half", half}, {"brain", brain}});
  CheckpointManager manager(checkpoint, folder / "run", {.max_to_keep = 1});
  const auto set = [&](double value) {
    half.assign(cast(full({20000}, value), kFloat16));
    brain.assign(cast(full({20000}, value), kBFloat16));
  };
  set(1.5);
  (void)manager.save(1);
  set(2.5);
  rlimit before{};
  BOOST_REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  void (*const handler)(int) = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t limit : {50000, 0}) {  // in the middle of the data, and at once
    const rlimit small{limit, before.rlim_max};
    BOOST_REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string text[2];
    try {
      (void)manager.save(2);
    } catch (const Error& error) {
      text[0] = error.what();
    }
    try {
      (void)manager.save_async(2)->get();
    } catch (const Error& error) {
      text[1] = error.what();
    }
    setrlimit(RLIMIT_FSIZE, &before);
    for (const std::string& t : text) BOOST_TEST(t.starts_with("ResourceExhausted: "), t);
    BOOST_TEST(manager.latest_checkpoint().value() == folder / "run/ckpt-1");
    BOOST_TEST((manager.checkpoints() == Names{folder / "run/ckpt-1"}));
  }
  std::signal(SIGXFSZ, handler);
  manager.restore_latest()->assert_consumed();
  BOOST_TEST(cast(half.value(), kFloat32).to_vector<float>()[19999] == 1.5f);
  BOOST_TEST(cast(brain.value(), kFloat32).to_vector<float>()[19999] == 1.5f);
  set(2.5);
  (void)manager.save(2);
  BOOST_TEST(manager.latest_checkpoint().value() == folder / "run/ckpt-2");
  manager.restore_latest()->assert_consumed();
  BOOST_TEST(cast(brain.value(), kFloat32).to_vector<float>()[19999] == 2.5f);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
