// Moves nodes that every branch of a conditional computes from the same values before the conditional. One of the
// branches runs in any case, so no work is wasted, and a node that fails would have failed anyway.
//
// Elementwise ops are moved only if other moved nodes need them: inside a branch they can be part of a fused loop.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/core/step/stop.h"
#include "panto/lib/runtime/passes/functions.h"
#include "panto/lib/runtime/passes/rules.h"

namespace panto::passes {

namespace {

constexpr size_t kMostNodes = 2000;  // per branch, as all pairs of nodes are compared

// One branch, with value numbers: equal numbers in different branches mean equal values.
struct Branch {
  std::shared_ptr<const GraphFunction> function;
  std::map<NodeOutput, NodeOutput> seen = {};  // by output: value number and index
};

// A node that all branches contain.
struct Common {
  std::vector<int> nodes;  // by branch
  int number = 0;          // value number of its outputs
  std::vector<NodeOutput> inputs;
  bool wanted = false;  // worth moving, or needed by such a node
};

class BranchMover {
 public:
  explicit BranchMover(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    for (const int id : graph_.ids()) {
      const Node& node = graph_.at(id);
      const bool chooses = node.is(OpKind::kCond) || node.is(OpKind::kCase);
      if (chooses && node.op().is_pure() && context_.runs_once(id)) move(id);
    }
    return changes_;
  }

 private:
  void move(int id) {
    branches_.clear();
    common_.clear();
    constants_.clear();
    bool all = true;
    for_each_function(graph_.at(id), [&](const FunctionRef& reference) {
      const std::shared_ptr<const GraphFunction> function = replaceable(reference);
      all = all && function != nullptr &&
            std::ranges::none_of(branches_, [&](const Branch& b) { return b.function == function; });
      if (function != nullptr) branches_.push_back({function});
    });
    const auto too_large = [](const Branch& b) { return b.function->needed().size() > kMostNodes; };
    if (!all || branches_.size() < 2 || std::ranges::any_of(branches_, too_large)) return;
    next_ = 0;
    for (size_t i = 0; i < branches_[0].function->endpoints().inputs.size(); ++i, ++next_) {
      for (Branch& branch : branches_) branch.seen[branch.function->endpoints().inputs[i]] = {next_, 0};
    }
    for (const int first : branches_[0].function->needed()) look_for(id, first);
    want();
    if (std::ranges::any_of(common_, &Common::wanted)) rewrite(id);
  }

  static const Graph& graph_of(const Branch& branch) { return branch.function->graph(); }

  // The value numbers of the node's inputs; nullopt if an input has none.
  static std::optional<std::vector<NodeOutput>> numbers(const Branch& branch, const Node& node) {
    std::vector<NodeOutput> inputs;
    for (const NodeOutput& input : node.inputs()) {
      const auto found = branch.seen.find(input);
      if (found == branch.seen.end()) return std::nullopt;
      inputs.push_back(found->second);
    }
    return inputs;
  }

  void look_for(int conditional, int first) {
    const Node& node = graph_of(branches_[0]).at(first);
    const bool may_move = node.op().is_pure() && !calls_functions(node.op()) && node.control_inputs().empty() &&
                          node.num_outputs() > 0 &&
                          (node.is(OpKind::kConstant) || has_kernel(node, device_kind(graph_.at(conditional)))) &&
                          (node.device().empty() || node.device() == graph_.at(conditional).device());
    const std::optional<std::vector<NodeOutput>> inputs = numbers(branches_[0], node);
    if (!may_move || !inputs) return;
    Common found{.nodes = {first}, .number = next_, .inputs = *inputs};
    for (size_t b = 1; b < branches_.size(); ++b) {
      const Branch& branch = branches_[b];
      const auto is_same = [&](int other) {
        const Node& there = graph_of(branch).at(other);
        return &there.op() == &node.op() && there.device() == node.device() && there.control_inputs().empty() &&
               !branch.seen.contains({other, 0}) && std::ranges::equal(there.attrs(), node.attrs()) &&
               numbers(branch, there) == inputs;
      };
      const auto twin = std::ranges::find_if(branch.function->needed(), is_same);
      if (twin == branch.function->needed().end()) return;
      found.nodes.push_back(*twin);
    }
    ++next_;
    for (size_t b = 0; b < branches_.size(); ++b) {
      for (int k = 0; k < node.num_outputs(); ++k) branches_[b].seen[{found.nodes[b], k}] = {found.number, k};
    }
    if (node.is(OpKind::kConstant)) {
      constants_[found.number] = first;
    } else {
      common_.push_back(std::move(found));
    }
  }

  // Marks nodes that are worth moving, and the nodes that they need.
  void want() {
    for (auto common = common_.rbegin(); common != common_.rend(); ++common) {
      const Node& node = graph_of(branches_[0]).at(common->nodes[0]);
      const bool moves_only =
          node.has(Trait::kIdentity) || node.has(Trait::kDataMovement) || node.has(Trait::kShapeOnly);
      common->wanted = common->wanted || (!moves_only && !node.has(Trait::kElementwise));
      if (!common->wanted) continue;
      for (Common& other : common_) {
        for (const NodeOutput& input : common->inputs) other.wanted = other.wanted || other.number == input.node;
      }
    }
  }

  void rewrite(int id) {
    std::map<NodeOutput, NodeOutput> outside;  // by number
    for (size_t i = 0; i < branches_[0].function->endpoints().inputs.size(); ++i) {
      outside[{static_cast<int>(i), 0}] = graph_.at(id).input(static_cast<int>(i) + 1);
    }
    std::vector<FunctionDraft> drafts;
    for (const Branch& branch : branches_) drafts.emplace_back(*branch.function);
    std::vector<NodeOutput> added;
    for (const Common& common : common_) {
      if (!common.wanted) continue;
      ++changes_;
      if (!add_before(id, common, outside)) continue;
      const int outputs = graph_of(branches_[0]).at(common.nodes[0]).num_outputs();
      for (int k = 0; k < outputs; ++k) {
        const NodeOutput before = outside.at({common.number, k});
        if (!is_read_inside(common, k)) continue;
        added.push_back(before);
        for (size_t b = 0; b < drafts.size(); ++b) drafts[b].take_as_input({common.nodes[b], k}, graph_.info(before));
      }
    }
    if (added.empty()) return;
    NodeSpec spec = graph_.at(id).spec();
    spec.place = graph_.at(id).place();
    spec.name = free_name(graph_, spec.name);
    add_arguments(graph_, spec, added);
    size_t next = 0;
    replace_functions(spec.attrs, [&](const FunctionRef&) { return drafts[next++].finish(); });
    take_place_of_call(graph_, id, graph_.add(std::move(spec)));
  }

  // Returns false if its types or shapes do not fit; the branch then reports the error.
  bool add_before(int id, const Common& common, std::map<NodeOutput, NodeOutput>& outside) {
    const std::string name = graph_.at(id).name();
    const Node& node = graph_of(branches_[0]).at(common.nodes[0]);
    NodeSpec spec = node.spec();
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      const NodeOutput number = common.inputs[i];
      if (const auto constant = constants_.find(number.node); constant != constants_.end()) {
        const Node& from = graph_of(branches_[0]).at(constant->second);
        const Tensor& value = *constant_value(graph_of(branches_[0]), {from.id(), 0});
        if (!outside.contains(number)) {
          outside[number] = add_const(graph_, name + "/" + from.name(), value, graph_.at(id));
        }
      }
      const auto found = outside.find(number);
      if (found == outside.end()) return false;  // what it needs could not be moved
      spec.inputs[i] = found->second;
    }
    spec.name = free_name(graph_, name + "/" + node.name());
    spec.device = graph_.at(id).device();
    spec.internal_attrs.clear();
    int moved = -1;
    try {
      moved = add_inferred(graph_, std::move(spec));
    } catch (const Error& error) {
      if (is_stop(error)) throw;
      return false;
    }
    for (int k = 0; k < node.num_outputs(); ++k) outside[{common.number, k}] = {moved, k};
    return true;
  }

  // Whether a node that stays in a branch reads that output.
  bool is_read_inside(const Common& common, int k) const {
    for (size_t b = 0; b < branches_.size(); ++b) {
      const NodeOutput output{common.nodes[b], k};
      const Endpoints& endpoints = branches_[b].function->endpoints();
      if (std::ranges::find(endpoints.outputs, output) != endpoints.outputs.end()) return true;
      for (const NodeUse& use : graph_of(branches_[b]).at(output.node).consumers()) {
        const auto moves = [&](const Common& other) { return other.wanted && other.nodes[b] == use.node; };
        if (use.slot != NodeUse::kControl && use.output == k && std::ranges::none_of(common_, moves)) return true;
      }
    }
    return false;
  }

  PassContext& context_;
  Graph& graph_;
  std::vector<Branch> branches_;
  std::vector<Common> common_;    // in order, without constants
  std::map<int, int> constants_;  // by number: the first branch's node
  int next_ = 0;
  int changes_ = 0;
};

}  // namespace

int move_common_of_branches(PassContext& context) { return BranchMover(context).run(); }

}  // namespace panto::passes
