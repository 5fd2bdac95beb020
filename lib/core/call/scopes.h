// What users tell those who listen to ops: the names that nodes get. (DeviceScope is in device.h.)
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct DeviceSpec;  // device.h

// Node names recorded while it lives get the prefix `name/`, and `name_1/` where the graph has had such a scope, or a
// node of that name, before. Scopes nest; but one whose name ends with "/" is not inside of any other, and may be
// opened again as it is; an empty one takes all prefixes away. All as in TensorFlow.
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

// Names the node that the last op call inside the expression made: `named("b", relu(x))`. A no-op when nothing is
// traced. A name that ends with "/" is the whole name, as current_name_scope() gives it: the node is called as the
// scope. Throws InvalidArgument where that name is taken.
PANTO_EXPORT Tensor named(std::string_view name, Tensor value);

// For recorders: "" or the open name scopes, ending with "/"; the innermost device scope as it was written.
PANTO_EXPORT std::string_view current_name_scope();
PANTO_EXPORT const DeviceSpec& current_device_spec();

}  // namespace panto
