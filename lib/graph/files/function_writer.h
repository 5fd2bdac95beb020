// Writes the functions that nodes call into the function library of the nodes' file. Internal (protobuf).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/proto/graph.pb.h"

namespace panto {

class FunctionWriter {
 public:
  // `library`: the library to write to. Its functions stay, unless a called function has the same name.
  FunctionWriter(const ExportOptions& options, graphdef::FunctionDefLibrary* library);

  // Writes the function, and those that it calls, if they are not written yet. Returns its name in the file.
  std::string name_of(const FunctionRef& function);
  // Function names inside the value become their names in the file.
  void attr_to_proto(const AttrValue& value, graphdef::AttrValue* proto);
  // Writes all of the node except name, op, device and inputs: the attributes that differ from defaults, as `options`
  // say.
  void attrs_to_proto(const Node& node, graphdef::NodeDef* def);

 private:
  bool may_stay(const GraphFunction& function, const std::string& name);
  void write(const GraphFunction& function, graphdef::FunctionDef* def);

  const ExportOptions& options_;
  graphdef::FunctionDefLibrary* library_;
  std::map<const FunctionBody*, std::string> names_;
  std::map<std::string, const FunctionBody*> taken_;
  std::vector<std::shared_ptr<const FunctionBody>> kept_;  // keeps the addresses above in use
};

// A copy in which nodes that other programs do not know are replaced by the ops of their bodies; the graph itself if it
// has no such nodes.
const Graph* as_others_know_it(const Graph& graph, const ExportOptions& options, Graph& copy);

}  // namespace panto
