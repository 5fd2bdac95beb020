#include "panto/lib/runtime/placement/node_work.h"

#include <algorithm>

#include "panto/lib/core/op/function_body.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/lib/runtime/placement/placer.h"

namespace panto {

namespace {

double elements(const OutputInfo& info) {
  double count = 1;
  if (!info.shape.known_rank()) return count;
  for (const int64_t dim : info.shape.dims()) count *= static_cast<double>(std::max<int64_t>(dim, dim < 0 ? 1 : 0));
  return count;
}

double bytes(const OutputInfo& info) {
  return is_plain(info.dtype) ? elements(info) * static_cast<double>(dtype_size(info.dtype)) : 0;
}

}  // namespace

NodeWork work_of(const Graph& graph, const Node& node) {
  NodeWork work{.known = true};
  if (!needs_kernel(node)) return work;
  double made = 0;
  for (const OutputInfo& output : node.outputs()) {
    made += elements(output);
    work.bytes += bytes(output);
    work.known = work.known && output.shape.fully_known();
  }
  for (const NodeOutput& input : node.inputs()) {
    const OutputInfo& info = graph.info(input);
    if (!node.has(Trait::kShapeOnly)) work.bytes += bytes(info);
    if (node.has(Trait::kReduction)) made = std::max(made, elements(info));
    work.known = work.known && info.shape.fully_known();
  }
  if (node.has(Trait::kShapeOnly) || calls_functions(node.op())) return {.known = work.known};
  work.operations = node.has(Trait::kDataMovement) ? 0 : made;
  if (work.known) {
    if (const auto said = static_cast<double>(passes::flops(graph, node)); said > 0) work.operations = said;
  }
  return work;
}

NodeWork work_of(const Call& call) {
  NodeWork work{.known = true};
  const Op& op = *call.op;
  double made = 0;
  for (const Tensor& output : call.outputs) {
    if (!output.defined() || output.is_meta()) continue;
    made += static_cast<double>(output.numel());
    if (is_plain(output.dtype())) work.bytes += static_cast<double>(output.nbytes());
  }
  for (const Tensor* input : call.inputs) {
    if (!input->defined() || input->is_meta()) return work;
    if (!op.has(Trait::kShapeOnly) && is_plain(input->dtype())) work.bytes += static_cast<double>(input->nbytes());
    if (op.has(Trait::kReduction)) made = std::max(made, static_cast<double>(input->numel()));
  }
  if (op.has(Trait::kShapeOnly) || calls_functions(op)) return {.known = true};
  work.operations = op.has(Trait::kDataMovement) ? 0 : made;
  if (op.flops() != nullptr) {
    // The abstract outputs are missing if the shape function was not run; fill them in from the outputs.
    Call known;
    known.op = call.op;
    known.inputs = call.inputs;
    known.attrs = call.attrs;
    for (const Tensor& output : call.outputs) {
      if (!output.defined()) return work;
      known.specs.push_back({output.dtype(), output.partial_shape()});
    }
    if (const auto said = static_cast<double>(op.flops()(CostContext(known))); said > 0) work.operations = said;
  }
  return work;
}

}  // namespace panto
