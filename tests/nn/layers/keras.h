// Layers against what Keras computes of them: outputs, and gradients of the sum of their squares, eagerly, traced and
// in a graph made by hand. tests/reference/training/layer_cases.py says what each array is.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/nn/layers/layers.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"

namespace panto {

inline const std::map<std::string, Tensor>& layer_references() {
  static const auto* const arrays = [] {
    auto* all = new std::map<std::string, Tensor>;
    for (const auto& [key, value] : read_npz(PANTO_TEST_SOURCE "/tests/reference/values/layers.npz"))
      (*all)[key] = value;
    return all;
  }();
  return *arrays;
}
inline const Tensor& layer_reference(const std::string& name) { return layer_references().at(name); }

using Outputs = std::vector<Tensor>;
using LayerCall = std::function<Outputs(std::span<const Tensor>)>;

struct KerasCase {
  std::string name;
  LayerCall call;
  std::vector<Variable> variables;
  std::vector<Shape> shapes;  // of the inputs
  DType type = kFloat64;
  bool any_batch = true;     // trace with an unknown batch, too
  bool any_steps = false;    // and with an unknown second dimension
  bool in_matrices = false;  // variables have fewer dimensions here, of the same elements
};

inline Tensor sum_of_squares(const Outputs& outputs) {
  Tensor total;
  for (const Tensor& y : outputs) total = total.defined() ? total + sum(square(y)) : sum(square(y));
  return total;
}

// Outputs, then the gradients by x and by each variable.
inline void expect_reference(const KerasCase& c, const std::vector<Tensor>& got, size_t outputs) {
  const double tolerance = c.type == kFloat64 ? 1e-6 : 2e-5;
  for (size_t i = 0; i < got.size(); ++i) {
    std::string key = c.name;
    if (i < outputs) {
      key += outputs == 1 ? std::string("/y") : "/y" + std::to_string(i);
    } else {
      key += i == outputs ? std::string("/dx") : "/dv" + std::to_string(i - outputs - 1);
    }
    BOOST_TEST_CONTEXT(key) {
      const Tensor& expected = layer_reference(key);
      const Shape shape(c.in_matrices && i > outputs ? got[i].shape() : expected.shape());
      expect_near(got[i], shape, values_of(expected), tolerance, 1);
    }
  }
}

inline std::vector<Tensor> with_gradients(const KerasCase& c, const std::vector<Tensor>& in) {
  GradientTape tape;
  tape.watch(in[0]);
  std::vector<Tensor> all = c.call(in);
  std::vector<GradSource> sources = {in[0]};
  for (const Variable& v : c.variables) sources.emplace_back(v);
  for (Tensor& g : tape.gradient(sum_of_squares(all), std::span<const GradSource>(sources)))
    all.push_back(std::move(g));
  return all;
}

inline void expect_as_keras(const KerasCase& c) {
  BOOST_TEST_CONTEXT(c.name << " of " << dtype_name(c.type)) {
    for (size_t i = 0; i < c.variables.size(); ++i) {
      const Shape shape(c.variables[i].shape());
      if (!c.in_matrices)
        BOOST_REQUIRE_EQUAL(shape.to_string(), layer_reference(c.name + "/dv" + std::to_string(i)).shape().to_string());
      c.variables[i].assign(wave(shape, 10.0 + static_cast<double>(i), c.type));
    }
    std::vector<Tensor> in;
    for (const Shape& shape : c.shapes) in.push_back(wave(shape, 1.0 + static_cast<double>(in.size()), c.type));
    const size_t outputs = c.call(in).size();
    expect_reference(c, with_gradients(c, in), outputs);
    for (const int unknown : {0, 1, 2}) {
      if ((unknown > 0 && !c.any_batch) || (unknown > 1 && !c.any_steps)) continue;
      std::vector<int64_t> dims(in[0].shape().dims().begin(), in[0].shape().dims().end());
      for (int k = 0; k < unknown; ++k) dims[static_cast<size_t>(k)] = -1;
      BOOST_TEST_CONTEXT("traced for " << PartialShape(dims).to_string()) {
        const auto traced = trace(
            [&](const Tensor& x) {
              std::vector<Tensor> inputs = in;
              inputs[0] = x;
              return with_gradients(c, inputs);
            },
            {TensorSpec(c.type, PartialShape(dims), "x")});
        expect_reference(c, traced(in[0]), outputs);
      }
      BOOST_TEST_CONTEXT("in a graph of " << PartialShape(dims).to_string()) {
        Graph graph;
        std::vector<GraphElement> fetches;
        {
          const GraphScope building(graph);
          std::vector<Tensor> inputs = in;
          inputs[0] = placeholder(c.type, PartialShape(dims), "x");
          Outputs all = c.call(inputs);
          std::vector<GradSource> sources = {inputs[0]};
          for (const Variable& v : c.variables) sources.emplace_back(v);
          for (Tensor& g : gradients(sum_of_squares(all), sources)) all.push_back(std::move(g));
          for (const Tensor& t : all) fetches.emplace_back(t);
        }
        Session session(graph);
        expect_reference(c, session.run(fetches, {{"x", in[0]}}), outputs);
      }
    }
  }
}

// Of a layer of one input.
template <class L>
void expect_as_keras(const std::string& name, const L& layer, const Shape& x, DType type) {
  expect_as_keras({.name = name,
                   .call = [&](std::span<const Tensor> in) { return Outputs{layer(in[0])}; },
                   .variables = layer.variables(),
                   .shapes = {x},
                   .type = type});
}

}  // namespace panto
