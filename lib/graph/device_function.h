// Device functions: choose, node by node, the requested device of nodes while a graph is built.
//
//   const DeviceFunctionScope scope([](const Node& node) {
//     return node.op().has(Trait::kContraction) ? std::string("/device:CPU:1") : node.device();
//   });
//
// It nests with DeviceScope (lib/core/tensor/device.h) as TensorFlow's tf.device does. The function sees the node with
// the device that inner scopes request. Its result replaces that device, and parts that the result leaves open come
// from the outer scopes, the inner of these first. Functions see nodes only: an eager call runs where scopes say.
#pragma once

#include <string>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

using DeviceFunction = Callable<std::string(const Node&)>;

// Must be used on the thread that made it.
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

// For recorders: sets the requested device of a node that was just added, by the thread's device scopes and functions.
// Throws InvalidArgument, naming the node, if a function returns a malformed device name.
PANTO_EXPORT void ask_for_device(Graph& graph, int id);

}  // namespace panto
