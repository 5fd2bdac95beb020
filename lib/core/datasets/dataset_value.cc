#include "panto/lib/core/datasets/dataset_value.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// Passes and destructors recurse through the inputs, and functions that a pass calls may begin other passes.
constexpr int kMostDepth = 1000;

thread_local constinit int t_depth = 0;

std::string spelled(DType type, const PartialShape& shape) {
  return fmt::format("{}{}", dtype_name(type), shape.to_string());
}

}  // namespace

std::string to_string(const ElementSpec& spec) {
  std::string text = "(";
  for (size_t k = 0; k < spec.types.size(); ++k) {
    if (k != 0) text += ", ";
    text += spelled(spec.types[k], k < spec.shapes.size() ? spec.shapes[k] : PartialShape());
  }
  return text + ")";
}

void expect_element(const ElementTensors& element, const ElementSpec& spec) {
  if (element.size() != spec.types.size()) {
    invalid("element: expected {} components, got {}", spec.types.size(), element.size());
  }
  for (size_t k = 0; k < element.size(); ++k) {
    const Tensor& t = element[k];
    const PartialShape shape = k < spec.shapes.size() ? spec.shapes[k] : PartialShape();
    if (t.dtype() == spec.types[k] && t.partial_shape().compatible_with(shape)) continue;
    invalid("element: expected component {} as {}, got {}", k, whole(spelled(spec.types[k], shape)),
            whole(spelled(t.dtype(), t.partial_shape())));
  }
}

int pass_depth() noexcept { return t_depth; }
PassDepthScope::PassDepthScope(int depth) noexcept : DepthScope(t_depth, depth) {}

ElementIterator::ElementIterator() = default;
ElementIterator::~ElementIterator() = default;

bool ElementIterator::next(ElementTensors& element) {
  if (ended_) return false;
  const DepthScope deeper(t_depth, kMostDepth, "passes of datasets");
  throw_if_cancelled();
  element.clear();
  if (advance(element)) return true;
  ended_ = true;
  element.clear();
  return false;
}

DatasetValue::DatasetValue(std::string name, ElementSpec spec, std::vector<DatasetHandle> inputs)
    : name_(std::move(name)), spec_(std::move(spec)), inputs_(std::move(inputs)) {
  if (spec_.shapes.size() != spec_.types.size()) {
    invalid("output_shapes: expected {}, as many as output_types, got {}", spec_.types.size(), spec_.shapes.size());
  }
  for (const DatasetHandle& input : inputs_) depth_ = std::max(depth_, input->depth_ + 1);
  if (depth_ > kMostDepth) invalid("datasets: expected at most {} one upon the other, got more", kMostDepth);
}
DatasetValue::~DatasetValue() = default;

std::string DatasetValue::to_string() const { return fmt::format("{} of {}", name_, panto::to_string(spec_)); }

DatasetPass::DatasetPass(DatasetHandle dataset) : dataset_(std::move(dataset)), iterator_(dataset_->iterate()) {}

Tensor dataset_tensor(DatasetHandle dataset) {
  Tensor t = allocate_tensor(cpu_device(), kVariant, Shape{});
  // Sharers of a variant's value must not change it; a dataset is immutable.
  mutable_data<Variant>(t)->value = std::const_pointer_cast<DatasetValue>(std::move(dataset));
  return t;
}

DatasetHandle dataset_of(const Tensor& handle) {
  if (handle.dtype() != kVariant || handle.is_meta() || handle.impl()->numel != 1) {
    invalid("dataset: expected a variant scalar, got {}{}", dtype_name(handle.dtype()),
            handle.partial_shape().to_string());
  }
  const auto& variant = *static_cast<const Variant*>(handle.impl()->data);
  auto dataset = std::dynamic_pointer_cast<const DatasetValue>(variant.value);
  if (dataset == nullptr) {
    invalid("dataset: expected a variant that holds a Dataset, got {}",
            variant.value == nullptr ? "nothing" : variant.value->kind());
  }
  return dataset;
}

}  // namespace panto
