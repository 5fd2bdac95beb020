// Functions that nodes call, as FunctionDefs of the file that the nodes are written to. Internal (protobuf).
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
  // `library`: what is written. What it holds already stays, unless a function of the same name is called.
  FunctionWriter(const ExportOptions& options, graphdef::FunctionDefLibrary* library);

  // The name by which the file has the function, which is written, with those that it calls.
  std::string name_of(const FunctionRef& function);
  // Names of functions inside the value are those by which the file has them.
  void attr_to_proto(const AttrValue& value, graphdef::AttrValue* proto);
  // Everything but name, op, device, inputs: the attributes that differ from defaults, as `options` say.
  void attrs_to_proto(const Node& node, graphdef::NodeDef* def);

 private:
  bool may_stay(const GraphFunction& function, const std::string& name);
  void write(const GraphFunction& function, graphdef::FunctionDef* def);

  const ExportOptions& options_;
  graphdef::FunctionDefLibrary* library_;
  std::map<const FunctionBody*, std::string> names_;
  std::map<std::string, const FunctionBody*> taken_;
  std::vector<std::shared_ptr<const FunctionBody>> kept_;  // so that their addresses stay theirs
};

// A copy in which what other programs do not know is the ops that it is made of; the graph itself where there is
// nothing of that kind.
const Graph* as_others_know_it(const Graph& graph, const ExportOptions& options, Graph& copy);

}  // namespace panto
