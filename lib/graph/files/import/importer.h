// Converts GraphDef to Graph, node by node: attributes first, then inference. A node that this build cannot run becomes
// an `_Unknown` node (unknown.h); old ops are replaced (adapters.h); references to variables become handles
// (references.h). Internal (protobuf).
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
  // Renames a node that the importer made for another node, if a node of the file has the name: the file's names have
  // priority.
  void make_room(const std::string& name);
  NodeSpec started(const FileNode& node) const;
  using AbstractPointers = SmallVector<const Tensor*, 8>;

  void read_inputs(size_t position, NodeSpec& spec, AbstractPointers& abstract_values);
  void add_known(size_t position, NodeSpec& spec, AbstractPointers& abstract_values);
  void add_plain(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values);
  // A call whose op is the name of the function, as in TensorFlow 1.
  void add_call(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values);

  // ---- What cannot run here -------------------------------------------------------------------------------------

  void add_unknown(size_t position, NodeSpec& spec, std::string why);
  // The outputs that consumers read, that the file gives shapes for, or that are outputs of the function.
  std::vector<OutputInfo> unknown_outputs(const FileNode& node);
  // Gives outputs with an unknown dtype the dtype that a consumer expects. Returns false if some stay unknown.
  bool find_types(const FileNode& node, AbstractPointers& abstract_values);
  // Input dtypes as far as the file gives them, lists spread; kInvalid for others.
  static SmallVector<DType, 8> written_types(const Signature& signature, const NodeDef& def, size_t most);

  struct BackEdge {
    size_t reader;
    int slot;
    NodeOutput from;  // node: a position in the file
  };
  void close(const BackEdge& edge);

  // ---- Reference variables --------------------------------------------------------------------------------------

  const Reference* reference_of(const NodeOutput& input) const;
  // Replaces references after the first `kept` inputs by values: each is read when the node may run.
  void read_references(const FileNode& node, size_t kept, NodeSpec& spec, AbstractPointers& abstract_values,
                       SmallVector<Tensor, 2>& values);
  void add_variable(size_t position, NodeSpec& spec);
  // TensorFlow's name of a temporary variable, which the op that destroys it uses.
  static std::string name_of_temporary(const NodeDef& def);
  // The value is read after all control inputs of the node have run.
  void add_last_value(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values);
  // Selects the reference by the index. Updates through it run after the node's control inputs.
  void choose_reference(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values);
  static NodeDef without(const NodeDef& def, std::initializer_list<const char*> attrs);
  void add_update(size_t position, NodeSpec& spec, AbstractPointers& abstract_values);
  // The attributes in the form of the op that takes a handle. Locks are always used.
  static NodeDef update_attrs(const FileNode& node);
  // A variable keeps its declared shape, whatever the attributes of Assign say.
  static void check_new_shape(const NodeSpec& spec, const AbstractPointers& abstract_values);
  // The value's node gets the name of the file's node; nodes that wait for that node wait for `made_by`.
  void add_value(size_t position, const Reference& reference, const NodeSpec& like, int made_by);
  // Passes the handle to a branch or into a loop; the outputs refer to the variable there.
  void pass_reference(size_t position, NodeSpec& spec, AbstractPointers& abstract_values);

  // ---- Attributes and devices -----------------------------------------------------------------------------------

  // Remembers the last name, because most nodes have the device of the node before.
  void check_device(const std::string& device);

  struct Made {
    int node = -1;
    SmallVector<NodeOutput, 1> outputs;
    AbstractValues abstract_values;
  };

  static void keep(Expansion expansion, Made& made);
  // The bytes of a message that is kept unchanged, without fields that TensorFlow does not have: its text form could
  // not be parsed with them. The text form accepts any bytes in a string; the binary form could not be parsed with
  // them, so these are refused.
  template <class Message>
  static std::string kept_bytes(Message message, std::string_view what) {
    message.DiscardUnknownFields();
    std::string bytes = message.SerializeAsString();
    if (!Message().ParseFromString(bytes)) invalid("{}: expected names in UTF-8, got other bytes", what);
    return bytes;
  }

  // Sorted by name: the order of a map differs from run to run, messages should not.
  using Attrs = SmallVector<const google::protobuf::MapPair<std::string, graphdef::AttrValue>*, 8>;
  static Attrs sorted_attrs(const NodeDef& def);
  // The text form accepts any bytes in a name, but the binary form of the graph could not be read again.
  static void check_attr_name(const std::string& name);
  AttrValue attr_value(const AttrDef& described, const graphdef::AttrValue& value);
  FunctionRef function_named(const graphdef::NameAttrList& function);
  void read_attrs(const Signature& signature, const NodeDef& def, NodeSpec& spec);
  // For an op with a body; for other ops inference checks the inputs.
  static void check_inputs(const Signature& signature, const NodeSpec& spec, const AbstractPointers& abstract_values);
  static void check_output_shapes(const NodeDef& def, const std::vector<OutputInfo>& outputs);

  const GraphDef& proto_;
  std::shared_ptr<FileFunctions> functions_;  // null: the file has none
  FileNodes nodes_;
  ExpansionBudget budget_;
  const int64_t max_nodes_;
  int64_t nodes_called_ = 0;  // nodes of functions, counted for every call
  Graph graph_;
  std::vector<Made> made_;                             // by position
  std::map<size_t, std::vector<OutputInfo>> unknown_;  // by position: outputs of nodes that cannot run here
  size_t unknown_ports_ = 0;
  size_t added_ = 0;  // nodes of the file
  std::vector<BackEdge> back_edges_;
  std::deque<Tensor> to_come_;                                           // abstract values of back edges
  std::map<std::pair<size_t, int>, Reference> references_to_variables_;  // by position and output
  std::string checked_device_;                                           // the last valid one
};

}  // namespace panto
