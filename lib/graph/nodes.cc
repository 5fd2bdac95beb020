#include "panto/lib/graph/nodes.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"

namespace panto {

// Ops are looked up by name, which links them if they are not linked yet.
NodeSpec placeholder_spec(std::string name, const OutputInfo& info) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.op = &get_op("Placeholder");
  spec.attrs = {AttrValue(info.dtype), AttrValue(info.shape)};
  spec.outputs = {info};
  return spec;
}

NodeSpec const_spec(std::string name, const Tensor& value) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.op = &get_op("Const");
  spec.attrs = {AttrValue(value), AttrValue(value.dtype())};
  spec.outputs = {{value.dtype(), value.partial_shape()}};
  return spec;
}

NodeSpec identity_spec(std::string name, NodeOutput input, const OutputInfo& info) {
  NodeSpec spec;
  spec.name = std::move(name);
  spec.op = &get_op("Identity");
  spec.inputs = {input};
  spec.attrs = {AttrValue(info.dtype)};
  spec.outputs = {info};
  return spec;
}

bool is_host_input(const Node& node, int slot) {
  int flat = 0;
  for (const ArgDef& arg : node.op().signature().inputs) {
    int64_t count = 1;
    if (arg.number_attr >= 0) count = node.attrs()[static_cast<size_t>(arg.number_attr)].as<int64_t>();
    if (arg.type_list_attr >= 0) {
      count =
          static_cast<int64_t>(node.attrs()[static_cast<size_t>(arg.type_list_attr)].as<std::vector<DType>>().size());
    }
    if (slot < flat + count) return arg.host;
    flat += static_cast<int>(count);
  }
  return false;
}

void put_attr(const Op& op, std::string_view name, AttrValue value, std::vector<AttrValue>& attrs) {
  const Signature& signature = op.signature();
  const int at = signature.find_attr(name);
  if (at < 0) invalid("attribute of {}: expected one of its signature, got '{}'", op.name(), printable(name));
  const AttrDef& def = signature.attrs[static_cast<size_t>(at)];
  if (def.kind != value.kind()) {
    invalid("attribute {} of {}: expected {}, got {}", name, op.name(), attr_kind_name(def.kind),
            attr_kind_name(value.kind()));
  }
  attrs.resize(signature.attrs.size());
  attrs[static_cast<size_t>(at)] = std::move(value);
}

}  // namespace panto
