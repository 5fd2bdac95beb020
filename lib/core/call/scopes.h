// Scopes in which users set names for nodes. (DeviceScope is in device.h.)
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct DeviceSpec;  // device.h

// While it lives, names of recorded nodes get the prefix `name/`, or `name_1/` if the graph has had a scope or a node
// of that name. Scopes nest. A name that ends with "/" is not nested in other scopes, and may be opened again
// unchanged; an empty name removes all prefixes. All as in TensorFlow.
class PANTO_EXPORT NameScope {
 public:
  // Throws InvalidArgument for characters that a node name may not have.
  explicit NameScope(std::string_view name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  std::string previous_;
};

// Names the node that the last op call inside the expression made: `named("b", relu(x))`. Does nothing if no graph is
// traced. A name that ends with "/", as current_name_scope() returns it, is the whole name: the node is named as the
// scope. Throws InvalidArgument if that name is taken.
PANTO_EXPORT Tensor named(std::string_view name, Tensor value);

// For recorders. current_name_scope: the open name scopes, ending with "/", or "". current_device_spec: the innermost
// device scope as it was written.
PANTO_EXPORT std::string_view current_name_scope();
PANTO_EXPORT const DeviceSpec& current_device_spec();

}  // namespace panto
