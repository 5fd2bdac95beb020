// Graphs in files: TensorFlow's GraphDef, binary (.pb) or text (.pbtxt).
//
//   Graph g = read_graph("model.pb");
//   write_graph(g, "copy.pbtxt");
//
// Reading checks everything before anything is believed: names, ports, types and shapes of every edge, attributes, the
// bytes of every constant. What is wrong is one Error that names the node and the operand. Bytes from anywhere may be
// read: memory stays within a small multiple of their size and the limits below.
//
// - What this build cannot run stays in the graph as the file has it, and is written again so: ops that it does not
//   have, types and attributes that its ops do not take. It can be left out of a run (by fetching
//   what does not need it, or feeding what it gives); a run that needs it throws Unimplemented, naming op and node.
// - Old ops become the ones that replaced them (lib/graph/files/import/adapters.cc, docs/differences.md): Select is
// read as
//   SelectV2, and reference variables as resource variables.
// - Attributes that begin with "_" are kept as notes; an unknown attribute of another name is ignored if it is false, 0
//   or empty (a newer writer's default); with another value its node cannot be run, which would compute something else.
// - Functions that nodes call are read as graphs (lib/graph/functions/graph_function.h); others are kept as they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct ImportOptions {
  int64_t max_bytes = (int64_t{1} << 31) - 1;  // of the file; protobuf reads no more
  int64_t max_nodes = 4'000'000;
  // A constant of one repeated value takes a few bytes in a file: what all such constants may take in memory.
  int64_t max_expanded_bytes = int64_t{256} << 20;
};

struct ExportOptions {
  bool strip_defaults = true;  // leave out attributes that equal the op's default, as TensorFlow's savers do
  // Allow ops that only this library has (made by the optimizer), and write its own composites whole: otherwise they
  // are written as the ops of their bodies, unless TensorFlow has them too.
  bool own_ops = false;
};

// Binary or text, whichever it is. Throws NotFound, PermissionDenied ... for the file; DataLoss for bytes that are no
// GraphDef; InvalidArgument for a graph that cannot be; Unimplemented for other frameworks' files (SavedModel,
// checkpoints, ONNX ...), with what to do instead.
PANTO_EXPORT Graph read_graph(const std::string& path, const ImportOptions& options = {});
PANTO_EXPORT Graph parse_graph(std::string_view bytes, const ImportOptions& options = {});

// Text where the name ends in ".pbtxt" or ".txt", binary otherwise. The file is replaced as a whole or not at all.
PANTO_EXPORT void write_graph(const Graph& graph, const std::string& path, const ExportOptions& options = {});
// The same graph gives the same bytes.
PANTO_EXPORT std::string to_graph_def(const Graph& graph, const ExportOptions& options = {});
PANTO_EXPORT std::string to_graph_def_text(const Graph& graph, const ExportOptions& options = {});

}  // namespace panto
