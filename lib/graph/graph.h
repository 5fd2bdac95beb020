// Graph: nodes and the edges between them, in memory. Plain data: a graph does not run by itself.
//
//   Graph g = read_graph("model.pb");
//   std::cout << g.to_string();                       // one line a node
//   const Node& y = g.at("y");                        // y.op().name(), y.input(0), y.consumers()
//
// A node has an id that never changes (ids of removed nodes are not reused; a copy of the graph keeps the ids), a
// unique name, an op, attributes by signature position, data inputs and control inputs. Edges refer to nodes by id.
//
// Invariants, kept by every function that changes a graph: names are unique and well-formed; every input refers to an
// existing output of an existing node; consumers mirror inputs. Cycles and argument types are checked by `validate`
// (lib/graph/validate.h), which the importer and the optimizer call.
// Thread-safety: const functions may run in several threads at once; a change needs exclusive access.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"

namespace panto {

// Output `index` (list outputs spread) of node `node`.
struct NodeOutput {
  int node = -1;
  int index = 0;
  bool operator==(const NodeOutput&) const = default;
  auto operator<=>(const NodeOutput&) const = default;
  bool valid() const noexcept { return node >= 0; }
};

// A consumer of a node's output, or (slot kControl) of the node itself: data input `slot` of node `node`.
struct NodeUse {
  static constexpr int kControl = -1;
  int node = -1;
  int slot = kControl;
  int output = 0;  // the output that is read; for a control edge its position among the consumer's control inputs
  bool operator==(const NodeUse&) const = default;
};

// What is known of an output before the graph runs. `dtype` kInvalid: not inferred yet.
struct OutputInfo {
  DType dtype = DType::kInvalid;
  PartialShape shape;
  bool operator==(const OutputInfo&) const = default;
};

// A line of the user's program. `line` 0: unknown.
struct PANTO_EXPORT SourceLine {
  std::string file;
  int line = 0;
  // "train.cc:12"; "" if unknown.
  std::string to_string() const;
  bool operator==(const SourceLine&) const = default;
};

// What a new node is made from.
struct NodeSpec {
  std::string name;  // must be free; `Graph::unique_name` finds one
  const Op* op = nullptr;
  std::vector<NodeOutput> inputs;  // flat: list arguments spread
  std::vector<AttrValue> attrs;    // by signature position; an empty value or a missing tail takes the default
  std::vector<OutputInfo> outputs;
  std::vector<int> control_inputs;  // node ids; repeats are dropped
  std::string device;               // requested, as written; "": anywhere
  SourceLine where;
  // Attributes whose names begin with "_": for passes, runtimes and viewers.
  std::vector<std::pair<std::string, AttrValue>> internal_attrs;
  // Bit i: the file or the call sets attribute i explicitly, even if to its default.
  uint64_t explicitly_set = ~uint64_t{0};
  // Its place in the order of adding: if it replaces an older node, that node's place. -1: its id.
  int place = -1;
};

// Functions that return spans are not inline: instantiating spans of five types in this header costs everyone who
// includes it a tenth of the compile time.
class PANTO_EXPORT Node {
 public:
  Node(const Node& other);
  Node& operator=(const Node& other) = delete;
  ~Node();

  int id() const noexcept { return id_; }
  const std::string& name() const noexcept { return name_; }
  const Op& op() const noexcept { return *op_; }
  bool has(Trait t) const noexcept { return op_->has(t); }
  bool is(OpKind kind) const noexcept { return op_->is(kind); }
  bool is_control_flow() const noexcept { return panto::is_control_flow(op_->kind()); }

  // By signature position; every one is set.
  std::span<const AttrValue> attrs() const noexcept;
  // Throws NotFound if the op has no attribute of that name.
  const AttrValue& attr(std::string_view name) const;
  bool explicitly_set(int position) const noexcept {
    return position >= 64 || ((explicitly_set_ >> position) & 1u) != 0;
  }
  const std::vector<std::pair<std::string, AttrValue>>& internal_attrs() const noexcept { return internal_attrs_; }
  // Null if there is none.
  const AttrValue* internal_attr(std::string_view name) const noexcept;

  int num_inputs() const noexcept { return static_cast<int>(inputs_.size()); }
  NodeOutput input(int i) const noexcept { return inputs_[static_cast<size_t>(i)]; }
  std::span<const NodeOutput> inputs() const noexcept;
  std::span<const int> control_inputs() const noexcept;
  int num_outputs() const noexcept { return static_cast<int>(outputs_.size()); }
  const OutputInfo& output(int k) const noexcept { return outputs_[static_cast<size_t>(k)]; }
  std::span<const OutputInfo> outputs() const noexcept;
  // In no particular order.
  std::span<const NodeUse> consumers() const noexcept;

  const std::string& device() const noexcept { return device_; }
  const SourceLine& where() const noexcept { return *where_; }
  // Order among nodes that could come next: lower place first, then lower id.
  int place() const noexcept { return place_; }
  // Everything above except the place as one value, to add a changed copy.
  NodeSpec spec() const;

 private:
  friend class Graph;
  Node();

  // Small data is stored inline: a large graph is walked many times, and loading parts of nodes from other places takes
  // most of that time.
  int id_ = -1;
  int place_ = -1;
  const Op* op_ = nullptr;
  SmallVector<NodeOutput, 2> inputs_;
  SmallVector<NodeUse, 2> consumers_;
  // Positions of this node's entries in its producers' `consumers_`, so that an edge is removed in constant time.
  SmallVector<uint32_t, 2> use_positions_;
  std::vector<int> control_inputs_;
  std::vector<uint32_t> control_positions_;
  SmallVector<OutputInfo, 1> outputs_;
  SmallVector<AttrValue, 2> attrs_;
  uint64_t explicitly_set_ = ~uint64_t{0};
  std::string name_;
  std::string device_;
  SharedImpl<const SourceLine> where_;  // nodes of one line share it; never null
  std::vector<std::pair<std::string, AttrValue>> internal_attrs_;
};

// Versions as TensorFlow counts them (one a day since 2019-05-09).
struct GraphVersions {
  int producer = 0;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
};

// A variable that was made while the graph was built. The initializer of all variables runs its initializer.
struct GraphVariable {
  std::string name;
  NodeOutput handle;     // of its VarHandleOp
  int initializer = -1;  // id of the node that assigns the first value; -1: none
  DType dtype = DType::kInvalid;
  PartialShape shape;
  Tensor symbol = {};  // the symbolic handle while the graph is built
  VariableUse use = VariableUse::kTrained;
};

class PANTO_EXPORT Graph {
 public:
  Graph();
  Graph(const Graph& other);
  Graph(Graph&& other) noexcept;
  Graph& operator=(const Graph& other);
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  // ---- Looking --------------------------------------------------------------------------------------------------
  int num_nodes() const noexcept { return count_; }
  // All ids are below this.
  int id_limit() const noexcept { return static_cast<int>(nodes_.size()); }
  // Null if there is no such node, or it was removed.
  const Node* find(int id) const noexcept {
    return id >= 0 && id < id_limit() ? nodes_[static_cast<size_t>(id)].get() : nullptr;
  }
  const Node* find(std::string_view name) const noexcept;
  // Throws NotFound; for a name with the closest existing names.
  const Node& at(int id) const {
    if (const Node* node = find(id)) [[likely]]
      return *node;
    no_node(id);
  }
  const Node& at(std::string_view name) const;
  // True if the graph has loops or conditionals of TensorFlow 1: nodes of the control-flow kinds, including unknown
  // ones.
  bool has_control_flow() const noexcept { return flow_nodes_ > 0; }
  // Ids in the order in which the nodes were added.
  std::vector<int> ids() const;
  // Parses "x" or "x:0", as written in feeds and fetches. Throws InvalidArgument for "^x" and malformed text, NotFound,
  // and OutOfRange for an output that the node does not have.
  NodeOutput output(std::string_view text) const;
  // "x" for output 0, "x:1" for output 1.
  std::string output_name(NodeOutput output) const;
  const OutputInfo& info(NodeOutput output) const { return at(output.node).output(output.index); }

  // Every node after its data and control inputs, except for the back edge of a loop (lib/graph/flow/flow.h); among
  // nodes that could come next, the one added first (Node::place). Throws InvalidArgument, naming the nodes of one
  // cycle.
  std::vector<int> topological_order() const;

  // ---- Changing -------------------------------------------------------------------------------------------------
  // Makes room for `nodes` nodes in total, so that they are added faster.
  void reserve(size_t nodes);
  // Returns the id. Throws InvalidArgument for a malformed or taken name, inputs that do not exist, and a missing or
  // invalid attribute.
  int add(NodeSpec node);
  // Throws FailedPrecondition if the node has consumers.
  void remove(int id);
  void rename(int id, std::string name);
  void set_input(int id, int slot, NodeOutput from);
  // Changes the node's op, data inputs and attributes. The new op must give outputs of the same types. Id, name,
  // outputs, control inputs and consumers stay. Throws as `add`.
  void replace_op(int id, const Op& op, std::vector<NodeOutput> inputs, std::vector<AttrValue> attrs);
  // Does nothing if the edge exists. A node cannot wait for itself.
  void add_control_input(int id, int from);
  void remove_control_input(int id, int from);
  // Makes all data inputs that read `old` read `with` instead.
  void replace_output(NodeOutput old, NodeOutput with);
  // Makes all nodes that wait for `old` wait for `with` instead; `with` itself just stops waiting.
  void replace_control(int old, int with);
  void set_attr(int id, std::string_view name, AttrValue value);
  void set_internal_attr(int id, std::string_view name, AttrValue value);  // an empty value removes it
  void set_device(int id, std::string device);
  void set_outputs(int id, std::vector<OutputInfo> outputs);

  // Returns a free name: `wanted`, else `wanted_1`, `wanted_2` ... As in TensorFlow, a name that differs from an
  // existing one only in case is not free. Invalid characters become "_".
  std::string unique_name(std::string_view wanted);
  // Reserves a name for a new name scope: opened again, "net" becomes "net_1".
  std::string unique_scope(std::string_view wanted);
  static bool is_valid_name(std::string_view name) noexcept;

  // ---- What belongs to the whole graph --------------------------------------------------------------------------
  const GraphVersions& versions() const noexcept { return versions_; }
  void set_versions(GraphVersions versions);
  // Random nodes without seeds of their own that are recorded after this get derived seeds: trace/graph_scope.h.
  void set_seed(int64_t seed);
  // The next two seeds; {0, 0} if no seed was set.
  std::pair<int64_t, int64_t> next_seeds();
  // The file's serialized function library, kept so that functions that no node calls are written again.
  const std::string& library() const noexcept { return library_; }
  void set_library(std::string serialized);
  const std::vector<GraphVariable>& variables() const noexcept { return variables_; }
  void add_variable(GraphVariable variable);

  // Records the output that a symbolic tensor stands for. The tracer does this, so that building can be interrupted,
  // and feeds and fetches can be tensors. output_of returns an invalid NodeOutput for a tensor of another graph.
  void bind(const Tensor& symbolic, NodeOutput output);
  NodeOutput output_of(const Tensor& symbolic) const;
  // Throws InvalidArgument if the tensor does not belong to this graph.
  const Node& node(const Tensor& symbolic) const;
  // A pointer that identifies the graph while it lives, also after a move. Other graphs, and copies, have others.
  const void* identity() const noexcept { return index_.get(); }
  // A pointer to the graph's current address, also after a move; expires with the graph.
  std::weak_ptr<Graph* const> location() const noexcept;
  // An Operation for node `id`. Throws NotFound.
  Operation operation(int id) const;
  // Forbids changes from now on: functions that change throw FailedPrecondition. A copy can be changed.
  void finalize() noexcept { final_ = true; }
  bool is_final() const noexcept { return final_; }

  // ---- Collections -------------------------------------------------------------------------------------------------
  // Lists of outputs and nodes (index kNoOutput) that a program stores under a key ("losses"). Nodes that are removed
  // from the graph are removed from the lists.
  static constexpr int kNoOutput = -1;
  // Throws NotFound if the node does not exist, OutOfRange if the output does not.
  void add_to_collection(std::string_view key, NodeOutput item);
  // In the order of adding; empty if nothing was added.
  std::vector<NodeOutput> collection(std::string_view key) const;
  // Sorted.
  std::vector<std::string> collection_keys() const;

  // A lower limit for the number of changes so far: if it is the same at two times, nothing changed in between.
  uint64_t edits() const noexcept { return edits_; }

  // ---- Printing -------------------------------------------------------------------------------------------------
  // One line per node, inputs first, ties by name: two graphs with the same nodes print the same.
  //   y = MatMul(x, w; transpose_b=true) -> float32[?,3]
  // Attributes that equal their defaults or follow from the inputs are left out.
  std::string to_string() const;
  std::string node_text(const Node& node) const;
  // For Graphviz.
  std::string to_dot() const;

 private:
  [[noreturn]] void no_node(int id) const;
  // Called before every change.
  void edit();
  Node& get(int id);
  void check_output(NodeOutput output, std::string_view user) const;
  SharedImpl<const SourceLine> shared_line(SourceLine where);
  void link(int id, int slot);
  void unlink(int id, int slot);
  void link_control(int id, size_t position);
  void unlink_control(int id, size_t position);
  void drop_use(Node& producer, size_t position);

  std::vector<std::unique_ptr<Node>> nodes_;  // by id
  int count_ = 0;
  int64_t backward_ = 0;  // edges that do not lead from a lower to a higher id ...
  int placed_ = 0;        // ... and nodes whose place is not their id: if both are 0, ids are in topological order
  int flow_nodes_ = 0;    // of the control-flow kinds
  SharedImpl<const SourceLine> latest_line_;
  uint64_t edits_ = 0;
  bool final_ = false;
  class Index;  // names, symbolic tensors and collections
  SharedImpl<Index> index_;
  GraphVersions versions_;
  std::string library_;
  std::vector<GraphVariable> variables_;
};

}  // namespace panto
