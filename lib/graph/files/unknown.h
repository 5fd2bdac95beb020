// Nodes that this build cannot run: unknown ops, calls of functions, and known ops with unsupported types or
// attributes. They stay in a graph as the file has them: they can be inspected, saved and left out of a run. A run that
// needs one throws Unimplemented, naming the op and the node. Internal.
//
// Such a node has the op `_Unknown`, which is stateful (never merged, folded or dropped). Its attributes hold the
// file's op name and the reason; the file's attributes are kept unchanged in a note. The number of outputs comes from
// its consumers or from the file's `_output_shapes`. An output's dtype is the dtype that consumers expect; kInvalid if
// none has an expectation.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// The name of the note with the kept attributes: the bytes of a NodeDef that has only these attributes.
inline constexpr std::string_view kKeptAttrs = "(kept)";

// The spec of an `_Unknown` node for a node of op `op`. `why`: the error message; "": the library does not have the op.
// `call`: the node calls a function of the file.
NodeSpec unknown_init(std::string name, std::string op, std::string why, bool call);

PANTO_EXPORT bool is_unknown_op(const Op& op) noexcept;
PANTO_EXPORT bool is_unknown(const Node& node) noexcept;
// The op name in the file.
PANTO_EXPORT const std::string& op_name(const Node& node);
// The same for display: printable, and marked with "?" if the node cannot run: "Foo?".
PANTO_EXPORT std::string op_text(const Node& node);
// Name and value of each kept attribute, sorted by name, printable.
std::vector<std::pair<std::string, std::string>> kept_attr_texts(const Node& node);

// Throws Unimplemented, naming op and node.
[[noreturn]] PANTO_EXPORT void fail_unknown(const Node& node);
// Throws Unimplemented if a node of the graph cannot run. The error names all missing ops: a user who ports a model
// needs the complete list.
PANTO_EXPORT void refuse_unknown(const Graph& graph);
// "3 nodes of 2 unknown ops: Foo (2), Bar (1)", and lines for calls and other nodes that cannot run; "" if all can run.
PANTO_EXPORT std::string missing_text(const Graph& graph);

}  // namespace panto
