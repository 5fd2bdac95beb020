#include "panto/nn/layers/watch.h"

#include <algorithm>
#include <set>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/random/random.h"

namespace panto {
namespace {

thread_local constinit UseWatch* innermost = nullptr;

const Resource* resource_of(const Tensor& handle) {
  return static_cast<const ResourceHandle*>(handle.impl()->data)->get();  // read without recording
}

// The resource behind a handle: two handles of one variable have the same. A graph's variables are nodes.
std::pair<const void*, int64_t> identity_of(const Tensor& handle) {
  if (handle.is_meta()) return {nullptr, handle.id()};
  return {resource_of(handle), 0};
}

std::string described(const Tensor& handle) {
  if (handle.is_meta()) return "one of the graph's";
  const VariableResource& v = variable_of(handle);
  return fmt::format("'{}' ({}{})", v.name(), dtype_name(v.dtype()), v.shape().to_string());
}

}  // namespace

UseWatch::UseWatch() : outer_(std::exchange(innermost, this)) { push_recorder(this); }
UseWatch::~UseWatch() {
  remove_recorder(this);
  innermost = outer_;
}
bool UseWatch::open() noexcept { return innermost != nullptr; }

void UseWatch::note(const Tensor& input) {
  if (!input.defined() || input.dtype() != kResource) return;
  if (!input.is_meta()) {
    const Resource* resource = resource_of(input);
    if (dynamic_cast<const VariableResource*>(resource) == nullptr) return;
    if (resource == &variable_of(detail::generator_handle())) return;  // belongs to no model
  }
  used_.push_back(input);
}

void UseWatch::record(const Call& call) {
  for (const Tensor* input : call.inputs) note(*input);
}

void UseWatch::record_custom(std::span<const Tensor> inputs, std::span<const Tensor>, std::shared_ptr<CustomBackward>) {
  for (const Tensor& input : inputs) note(input);
}

void UseWatch::expect_listed(const Layer& layer, bool built_in) const {
  if (used_.empty()) return;
  std::set<std::pair<const void*, int64_t>> listed;
  for (const Variable& v : layer.variables()) listed.insert(identity_of(v.handle()));
  for (const Variable& v : layer.state()) listed.insert(identity_of(v.handle()));
  std::vector<const Tensor*> missing;
  for (const Tensor& handle : used_) {
    if (listed.insert(identity_of(handle)).second) missing.push_back(&handle);
  }
  if (missing.empty()) return;
  const std::string more = missing.size() > 1 ? fmt::format(" and {} more", missing.size() - 1) : "";
  failf(
      Code::kFailedPrecondition,
      "parts: expected all variables that the layer uses, got none of {}{}; {}`Parts parts() const override {{ return "
      "{{a, b, scale}}; }}`, with `frozen(scale)` for what is not trained",
      described(*missing[0]), more,
      built_in ? "a function with variables is a layer of its own (`struct Own : Layer`), which lists them: "
               : "list its layers and variables: ");
}

}  // namespace panto
