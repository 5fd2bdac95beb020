#include "panto/lib/runtime/passes/elementwise_groups.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/ops/math/elementwise_program.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto::passes {

namespace {

constexpr int kMostSteps = 512;
constexpr size_t kMostRecomputed = 4;  // nodes, per value that is recomputed instead of stored
constexpr int64_t kCheap = 4;          // operations per element that may be done twice
constexpr size_t kMostLookedAt = 64;   // consumers of a value that are examined
constexpr int kNobody = -1, kSeveral = -2;

// Whether fused programs on the node's device can express the node.
bool has_part(const Node& node, std::span<const DType> operands) {
  const Op& op = node.op();
  const DeviceKind kind = device_kind(node);
  if (!kFusedElementwise.has_kernel(kind)) return false;
  const auto is_complex = [](DType t) { return t == kComplex64 || t == kComplex128; };
  if (!device_kind_info(kind).fuses_complex &&
      (is_complex(node.output(0).dtype) || std::ranges::any_of(operands, is_complex))) {
    return false;
  }
  const Kernel& kernel = op.kernel(kind, kernel_type(node));
  return op.is(OpKind::kCast) ? kernel.run != nullptr : kernel.payload != nullptr;
}

}  // namespace

bool may_be_step_there(const Graph& graph, const Node& node) {
  const Op& op = node.op();
  if (!may_be_step(op) || !node.control_inputs().empty()) return false;
  if (!node.output(0).shape.known_rank()) return false;
  SmallVector<DType, 3> operands;
  for (const NodeOutput& input : node.inputs()) operands.push_back(graph.info(input).dtype);
  if (step_result(op, kernel_type(node), operands) != node.output(0).dtype) return false;
  if (!has_part(node, operands)) return false;
  // A program cannot express attributes other than types.
  for (size_t i = 0; i < node.attrs().size(); ++i) {
    const AttrDef& attr = op.signature().attrs[i];
    if (attr.kind != AttrKind::kType && !(node.attrs()[i] == attr.default_value)) return false;
  }
  return true;
}

ElementwiseGroups::ElementwiseGroups(PassContext& context)
    : context_(context),
      graph_(context.graph),
      order_(graph_.topological_order()),
      level_(static_cast<size_t>(graph_.id_limit()), 0),
      group_(static_cast<size_t>(graph_.id_limit()), kNobody),
      position_(static_cast<size_t>(graph_.id_limit())) {
  for (size_t i = 0; i < order_.size(); ++i) position_[static_cast<size_t>(order_[i])] = static_cast<int>(i);
  for (int id : order_) visit(graph_.at(id));
  mark_reduced();
  join_equals();
  join_readers();
  collect_members();
  recompute();
}

bool ElementwiseGroups::alike(const Node& a, const Node& b) const {
  return a.output(0).shape == b.output(0).shape && a.device() == b.device() && context_.run_together(a.id(), b.id());
}

int ElementwiseGroups::of(int id) const {
  return static_cast<size_t>(id) >= group_.size() ? kNobody : group_[static_cast<size_t>(id)];
}

bool ElementwiseGroups::is_seen(int id) const {
  return std::ranges::any_of(graph_.at(id).consumers(), [&](const NodeUse& use) { return of(use.node) != of(id); });
}

// ---- Levels --------------------------------------------------------------------------------------------------------

int ElementwiseGroups::root(int g) {
  while (g >= 0 && group(g).parent != g) {
    int& parent = group(g).parent;
    parent = group(parent).parent;
    g = parent;
  }
  return g;
}
int ElementwiseGroups::level_of(int id) {
  const int g = root(of(id));
  return g < 0 ? level_[static_cast<size_t>(id)] : group(g).level;
}

void ElementwiseGroups::visit(const Node& node) {
  int highest = -1;
  for (const NodeOutput& input : node.inputs()) highest = std::max(highest, level_of(input.node));
  for (int input : node.control_inputs()) highest = std::max(highest, level_of(input));
  level_[static_cast<size_t>(node.id())] = highest + 1;
  if (!may_be_fused(node)) return;
  SmallVector<int, 4> joined;
  int size = 1;
  for (const NodeOutput& input : node.inputs()) {
    if (level_of(input.node) < highest) continue;
    const int g = root(of(input.node));
    if (g < 0 || !alike(node, graph_.at(input.node))) return begin(node, highest + 1);
    if (std::ranges::find(joined, g) != joined.end()) continue;
    joined.push_back(g);
    size += group(g).size;
  }
  if (joined.empty() || size > kMostSteps) return begin(node, highest + 1);
  for (size_t i = 1; i < joined.size(); ++i) merge(joined[0], joined[i]);
  ++group(joined[0]).size;
  group_[static_cast<size_t>(node.id())] = joined[0];
}

void ElementwiseGroups::begin(const Node& node, int level) {
  const int g = static_cast<int>(groups_.size());
  group_[static_cast<size_t>(node.id())] = g;
  groups_.push_back({.parent = g, .like = node.id(), .level = level});
}

bool ElementwiseGroups::may_be_one(int a, int b) {
  return alike(graph_.at(group(a).like), graph_.at(group(b).like)) && group(a).size + group(b).size <= kMostSteps;
}

void ElementwiseGroups::merge(int into, int from) {
  group(from).parent = into;
  group(into).size += group(from).size;
}

// ---- Joining -------------------------------------------------------------------------------------------------------

void ElementwiseGroups::mark_reduced() {
  for (int id : order_) {
    const int g = root(of(id));
    const Node& node = graph_.at(id);
    if (g >= 0 && has_one_reader(node) && reduction_name(graph_.at(node.consumers()[0].node).op()) != nullptr) {
      group(g).reduced = true;
    }
  }
}

// Joins groups of one level that read the same value, if it has the size of their own values.
void ElementwiseGroups::join_equals() {
  for (int id : order_) {
    std::map<int, int> by_level;  // of the groups that read an output of this node
    for (const NodeUse& use : graph_.at(id).consumers()) {
      const int g = use.slot == NodeUse::kControl ? kNobody : root(of(use.node));
      if (g < 0 || g == root(of(id)) ||
          !(graph_.info({id, use.output}).shape == graph_.at(group(g).like).output(0).shape)) {
        continue;
      }
      const auto [found, first] = by_level.emplace(group(g).level, g);
      const int other = root(found->second);
      if (!first && other != g && !group(g).reduced && !group(other).reduced && may_be_one(g, other)) merge(other, g);
    }
  }
}

// The only other group that reads the node; kNobody if there is none, kSeveral if other nodes read it or wait for it
// too.
int ElementwiseGroups::only_reader(int id) {
  const int own = root(of(id));
  int reader = kNobody;
  for (const NodeUse& use : graph_.at(id).consumers()) {
    const int other = use.slot == NodeUse::kControl ? kNobody : root(of(use.node));
    if (other == own) continue;
    if (other < 0 || (reader >= 0 && reader != other)) return kSeveral;
    reader = other;
  }
  return reader;
}

// Goes from consumers to producers, so that a group's reader has already joined its own reader.
void ElementwiseGroups::join_readers() {
  collect_members();
  std::vector<int> by_level(groups_.size());
  std::iota(by_level.begin(), by_level.end(), 0);
  std::ranges::stable_sort(by_level, std::greater{}, [&](int g) { return group(g).level; });
  for (const int g : by_level) {
    int reader = kNobody;
    for (int id : members_[static_cast<size_t>(g)]) {
      const int other = only_reader(id);
      if (other == kNobody) continue;
      reader = reader == kNobody || reader == other ? other : kSeveral;
      if (reader == kSeveral) break;
    }
    if (reader >= 0 && may_be_one(reader, g)) merge(reader, g);
  }
}

void ElementwiseGroups::collect_members() {
  members_.assign(groups_.size(), {});
  for (int id : order_) {
    int& g = group_[static_cast<size_t>(id)];
    g = root(g);
    if (g >= 0) members_[static_cast<size_t>(g)].push_back(id);
  }
}

bool ElementwiseGroups::may_be_fused(const Node& node) const {
  return !context_.fixed_in_flow(node.id()) && may_be_step_there(graph_, node);
}

// ---- Recomputation -------------------------------------------------------------------------------------------------

void ElementwiseGroups::recompute() {
  num_inputs_.resize(groups_.size());
  for (size_t g = 0; g < groups_.size(); ++g) {
    const std::vector<int> nodes = members_[g];
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
      const int from = static_cast<int>(g), reader = of(*id) == from ? only_reader(*id) : kNobody;
      if (reader < 0 || !alike(graph_.at(*id), graph_.at(group(reader).like))) continue;
      Cone cone;
      if (!collect(*id, from, reader, cone) || cone.whole > 1 || !fits(cone, reader)) continue;
      const std::vector<int> copied = needed_here(cone, reader);
      const bool cheap =
          std::ranges::all_of(copied, [&](int node) { return flops_of_element(graph_, graph_.at(node)) <= kCheap; });
      if (cheap) compute_in(reader, cone, copied);
    }
  }
}

// Collects the nodes that `reader` must compute to make this value of group `from`. Returns false if there are too
// many.
bool ElementwiseGroups::collect(int id, int from, int reader, Cone& cone) const {
  for (const NodeOutput& input : graph_.at(id).inputs()) {
    if (std::ranges::find(cone.nodes, input.node) != cone.nodes.end() || copies_.contains({input.node, reader}) ||
        reads(reader, input)) {
      continue;
    }
    if (of(input.node) == from && !is_wanted_elsewhere(input.node, reader)) {
      if (!collect(input.node, from, reader, cone)) return false;
    } else if (std::ranges::find(cone.read, input) == cone.read.end()) {
      cone.read.push_back(input);
      if (graph_.info(input).shape == graph_.at(id).output(0).shape) ++cone.whole;
    }
  }
  cone.nodes.push_back(id);
  return cone.nodes.size() <= kMostRecomputed;
}

bool ElementwiseGroups::reads(int reader, NodeOutput value) const {
  const auto consumers = graph_.at(value.node).consumers();
  return consumers.size() <= kMostLookedAt && std::ranges::any_of(consumers, [&](const NodeUse& use) {
           return use.slot != NodeUse::kControl && use.output == value.index && of(use.node) == reader;
         });
}

// Whether nodes outside of its group and `reader` use the node, so that it is stored anyway.
bool ElementwiseGroups::is_wanted_elsewhere(int id, int reader) const {
  return std::ranges::any_of(graph_.at(id).consumers(), [&](const NodeUse& use) {
    return use.slot == NodeUse::kControl || (of(use.node) != of(id) && of(use.node) != reader);
  });
}

bool ElementwiseGroups::fits(const Cone& cone, int reader) {
  const std::vector<int>& nodes = members_[static_cast<size_t>(reader)];
  if (nodes.size() + cone.nodes.size() > kMostSteps) return false;
  std::optional<size_t>& inputs = num_inputs_[static_cast<size_t>(reader)];
  if (!inputs) {
    std::set<std::pair<int, int>> found;
    for (int id : nodes) {
      for (const NodeOutput& input : graph_.at(id).inputs()) {
        if (of(input.node) != reader) found.emplace(input.node, input.index);
      }
    }
    inputs = found.size();
  }
  return *inputs + cone.read.size() <= device_kind_info(device_kind(graph_.at(nodes[0]))).most_fused_inputs;
}

// Of the nodes that `reader` will compute, those that stay needed elsewhere and so must be copied; inputs last.
std::vector<int> ElementwiseGroups::needed_here(const Cone& cone, int reader) const {
  std::vector<int> needed;
  const auto contains = [](const std::vector<int>& ids, int id) { return std::ranges::find(ids, id) != ids.end(); };
  for (auto id = cone.nodes.rbegin(); id != cone.nodes.rend(); ++id) {
    const bool goes = std::ranges::all_of(graph_.at(*id).consumers(), [&](const NodeUse& use) {
      return of(use.node) == reader || (contains(cone.nodes, use.node) && !contains(needed, use.node));
    });
    if (!goes) needed.push_back(*id);
  }
  return needed;
}

void ElementwiseGroups::compute_in(int reader, const Cone& cone, const std::vector<int>& copied) {
  num_inputs_[static_cast<size_t>(reader)].reset();
  for (int id : cone.nodes) {
    int now = id;
    if (std::ranges::find(copied, id) != copied.end()) {
      NodeSpec copy = graph_.at(id).spec();
      copy.name = free_name(graph_, copy.name);
      now = graph_.add(std::move(copy));
      group_.resize(static_cast<size_t>(now) + 1, kNobody);
      position_.resize(static_cast<size_t>(now) + 1);
      position_[static_cast<size_t>(now)] = position_[static_cast<size_t>(id)];
      copies_[{id, reader}] = now;
    } else {
      std::erase(members_[static_cast<size_t>(of(id))], id);
    }
    group_[static_cast<size_t>(now)] = reader;
    std::vector<int>& nodes = members_[static_cast<size_t>(reader)];
    const auto by_position = [&](int a) { return position_[static_cast<size_t>(a)]; };
    nodes.insert(std::ranges::upper_bound(nodes, by_position(now), {}, by_position), now);
  }
  // Make the group's nodes read its own copies.
  for (int id : members_[static_cast<size_t>(reader)]) {
    for (int k = 0; k < graph_.at(id).num_inputs(); ++k) {
      const NodeOutput input = graph_.at(id).input(k);
      const auto copy = copies_.find({input.node, reader});
      if (copy != copies_.end()) graph_.set_input(id, k, {copy->second, input.index});
    }
  }
}

}  // namespace panto::passes
