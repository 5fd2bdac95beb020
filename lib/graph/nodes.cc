#include "panto/lib/graph/nodes.h"

#include <utility>

namespace panto {

// Ops are asked for by name: that links them, where nothing else has yet.
NodeInit placeholder_init(std::string name, const OutputInfo& info) {
  NodeInit init;
  init.name = std::move(name);
  init.op = &get_op("Placeholder");
  init.attrs = {AttrValue(info.dtype), AttrValue(info.shape)};
  init.outputs = {info};
  return init;
}

NodeInit const_init(std::string name, const Tensor& value) {
  NodeInit init;
  init.name = std::move(name);
  init.op = &get_op("Const");
  init.attrs = {AttrValue(value), AttrValue(value.dtype())};
  init.outputs = {{value.dtype(), value.partial_shape()}};
  return init;
}

NodeInit identity_init(std::string name, NodeOutput input, const OutputInfo& info) {
  NodeInit init;
  init.name = std::move(name);
  init.op = &get_op("Identity");
  init.inputs = {input};
  init.attrs = {AttrValue(info.dtype)};
  init.outputs = {info};
  return init;
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

}  // namespace panto
