// Functional models: graphs of layers with several inputs or outputs, or with layers that are used twice. As Keras's
// functional models.
//
//   const ModelInput image({28, 28, 1}), table({12});                       // without the batch
//   const auto seen = image | Conv2D(1, 8, 3, {.activation = relu}) | Flatten();
//   const auto known = table | Dense(12, 32, {.activation = relu});
//   const auto joined = concatenate({seen, known}, -1);
//   const FunctionalModel model({image, table}, {joined | Dense(5440, 10)});
//   std::vector<Tensor> logits = model.run({images, tables});
//
//   const ModelInput x({64});
//   const auto y = x | Dense(64, 64, {.activation = relu});
//   const FunctionalModel residual(x, x + y);                               // of one input and output: a Layer
//
// Shapes are inferred while the graph is written, so a misfit is an error in that line. A layer used in several places
// has its variables once. Thread-safety: as that of layers.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// The result of an input, a layer or a function in a graph of layers. A handle.
class PANTO_EXPORT LayerNode {
 public:
  using Function = Callable<Tensor(std::span<const Tensor>)>;
  // The shape as far as known; the first dimension is the batch.
  const PartialShape& shape() const;
  DType dtype() const;

 protected:
  struct Impl;
  explicit LayerNode(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  friend class FunctionalModel;
  friend PANTO_EXPORT LayerNode apply_layer(const LayerNode& x, std::shared_ptr<const Layer> layer);
  friend PANTO_EXPORT LayerNode merge(const std::vector<LayerNode>& nodes, Function function);
  std::shared_ptr<const Impl> impl_;
};

// An input of the model: `shape` without the batch dimension, which is added in front. A dimension of -1 may be any.
class PANTO_EXPORT ModelInput final : public LayerNode {
 public:
  explicit ModelInput(const PartialShape& shape, DType dtype = kFloat32);
};

// Throw what the layer or the function throws.
PANTO_EXPORT LayerNode apply_layer(const LayerNode& x, std::shared_ptr<const Layer> layer);
template <class L>
  requires(std::is_base_of_v<Layer, L>)
LayerNode operator|(const LayerNode& x, L layer) {
  return apply_layer(x, std::make_shared<const L>(std::move(layer)));
}
// Applies any function of several tensors, without variables of its own:
//   merge({a, b}, [](std::span<const Tensor> t) { return where(t[0] > 0, t[0], t[1]); })
PANTO_EXPORT LayerNode merge(const std::vector<LayerNode>& nodes, LayerNode::Function function);
// The same as the functions of tensors (core/merge.h).
PANTO_EXPORT LayerNode add(const std::vector<LayerNode>& nodes);
PANTO_EXPORT LayerNode multiply(const std::vector<LayerNode>& nodes);
PANTO_EXPORT LayerNode average(const std::vector<LayerNode>& nodes);
PANTO_EXPORT LayerNode maximum(const std::vector<LayerNode>& nodes);
PANTO_EXPORT LayerNode minimum(const std::vector<LayerNode>& nodes);
PANTO_EXPORT LayerNode concatenate(const std::vector<LayerNode>& nodes, int64_t axis);
PANTO_EXPORT LayerNode operator+(const LayerNode& a, const LayerNode& b);
PANTO_EXPORT LayerNode operator-(const LayerNode& a, const LayerNode& b);
PANTO_EXPORT LayerNode operator*(const LayerNode& a, const LayerNode& b);

class PANTO_EXPORT FunctionalModel final : public BuiltInLayer {
 public:
  // Throw InvalidArgument if inputs or outputs are empty, an input is not a ModelInput, or an output depends on a
  // ModelInput that is not among the inputs.
  FunctionalModel(const LayerNode& input, const LayerNode& output);
  FunctionalModel(std::vector<LayerNode> inputs, std::vector<LayerNode> outputs);
  // For models of one input and one output; throws InvalidArgument for others.
  Tensor forward(const Tensor& x) const override;
  int64_t num_inputs() const { return std::ssize(inputs_); }
  // Computes all outputs from all inputs, in the constructor's order. Throws InvalidArgument for another number of
  // inputs.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  // The layers, in the order in which they were applied.
  Parts parts() const override;
  std::string to_string() const override { return "FunctionalModel()"; }

 private:
  std::vector<LayerNode> inputs_, outputs_;
  std::vector<LayerNode> order_;  // all nodes after the inputs
};

}  // namespace panto
