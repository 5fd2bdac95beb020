// Checks shared by the graph, the importer and the session. Internal.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/signature.h"

namespace panto {

inline constexpr size_t kMaxNameLength = size_t{64} << 10;

// "x", "x:1" or "^x".
struct InputName {
  std::string_view node;
  int index = 0;
  bool control = false;
};
// Throws InvalidArgument for an empty name, "^x:1", or an index that is not a decimal number below 2^31.
InputName parse_input_name(std::string_view text);

// " (closest: 'a', 'b')", or "" if no name is close.
std::string closest_text(std::string_view name, const std::vector<std::string_view>& names);

// Throws InvalidArgument unless `value` has the attribute's kind and is allowed by it.
void check_attr(const AttrDef& attr, const AttrValue& value);
// Fills in defaults. Throws InvalidArgument for missing, surplus or invalid values.
void complete_attrs(const Signature& signature, std::vector<AttrValue>& values);

// The dtypes of the arguments, with lists spread. All attributes must be set. Throws InvalidArgument for a list that is
// too long.
using Types = SmallVector<DType, 8>;
Types flat_types(std::span<const ArgDef> args, std::span<const AttrValue> attrs);

// Throws InvalidArgument with the names along one cycle. `waiting`: for each node, the number of inputs that are not
// ordered yet; nodes on a cycle have some. `before`: the nodes that a node depends on.
[[noreturn]] void fail_cycle(std::span<const int> waiting, const std::function<std::vector<int>(int)>& before,
                             const std::function<std::string(int)>& name);

}  // namespace panto
