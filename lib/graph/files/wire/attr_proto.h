// Conversion between the AttrValue of GraphDef and the library's AttrValue. Internal (protobuf).
#pragma once

#include <optional>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/signature.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/proto/attr_value.pb.h"

namespace panto {

// Throws InvalidArgument for a value of another kind, `attribute NAME: expected ..., got ...`.
AttrValue attr_from_proto(const AttrDef& attr, const graphdef::AttrValue& proto, ExpansionBudget& budget);
// Converts an attribute that is not in a signature ("_class"), by the kind in the file. nullopt for kinds that an
// AttrValue cannot hold (functions, lists of them, tensors, placeholders for values): these are kept unchanged
// (kKeptAttrs).
std::optional<AttrValue> note_from_proto(const graphdef::AttrValue& proto);
// The same for display: converts tensors, too, as far as `budget` allows.
std::optional<AttrValue> value_to_show(const graphdef::AttrValue& proto, ExpansionBudget& budget);
// True for false, 0, "", an empty list: the neutral value of an attribute.
bool is_zero(const graphdef::AttrValue& proto);
void attr_to_proto(const AttrValue& value, graphdef::AttrValue* proto);

}  // namespace panto
