// Merges nodes that compute the same from the same inputs with the same attributes.
#include <algorithm>
#include <string>
#include <utility>

#include "panto/lib/graph/hash_table.h"
#include "panto/lib/runtime/passes/passes.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto::passes {

namespace {

bool may_merge(const Node& node) {
  return node.op().is_pure() && node.num_outputs() > 0 && node.internal_attr(kRecomputed) == nullptr;
}

using Inputs = SmallVector<NodeOutput, 4>;

Inputs ordered_inputs(const Node& node) {
  Inputs inputs(node.inputs().begin(), node.inputs().end());
  if (node.has(Trait::kCommutative) && inputs.size() == 2 && inputs[1] < inputs[0]) std::swap(inputs[0], inputs[1]);
  return inputs;
}

std::vector<int> ordered_controls(const Node& node) {
  std::vector<int> controls(node.control_inputs().begin(), node.control_inputs().end());
  std::ranges::sort(controls);
  return controls;
}

size_t mixed(size_t hash, size_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29); }

// Only some bytes of large tensors are hashed; equality compares all.
size_t hash_of(const AttrValue& attr) {
  switch (attr.kind()) {
    case AttrKind::kInt: return static_cast<size_t>(attr.as<int64_t>());
    case AttrKind::kBool: return attr.as<bool>() ? 1 : 0;
    case AttrKind::kType: return static_cast<size_t>(attr.as<DType>());
    case AttrKind::kTensor: break;
    default: return std::hash<std::string>()(attr.to_string());
  }
  const Tensor& t = attr.as<Tensor>();
  size_t hash = mixed(static_cast<size_t>(t.dtype()), t.nbytes());
  if (!is_plain(t.dtype()) || !t.device().host_memory()) return hash;
  const auto* bytes = static_cast<const unsigned char*>(t.impl()->data);
  const size_t step = std::max<size_t>(1, t.nbytes() / 64);
  for (size_t i = 0; i < t.nbytes(); i += step) hash = mixed(hash, bytes[i]);
  return hash;
}

size_t hash_of(const Node& node) {
  size_t hash = std::hash<const Op*>()(&node.op());
  for (const NodeOutput& input : ordered_inputs(node)) {
    hash = mixed(mixed(hash, static_cast<size_t>(input.node)), static_cast<size_t>(input.index));
  }
  for (const AttrValue& attr : node.attrs()) hash = mixed(hash, hash_of(attr));
  return hash ^ (hash >> 32);  // the high bits are mixed better
}

bool same(const Node& a, const Node& b) {
  return &a.op() == &b.op() && a.device() == b.device() && std::ranges::equal(ordered_inputs(a), ordered_inputs(b)) &&
         ordered_controls(a) == ordered_controls(b) && std::ranges::equal(a.attrs(), b.attrs());
}

}  // namespace

int merge_common(PassContext& context) {
  Graph& graph = context.graph;
  int changes = 0;
  HashTable<size_t, int, -1> seen;
  seen.reserve(static_cast<size_t>(graph.num_nodes()));
  for (int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    if (!may_merge(node) || context.fixed_in_flow(id)) continue;
    const size_t hash = hash_of(node);
    // Many nodes with the same hash suggest a graph made to be slow; give up the search then.
    constexpr int kMostTried = 8;
    int tried = 0;
    const int* twin = seen.find(hash, [&](int other) { return ++tried > kMostTried || same(node, graph.at(other)); });
    if (tried > kMostTried) continue;
    if (twin == nullptr) {
      seen.insert(hash, id);
      continue;
    }
    std::vector<NodeOutput> outputs;
    for (int k = 0; k < node.num_outputs(); ++k) outputs.push_back({*twin, k});
    replace_node(graph, id, outputs);
    ++changes;
  }
  return changes;
}

}  // namespace panto::passes
