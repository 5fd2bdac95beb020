// Values of models and other variables in files.
#include "panto/nn/training/checkpoint.h"

#include "panto/autograd/tape.h"
#include "panto/lib/base/file.h"
#include "panto/lib/core/io/tensor_files.h"
#include "panto/lib/ops/create.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/layers/recurrent.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

std::string names_in(const std::string& path) {
  std::string names;
  for (const auto& [name, value] : read_tensors(path)) names.append(names.empty() ? "" : " ").append(name);
  return names;
}

std::string names_of(const std::vector<NamedVariable>& variables) {
  std::string names;
  for (const auto& [name, v] : variables) names.append(names.empty() ? "" : " ").append(name);
  return names;
}

Sequential model(double start) {
  return Sequential(Dense(3, 4, {.activation = relu, .kernel_initializer = waves(start)}), BatchNorm(4),
                    Dense(4, 4, {.kernel_initializer = waves(start + 1)}), BatchNorm(4),
                    Dense(4, 2, {.kernel_initializer = waves(start + 2), .name = "head"}));
}

std::vector<double> all_values(const Layer& layer) {
  std::vector<double> all;
  for (const auto& [name, v] : layer.named_variables()) {
    for (const double x : values_of(v.value())) all.push_back(x);
  }
  return all;
}

void train(const Sequential& m) {
  const TrainingScope training;
  for (int i = 0; i < 3; ++i) (void)m(wave({5, 3}, i));
}

// A layer as users write them.
class Block final : public Layer {
 public:
  Block() : first_(2, 2), second_(2, 2, {.name = "out"}) {}
  Tensor forward(const Tensor& x) const override { return second_(first_(x)) + shift_; }
  Parts parts() const override { return {first_, second_, shift_}; }
  std::string to_string() const override { return "Block()"; }

 private:
  Dense first_, second_;
  Variable shift_{tensor(1.F), "shift"};
};

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(checkpoint)

// Whatever else the process has made: graphs call the variables of the second one dense_5/kernel or so.
BOOST_AUTO_TEST_CASE(names_are_the_models_own) {
  const TestFolder folder;
  for (int i = 0; i < 3; ++i) {
    const Sequential m = model(i);
    m.save(folder / "m.npz");
    BOOST_TEST(names_in(folder / "m.npz") ==
               "dense/kernel dense/bias batch_norm/scale batch_norm/offset dense_1/kernel dense_1/bias "
               "batch_norm_1/scale batch_norm_1/offset head/kernel head/bias batch_norm/running_mean "
               "batch_norm/running_variance batch_norm_1/running_mean batch_norm_1/running_variance");
  }
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(names_of(Sequential(Block(), Block()).named_variables()) ==
               "dense/kernel dense/bias out/kernel out/bias shift dense_1/kernel dense_1/bias out_1/kernel out_1/bias "
               "shift_1");
  }
}

BOOST_AUTO_TEST_CASE(names_that_meet) {
  const auto named = [](const std::vector<std::string>& asked) {
    std::vector<Variable> variables;
    for (const std::string& name : asked) variables.emplace_back(tensor(1.F), name);
    return names_of(named_variables(variables));
  };
  BOOST_TEST(named({}).empty());
  BOOST_TEST(named({"k", "k", "b", "k", "c"}) == "k k_1 b k_2 c");
  BOOST_TEST(named({"a/k_1", "a/k", "a/k"}) == "a/k_1 a/k a_1/k");
  // No other test has two variables of that owner's name: "owner_1" would be known as the second of them.
  BOOST_TEST(named({"owner_1/k", "owner/k", "owner/k"}) == "owner_1/k owner/k owner_2/k");
  BOOST_TEST(named({"a/b/k", "a/b/k", "a/c/k"}) == "a/b/k a/b_1/k a/c/k");
  const Variable v(tensor(1.F), "twice");
  BOOST_TEST(names_of(named_variables({v, Variable(tensor(2.F), "other"), v})) == "twice other");
}

BOOST_AUTO_TEST_CASE(what_is_saved_is_loaded) {
  for (const char* name : {"m.npz", "m.safetensors"}) {
    const TestFolder folder;
    const Sequential trained = model(0.5);
    train(trained);
    trained.save(folder / name);
    const Sequential other = model(7);
    BOOST_TEST((all_values(other) != all_values(trained)));
    other.load(folder / name);
    BOOST_TEST((all_values(other) == all_values(trained)));
    const Tensor x = wave({2, 3}, 11);
    BOOST_TEST((values_of(other(x)) == values_of(trained(x))));
    BOOST_TEST(folder.files() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(types) {
  const TestFolder folder;
  for (const DType dtype : {kFloat64, kFloat16, kBFloat16, kInt64, kBool}) {
    const Variable v(cast(tensor({0.F, 1.F}), dtype), "v");
    for (const char* name : {"v.npz", "v.safetensors"}) {
      save_variables(folder / name, {v});
      v.assign(cast(tensor({1.F, 1.F}), dtype));
      load_variables(folder / name, {v});
      expect_near(v.value(), {2}, {0, 1});
    }
  }
}

// An optimizer's variables are called after those that they belong to.
BOOST_AUTO_TEST_CASE(training_goes_on) {
  const TestFolder folder;
  const auto step = [](const Layer& m, Adam& adam) {
    GradientTape tape;
    const Tensor loss = mean(square(m(wave({4, 3}))));
    adam.apply(tape.gradient(loss, adam.variables()));
  };
  const Dense first(3, 2);
  Adam adam(first.variables());
  for (int i = 0; i < 3; ++i) step(first, adam);
  first.save(folder / "m.npz");
  save_variables(folder / "adam.npz", adam.slots());
  BOOST_TEST(names_in(folder / "adam.npz") ==
             "dense/kernel/m dense/kernel/v dense/bias/m dense/bias/v beta1_power beta2_power learning_rate");
  step(first, adam);
  const Dense second(3, 2);
  Adam again(second.variables());
  second.load(folder / "m.npz");
  load_variables(folder / "adam.npz", again.slots());
  step(second, again);
  BOOST_TEST((all_values(second) == all_values(first)));
}

BOOST_AUTO_TEST_CASE(names_of_ones_own) {
  const TestFolder folder;
  const Variable step(tensor(int64_t{7}), "step"), rate(tensor(0.5), "rate");
  save_variables(folder / "run.npz", {{"a", step}, {"b c", rate}});
  BOOST_TEST(names_in(folder / "run.npz") == "a b c");
  step.assign(tensor(int64_t{0}));
  load_variables(folder / "run.npz", {{"b c", rate}, {"a", step}});
  BOOST_TEST(step.value().item<int64_t>() == 7);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_changes_nothing) {
  const TestFolder folder;
  const std::string path = folder / "m.safetensors";
  const std::string in_file = " [in file '" + path + "']";
  const Dense layer(3, 2);
  const std::vector<double> before = all_values(layer);
  const Tensor kernel = zeros({3, 2}), bias = zeros({2});
  const auto expect = [&](const std::vector<NamedTensor>& values, const std::string& text) {
    write_tensors(path, values);
    expect_error([&] { layer.load(path); }, text + in_file);
    BOOST_TEST((all_values(layer) == before));
  };
  expect({{"dense/kernel", kernel}},
         "InvalidArgument: load: expected a value of variable 'dense/bias' (float32[2]), got none of that name");
  expect({},
         "InvalidArgument: load: expected a value of variable 'dense/kernel' (float32[3,2]), got none of that name");
  expect({{"dense/kernel", kernel}, {"dense/bias", zeros({3})}},
         "InvalidArgument: load: expected float32[2] for variable 'dense/bias', got float32[3]");
  expect({{"dense/kernel", kernel}, {"dense/bias", cast(bias, kFloat64)}},
         "InvalidArgument: load: expected float32[2] for variable 'dense/bias', got float64[2]");
  expect({{"dense/kernel", kernel}, {"dense/bias", bias}, {"head/kernel", kernel}, {"head/bias", bias}},
         "InvalidArgument: load: expected values of 2 variables, got 2 more, such as 'head/bias' (float32[2])");
  write_tensors(
      path, std::vector<NamedTensor>{{"dense/kernel", kernel}, {"dense/bias", bias}, {std::string(5000, '\n'), bias}});
  BOOST_TEST(error_text([&] { layer.load(path); }).size() < 600U);
  write_file(path, "no such file");
  BOOST_TEST(error_text([&] { layer.load(path); }).ends_with(in_file));
  expect_error([&] { layer.load(folder / "none.npz"); },
               "NotFound: cannot open file '" + (folder / "none.npz") + "': No such file or directory");
  BOOST_TEST((all_values(layer) == before));
}

BOOST_AUTO_TEST_CASE(misuse) {
  const TestFolder folder;
  const Dense layer(3, 2);
  expect_error(
      [&] { layer.save(folder / "m.bin"); },
      "InvalidArgument: save: expected a name *.npz, *.safetensors or *.ckpt, got '" + (folder / "m.bin") + "'");
  expect_error([&] { layer.load("m"); },
               "InvalidArgument: load: expected a name *.npz, *.safetensors or *.ckpt, or a checkpoint that is there, "
               "got 'm'");
  expect_error([&] { layer.save(folder / "no/m.npz"); },
               "NotFound: cannot write file '" + (folder / "no/m.npz") + "': No such file or directory");
  const Variable v(tensor(1.F), "v");
  expect_error([&] { save_variables(folder / "v.npz", {{"x", v}, {"x", v}}); },
               "InvalidArgument: npz: expected each name once, got 'x' twice");
  save_variables(folder / "v.npz", {{"x", v}});
  expect_error([&] { load_variables(folder / "v.npz", {{"x", v}, {"x", v}}); },
               "InvalidArgument: load: expected each name once, got 'x' twice [in file '" + (folder / "v.npz") + "']");
  expect_error([&] { save_variables(folder / "v.npz", {Variable()}); },
               "FailedPrecondition: variables: expected ones with values, got a default-constructed one");
  expect_error_begins(
      [&] {
        trace([&](const Tensor& x) { return layer.save(folder / "m.npz"), layer(x); },
              {TensorSpec(kFloat32, {1, 3}, "x")});
      },
      "FailedPrecondition: save: expected to be called outside a trace");
  BOOST_TEST(folder.files() == 1U);
  Graph graph;
  const GraphScope building(graph);
  expect_error([&] { (void)named_variables({Variable(tensor(1.F), "symbolic")}); },
               "FailedPrecondition: variables: expected ones with values, got symbolic 'symbolic'");
}

// What has no variables has an empty file.
BOOST_AUTO_TEST_CASE(layers_without_variables) {
  const TestFolder folder;
  Flatten().save(folder / "f.npz");
  Flatten().load(folder / "f.npz");
  BOOST_TEST(read_tensors(folder / "f.npz").empty());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
