// Pieces of the text and the picture of a graph, for those that make one. Internal.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/core/op/attr.h"

namespace panto {

// A value; a tensor's on one line.
std::string shown_on_a_line(const AttrValue& value);
// Between quotation marks in Graphviz's language.
std::string dot_escaped(std::string_view text);

}  // namespace panto
