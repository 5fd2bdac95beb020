#include "panto/lib/runtime/control/scalar_loop.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/lists/element_shape.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/passes/elementwise_groups.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/lib/runtime/placement/placer.h"
#include "panto/lib/runtime/rewrite.h"
#include "panto/ops/control.h"

namespace panto {

namespace {

constexpr size_t kMostInputs = 64;  // of an elementwise program
constexpr int kMostNodes = 1000;

bool is_number(const OutputInfo& info) {
  return is_plain(info.dtype) && info.shape.fully_known() && info.shape.numel() == 1;
}

// A cheap first check: all tensors of the loop have one element, in host memory, and a round has no effects.
bool may_be_scalar(const Graph& graph, const Endpoints& round, std::span<const ExecutableFeed> feeds) {
  if (!round.effects.empty() || graph.num_nodes() > kMostNodes) return false;
  for (const ExecutableFeed& feed : feeds) {
    if (is_plain(feed.info.dtype) && (!is_number(feed.info) || feed.device != &cpu_device())) return false;
  }
  return true;
}

}  // namespace

// Translates the optimized graph of a round to a program.
class ScalarLoopMaker {
 public:
  ScalarLoopMaker(const WorkGraph& work, std::span<const size_t> made)
      : graph_(work.graph), feeds_(work.feeds), sink_(work.graph.at(work.sink)) {
    next_.resize(feeds_.size());
    for (size_t k = 0; k < made.size(); ++k) next_[made[k]] = behind_identities(sink_.inputs()[k]);
  }

  // Returns null if that is not possible.
  std::unique_ptr<ScalarLoop> make() {
    if (!find_lists() || !find_inputs()) return nullptr;
    for (const int id : graph_.topological_order()) {
      if (id != sink_.id() && !add_step(graph_.at(id))) return nullptr;
    }
    const std::optional<int64_t> condition = value_of(sink_.inputs().back());
    if (!condition || *condition < static_cast<int64_t>(input_types_.size())) return nullptr;
    if (graph_.info(sink_.inputs().back()).dtype != kBool) return nullptr;
    return call_of(*condition);
  }

 private:
  using Numbers = std::vector<int64_t>;

  NodeOutput behind_identities(NodeOutput output) const {
    while (is_alias(graph_.at(output.node))) output = graph_.at(output.node).input(output.index);
    return output;
  }
  static bool is_alias(const Node& node) {
    return node.has(Trait::kIdentity) && node.control_inputs().empty() && !node.op().has_effects();
  }
  std::optional<int64_t> value_of(NodeOutput output) const {
    const auto found = values_.find(behind_identities(output));
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  // Records how a round changes the list in feed i: its only consumer pops from it or pushes to it. Returns false if
  // the list is used in any other way.
  bool find_list(size_t i) {
    const NodeOutput feed = feeds_[i];
    const Node* user = nullptr;
    for (const NodeUse& use : graph_.at(feed.node).consumers()) {
      if (use.slot != 0 || user != nullptr) return false;
      user = &graph_.at(use.node);
    }
    if (user == nullptr || !next_[i] || *next_[i] != NodeOutput{user->id(), 0} || !user->control_inputs().empty()) {
      return false;
    }
    if (user->is(OpKind::kPopBack)) {
      const Tensor* spelled = constant_value(graph_, user->input(1));
      if (spelled == nullptr || !is_plain(user->output(1).dtype)) return false;
      const bool is_known = is_number(user->output(1));
      if (!is_known && !spelled_element_shape(*spelled).compatible_with(Shape{})) return false;
      read_shapes_.push_back(is_known ? user->output(1).shape : Shape{});
      read_.push_back(i);
      popped_.push_back({user->id(), 1});
      return true;
    }
    if (!user->is(OpKind::kPushBack) || !is_number(graph_.info(user->input(1)))) return false;
    written_.push_back(i);
    pushed_.push_back(user->input(1));
    return true;
  }

  bool find_lists() {
    for (size_t i = 0; i < feeds_.size(); ++i) {
      const OutputInfo& info = graph_.info(feeds_[i]);
      if (is_plain(info.dtype)) continue;
      const bool unused = !next_[i] && graph_.at(feeds_[i].node).consumers().empty();
      if (!unused && (info.dtype != kVariant || !find_list(i))) return false;
    }
    return true;
  }

  // The program's inputs: numbers of the loop, constants, then elements of lists.
  bool find_inputs() {
    for (size_t i = 0; i < feeds_.size(); ++i) {
      if (!is_plain(graph_.info(feeds_[i]).dtype)) continue;
      add_input(feeds_[i]);
      scalars_.push_back(i);
    }
    for (const int id : graph_.ids()) {
      const Tensor* value = constant_value(graph_, {id, 0});
      if (value == nullptr || !is_number(graph_.at(id).output(0))) continue;
      add_input({id, 0});
      constants_.push_back(*value);
    }
    if (input_types_.empty()) return false;
    for (const NodeOutput element : popped_) add_input(element);
    return input_types_.size() <= kMostInputs;
  }
  void add_input(NodeOutput output) {
    values_[output] = static_cast<int64_t>(input_types_.size());
    input_types_.push_back(graph_.info(output).dtype);
  }

  // Returns false for a node that a program cannot express.
  bool add_step(const Node& node) {
    if (node.is(OpKind::kPlaceholder) || is_alias(node)) return true;
    if (node.is(OpKind::kConstant)) return node.control_inputs().empty();
    if (node.is(OpKind::kPopBack) || node.is(OpKind::kPushBack)) {
      return std::ranges::any_of(next_, [&](const auto& next) { return next && next->node == node.id(); });
    }
    if (node.num_outputs() != 1 || !is_number(node.output(0)) || node.device() != cpu_device().name() ||
        !passes::may_be_step_there(graph_, node)) {
      return false;
    }
    for (const NodeOutput& input : node.inputs()) {
      const std::optional<int64_t> value = value_of(input);
      if (!value) return false;
      operands_.push_back(*value);
    }
    ops_.push_back(node.op().name());
    types_.push_back(passes::kernel_type(node));
    values_[{node.id(), 0}] = static_cast<int64_t>(input_types_.size() + ops_.size() - 1);
    return true;
  }

  std::unique_ptr<ScalarLoop> call_of(int64_t condition) {
    Numbers carried, pushed;
    std::vector<PartialShape> shapes;
    for (size_t k = 0; k < scalars_.size() + constants_.size(); ++k) {
      std::optional<int64_t> next = static_cast<int64_t>(k);
      if (k < scalars_.size() && next_[scalars_[k]]) next = value_of(*next_[scalars_[k]]);
      if (!next) return nullptr;
      carried.push_back(*next);
      shapes.push_back(k < scalars_.size() ? graph_.info(feeds_[scalars_[k]]).shape
                                           : constants_[k - scalars_.size()].partial_shape());
      if (k < scalars_.size() && next_[scalars_[k]] && !(graph_.info(*next_[scalars_[k]]).shape == shapes.back())) {
        return nullptr;
      }
    }
    std::vector<Tensor> abstract_values;
    for (size_t k = 0; k < carried.size(); ++k) abstract_values.push_back(meta_tensor(input_types_[k], shapes[k]));
    shapes.insert(shapes.end(), read_shapes_.begin(), read_shapes_.end());
    for (const NodeOutput output : pushed_) {
      shapes.push_back(graph_.info(output).shape);
      const std::optional<int64_t> value = value_of(output);
      if (!value) return nullptr;
      pushed.push_back(*value);
    }
    auto loop = std::make_unique<ScalarLoop>();
    loop->constants_ = std::move(constants_);
    loop->scalars_ = scalars_.size();
    loop->inputs_ = scalars_;
    for (const auto* lists : {&read_, &written_})
      loop->inputs_.insert(loop->inputs_.end(), lists->begin(), lists->end());

    const auto count = [](const auto& list) { return static_cast<int64_t>(list.size()); };
    std::vector<DType> values(input_types_.begin(), input_types_.begin() + count(carried));
    abstract_values.resize(values.size() + read_.size() + written_.size(), meta_tensor(kVariant, Shape{}));
    std::vector<AttrValue> attrs;
    const auto set = [&](std::string_view name, AttrValue value) {
      set_by_name(kScalarLoop, attrs, name, std::move(value));
    };
    set("T", AttrValue(std::move(values)));
    set("num_read", AttrValue(count(read_)));
    set("num_written", AttrValue(count(written_)));
    set("Tin", AttrValue(std::move(input_types_)));
    set("Tout", AttrValue(std::vector<DType>{kBool}));
    set("ops", AttrValue(std::move(ops_)));
    set("types", AttrValue(std::move(types_)));
    set("operands", AttrValue(std::move(operands_)));
    set("outputs", AttrValue(Numbers{condition}));
    set("carried", AttrValue(std::move(carried)));
    set("pushed", AttrValue(std::move(pushed)));
    set("shapes", AttrValue(std::move(shapes)));
    loop->prepared_ = dispatch::prepare(kScalarLoop, abstract_values, attrs, cpu_device(), "");
    return loop;
  }

  const Graph& graph_;
  std::span<const NodeOutput> feeds_;
  const Node& sink_;
  std::vector<std::optional<NodeOutput>> next_;   // by value of the loop: its next value; nullopt: unchanged
  std::vector<size_t> scalars_, read_, written_;  // which values of the loop
  std::vector<PartialShape> read_shapes_;         // of the elements popped
  std::vector<NodeOutput> popped_, pushed_;       // the elements popped from `read_`, pushed to `written_`
  std::vector<Tensor> constants_;
  std::map<NodeOutput, int64_t> values_;  // of the program
  std::vector<DType> input_types_, types_;
  std::vector<std::string> ops_;
  Numbers operands_;
};

std::unique_ptr<ScalarLoop> ScalarLoop::make(const Graph& graph, const Endpoints& round,
                                             std::span<const ExecutableFeed> feeds, std::span<const size_t> made) {
  if (!may_be_scalar(graph, round, feeds)) return nullptr;
  std::vector<OutputInfo> infos;
  std::vector<Tensor> abstract_values;
  for (const ExecutableFeed& feed : feeds) {
    infos.push_back(feed.info);
    abstract_values.push_back(meta_tensor(feed.info.dtype, feed.info.shape));
  }
  const auto make_work = [&] {
    WorkGraph work = make_work_graph(graph, round.inputs, infos, round.outputs, {});
    infer_from_feeds(work, abstract_values);
    // Soft placement cannot hide a missing device here: the loop has been planned already.
    place_and_expand(work.graph, cpu_device(), true, nullptr);
    return work;
  };
  WorkGraph work = make_work();
  PassContext context{work.graph, work.sink, work.feeds, abstract_values};
  run_passes(context, portable_passes(""), [&] { return make_work().graph; });
  return ScalarLoopMaker(work, made).make();
}

bool ScalarLoop::run(const Step& step, std::span<Tensor> values, int64_t& rounds) const {
  SmallVector<const Tensor*, 16> inputs;
  for (size_t k = 0; k < scalars_; ++k) inputs.push_back(&values[inputs_[k]]);
  for (const Tensor& constant : constants_) inputs.push_back(&constant);
  for (size_t k = scalars_; k < inputs_.size(); ++k) inputs.push_back(&values[inputs_[k]]);
  std::vector<Tensor> outputs(inputs.size() + 2);
  dispatch::run(*prepared_, step, {inputs.data(), inputs.size()}, outputs);
  const auto done = outputs[outputs.size() - 2].item<int64_t>();
  if (done > 0) {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      values[inputs_[k]] = std::move(outputs[k < scalars_ ? k : k + constants_.size()]);
    }
  }
  rounds += done;
  return outputs.back().item<bool>();
}

}  // namespace panto
