// Rows of ops that the optimizer makes. (_FusedMatMul is with the matrix products.)
#include <algorithm>
#include <cmath>
#include <numeric>

#include "panto/tests/ops/table.h"

namespace panto::test::fused_rows {
namespace {

// A program over float32 values, as the op's attributes spell it.
Sample program(std::vector<Array> in, std::vector<std::string> ops, std::vector<int64_t> operands,
               std::vector<int64_t> outputs) {
  for (Array& a : in) a.type = kFloat32;
  const std::vector<DType> types(ops.size(), kFloat32), out(outputs.size(), kFloat32);
  return {.in = std::move(in),
          .attrs = {{"Tout", out},
                    {"ops", std::move(ops)},
                    {"types", types},
                    {"operands", std::move(operands)},
                    {"outputs", std::move(outputs)}}};
}

// Step by step, on whole arrays. Operands that broadcast come second.
std::vector<Array> by_steps(const Given& g) {
  std::vector<Array> values = g.in;
  const auto operands = g.integers("operands");
  size_t next = 0;
  const auto operand = [&] { return values[static_cast<size_t>(operands[next++])]; };
  for (const std::string& op : g.texts("ops")) {
    Array result = operand();
    if (op == "Tanh") {
      for (double& v : result.values) v = std::tanh(v);
    } else {
      const Array other = operand();
      for (size_t i = 0; i < result.values.size(); ++i) {
        const double y = other.values[other.broadcast_position(result.dims, i)];
        result.values[i] = op == "AddV2" ? result.values[i] + y : result.values[i] * y;
      }
    }
    values.push_back(std::move(result));
  }
  std::vector<Array> results;
  for (int64_t value : g.integers("outputs")) results.push_back(values[static_cast<size_t>(value)]);
  return results;
}

Sample reduced(Sample program, const char* reduction, int dims, bool keep_dims) {
  std::erase_if(program.attrs, [](const Attr& a) { return a.name == "Tout"; });
  program.attrs.insert(program.attrs.end(), {{"reduction", reduction}, {"dims", dims}, {"keep_dims", keep_dims}});
  return program;
}

std::vector<Array> by_steps_then_reduced(const Given& g) {
  const Array x = by_steps(g)[0];
  const size_t kept = x.dims.size() - static_cast<size_t>(g.integer("dims"));
  Array y = filled({x.dims.begin(), x.dims.begin() + static_cast<int64_t>(kept)}, 0);
  const size_t run = x.values.size() / std::max<size_t>(1, y.values.size());
  const std::string reduction = g.text("reduction");
  for (size_t r = 0; r < y.values.size(); ++r) {
    const auto first = x.values.begin() + static_cast<int64_t>(r * run), last = first + static_cast<int64_t>(run);
    const double sum = std::accumulate(first, last, 0.0);
    y.values[r] = reduction == "sum"    ? sum
                  : reduction == "mean" ? sum / static_cast<double>(run)
                  : reduction == "max"  ? *std::max_element(first, last)
                                        : *std::min_element(first, last);
  }
  if (g.flag("keep_dims")) y.dims.resize(x.dims.size(), 1);
  return {y};
}

const Family fused(
    "fused",
    {{"_FusedElementwise",
      {.samples = {program({draw({2, 3})}, {"Tanh"}, {0}, {1}),
                   program({draw({2, 3}), draw({3})}, {"AddV2", "Tanh", "Mul"}, {0, 1, 2, 3, 0}, {4, 2}),
                   program({draw({4, 1, 2}), draw({})}, {"Mul", "Mul", "AddV2"}, {0, 1, 2, 2, 3, 0}, {4}),
                   program({draw({0, 2})}, {"Tanh", "Tanh"}, {0, 1}, {2})},
       .reference = by_steps,
       .errors = {{.in = {draw({2, 3}).as(kFloat32), draw({2}).as(kFloat32)},
                   .attrs = {{"Tout", std::vector<DType>{kFloat32}},
                             {"ops", std::vector<std::string>{"AddV2"}},
                             {"types", std::vector<DType>{kFloat32}},
                             {"operands", std::vector<int64_t>{0, 1}},
                             {"outputs", std::vector<int64_t>{2}}},
                   .text = "shapes: expected ones that broadcast, got [2,3] and [2]"}}}},
     {"_FusedReduction",
      {.samples = {reduced(program({draw({2, 3})}, {"Tanh"}, {0}, {1}), "sum", 1, false),
                   reduced(program({draw({2, 3}), draw({3})}, {"AddV2", "Mul"}, {0, 1, 2, 0}, {3}), "mean", 1, true),
                   reduced(program({draw({2, 3, 4})}, {"Mul"}, {0, 0}, {1}), "max", 2, false),
                   reduced(program({draw({5})}, {"Mul"}, {0, 0}, {1}), "min", 1, true)},
       .reference = by_steps_then_reduced,
       .errors = {{.in = {draw({2}).as(kFloat32)},
                   .attrs = {{"ops", std::vector<std::string>{"Tanh"}},
                             {"types", std::vector<DType>{kFloat32}},
                             {"operands", std::vector<int64_t>{0}},
                             {"outputs", std::vector<int64_t>{1}},
                             {"reduction", "sum"},
                             {"dims", 2}},
                   .text = "dims: expected at most 1, got 2"}},
       .types = DTypeSet{kFloat32},
       .units = 16,
       .floor = 4}}});

}  // namespace
}  // namespace panto::test::fused_rows
