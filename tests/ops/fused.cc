// Rows of ops that the optimizer makes. (_FusedMatMul is with the matrix products.)
#include <cmath>

#include "panto/tests/ops/table.h"

namespace panto::test {
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

template <class T>
T attr(const Given& g, std::string_view name) {
  for (const Attr& a : g.attrs) {
    if (a.name == name) return a.value.as<T>();
  }
  return {};
}

// Step by step, on whole arrays. Operands that broadcast come second.
std::vector<Array> by_steps(const Given& g) {
  std::vector<Array> values = g.in;
  const auto operands = attr<std::vector<int64_t>>(g, "operands");
  size_t next = 0;
  const auto operand = [&] { return values[static_cast<size_t>(operands[next++])]; };
  for (const std::string& op : attr<std::vector<std::string>>(g, "ops")) {
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
  for (int64_t value : attr<std::vector<int64_t>>(g, "outputs")) results.push_back(values[static_cast<size_t>(value)]);
  return results;
}

const Family fused(
    "fused", {{"_FusedElementwise",
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
                            .text = "shapes: expected ones that broadcast, got [2,3] and [2]"}}}}});

}  // namespace
}  // namespace panto::test
