#include <fmt/format.h>

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/graph.h"

namespace panto {

std::string SourceLine::to_string() const { return line > 0 ? fmt::format("{}:{}", file, line) : std::string(); }

Node::Node() = default;
Node::Node(const Node& other) = default;
Node::~Node() = default;

std::span<const AttrValue> Node::attrs() const noexcept { return {attrs_.data(), attrs_.size()}; }
std::span<const NodeOutput> Node::inputs() const noexcept { return {inputs_.data(), inputs_.size()}; }
std::span<const int> Node::control_inputs() const noexcept { return control_inputs_; }
std::span<const OutputInfo> Node::outputs() const noexcept { return {outputs_.data(), outputs_.size()}; }
std::span<const NodeUse> Node::consumers() const noexcept { return {consumers_.data(), consumers_.size()}; }

const AttrValue& Node::attr(std::string_view name) const {
  const int position = op().signature().find_attr(name);
  if (position < 0) failf(Code::kNotFound, "attribute: expected one of {}, got {}", op().name(), name);
  return attrs_[static_cast<size_t>(position)];
}

const AttrValue* Node::internal_attr(std::string_view name) const noexcept {
  for (const auto& [key, value] : internal_attrs_) {
    if (key == name) return &value;
  }
  return nullptr;
}

NodeSpec Node::spec() const {
  NodeSpec spec;
  spec.name = name_;
  spec.op = op_;
  spec.inputs.assign(inputs_.begin(), inputs_.end());
  spec.attrs.assign(attrs_.begin(), attrs_.end());
  spec.outputs.assign(outputs_.begin(), outputs_.end());
  spec.control_inputs = control_inputs_;
  spec.device = device_;
  spec.where = *where_;
  spec.internal_attrs = internal_attrs_;
  spec.explicitly_set = explicitly_set_;
  return spec;
}

}  // namespace panto
