// Graphs in files: TensorFlow's GraphDef, binary (.pb) or text (.pbtxt).
//
//   Graph g = read_graph("model.pb");
//   write_graph(g, "copy.pbtxt");
//
// Reading checks everything before using it: names, ports, types and shapes of every edge, attributes, the bytes of
// every constant. The first fault is thrown as an Error that names the node and the operand. Untrusted bytes may be
// read: memory stays within a small multiple of their size and the limits below.
//
// - Nodes that this build cannot run stay in the graph as the file has them, and are written again so: unknown ops, and
//   types and attributes that its ops do not support. A run can avoid them (by fetching values that do not need them,
//   or by feeding their outputs); a run that needs one throws Unimplemented, naming op and node.
// - Old ops become the ops that replaced them (lib/graph/files/import/adapters.cc, docs/differences.md): Select is read
//   as SelectV2, and reference variables as resource variables.
// - Attributes that begin with "_" are kept as notes. An unknown attribute of another name is ignored if it is false, 0
//   or empty (a newer writer's default); otherwise its node cannot run, because it would compute something else.
// - Functions that nodes call are read as graphs (lib/graph/functions/graph_function.h); other functions are kept
//   unchanged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct ImportOptions {
  int64_t max_bytes = (int64_t{1} << 31) - 1;  // size of the file; protobuf reads no more
  int64_t max_nodes = 4'000'000;
  // A constant of one repeated value takes a few bytes in a file. This limits the memory of all such constants.
  int64_t max_expanded_bytes = int64_t{256} << 20;
};

struct ExportOptions {
  bool strip_defaults = true;  // leave out attributes that equal the op's default, as TensorFlow's savers do
  // Write ops that only this library has (made by the optimizer), and its own composites, as single nodes. Otherwise
  // composites that TensorFlow lacks are written as the ops of their bodies.
  bool own_ops = false;
};

// Detects binary or text. Throws NotFound, PermissionDenied ... for the file; DataLoss for bytes that are not a
// GraphDef; InvalidArgument for an invalid graph; Unimplemented for files of other formats (SavedModel, checkpoints,
// ONNX ...), with what to do instead.
PANTO_EXPORT Graph read_graph(const std::string& path, const ImportOptions& options = {});
PANTO_EXPORT Graph parse_graph(std::string_view bytes, const ImportOptions& options = {});

// Writes text if the name ends in ".pbtxt", ".prototxt" or ".txt", otherwise binary. Atomic.
PANTO_EXPORT void write_graph(const Graph& graph, const std::string& path, const ExportOptions& options = {});
// Deterministic: the same graph gives the same bytes.
PANTO_EXPORT std::string to_graph_def(const Graph& graph, const ExportOptions& options = {});
PANTO_EXPORT std::string to_graph_def_text(const Graph& graph, const ExportOptions& options = {});

}  // namespace panto
