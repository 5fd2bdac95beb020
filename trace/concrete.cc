#include "panto/trace/concrete.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "panto/lib/base/format.h"
#include "panto/lib/core/dispatch.h"
#include "panto/lib/core/thread_state.h"
#include "panto/lib/graph/nodes.h"
#include "panto/trace/graph_gradients.h"

namespace panto {
namespace {

struct OutputHash {
  size_t operator()(NodeOutput o) const {
    return std::hash<int64_t>()((int64_t{o.node} << 32) | static_cast<int64_t>(o.index));
  }
};

}  // namespace

std::vector<uint8_t> reach(const Graph& graph, std::vector<int> roots, const std::vector<uint8_t>& stop) {
  std::vector<uint8_t> seen(static_cast<size_t>(graph.id_limit()), 0);
  while (!roots.empty()) {
    const int id = roots.back();
    roots.pop_back();
    if (std::exchange(seen[static_cast<size_t>(id)], uint8_t{1}) != 0 || stop[static_cast<size_t>(id)] != 0) continue;
    const Node& node = graph.at(id);
    for (NodeOutput in : node.inputs()) roots.push_back(in.node);
    for (int c : node.control_inputs()) roots.push_back(c);
  }
  return seen;
}

Graph extract(const Graph& graph, std::span<const NodeOutput> cuts, std::span<const NodeOutput> outputs,
              std::vector<NodeOutput>& inputs, std::vector<NodeOutput>& results) {
  Graph part;
  std::unordered_map<NodeOutput, NodeOutput, OutputHash> moved;
  for (NodeOutput cut : cuts) {
    const std::string name = part.unique_name(graph.at(cut.node).name());
    const NodeOutput to{part.add(placeholder_init(name, graph.info(cut))), 0};
    moved.emplace(cut, to);
    inputs.push_back(to);
  }
  // A node is copied if an output of it that is no cut is needed.
  std::vector<uint8_t> needed(static_cast<size_t>(graph.id_limit()), 0);
  std::vector<int> stack;
  auto want = [&](NodeOutput o) {
    if (moved.contains(o) || needed[static_cast<size_t>(o.node)] != 0) return;
    needed[static_cast<size_t>(o.node)] = 1;
    stack.push_back(o.node);
  };
  for (NodeOutput o : outputs) want(o);
  while (!stack.empty()) {
    const int id = stack.back();
    stack.pop_back();
    for (NodeOutput in : graph.at(id).inputs()) want(in);
  }
  for (int id : graph.topological_order()) {
    if (needed[static_cast<size_t>(id)] == 0) continue;
    NodeInit init = graph.at(id).init();
    for (NodeOutput& in : init.inputs) in = moved.at(in);
    init.control_inputs.clear();
    init.name = part.unique_name(init.name);
    const int to = part.add(std::move(init));
    for (int k = 0; k < graph.at(id).num_outputs(); ++k) moved.try_emplace({id, k}, NodeOutput{to, k});
  }
  for (NodeOutput o : outputs) results.push_back(moved.at(o));
  return part;
}

void ConcreteFunction::check_arguments(Arguments args) const {
  if (args.size() != parts_.specs.size()) {
    invalid("arguments: expected {}, got {}", parts_.specs.size(), args.size());
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const TensorSpec& spec = parts_.specs[i];
    const Tensor& t = *args[i];
    if (!t.defined()) invalid("argument '{}': expected {}, got an undefined tensor", spec.name, spec.to_string());
    if (t.dtype() != spec.dtype || !t.partial_shape().compatible_with(spec.shape)) {
      invalid("argument '{}': expected {}, got {}{}", spec.name, spec.to_string(), dtype_name(t.dtype()),
              t.partial_shape().to_string());
    }
  }
}

void ConcreteFunction::call(Arguments args, const std::string& passes, std::span<Tensor> outputs) {
  const auto listening = recorders();
  if (listening.empty()) return run(args, passes, outputs);
  check_arguments(args);
  if (std::ranges::any_of(listening, [](Recorder* r) { return r->inlines_functions(); })) {
    return inline_call(args, outputs);
  }
  taped_call(args, passes, outputs);
}

void ConcreteFunction::inline_call(Arguments args, std::span<Tensor> outputs) const {
  const LibraryScope inside;
  const Graph& graph = parts_.graph;
  std::vector<std::vector<Tensor>> values(static_cast<size_t>(graph.id_limit()));
  for (size_t i = 0; i < args.size(); ++i) values[static_cast<size_t>(parts_.inputs[i].node)] = {*args[i]};
  for (const Capture& c : parts_.captures) values[static_cast<size_t>(c.input.node)] = {c.value};
  std::vector<int> roots = parts_.effects;
  for (NodeOutput o : parts_.outputs) roots.push_back(o.node);
  const std::vector<uint8_t> needed =
      reach(graph, std::move(roots), std::vector<uint8_t>(static_cast<size_t>(graph.id_limit()), 0));
  for (int id : graph.topological_order()) {
    auto& made = values[static_cast<size_t>(id)];
    if (needed[static_cast<size_t>(id)] == 0 || !made.empty()) continue;
    const Node& node = graph.at(id);
    std::vector<const Tensor*> inputs;
    for (NodeOutput in : node.inputs()) {
      inputs.push_back(&values[static_cast<size_t>(in.node)][static_cast<size_t>(in.index)]);
    }
    std::vector<AttrSlot> slots;
    for (const AttrValue& a : node.attrs()) slots.push_back(borrow(a));
    dispatch::CallOptions options;
    options.node_name = node.name();
    for (Tensor& t : dispatch::call(node.op(), inputs, slots, options)) made.push_back(std::move(t));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NodeOutput o = parts_.outputs[i];
    outputs[i] = values[static_cast<size_t>(o.node)][static_cast<size_t>(o.index)];
  }
}

void ConcreteFunction::run(Arguments args, const std::string& passes, std::span<Tensor> outputs) {
  SmallVector<const Tensor*, 8> with_captures;
  Arguments inputs = args;
  if (!parts_.captures.empty()) {
    for (const Tensor* t : args) with_captures.push_back(t);
    for (const Capture& c : parts_.captures) with_captures.push_back(&c.value);
    inputs = with_captures;
  }
  const Compiled* frameless = frameless_ready_.load(std::memory_order_acquire);
  if (frameless != nullptr && frameless->passes == passes &&
      frameless->executable->run_without_frame(inputs, outputs)) {
    return;
  }
  std::unique_ptr<Ready> ready = ready_.take(
      [&](const Ready& r) { return r.compiled->executable->accepts(inputs) && r.compiled->passes == passes; });
  if (ready == nullptr) {
    ready = std::make_unique<Ready>(compiled(inputs, passes));
    ready->frame = ready->compiled->executable->frame();
  }
  ready->compiled->executable->run(*ready->frame, inputs, outputs);
  ready_.put(std::move(ready));
}

// `inputs`: arguments, then captures.
std::shared_ptr<const ConcreteFunction::Compiled> ConcreteFunction::compiled(Arguments inputs,
                                                                             const std::string& passes) {
  const Arguments args = inputs.first(inputs.size() - parts_.captures.size());
  check_arguments(args);
  const std::lock_guard lock(mutex_);
  const auto* known = compiled_.find(
      [&](const std::shared_ptr<const Compiled>& c) { return c->passes == passes && c->executable->accepts(inputs); });
  if (known != nullptr) return *known;
  std::vector<ExecutableFeed> feeds;
  for (size_t i = 0; i < args.size(); ++i) {
    feeds.push_back(feed_like(parts_.inputs[i], *args[i]));
  }
  for (const Capture& c : parts_.captures) {
    feeds.push_back(feed_like(c.input, c.value));
    if (c.value.dtype() == kResource) feeds.back().handle = c.value;
  }
  ExecutableOptions options;
  options.passes = passes;
  options.states = parts_.states.get();
  auto made = std::make_shared<const Compiled>(
      Compiled{passes, Executable::make(parts_.graph, feeds, parts_.outputs, parts_.effects, options)});
  made->executable->check(inputs);
  if (frameless_ == nullptr && !made->executable->needs_frame()) {
    frameless_ = made;
    frameless_ready_.store(frameless_.get(), std::memory_order_release);
  }
  compiled_.add(made);
  return made;
}

// ---- Under a tape -----------------------------------------------------------------------------------------------

// The function with its gradient: forward gives the outputs and what backward needs of the inner values.
struct ConcreteFunction::Gradient {
  std::shared_ptr<ConcreteFunction> forward;
  std::shared_ptr<ConcreteFunction> backward;  // null: no input has a gradient
  size_t recorded = 0;  // forward's outputs that tapes hear of: the visible ones; for higher orders inner values too
  // Where backward's inputs come from, in order: an argument (or capture) of forward, an output of it, or a seed.
  struct Source {
    enum class What { kArgument, kForwardOutput, kSeed } what;
    int index;
  };
  std::vector<Source> sources;
  std::vector<int> results;  // by argument and capture: position in backward's outputs, -1 if there is none
};

namespace {

// What a tape keeps of one call.
class FunctionBackward final : public CustomBackward {
 public:
  FunctionBackward(std::shared_ptr<ConcreteFunction> backward, std::vector<Tensor> inputs,
                   std::vector<int> seed_of_input, std::vector<std::pair<DType, Shape>> outputs,
                   std::vector<int> results, std::string passes)
      : backward_(std::move(backward)),
        inputs_(std::move(inputs)),
        seed_of_input_(std::move(seed_of_input)),
        outputs_(std::move(outputs)),
        results_(std::move(results)),
        passes_(std::move(passes)) {}

  std::vector<Tensor> gradient(std::span<const Tensor> output_gradients) override {
    std::vector<Tensor> inputs = inputs_;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int seed = seed_of_input_[i];
      if (seed < 0) continue;
      const Tensor& dy = output_gradients[static_cast<size_t>(seed)];
      inputs[i] = dy.defined() ? dy : zeros(outputs_[static_cast<size_t>(seed)]);
    }
    std::vector<Tensor> dxs(backward_->num_outputs());
    backward_->call(dispatch::pointers_to(inputs), passes_, dxs);
    std::vector<Tensor> result;
    for (int r : results_) result.push_back(r < 0 ? Tensor() : dxs[static_cast<size_t>(r)]);
    return result;
  }

 private:
  static Tensor zeros(const std::pair<DType, Shape>& like) {
    Tensor t = allocate_tensor(cpu_device(), like.first, like.second);
    std::fill_n(mutable_data<char>(t), t.nbytes(), '\0');
    return t;
  }

  std::shared_ptr<ConcreteFunction> backward_;
  std::vector<Tensor> inputs_;
  std::vector<int> seed_of_input_;
  std::vector<std::pair<DType, Shape>> outputs_;
  std::vector<int> results_;
  std::string passes_;
};

// Where each output stands in a list, the first time.
class Positions {
 public:
  explicit Positions(std::span<const NodeOutput> list) {
    for (size_t i = 0; i < list.size(); ++i) positions_.try_emplace(list[i], static_cast<int>(i));
  }
  // -1: nowhere.
  int find(NodeOutput output) const {
    const auto it = positions_.find(output);
    return it == positions_.end() ? -1 : it->second;
  }
  // Appends it to the list unless it is there; false if it is.
  bool add(NodeOutput output, std::vector<NodeOutput>& list) {
    const bool added = positions_.try_emplace(output, static_cast<int>(list.size())).second;
    if (added) list.push_back(output);
    return added;
  }

 private:
  std::unordered_map<NodeOutput, int, OutputHash> positions_;
};

TensorSpec spec_of(const Graph& graph, NodeOutput output) {
  const OutputInfo& info = graph.info(output);
  return TensorSpec(info.dtype, info.shape, graph.at(output.node).name());
}

}  // namespace

// Gradients with respect to outputs[...] of the forward function, as nodes after those of the forward part.
struct ConcreteFunction::Backward {
  Graph graph;
  std::vector<NodeOutput> seeds;    // Placeholders
  std::vector<int> seed_positions;  // which output each is the gradient of
  std::vector<NodeOutput> dxs;      // by argument and capture; invalid: no dependence
  std::vector<NodeOutput> valid;    // those of them that there are
  std::vector<NodeOutput> cuts;     // what the gradient nodes read of the forward part (constants are copied)
};

ConcreteFunction::Backward ConcreteFunction::make_backward(std::span<const NodeOutput> outputs,
                                                           std::span<const NodeOutput> inputs) const {
  Backward b;
  b.graph = parts_.graph;
  const int forward_limit = b.graph.id_limit();
  std::vector<NodeOutput> ys;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const OutputInfo info = b.graph.info(outputs[k]);
    if (!dtypes::kDifferentiable.contains(info.dtype)) continue;
    ys.push_back(outputs[k]);
    b.seeds.push_back({b.graph.add(placeholder_init(b.graph.unique_name("seed"), info)), 0});
    b.seed_positions.push_back(static_cast<int>(k));
  }
  std::vector<std::pair<NodeOutput, Tensor>> captured;
  for (const Capture& c : parts_.captures) captured.emplace_back(c.input, c.value);
  b.dxs = gradients(b.graph, ys, inputs, b.seeds, captured);
  for (NodeOutput dx : b.dxs) {
    if (dx.valid()) b.valid.push_back(dx);
  }
  std::vector<uint8_t> forward_part(static_cast<size_t>(b.graph.id_limit()), 0);
  for (int id = 0; id < forward_limit; ++id) {
    const Node* node = b.graph.find(id);
    if (node != nullptr && !node->has(Trait::kConstant)) forward_part[static_cast<size_t>(id)] = 1;
  }
  std::vector<int> roots;
  for (NodeOutput dx : b.valid) roots.push_back(dx.node);
  const std::vector<uint8_t> used = reach(b.graph, roots, forward_part);
  std::unordered_set<NodeOutput, OutputHash> cut_already;
  auto cut = [&](NodeOutput o) {
    if (forward_part[static_cast<size_t>(o.node)] != 0 && cut_already.insert(o).second) b.cuts.push_back(o);
  };
  for (int id = 0; id < b.graph.id_limit(); ++id) {
    if (used[static_cast<size_t>(id)] == 0 || forward_part[static_cast<size_t>(id)] != 0) continue;
    for (NodeOutput in : b.graph.at(id).inputs()) cut(in);
  }
  for (NodeOutput dx : b.valid) cut(dx);
  return b;
}

std::shared_ptr<ConcreteFunction::Gradient> ConcreteFunction::gradient(bool higher_orders) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Gradient>& kept = gradients_[higher_orders ? 1 : 0];
  if (kept != nullptr) return kept;
  std::vector<NodeOutput> inputs = parts_.inputs;
  for (const Capture& c : parts_.captures) inputs.push_back(c.input);
  Parts forward = parts_;
  Positions input_at(inputs), output_at(forward.outputs);
  Backward b = make_backward(forward.outputs, inputs);
  // A second order flows through the inner values that the first one reads: they become outputs with seeds of their
  // own. Their gradients may read more of them.
  auto made = std::make_shared<Gradient>();
  for (bool more = higher_orders; more;) {
    more = false;
    for (NodeOutput c : b.cuts) {
      if (!dtypes::kDifferentiable.contains(b.graph.info(c).dtype) || input_at.find(c) >= 0) continue;
      more = output_at.add(c, forward.outputs) || more;
    }
    if (more) b = make_backward(forward.outputs, inputs);
  }
  made->recorded = forward.outputs.size();
  int valid = 0;
  for (NodeOutput dx : b.dxs) made->results.push_back(dx.valid() ? valid++ : -1);
  for (NodeOutput c : b.cuts) {
    if (const int input = input_at.find(c); input >= 0) {
      made->sources.push_back({Gradient::Source::What::kArgument, input});
      continue;
    }
    output_at.add(c, forward.outputs);
    made->sources.push_back({Gradient::Source::What::kForwardOutput, output_at.find(c)});
  }
  std::vector<NodeOutput> cuts = b.cuts;
  for (size_t i = 0; i < b.seeds.size(); ++i) {
    cuts.push_back(b.seeds[i]);
    made->sources.push_back({Gradient::Source::What::kSeed, b.seed_positions[i]});
  }
  made->forward = std::make_shared<ConcreteFunction>(std::move(forward));
  if (!b.valid.empty()) {
    Parts backward;
    backward.states = parts_.states;
    backward.graph = extract(b.graph, cuts, b.valid, backward.inputs, backward.outputs);
    for (NodeOutput in : backward.inputs) backward.specs.push_back(spec_of(backward.graph, in));
    made->backward = std::make_shared<ConcreteFunction>(std::move(backward));
  }
  kept = made;
  return made;
}

void ConcreteFunction::taped_call(Arguments args, const std::string& passes, std::span<Tensor> outputs) {
  // Whoever else listens hears of the gradient when it is computed, and may differentiate that.
  const auto listening = recorders();
  const bool higher_orders =
      listening.size() > 1 || std::ranges::any_of(listening, [](Recorder* r) { return r->hears_own_gradients(); });
  const std::shared_ptr<Gradient> grad = gradient(higher_orders);
  SmallVector<Tensor, 8> made(grad->forward->num_outputs());  // the outputs, and what backward needs
  {
    const RecorderPause quiet;
    grad->forward->run(args, passes, made);
  }
  std::vector<Tensor> all_inputs;
  for (const Tensor* t : args) all_inputs.push_back(*t);
  for (const Capture& c : parts_.captures) all_inputs.push_back(c.value);
  if (grad->backward != nullptr) {
    std::vector<Tensor> kept;
    std::vector<int> seed_of_input;
    for (const Gradient::Source& s : grad->sources) {
      const bool seed = s.what == Gradient::Source::What::kSeed;
      seed_of_input.push_back(seed ? s.index : -1);
      if (seed) {
        kept.emplace_back();
      } else {
        const auto i = static_cast<size_t>(s.index);
        kept.push_back(s.what == Gradient::Source::What::kArgument ? all_inputs[i] : made[i]);
      }
    }
    std::vector<std::pair<DType, Shape>> likes;
    for (size_t k = 0; k < grad->recorded; ++k) likes.emplace_back(made[k].dtype(), made[k].shape());
    auto backward = std::make_shared<FunctionBackward>(grad->backward, std::move(kept), std::move(seed_of_input),
                                                       std::move(likes), grad->results, passes);
    const std::span<const Tensor> results(made.data(), grad->recorded);
    for_each_recorder([&](Recorder& r) { r.record_custom(all_inputs, results, backward); });
  }
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = std::move(made[i]);
}

}  // namespace panto
