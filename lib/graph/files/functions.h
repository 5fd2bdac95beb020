// The functions of a file. Each FunctionDef becomes a graph when something refers to it, one graph for each set of
// attribute values. Internal (protobuf).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "panto/lib/core/op/function_body.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/proto/graph.pb.h"

namespace panto {

// Thread-safe: a function that calls itself looks itself up when it runs.
class FileFunctions final : public FunctionLibrary, public std::enable_shared_from_this<FileFunctions> {
 public:
  // Throws InvalidArgument for two functions with the same name, or a function with an op's name.
  FileFunctions(const graphdef::FunctionDefLibrary& library, const graphdef::VersionDef& versions,
                const ImportOptions& options);
  ~FileFunctions() override;

  bool has(const std::string& name) const { return definitions_.contains(name); }
  // The reference for an attribute's value. Throws Unimplemented if the file has no such function, InvalidArgument for
  // an invalid one.
  FunctionRef reference(const graphdef::NameAttrList& function);
  // Argument and result types of a function that `reference` returned, and whether it has effects. For a function that
  // is not made yet, because it calls itself, these come from its definition.
  struct Types {
    std::vector<DType> inputs, outputs;
    bool acts = false;
  };
  Types types_of(const FunctionRef& function);
  // For FunctionRef::library; `name` is the name in a reference.
  std::shared_ptr<const FunctionBody> find(const std::string& name) const override;

 private:
  using Attrs = google::protobuf::Map<std::string, graphdef::AttrValue>;
  // A function with the values of its attributes.
  struct Instance {
    const graphdef::FunctionDef* definition;
    Attrs attrs;
    std::weak_ptr<const GraphFunction> made;
    bool counted = false;  // counted in nodes_ already; it may be made again
  };

  // Stores the attribute values, and returns the name under which `find` knows the function.
  std::string enter(const graphdef::NameAttrList& function);
  std::shared_ptr<const GraphFunction> instantiate(const std::string& key);
  std::shared_ptr<const GraphFunction> make(const std::string& key, Instance& instance);

  std::map<std::string, graphdef::FunctionDef> definitions_;
  std::map<std::string, std::string> gradients_;  // function -> the function that computes its gradients
  graphdef::VersionDef versions_;
  ImportOptions options_;
  mutable std::recursive_mutex mutex_;  // guards the members below
  std::map<std::string, Instance> instances_;
  std::set<std::string> under_way_;
  int64_t nodes_ = 0;  // nodes of all functions that were made, each counted once
};

}  // namespace panto
