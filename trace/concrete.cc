#include "panto/trace/concrete_gradient.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <list>
#include <unordered_map>
#include <unordered_set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/functions/replay.h"
#include "panto/lib/graph/nodes.h"
#include "panto/ops/array.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/possible_gradients.h"

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
    const NodeOutput to{part.add(placeholder_spec(name, graph.info(cut))), 0};
    moved.emplace(cut, to);
    inputs.push_back(to);
  }
  // Copy a node if one of its outputs that is not a cut is needed.
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
    if (is_unknown(graph.at(id))) fail_unknown(graph.at(id));
    refuse_control_flow(graph.at(id));
    NodeSpec init = graph.at(id).spec();
    for (NodeOutput& in : init.inputs) in = moved.at(in);
    init.control_inputs.clear();
    init.name = part.unique_name(init.name);
    const int to = part.add(std::move(init));
    for (int k = 0; k < graph.at(id).num_outputs(); ++k) moved.try_emplace({id, k}, NodeOutput{to, k});
  }
  for (NodeOutput o : outputs) results.push_back(moved.at(o));
  return part;
}

ConcreteFunction::ConcreteFunction(Parts parts)
    : parts_(std::move(parts)),
      all_inputs_(arguments_and_captures()),
      plans_({.graph = parts_.graph,
              .inputs = all_inputs_,
              .outputs = parts_.outputs,
              .effects = parts_.effects,
              .fixed = parts_.captures.size(),
              .states = parts_.states.get(),
              .check = [this](Arguments inputs) {
                check_arguments(inputs.first(inputs.size() - parts_.captures.size()));
              }}) {
  draws_numbers_ = std::ranges::any_of(parts_.graph.ids(), [&](int id) {
    const Node& node = parts_.graph.at(id);
    return !is_unknown(node) && node.op().has_effect(Effect::kRandom);
  });
  calls_functions_ = std::ranges::any_of(parts_.graph.ids(), [&](int id) {
    const Node& node = parts_.graph.at(id);
    return !is_unknown(node) && calls_functions(node.op());
  });
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

[[gnu::always_inline]] inline void ConcreteFunction::run(Arguments args, const std::string& passes,
                                                         std::span<Tensor> outputs) {
  if (!parts_.captures.empty()) return run_with_captures(args, passes, outputs);
  plans_.run(*innermost_step, args, passes, outputs);
}

void ConcreteFunction::run_with_captures(Arguments args, const std::string& passes, std::span<Tensor> outputs) {
  SmallVector<const Tensor*, 8> inputs(args.begin(), args.end());
  for (const Capture& c : parts_.captures) inputs.push_back(&c.value);
  plans_.run(*innermost_step, inputs, passes, outputs);
}

void ConcreteFunction::call(Arguments args, const std::string& passes, std::span<Tensor> outputs) {
  // The usual case without recorders takes one check; recorders that were ended on other threads are handled below.
  if (const ThreadState& state = thread_state(); state.recorders.empty() && state.transforms.empty()) [[likely]]
    return run(args, passes, outputs);
  if (is_transformed(args)) [[unlikely]] {
    check_arguments(args);
    return inline_checked(args, outputs);
  }
  const auto listening = recorders();
  if (listening.empty()) return run(args, passes, outputs);
  check_arguments(args);
  if (std::ranges::any_of(listening, [](Recorder* r) { return r->inlines_functions(); })) {
    return inline_checked(args, outputs);
  }
  taped_call(args, passes, outputs);
}

// ---- Under a tape -----------------------------------------------------------------------------------------------

// A tape's record of one call.
class ConcreteFunction::FunctionBackward final : public CustomBackward {
 public:
  // Type and shape of an output's gradient; for a list, the list itself.
  struct Like {
    DType dtype;
    Shape shape;
    Tensor list;
  };
  // `kept` as in Gradient; `outputs`: by recorded output.
  FunctionBackward(std::shared_ptr<Gradient> gradient, std::vector<Tensor> kept, std::vector<Like> outputs,
                   std::string passes)
      : gradient_(std::move(gradient)),
        kept_(std::move(kept)),
        outputs_(std::move(outputs)),
        passes_(std::move(passes)) {}

  std::vector<Tensor> gradient(std::span<const Tensor> output_gradients, std::span<const uint8_t> needed) override {
    const std::shared_ptr<const Gradient::Part> part = gradient_->part(needed, output_gradients);
    std::vector<Tensor> result(needed.size());
    if (part->function == nullptr) return result;
    std::vector<Tensor> inputs;
    inputs.reserve(part->sources.size());
    for (const int source : part->sources) {
      if (source >= 0) {
        inputs.push_back(kept_[static_cast<size_t>(source)]);
      } else {
        const auto k = static_cast<size_t>(~source);
        inputs.push_back(output_gradients[k].defined() ? output_gradients[k] : zeros(outputs_[k]));
      }
    }
    std::vector<Tensor> dxs(part->function->num_outputs());
    part->function->call(dispatch::pointers_to(inputs), passes_, dxs);
    for (size_t i = 0; i < result.size(); ++i) {
      if (const int r = part->results[i]; r >= 0) result[i] = dxs[static_cast<size_t>(r)];
    }
    return result;
  }

  bool depends(size_t k, std::span<const uint8_t> tracked) const override {
    const std::vector<uint64_t>& from = gradient_->ways[k];
    for (size_t i = 0; i < tracked.size(); ++i) {
      if (tracked[i] != 0 && ((from[i / 64] >> (i % 64)) & 1) != 0) return true;
    }
    return false;
  }

 private:
  static Tensor zeros(const Like& like) {
    if (like.list.defined()) return zeros_like(like.list);
    Tensor t = allocate_tensor(cpu_device(), like.dtype, like.shape);
    std::fill_n(mutable_data<char>(t), t.nbytes(), '\0');
    return t;
  }

  std::shared_ptr<Gradient> gradient_;
  std::vector<Tensor> kept_;
  std::vector<Like> outputs_;
  std::string passes_;
};

namespace {

// The first position of each output in a list.
class Positions {
 public:
  explicit Positions(std::span<const NodeOutput> list) {
    for (size_t i = 0; i < list.size(); ++i) positions_.try_emplace(list[i], static_cast<int>(i));
  }
  // Returns -1 if it is not in the list.
  int find(NodeOutput output) const {
    const auto it = positions_.find(output);
    return it == positions_.end() ? -1 : it->second;
  }
  // Appends the output to the list unless it is there already; returns whether it did.
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

std::vector<NodeOutput> ConcreteFunction::arguments_and_captures() const {
  std::vector<NodeOutput> inputs = parts_.inputs;
  for (const Capture& c : parts_.captures) inputs.push_back(c.input);
  return inputs;
}

// Makes the gradients of the `seeded` outputs with respect to the `needed` inputs; an empty list means all. `graph`:
// the function's graph, with composites expanded where gradients need that.
// `stopped`: if not null, possible_gradients is used.
ConcreteFunction::Backward ConcreteFunction::make_backward(const Graph& graph, std::span<const NodeOutput> outputs,
                                                           std::span<const uint8_t> seeded,
                                                           std::span<const uint8_t> needed, bool* stopped) const {
  Backward b;
  b.graph = graph;
  const int forward_limit = b.graph.id_limit();
  std::vector<NodeOutput> ys;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const OutputInfo info = b.graph.info(outputs[k]);
    if (!differentiable(info.dtype) || (!seeded.empty() && seeded[k] == 0)) continue;
    ys.push_back(outputs[k]);
    b.seeds.push_back({b.graph.add(placeholder_spec(b.graph.unique_name("seed"), info)), 0});
    b.seed_positions.push_back(static_cast<int>(k));
  }
  std::vector<std::pair<NodeOutput, Tensor>> captured;
  for (const Capture& c : parts_.captures) captured.emplace_back(c.input, c.value);
  const std::vector<NodeOutput>& inputs = all_inputs_;
  std::vector<NodeOutput> xs;
  std::vector<size_t> positions;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!needed.empty() && needed[i] == 0) continue;
    xs.push_back(inputs[i]);
    positions.push_back(i);
  }
  const std::vector<NodeOutput> found = stopped == nullptr
                                            ? gradients(b.graph, ys, xs, b.seeds, captured)
                                            : possible_gradients(b.graph, ys, xs, b.seeds, captured, *stopped);
  b.dxs.resize(inputs.size());
  for (size_t i = 0; i < found.size(); ++i) b.dxs[positions[i]] = found[i];
  for (NodeOutput dx : b.dxs) {
    if (dx.valid()) b.valid.push_back(dx);
  }
  std::vector<uint8_t> forward_part(static_cast<size_t>(b.graph.id_limit()), 0);
  for (int id = 0; id < forward_limit; ++id) {
    const Node* node = b.graph.find(id);
    if (node != nullptr && !node->is(OpKind::kConstant)) forward_part[static_cast<size_t>(id)] = 1;
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
  std::shared_ptr<Gradient>& kept = gradients_[higher_orders ? 1 : 0];
  {
    const std::lock_guard lock(mutex_);
    if (kept != nullptr) return kept;
  }
  // Not under the lock, as this makes gradients of the functions that it calls, and one may call itself.
  thread_local std::vector<const ConcreteFunction*> being_made;
  if (std::ranges::find(being_made, this) != being_made.end()) {
    fail(Code::kUnimplemented, "gradient: expected a function that does not call itself, got one that does");
  }
  being_made.push_back(this);
  const std::unique_ptr<void, void (*)(void*)> done(this, [](void*) { being_made.pop_back(); });
  const std::vector<NodeOutput>& inputs = all_inputs_;
  Parts forward = parts_;
  expand_for_gradients(forward.graph, forward.outputs, inputs);
  Positions input_at(inputs), output_at(forward.outputs);
  bool stopped = false;
  Backward b = make_backward(forward.graph, forward.outputs, {}, {}, &stopped);
  // Second-order gradients flow through the inner values that the first-order gradient reads, so these become outputs
  // with seeds of their own. Their gradients may read further inner values, so repeat.
  auto made = std::make_shared<Gradient>();
  while (higher_orders) {
    bool more = false;
    for (NodeOutput c : b.cuts) {
      if (!differentiable(b.graph.info(c).dtype) || input_at.find(c) >= 0) continue;
      more = output_at.add(c, forward.outputs) || more;
    }
    if (!more) break;
    Backward larger = make_backward(forward.graph, forward.outputs, {}, {}, &stopped);
    if (made->all == nullptr && !stopped) made->all = std::make_unique<Backward>(std::move(b));
    b = std::move(larger);
  }
  made->recorded = forward.outputs.size();
  made->any = stopped || !b.valid.empty();
  made->ways = gradient_ways(forward.graph, forward.outputs, inputs);
  made->kept_outputs = b.cuts;
  for (NodeOutput c : b.cuts) {
    const int input = input_at.find(c);
    if (input < 0) output_at.add(c, forward.outputs);
    made->kept.push_back({input >= 0, input >= 0 ? input : output_at.find(c)});
  }
  if (made->all == nullptr && !stopped) made->all = std::make_unique<Backward>(std::move(b));
  made->forward = std::make_shared<ConcreteFunction>(std::move(forward));
  const std::lock_guard lock(mutex_);
  if (kept == nullptr) kept = made;
  return kept;
}

std::shared_ptr<const ConcreteFunction::Gradient::Part> ConcreteFunction::Gradient::part(
    std::span<const uint8_t> needed, std::span<const Tensor> output_gradients) {
  const auto has_seed = [](const Tensor& dy, uint8_t seeded) { return dy.defined() == (seeded != 0); };
  const std::lock_guard lock(mutex_);
  for (auto it = parts_.begin(); it != parts_.end(); ++it) {
    const Part& p = **it;
    if (!std::ranges::equal(needed, p.needed) || !std::ranges::equal(output_gradients, p.seeded, has_seed)) continue;
    parts_.splice(parts_.begin(), parts_, it);
    return parts_.front();
  }
  std::vector<uint8_t> seeded;
  for (const Tensor& dy : output_gradients) seeded.push_back(dy.defined() ? 1 : 0);
  parts_.push_front(make_part({needed.begin(), needed.end()}, std::move(seeded)));
  if (parts_.size() > kMostPlans) parts_.pop_back();
  return parts_.front();
}

std::shared_ptr<const ConcreteFunction::Gradient::Part> ConcreteFunction::Gradient::make_part(
    std::vector<uint8_t> needed, std::vector<uint8_t> seeded) {
  const Parts& parts = forward->parts_;
  const std::span<const NodeOutput> outputs = std::span(parts.outputs).first(recorded);
  const std::unique_ptr<Backward> whole = std::exchange(all, nullptr);
  Backward b = whole != nullptr && whole->answers(needed, seeded)
                   ? std::move(*whole)
                   : forward->make_backward(parts.graph, outputs, seeded, needed, nullptr);
  const Positions kept_at(kept_outputs);
  if (std::ranges::any_of(b.cuts, [&](NodeOutput c) { return kept_at.find(c) < 0; })) {
    // An op's gradient may read other values if fewer gradients are asked for. Only what the full gradient reads is
    // kept, so compute the full gradient, with zeros as missing seeds, and drop the unneeded results.
    bool stopped = false;
    b = forward->make_backward(parts.graph, outputs, {}, {}, &stopped);
    for (size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] == 0) b.dxs[i] = {};
    }
    b.valid.clear();
    std::ranges::copy_if(b.dxs, std::back_inserter(b.valid), [](NodeOutput dx) { return dx.valid(); });
  }
  auto made = std::make_shared<Part>();
  made->needed = std::move(needed);
  made->seeded = std::move(seeded);
  int valid = 0;
  for (NodeOutput dx : b.dxs) made->results.push_back(dx.valid() ? valid++ : -1);
  if (valid == 0) return made;
  std::vector<NodeOutput> cuts = b.cuts;
  for (NodeOutput c : b.cuts) made->sources.push_back(kept_at.find(c));
  for (size_t i = 0; i < b.seeds.size(); ++i) {
    cuts.push_back(b.seeds[i]);
    made->sources.push_back(~b.seed_positions[i]);
  }
  Parts backward;
  backward.states = parts.states->gradients();
  backward.graph = extract(b.graph, cuts, b.valid, backward.inputs, backward.outputs);
  for (NodeOutput in : backward.inputs) backward.specs.push_back(spec_of(backward.graph, in));
  made->function = std::make_shared<ConcreteFunction>(std::move(backward));
  return made;
}

void ConcreteFunction::taped_call(Arguments args, const std::string& passes, std::span<Tensor> outputs) {
  // Other recorders record the gradient when it is computed, and may differentiate it.
  const auto listening = recorders();
  const bool higher_orders =
      listening.size() > 1 || std::ranges::any_of(listening, [](Recorder* r) { return r->hears_own_gradients(); });
  // Conditionals and loops would have to keep more for each order; let the tapes record the single ops instead.
  if (higher_orders && calls_functions_) return inline_call(args, outputs);
  const std::shared_ptr<Gradient> grad = gradient(higher_orders);
  SmallVector<Tensor, 8> made(grad->forward->num_outputs());  // the outputs, and values that backward needs
  {
    const RecorderPause quiet;
    grad->forward->run(args, passes, made);
  }
  std::vector<Tensor> all_inputs;
  for (const Tensor* t : args) all_inputs.push_back(*t);
  for (const Capture& c : parts_.captures) all_inputs.push_back(c.value);
  if (grad->any) {
    std::vector<Tensor> kept;
    for (const Gradient::Kept& k : grad->kept) {
      const auto i = static_cast<size_t>(k.index);
      kept.push_back(k.argument ? all_inputs[i] : made[i]);
    }
    std::vector<FunctionBackward::Like> likes;
    for (size_t k = 0; k < grad->recorded; ++k) {
      const Tensor& t = made[k];
      likes.push_back({t.dtype(), t.shape(), t.dtype() == kVariant ? t : Tensor()});
    }
    auto backward = std::make_shared<FunctionBackward>(grad, std::move(kept), std::move(likes), passes);
    const std::span<const Tensor> results(made.data(), grad->recorded);
    for_each_recorder([&](Recorder& r) { r.record_custom(all_inputs, results, backward); });
  }
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = std::move(made[i]);
}

}  // namespace panto
