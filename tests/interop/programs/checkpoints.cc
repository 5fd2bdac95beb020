// What tests/interop/files/test_checkpoints.py asks of the library: checkpoints to and from .npz files.
//
//   checkpoints read PREFIX OUT.npz [NAME...]     all values, or those of these names
//   checkpoints write IN.npz PREFIX [objects]     in files of TensorFlow's, perhaps as an object-based checkpoint
//   checkpoints save IN.npz PREFIX STEP...        by a Saver that keeps two
//   checkpoints train IN OUT DATA.npz LOSSES.npz OPTIMIZER STEPS    "-": from nothing, to nowhere
#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/panto.h"

using namespace panto;

namespace {

void read(const std::string& prefix, const std::string& out, const std::vector<std::string>& names) {
  std::vector<NamedTensor> values;
  const CheckpointReader reader(prefix);
  for (const std::string& name : names) values.emplace_back(name, reader.read(name));
  write_npz(out, names.empty() ? read_checkpoint(prefix) : values);
}

void save(const std::string& in, const std::string& prefix, const std::vector<std::string>& steps) {
  std::vector<NamedVariable> variables;
  for (const auto& [name, value] : read_npz(in)) variables.emplace_back(name, Variable(value, "v"));
  Saver saver(prefix, variables, {.max_to_keep = 2});
  for (const std::string& step : steps) saver.save(std::atoll(step.c_str()));
}

// A model of one layer, trained by an optimizer of this name with what tests/interop/files/test_resuming.py says
// there.
std::unique_ptr<Optimizer> make_optimizer(const std::string& name, const std::vector<Variable>& variables) {
  if (name == "Adam") return std::make_unique<Adam>(variables, AdamOptions{.learning_rate = 0.01, .epsilon = 1e-3});
  if (name == "Momentum") {
    return std::make_unique<Momentum>(variables, MomentumOptions{.learning_rate = 0.05, .momentum = 0.9});
  }
  if (name == "RMSProp") {
    return std::make_unique<RMSprop>(
        variables,
        RMSpropOptions{.learning_rate = 0.01, .rho = 0.9, .momentum = 0.5, .centered = true, .epsilon = 1e-8});
  }
  if (name == "Adagrad") {
    return std::make_unique<Adagrad>(variables,
                                     AdagradOptions{.learning_rate = 0.1, .initial_accumulator = 0.1, .epsilon = 0});
  }
  if (name == "Ftrl") {
    return std::make_unique<Ftrl>(
        variables, FtrlOptions{.learning_rate = 0.1, .initial_accumulator = 0.1, .l1 = 0.001, .l2 = 0.002});
  }
  if (name == "SGD") {
    return std::make_unique<Sgd>(variables, SgdOptions{.learning_rate = 0.05, .momentum = 0.9});
  }
  invalid("optimizer: expected one of the six, got '{}'", name);
}

void train(const std::string& in, const std::string& out, const std::string& data, const std::string& losses,
           const std::string& optimizer_name, int64_t steps) {
  Tensor x, y;
  for (const auto& [name, value] : read_npz(data)) (name == "x" ? x : y) = value;
  set_seed(3);  // what is not restored begins with the same values in each run
  const Dense model(x.shape()[1], y.shape()[1], {.activation = tanh, .dtype = x.dtype()});
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(optimizer_name, model.variables());
  Checkpoint checkpoint({{"model", model}, {"optimizer", *optimizer}});
  if (in != "-") checkpoint.read(in).assert_existing_objects_matched();
  std::vector<double> values;
  for (int64_t step = 0; step < steps; ++step) {
    GradientTape tape;
    const Tensor loss = mean(square(model(x) - y));
    values.push_back(cast(loss, kFloat64).item<double>());
    optimizer->apply(tape.gradient(loss, optimizer->variables()));
  }
  if (out != "-") checkpoint.write(out);
  write_npz(losses, {{"losses", tensor(values)}});
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) return 2;
  const std::vector<std::string> rest(arguments.begin() + 3, arguments.end());
  try {
    if (arguments[0] == "read") read(arguments[1], arguments[2], rest);
    if (arguments[0] == "write") {
      write_checkpoint(arguments[2], read_npz(arguments[1]), {.object_graph = !rest.empty()});
    }
    if (arguments[0] == "train" && arguments.size() == 7) {
      train(arguments[1], arguments[2], arguments[3], arguments[4], arguments[5], std::atoll(arguments[6].c_str()));
    }
    if (arguments[0] == "save") save(arguments[1], arguments[2], rest);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
