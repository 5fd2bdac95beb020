#include "panto/tests/runtime/reference_graphs.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>

#include "panto/lib/core/io/npy.h"

namespace panto::test {

namespace {

using Json = nlohmann::json;

std::vector<ReferenceGraph> read_all() {
  const std::string folder = PANTO_TEST_SOURCE "/tests/reference/graphs/";
  Json json;
  std::ifstream(folder + "graphs.json") >> json;
  std::vector<ReferenceGraph> graphs;
  for (const Json& row : json["graphs"]) {
    ReferenceGraph graph;
    graph.name = row["graph"].get<std::string>();
    graph.path = folder + graph.name;
    std::map<std::string, Tensor> arrays;
    for (const auto& [key, value] : read_npz(folder + row["arrays"].get<std::string>())) arrays[key] = value;
    for (const Json& told : row["runs"]) {
      ReferenceRun run;
      for (const auto& [name, key] : told["feeds"].items()) {
        run.feeds.emplace_back(name, arrays.at(key.get<std::string>()));
      }
      for (const auto& [name, key] : told["fetches"].items()) {
        run.fetches.push_back(name);
        run.expected.push_back(arrays.at(key.get<std::string>()));
      }
      for (const Json& name : told["targets"]) run.targets.push_back(name.get<std::string>());
      graph.runs.push_back(std::move(run));
    }
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

template <class T>
std::span<const T> numbers(const Tensor& t) {
  const auto* first = static_cast<const T*>(t.impl()->data);
  return {first, t.nbytes() / sizeof(T)};
}

// Of complex numbers, their two parts.
template <class T>
std::string float_difference(const Tensor& got, const Tensor& expected) {
  const auto a = numbers<T>(got), b = numbers<T>(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i] || std::abs(a[i] - b[i]) <= 2e-6 + 2e-6 * std::abs(b[i])) continue;
    return fmt::format("element {}: expected {}, got {}", i, b[i], a[i]);
  }
  return "";
}

}  // namespace

const std::vector<ReferenceGraph>& reference_graphs() {
  static const std::vector<ReferenceGraph> graphs = read_all();
  return graphs;
}

std::string graph_difference(const Tensor& got, const Tensor& expected) {
  if (got.dtype() != expected.dtype() || !(got.shape() == expected.shape())) {
    return fmt::format("expected {}{}, got {}{}", dtype_name(expected.dtype()), expected.shape().to_string(),
                       dtype_name(got.dtype()), got.shape().to_string());
  }
  if (got.dtype() == kFloat32 || got.dtype() == kComplex64) return float_difference<float>(got, expected);
  if (got.dtype() == kFloat64) return float_difference<double>(got, expected);
  const bool same = got.dtype() == kString ? got.to_vector<std::string>() == expected.to_vector<std::string>()
                                           : std::memcmp(got.impl()->data, expected.impl()->data, got.nbytes()) == 0;
  return same ? "" : fmt::format("expected {}, got {}", expected.to_string(), got.to_string());
}

}  // namespace panto::test
