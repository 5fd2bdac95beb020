// The models and data of tests/reference/training/loop_cases.py.
#pragma once

#include <cmath>
#include <vector>

#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/training/loop/fit.h"

namespace panto::loop_models {

inline Tensor wave(const Shape& shape, double frequency, double phase = 0, double scale = 1) {
  std::vector<double> values;
  for (int64_t i = 1; i <= shape.numel(); ++i) {
    values.push_back(scale * std::sin(phase + frequency * static_cast<double>(i)));
  }
  return tensor(values, shape);
}

inline Tensor inputs() { return wave({22, 3}, 1.7); }
inline Tensor validation_inputs() { return wave({10, 3}, 0.9, 0.5); }
inline Tensor numbers(const Tensor& x) {
  return sin(3.0 * x(Ellipsis, Slice(0, 1))) + x(Ellipsis, Slice(1, 2)) * x(Ellipsis, Slice(2, 3));
}
inline Tensor labels(const Tensor& x) {
  const Tensor sums = sum(x, 1);
  return cast(sums > 0.4, kInt64) + cast(sums > -0.6, kInt64);
}

// As `start` there.
inline void start(const Layer& model) {
  double phase = 0;
  for (const Variable& v : model.variables()) {
    phase += 1;
    if (v.name().find("/scale") != std::string::npos) continue;
    v.assign(wave(Shape(v.shape()), 2.3, phase, 0.5));
  }
}

inline Sequential dense(int64_t outputs, Activation activation = nullptr) {
  Sequential model(Dense(3, 4, {.activation = tanh, .dtype = kFloat64}),
                   Dense(4, outputs, {.activation = std::move(activation), .dtype = kFloat64}));
  start(model);
  return model;
}

// As `two_of_each` there: of inputs [batch, 2] and [batch, 1], a number and probabilities of labels.
struct TwoOfEach : Layer {
  TwoOfEach() { start(*this); }
  Tensor forward(const Tensor& x) const override { return hidden(x); }
  Parts parts() const override { return {hidden, label, number}; }  // as Keras has its weights
  std::vector<Tensor> outputs(const std::vector<Tensor>& inputs) const {
    const Tensor h = hidden(concat(inputs, 1));
    return {number(h), label(h)};
  }
  Dense hidden{3, 4, {.activation = tanh, .dtype = kFloat64}};
  Dense number{4, 1, {.dtype = kFloat64}};
  Dense label{4, 3, {.activation = [](const Tensor& x) { return softmax(x); }, .dtype = kFloat64}};
};

// A step of its size, no progress: what all these tests say.
inline FitOptions quiet(int64_t epochs, TrainingLoss loss) {
  FitOptions options;
  options.epochs = epochs;
  options.batch_size = 8;
  options.loss = std::move(loss);
  options.shuffle = false;
  options.progress = false;
  return options;
}

}  // namespace panto::loop_models
