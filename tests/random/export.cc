#include "panto/tests/random/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "panto/lib/base/file.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/array_value.h"
#include "panto/tests/random/interpret.h"
#include "panto/trace/graph_scope.h"

namespace panto::random {
namespace {

constexpr int kRuns = 3;
constexpr double kTimes = 64;  // what rounding makes of an element, at most

// By element of `expected`, from runs with one unit of the last place more or less on what every op gives.
Tensor tolerances(const Tensor& expected, std::span<const Tensor> noisy) {
  std::vector<double> result(static_cast<size_t>(expected.numel()), 0);
  if (dtypes::kComplex.contains(expected.dtype())) {
    std::vector<Tensor> parts;
    for (const Tensor& run : noisy) parts.push_back(parts_of(run));
    const Tensor of_parts = tolerances(parts_of(expected), parts);
    const auto each = of_parts.data<double>();
    for (size_t i = 0; i < result.size(); ++i) {
      result[i] = std::min(each[2 * i], each[2 * i + 1]) < 0 ? -1 : std::max(each[2 * i], each[2 * i + 1]);
    }
    return tensor(result);
  }
  if (!dtypes::kFloating.contains(expected.dtype())) {
    for (const Tensor& run : noisy) {
      if (!test::difference(expected, run).empty()) std::ranges::fill(result, -1);
    }
    return tensor(result);
  }
  const Tensor wide = cast(expected, kFloat64);
  const auto e = wide.data<double>();
  double scale = 0;
  for (const double v : e) scale = std::isfinite(v) ? std::max(scale, std::abs(v)) : scale;
  for (const Tensor& run : noisy) {
    const Tensor wide_run = cast(run, kFloat64);
    for (size_t i = 0; i < result.size(); ++i) {
      const double spread = std::abs(wide_run.data<double>()[i] - e[i]);
      if (!std::isfinite(spread))
        result[i] = std::isnan(e[i]) == std::isnan(wide_run.data<double>()[i]) ? result[i] : -1;
      if (std::isfinite(spread) && result[i] >= 0) result[i] = std::max(result[i], spread);
    }
  }
  for (double& t : result) {
    if (t >= 0) t = kTimes * t + 16 * test::epsilon(expected.dtype()) * scale;
  }
  return tensor(result);
}

}  // namespace

bool export_program(const Program& p, const std::string& base) {
  if (uses_variables(p.body) || p.inputs.empty()) return false;
  if (any_op(p.body, [](const Op& op) { return op.name().starts_with('_'); })) return false;
  try {
    std::vector<Tensor> inputs;
    for (const Input& in : p.inputs) inputs.push_back(in.value);
    World world(p);
    const std::vector<Tensor> expected = interpret(p.body, inputs, world);
    std::vector<std::vector<Tensor>> noisy(expected.size());
    for (int n = 0; n < kRuns; ++n) {
      RunOptions options;
      options.noise = 0x1p-23;
      for (const auto& in : p.inputs) {
        if (test::epsilon(in.value.dtype()) == test::epsilon(kFloat64)) options.noise = 0x1p-50;
      }
      options.noise_everywhere = true;
      options.noise_seed = static_cast<uint64_t>(n);
      const std::vector<Tensor> got = interpret(p.body, inputs, world, options);
      for (size_t k = 0; k < got.size(); ++k) noisy[k].push_back(got[k]);
    }
    Graph graph;
    std::vector<NamedTensor> arrays;
    std::string names;
    {
      const GraphScope scope(graph);
      std::vector<Tensor> placeholders;
      for (size_t i = 0; i < inputs.size(); ++i) {
        const std::string name = fmt::format("in_{}", i);
        placeholders.push_back(placeholder(inputs[i].dtype(), p.inputs[i].spec, name));
        arrays.emplace_back(name, inputs[i]);
      }
      const std::vector<Tensor> outputs = interpret(p.body, placeholders, world, {.const_nodes = true});
      for (size_t k = 0; k < outputs.size(); ++k) {
        names += graph.output_name(graph.output_of(outputs[k])) + "\n";
        arrays.emplace_back(fmt::format("out_{}", k), expected[k]);
        arrays.emplace_back(fmt::format("tol_{}", k), tolerances(expected[k], noisy[k]));
      }
    }
    write_npz(base + ".npz", arrays);  // first: it refuses strings
    write_file(base + ".txt", names);
    write_graph(graph, base + ".pb");
    return true;
  } catch (const Error&) {
    return false;
  } catch (const Unanswerable&) {
    return false;
  }
}

}  // namespace panto::random
