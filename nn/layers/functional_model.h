// Models as graphs of layers: with several inputs or outputs, or layers that are used twice. As Keras's functional
// ones.
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
// Shapes are inferred as the graph is written, so what does not fit is an error in that line. A layer that stands in
// several places has its variables once. Thread-safety: as that of layers.
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

// What an input, a layer or a function of several gives in a graph of layers. A handle.
class PANTO_EXPORT LayerNode {
 public:
  using Function = Callable<Tensor(std::span<const Tensor>)>;
  // As far as they are known; the first dimension is the batch.
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

// What is given to the model: of this shape, with a batch in front. Dimensions of -1 may be any.
class PANTO_EXPORT ModelInput final : public LayerNode {
 public:
  explicit ModelInput(const PartialShape& shape, DType dtype = kFloat32);
};

// Throw what the layer, or the function, throws.
PANTO_EXPORT LayerNode apply_layer(const LayerNode& x, std::shared_ptr<const Layer> layer);
template <class L>
  requires(std::is_base_of_v<Layer, L>)
LayerNode operator|(const LayerNode& x, L layer) {
  return apply_layer(x, std::make_shared<const L>(std::move(layer)));
}
// Any function of several: merge({a, b}, [](std::span<const Tensor> t) { return where(t[0] > 0, t[0], t[1]); }).
// Without variables of its own.
PANTO_EXPORT LayerNode merge(const std::vector<LayerNode>& nodes, LayerNode::Function function);
// As those of tensors (core/merge.h).
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
  // Throw InvalidArgument where there are none of either, an input is none, or an output needs a ModelInput that is not
  // among them.
  FunctionalModel(const LayerNode& input, const LayerNode& output);
  FunctionalModel(std::vector<LayerNode> inputs, std::vector<LayerNode> outputs);
  // Of one input and one output; throws InvalidArgument for a model of more.
  Tensor forward(const Tensor& x) const override;
  int64_t num_inputs() const { return std::ssize(inputs_); }
  // All outputs, of all inputs, in the order of the constructor's. Throws InvalidArgument for another number of them.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  // The layers, in the order in which they were written.
  Parts parts() const override;
  std::string to_string() const override { return "FunctionalModel()"; }

 private:
  std::vector<LayerNode> inputs_, outputs_;
  std::vector<LayerNode> order_;  // all nodes behind the inputs
};

}  // namespace panto
