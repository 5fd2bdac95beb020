// What the files that know ops by name share. Internal.
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

// An internal attribute of nodes that compute again what another one has computed, to save memory. They wait for what
// comes before their reader, so that they come late.
inline constexpr std::string_view kRecomputed = "_recomputed";

// The values of a constant integer vector or scalar.
std::optional<std::vector<int64_t>> constant_integers(const Graph& graph, NodeOutput output);
// Adds a node whose outputs are inferred from its inputs.
int add_inferred(Graph& graph, NodeSpec spec);
// Floating-point operations of a node on these inputs, which may be symbolic; 0 where its op does not say.
int64_t flops(const Node& node, std::span<const Tensor* const> inputs);
// The same of a node of a graph.
int64_t flops(const Graph& graph, const Node& node);
// The same for an element of its output.
int64_t flops_of_element(const Graph& graph, const Node& node);
// The type that selects the node's kernel; kInvalid where none does.
DType kernel_type(const Node& node);
// INT64_MAX where the size is not known.
int64_t bytes_of(const OutputInfo& info);
// Whether the node gives its input only where nothing else is fed: what is known of the input is not known of it.
bool has_default(const Node& node);
// Whether there is a kernel for the node on devices of that kind.
bool has_kernel(const Node& node, DeviceKind kind);
// Whether no run of the node on devices of that kind can fail, for what it gets: all shapes are known, and no values
// are refused. False where that is not sure. `inputs`, `outputs`: what is known of them; `is_constant(slot)`: of an
// input's value.
bool cannot_fail(const Node& node, std::span<const OutputInfo> inputs, std::span<const OutputInfo> outputs,
                 DeviceKind kind, const std::function<bool(int)>& is_constant);
// The same of a node of a graph.
bool cannot_fail(const Graph& graph, const Node& node);
// True if whoever reads the node reads its output 0, and that is one node, which does not wait for it otherwise.
bool has_one_reader(const Node& node);
// The kind of device that a node is on: of one that is not placed, the CPU (`optimize` takes such graphs); kUnknown
// where it asks for a kind that is not here.
DeviceKind device_kind(const Node& node);
// What can end an elementwise loop: the name that `_FusedReduction` has for such an op; null for any other.
const char* reduction_name(const Op& op);

}  // namespace panto::passes
