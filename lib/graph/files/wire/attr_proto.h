// AttrValue of the wire <-> AttrValue of the library. Internal (protobuf).
#pragma once

#include <optional>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/signature.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/proto/attr_value.pb.h"

namespace panto {

// Throws InvalidArgument for a value of another kind, `attribute NAME: expected ..., got ...`.
AttrValue attr_from_proto(const AttrDef& attr, const graphdef::AttrValue& proto, ExpansionBudget& budget);
// An attribute that no signature describes ("_class"): by what the file says. Nullopt for what a value cannot hold
// (functions, lists of them, tensors, placeholders for values): it is kept as it is (kKeptAttrs).
std::optional<AttrValue> note_from_proto(const graphdef::AttrValue& proto);
// The same for those who only look: tensors too, as far as `budget` goes.
std::optional<AttrValue> value_to_show(const graphdef::AttrValue& proto, ExpansionBudget& budget);
// True for false, 0, "", an empty list: what an attribute that means "do something else" says when it does not.
bool is_zero(const graphdef::AttrValue& proto);
void attr_to_proto(const AttrValue& value, graphdef::AttrValue* proto);

}  // namespace panto
