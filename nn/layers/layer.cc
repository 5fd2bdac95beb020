#include "panto/nn/layers/layer.h"

#include <typeinfo>
#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/demangle.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/watch.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// Of a layer of one's own that has none, the list was forgotten.
[[noreturn]] void nothing_listed(const char* what, const Layer& layer) {
  invalid(
      "{}: expected a layer with variables, got none in {} (a layer of your own lists its layers and variables: "
      "`Parts parts() const override {{ return {{a, b}}; }}`)",
      what, layer.to_string());
}

}  // namespace

Layer::~Layer() = default;

Tensor Layer::operator()(const Tensor& x, std::source_location where) const {
  // A layer within another that is looked at needs no look of its own, unless it is one that might forget something.
  const int mode = in_training() ? 2 : 1;
  const bool look = !seen_.has(mode) && !(built_in() && UseWatch::open());
  const auto called = [&] {
    try {
      if (!look) return forward(x);
      const UseWatch watch;
      Tensor y = forward(x);
      watch.expect_listed(*this, built_in());
      seen_.add(mode);
      return y;
    } catch (Error& error) {
      // A layer of several lines has layers that say more.
      if (const std::string text = to_string(); text.find('\n') == std::string::npos) error.add_context("in " + text);
      throw;
    }
  };
  if (built_in()) return from_caller(where, called);
  const CallerScope own(nullptr);
  return called();
}

std::string Layer::to_string() const {
  std::string name = demangled(typeid(*this).name());
  const size_t scope = name.rfind("::", name.find('<'));  // what stands before it says where the class is
  if (scope != std::string::npos) name.erase(0, scope + 2);
  return name + "()";
}
Parts Layer::parts() const { return {}; }
std::vector<Variable> Layer::variables() const { return parts().variables(); }
std::vector<Variable> Layer::state() const { return parts().state(); }
std::vector<NamedVariable> Layer::named_variables() const {
  const std::vector<Variable> lists[] = {variables(), state()};
  return panto::named_variables(lists);
}
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
  if (options.use_bias) bias_ = Variable(constant_initializer(0)({units}, options.dtype), options.name + "/bias");
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

std::vector<Variable> Dense::variables() const {
  if (!bias_.defined()) return {kernel_};
  return {kernel_, bias_};
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

Dropout::Dropout(double rate) : rate_(rate) {
  if (!(rate >= 0 && rate < 1)) invalid("Dropout: expected a rate in [0, 1), got {}", rate);
}

Tensor Dropout::forward(const Tensor& x) const {
  if (!in_training() || rate_ == 0) return x;
  const bool known = x.partial_shape().fully_known();
  const RandomUniformOptions options{.dtype = x.dtype()};
  const Tensor draws = known ? random_uniform(x.shape(), options) : random_uniform(shape(x), options);
  return select(greater_equal(draws, rate_), x * (1 / (1 - rate_)), zeros_like(x));
}

std::string Dropout::to_string() const { return fmt::format("Dropout({})", rate_); }

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
