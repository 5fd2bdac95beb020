// Nodes that this build cannot run: ops that it does not have, calls of functions, and what known ops do not take here
// (types, attributes). They stay in a graph as the file has them, may be looked at, saved and left out of a run; a run
// that needs one throws Unimplemented, naming the op and the node. Internal.
//
// Such a node is one of the op `_Unknown`, which is stateful (never merged, folded or dropped) and has the file's name
// of the op and the reason for attributes; what the file says of its attributes is kept in a note, as it is. How many
// outputs it has is what is read of it, or the file's `_output_shapes`; the dtype of an output is what its readers
// expect, kInvalid where none says so.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// The note that has attributes which are kept as the file has them: the bytes of a NodeDef with these attributes only.
inline constexpr std::string_view kKeptAttrs = "(kept)";

// What a node of the op `op` is that cannot run. `why`: the message of the error; "": the op is not here.
// `call`: it is a call of a function of the file.
NodeSpec unknown_init(std::string name, std::string op, std::string why, bool call);

PANTO_EXPORT bool is_unknown_op(const Op& op) noexcept;
PANTO_EXPORT bool is_unknown(const Node& node) noexcept;
// As the file has it.
PANTO_EXPORT const std::string& op_name(const Node& node);
// The same for people: printable, and marked where the node cannot run: "Foo?".
PANTO_EXPORT std::string op_text(const Node& node);
// Name and value of each kept attribute, in the order of names, printable.
std::vector<std::pair<std::string, std::string>> kept_attr_texts(const Node& node);

// Throws Unimplemented, naming op and node.
[[noreturn]] PANTO_EXPORT void fail_unknown(const Node& node);
// Throws Unimplemented if a node of the graph cannot run. All ops that are missing are named: whoever ports a model
// wants the list.
PANTO_EXPORT void refuse_unknown(const Graph& graph);
// "3 nodes of 2 unknown ops: Foo (2), Bar (1)", the same of calls, and what else cannot run. Lines; "": all can.
PANTO_EXPORT std::string missing_text(const Graph& graph);

}  // namespace panto
