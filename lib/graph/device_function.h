// Device functions: who decides, node by node, where the nodes of a graph that is being built ask to run.
//
//   const DeviceFunctionScope scope([](const Node& node) {
//     return node.op().has(Trait::kContraction) ? std::string("/device:CPU:1") : node.device();
//   });
//
// It nests with DeviceScope (lib/core/tensor/device.h) as TensorFlow's tf.device does. The function sees the node with
// the device of the scopes inside of it; what it says takes that one's place; what it leaves open comes from the scopes
// around it, the inner ones first. Functions see nodes only: a call that runs at once is where scopes say.
#pragma once

#include <string>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

using DeviceFunction = Callable<std::string(const Node&)>;

// Belongs to the thread that made it.
class PANTO_EXPORT DeviceFunctionScope {
 public:
  explicit DeviceFunctionScope(DeviceFunction function);
  ~DeviceFunctionScope();
  DeviceFunctionScope(const DeviceFunctionScope&) = delete;
  DeviceFunctionScope& operator=(const DeviceFunctionScope&) = delete;

 private:
  friend void ask_for_device(Graph& graph, int id);
  struct Impl;
  Impl* impl_;
};

// For recorders: a node that was just added asks for what the thread's device scopes and functions say. Throws
// InvalidArgument, naming the node, where a function gives no device name.
PANTO_EXPORT void ask_for_device(Graph& graph, int id);

}  // namespace panto
