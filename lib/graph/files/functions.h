// Functions of a file: each FunctionDef becomes a graph when something refers to it, one for each set of attributes.
// Internal (protobuf).
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

// Thread-safe: a function that calls itself asks for itself when it runs.
class FileFunctions final : public FunctionLibrary, public std::enable_shared_from_this<FileFunctions> {
 public:
  // Throws InvalidArgument for two functions of one name, or one that has an op's.
  FileFunctions(const graphdef::FunctionDefLibrary& library, const graphdef::VersionDef& versions,
                const ImportOptions& options);
  ~FileFunctions() override;

  bool has(const std::string& name) const { return definitions_.contains(name); }
  // Of an attribute's value. Throws Unimplemented where the file has no such function, InvalidArgument for one that
  // cannot be.
  FunctionRef reference(const graphdef::NameAttrList& function);
  // What a call of a function that `reference` gave gets and gives, and whether it has effects: of one that is not made
  // yet, as one that calls itself, what its definition says.
  struct Types {
    std::vector<DType> inputs, outputs;
    bool acts = false;
  };
  Types types_of(const FunctionRef& function);
  // For FunctionRef::library: names are those of references.
  std::shared_ptr<const FunctionBody> find(const std::string& name) const override;

 private:
  using Attrs = google::protobuf::Map<std::string, graphdef::AttrValue>;
  // A function with the values of its attributes.
  struct Instance {
    const graphdef::FunctionDef* definition;
    Attrs attrs;
    std::weak_ptr<const GraphFunction> made;
    bool counted = false;  // among nodes_: it may be made again
  };

  // Notes the values of its attributes; the name by which `find` knows it.
  std::string enter(const graphdef::NameAttrList& function);
  std::shared_ptr<const GraphFunction> instantiate(const std::string& key);
  std::shared_ptr<const GraphFunction> make(const std::string& key, Instance& instance);

  std::map<std::string, graphdef::FunctionDef> definitions_;
  std::map<std::string, std::string> gradients_;  // names of functions that compute those of others
  graphdef::VersionDef versions_;
  ImportOptions options_;
  mutable std::recursive_mutex mutex_;  // of what follows
  std::map<std::string, Instance> instances_;
  std::set<std::string> under_way_;
  int64_t nodes_ = 0;  // of all that were made, once each
};

}  // namespace panto
