// GraphDef -> Graph, node by node: attributes, then inference. What cannot run here becomes a node that says so
// (unknown.h); old ops are adapted (adapters.h), references to variables become handles (references.h). Internal
// (protobuf).
#pragma once

#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/files/functions.h"
#include "panto/lib/graph/files/graph_def.h"
#include "panto/lib/graph/files/import/file_nodes.h"
#include "panto/lib/graph/files/import/references.h"
#include "panto/lib/graph/files/wire/attr_proto.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/graph/graph.h"

namespace panto {

using graphdef::GraphDef;
using graphdef::NodeDef;

class Importer {
 public:
  Importer(const GraphDef& proto, const ImportOptions& options, std::shared_ptr<FileFunctions> functions)
      : proto_(proto),
        functions_(std::move(functions)),
        nodes_(proto, options, functions_.get()),
        budget_(options.max_expanded_bytes),
        max_nodes_(options.max_nodes) {}

  Graph run();

 private:
  void read_versions();

  // ---- Nodes ----------------------------------------------------------------------------------------------------

  void add(size_t position);
  // What was made for another node may have the name of one of the file, which comes first.
  void make_room(const std::string& name);
  NodeSpec started(const FileNode& node) const;
  using AbstractPointers = SmallVector<const Tensor*, 8>;

  void read_inputs(size_t position, NodeSpec& spec, AbstractPointers& abstract_values);
  void add_known(size_t position, NodeSpec& spec, AbstractPointers& abstract_values);
  void add_plain(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values);
  // A function that is called by its own name, as TensorFlow 1 did it.
  void add_call(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values);

  // ---- What cannot run here -------------------------------------------------------------------------------------

  void add_unknown(size_t position, NodeSpec& spec, std::string why);
  // Those that are read, that the file gives shapes of, or that it calls an output of the function.
  std::vector<OutputInfo> unknown_outputs(const FileNode& node);
  // An output whose dtype is not known has the one that a reader expects. False if one is left.
  bool find_types(const FileNode& node, AbstractPointers& abstract_values);
  // What the file says of the types of inputs, lists spread; kInvalid where it says nothing.
  static SmallVector<DType, 8> written_types(const Signature& signature, const NodeDef& def, size_t most);

  struct BackEdge {
    size_t reader;
    int slot;
    NodeOutput from;  // node: a position in the file
  };
  void close(const BackEdge& edge);

  // ---- Reference variables --------------------------------------------------------------------------------------

  const Reference* reference_of(const NodeOutput& input) const;
  // Behind the first `kept` inputs, values stand for references: each is read when the node may run.
  void read_references(const FileNode& node, size_t kept, NodeSpec& spec, AbstractPointers& abstract_values,
                       SmallVector<Tensor, 2>& values);
  void add_variable(size_t position, NodeSpec& spec);
  // TensorFlow's, by which it is destroyed.
  static std::string name_of_temporary(const NodeDef& def);
  // The value has been read when all that the node waits for had run.
  void add_last_value(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values);
  // The reference that the index says. What is updated through it waits for what the node waits for.
  void choose_reference(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values);
  static NodeDef without(const NodeDef& def, std::initializer_list<const char*> attrs);
  void add_update(size_t position, NodeSpec& spec, AbstractPointers& abstract_values);
  // In the words of the op that takes a handle. Locks are taken in any case.
  static NodeDef update_attrs(const FileNode& node);
  // A variable has the shape that it was declared with, whatever Assign is told.
  static void check_new_shape(const NodeSpec& spec, const AbstractPointers& abstract_values);
  // The value has the name of the file's node; who waits for that node waits for `made`.
  void add_value(size_t position, const Reference& reference, const NodeSpec& like, int made_by);
  // The handle goes to a branch, or into a loop, and what is behind it refers to the variable there.
  void pass_reference(size_t position, NodeSpec& spec, AbstractPointers& abstract_values);

  // ---- Attributes and devices -----------------------------------------------------------------------------------

  // Most nodes have the device of the one before.
  void check_device(const std::string& device);

  struct Made {
    int node = -1;
    SmallVector<NodeOutput, 1> outputs;
    AbstractValues abstract_values;
  };

  static void keep(Expansion expansion, Made& made);
  // What is kept as it is, but for fields that TensorFlow does not have: the text form could not be read with them. In
  // turn it takes any bytes for a string, of which the binary form could not be read.
  template <class Message>
  static std::string kept_bytes(Message message, std::string_view what) {
    message.DiscardUnknownFields();
    std::string bytes = message.SerializeAsString();
    if (!Message().ParseFromString(bytes)) invalid("{}: expected names in UTF-8, got other bytes", what);
    return bytes;
  }

  // In the order of names: a map's own order differs from run to run, messages should not.
  using Attrs = SmallVector<const google::protobuf::MapPair<std::string, graphdef::AttrValue>*, 8>;
  static Attrs sorted_attrs(const NodeDef& def);
  // The text form takes any bytes; the binary form of a graph that kept them could not be read again.
  static void check_attr_name(const std::string& name);
  AttrValue attr_value(const AttrDef& described, const graphdef::AttrValue& value);
  FunctionRef function_named(const graphdef::NameAttrList& function);
  void read_attrs(const Signature& signature, const NodeDef& def, NodeSpec& spec);
  // Of a body's op; of others inference sees to it.
  static void check_inputs(const Signature& signature, const NodeSpec& spec, const AbstractPointers& abstract_values);
  static void check_output_shapes(const NodeDef& def, const std::vector<OutputInfo>& outputs);

  const GraphDef& proto_;
  std::shared_ptr<FileFunctions> functions_;  // null: the file has none
  FileNodes nodes_;
  ExpansionBudget budget_;
  const int64_t max_nodes_;
  int64_t nodes_called_ = 0;  // those of functions, as often as they are called
  Graph graph_;
  std::vector<Made> made_;                             // by position
  std::map<size_t, std::vector<OutputInfo>> unknown_;  // by position: outputs of what cannot run here
  size_t unknown_ports_ = 0;
  size_t added_ = 0;  // nodes of the file
  std::vector<BackEdge> back_edges_;
  std::deque<Tensor> to_come_;                                           // abstract values of what leads back
  std::map<std::pair<size_t, int>, Reference> references_to_variables_;  // by position and output
  std::string checked_device_;                                           // the latest that was in order
};

}  // namespace panto
