// Helpers shared by the passes that know ops by name. Internal.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/runtime/passes/passes.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto::passes {

// An internal attribute of nodes that recompute a value to save memory. Their control edges make them run late, just
// before their reader; passes must keep these edges.
inline constexpr std::string_view kRecomputed = "_recomputed";

// The values of a constant integer vector or scalar.
std::optional<std::vector<int64_t>> constant_integers(const Graph& graph, NodeOutput output);
// Adds a node whose outputs are inferred from its inputs.
int add_inferred(Graph& graph, NodeSpec spec);
// Floating-point operations of a node on these inputs, which may be symbolic; 0 if its op does not define them.
int64_t flops(const Node& node, std::span<const Tensor* const> inputs);
// The same of a node of a graph.
int64_t flops(const Graph& graph, const Node& node);
// The same, per element of the node's output.
int64_t flops_of_element(const Graph& graph, const Node& node);
// The type that selects the node's kernel; kInvalid where none does.
DType kernel_type(const Node& node);
// INT64_MAX where the size is not known.
int64_t bytes_of(const OutputInfo& info);
// Whether the node is a PlaceholderWithDefault: another value may be fed, so facts about its input do not hold for its
// output.
bool has_default(const Node& node);
// Whether there is a kernel for the node on devices of that kind.
bool has_kernel(const Node& node, DeviceKind kind);
// Whether no run of the node on devices of that kind can fail with these inputs: all shapes are known, and the op
// accepts all values. False if unsure. `inputs`, `outputs`: what is known of them; `is_constant(slot)`: whether the
// value of that input is a constant.
bool cannot_fail(const Node& node, std::span<const OutputInfo> inputs, std::span<const OutputInfo> outputs,
                 DeviceKind kind, const std::function<bool(int)>& is_constant);
// The same of a node of a graph.
bool cannot_fail(const Graph& graph, const Node& node);
// True if the node has exactly one consumer, which reads output 0 and has no control edge from it.
bool has_one_reader(const Node& node);
// The kind of device that a node is on. CPU if the node is not placed (`optimize` takes such graphs); kUnknown if it
// asks for a kind that this process does not have.
DeviceKind device_kind(const Node& node);
// Whether it is Conv2D or DepthwiseConv2dNative, which share their attributes and have a fused op each.
bool is_convolution(const Op& op);
// The name that `_FusedReduction` has for a reduction op that can end an elementwise loop; null for other ops.
const char* reduction_name(const Op& op);

}  // namespace panto::passes
