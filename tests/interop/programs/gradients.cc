// gradients MODEL FEEDS.npz OUT.npz X OUTPUT...
//
// Loads the outputs of a GraphDef as a function of what FEEDS has, and writes the gradient of the sum of all elements
// of all outputs by input X, as `gradient`: for tests that compare it with TensorFlow's. With a comma behind X: that
// of the sum of its squares.
#include <cstdio>
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/npy.h"
#include "panto/panto.h"

namespace panto {
namespace {

int run(std::span<const std::string> args) {
  if (args.size() < 5) invalid("arguments: expected MODEL FEEDS OUT X OUTPUT..., got {}", args.size());
  const bool second = args[3].ends_with(",");
  const std::string x_name = second ? args[3].substr(0, args[3].size() - 1) : args[3];
  std::vector<std::string> names;
  std::vector<Tensor> values;
  size_t at = 0;
  for (const auto& [name, value] : read_npz(args[1])) {
    if (name == x_name) at = names.size();
    names.push_back(name);
    values.push_back(value);
  }
  const Function f = load(args[0], names, std::vector<std::string>(args.begin() + 4, args.end()));
  const Tensor x = values[at];
  GradientTape outer({.unconnected_zero = true});
  outer.watch(x);
  const auto total = [&] {
    Tensor all = zeros({}, x.dtype());
    for (const Tensor& y : f.call(values)) all = all + sum(y);
    return all;
  };
  Tensor y;
  if (second) {
    GradientTape inner({.unconnected_zero = true});
    inner.watch(x);
    const Tensor all = total();
    y = sum(square(inner.gradient(all, {x})[0]));
  } else {
    y = total();
  }
  write_npz(args[2], {{"gradient", outer.gradient(y, {x})[0]}});
  return 0;
}

}  // namespace
}  // namespace panto

int main(int argc, char** argv) {
  try {
    return panto::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const panto::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
