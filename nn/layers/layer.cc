#include "panto/nn/layers/layer.h"

#include <map>
#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/nn/layers/summary.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// A user's layer without variables: its author forgot to list them.
[[noreturn]] void nothing_listed(const char* what, const Layer& layer) {
  invalid(
      "{}: expected a layer with variables, got none in {} (a layer of your own lists its layers and variables: "
      "`Parts parts() const override {{ return {{a, b}}; }}`)",
      what, layer.to_string());
}

}  // namespace

std::string Layer::to_string() const { return class_name(*this) + "()"; }
void Layer::save(const std::string& path) const {
  const std::vector<NamedVariable> named = named_variables();
  if (named.empty() && !built_in()) nothing_listed("save", *this);
  save_variables(path, named);
}
void Layer::load(const std::string& path) const {
  const std::vector<NamedVariable> named = named_variables();
  if (named.empty() && !built_in()) nothing_listed("load", *this);
  load_variables(path, named);
}

void Layer::copy_values(const Layer& from) const {
  const std::vector<NamedVariable> mine = named_variables();
  std::map<std::string, Variable> theirs;
  for (auto& [name, v] : from.named_variables()) theirs.emplace(name, v);
  const auto text = [](const Variable& v) { return std::string(dtype_name(v.dtype())) + v.shape().to_string(); };
  std::vector<const Variable*> sources;
  for (const auto& [name, v] : mine) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) invalid("copy_values: expected a variable '{}', got none of that name", name);
    if (found->second.dtype() != v.dtype() || !(found->second.shape() == v.shape())) {
      invalid("copy_values: expected '{}' to be {}, got {}", name, whole(text(v)), whole(text(found->second)));
    }
    sources.push_back(&found->second);
  }
  if (theirs.size() != mine.size()) {
    for (const auto& [name, v] : mine) theirs.erase(name);
    invalid("copy_values: expected no other variables, got '{}'", theirs.begin()->first);
  }
  for (size_t i = 0; i < mine.size(); ++i) mine[i].second.assign(sources[i]->value());
}

namespace {
Step step_with_training(bool training) noexcept {
  Step step = current_step();
  step.training = training;
  return step;
}
}  // namespace

TrainingScope::TrainingScope(bool training) noexcept : step_(step_with_training(training)), scope_(step_) {}
bool in_training() noexcept { return current_step().training; }

Dense::Dense(int64_t inputs, int64_t units) : Dense(inputs, units, DenseOptions()) {}

Dense::Dense(int64_t inputs, int64_t units, DenseOptions options)
    : inputs_(inputs), units_(units), activation_(std::move(options.activation)) {
  if (inputs < 1 || units < 1) invalid("Dense: expected positive sizes, got {} and {}", inputs, units);
  kernel_ = Variable(options.kernel_initializer({inputs, units}, options.dtype), options.name + "/kernel");
  if (options.use_bias) bias_ = Variable(options.bias_initializer({units}, options.dtype), options.name + "/bias");
  regularize(kernel_, options.kernel_regularizer);
  regularize(bias_, options.bias_regularizer);
  constrain(kernel_, options.kernel_constraint);
  constrain(bias_, options.bias_constraint);
  set_activity_regularizer(options.activity_regularizer);
}

Tensor Dense::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  const int rank = shape.rank();
  if (rank == 0 || rank == 1 || (rank > 1 && shape.dim(rank - 1) >= 0 && shape.dim(rank - 1) != inputs_)) {
    invalid("Dense: expected an input of shape [..., {}], got {}", inputs_, shape.to_string());
  }
  Tensor y = rank > 2 ? batch_matmul(x, kernel_) : matmul(x, kernel_);
  if (bias_.defined()) y = bias_add(std::move(y), bias_);
  return activation_ ? activation_(y) : y;
}

std::string Dense::to_string() const { return fmt::format("Dense({}, {})", inputs_, units_); }

Tensor Flatten::forward(const Tensor& x) const {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank() || shape.rank() < 1) {
    invalid("Flatten: expected an input of known rank of at least 1, got {}", shape.to_string());
  }
  int64_t features = 1;
  for (int k = 1; k < shape.rank(); ++k) {
    features = shape.dim(k) < 0 ? kUnknownDim : checked_mul(features, shape.dim(k));
    if (features < 0) break;
  }
  if (shape.dim(0) >= 0 && features >= 0) return reshape(x, {shape.dim(0), features});
  if (features > 0) return reshape(x, {-1, features});
  if (shape.dim(0) > 0) return reshape(x, {shape.dim(0), -1});
  invalid("Flatten: expected either the batch or the other dimensions to be known, got {}", shape.to_string());
}

Lambda::Lambda(Activation function, std::string name) : function_(std::move(function)), name_(std::move(name)) {
  if (!function_) invalid("Lambda: expected a function, got an empty one");
}

Tensor gelu_erf(const Tensor& x) { return gelu(x); }
Tensor gelu_tanh(const Tensor& x) { return gelu(x, {.approximate = true}); }

Sequential::Sequential(std::vector<std::shared_ptr<const Layer>> layers) : layers_(std::move(layers)) {}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (size_t i = 0; i < layers_.size(); ++i) {
    y = with_context([&] { return fmt::format("layer {} of {}", i + 1, layers_.size()); },
                     [&] { return (*layers_[i])(y); });
  }
  return y;
}

Parts Sequential::parts() const { return layers_; }

std::string Sequential::to_string() const {
  std::string text;
  for (const auto& layer : layers_) {
    int64_t parameters = 0;
    for (const Variable& v : layer->variables()) parameters += v.shape().numel();
    text += fmt::format("{:<24}{:>10} parameters\n", layer->to_string(), parameters);
  }
  return text;
}

}  // namespace panto
