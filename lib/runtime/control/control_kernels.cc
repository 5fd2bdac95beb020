// Kernels of conditionals and loops. Each runs plans of the functions that it calls; a plan is made when it is first
// needed, so a branch that is never taken is never compiled.
//
// A round of a loop is one run of a plan of its body followed by its condition. Values that the body passes on
// unchanged are not outputs of that plan.
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/kernel.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/ops/control/control.h"
#include "panto/lib/runtime/control/depth.h"
#include "panto/lib/runtime/control/scalar_loop.h"
#include "panto/lib/runtime/plan/function_plans.h"
#include "panto/lib/runtime/plan/planning.h"
#include "panto/lib/runtime/step_stats.h"

namespace panto {
namespace {

using Inputs = std::span<const Tensor* const>;

// The device for nodes of called functions that ask for none: the calling node's device. Null for the first CPU: the
// device of their inputs.
Device* usual_device(const KernelContext& c) { return &c.device() == &cpu_device() ? nullptr : &c.device(); }

// Called functions may leave their results on other devices.
Tensor on_device_of(const KernelContext& c, Tensor t) {
  if (!is_plain(t.dtype()) || &t.device() == &c.device()) return t;
  return copy_to_device(t, c.device());
}

// Throws if nodes of a called function have state: such nodes are created at the first run, so their positions could
// not be restored.
void expect_at_beginning(NodeStates& states) {
  if (states.positions().empty()) return;
  fail(Code::kFailedPrecondition,
       "place of random numbers: expected none in conditionals and loops, got a node in one that has drawn some (draw "
       "them outside, or by a seed: stateless_random_uniform)");
}

// The plans of one function that one node calls.
class PlannedFunction {
 public:
  PlannedFunction(std::shared_ptr<const GraphFunction> function, Device* device,
                  std::shared_ptr<const Planning> planning)
      : function_(std::move(function)),
        planning_(std::move(planning)),
        plans_({.graph = function_->graph(),
                .inputs = function_->endpoints().inputs,
                .outputs = function_->endpoints().outputs,
                .effects = function_->endpoints().effects,
                .states = &states_,
                .device = device,
                .name = function_->name(),
                .planning = planning_,
                .check = [this](Inputs inputs) { function_->check_inputs(inputs); }}) {}
  PlannedFunction(const PlannedFunction&) = delete;
  PlannedFunction& operator=(const PlannedFunction&) = delete;

  bool is_of(const FunctionBody* function, const std::shared_ptr<const Planning>& planning) const {
    return function_.get() == function && same_planning(planning_, planning);
  }
  void expect_at_beginning() { panto::expect_at_beginning(states_); }
  void run(const Step& step, Inputs inputs, std::span<Tensor> outputs) {
    with_context([&] { return fmt::format("in function '{}'", function_->name()); },
                 [&] { plans_.run(step, inputs, planning_ == nullptr ? kAllPasses : planning_->passes, outputs); });
  }

 private:
  static const std::string kAllPasses;

  std::shared_ptr<const GraphFunction> function_;
  std::shared_ptr<const Planning> planning_;
  NodeStates states_{NodeStates::Identity::kId};
  FunctionPlans plans_;
};

const std::string PlannedFunction::kAllPasses;

// A node's shared state, with the `Planning` of one plan of the node.
template <class Kept>
struct InPlan final : FunctionPlanner {
  explicit InPlan(std::shared_ptr<Kept> of, std::shared_ptr<const Planning> how = nullptr)
      : kept(std::move(of)), planning(std::move(how)) {}
  std::string position() const override {
    kept->expect_at_beginning();
    return {};
  }
  void go_to(std::string_view) override {}
  std::shared_ptr<KernelState> in_plan(std::shared_ptr<const Planning> how) override {
    return std::make_shared<InPlan>(kept, std::move(how));
  }

  const std::shared_ptr<Kept> kept;
  const std::shared_ptr<const Planning> planning;
};

// The state of a conditional: the functions that it has called.
class CondState {
 public:
  void expect_at_beginning() {
    const std::lock_guard lock(mutex_);
    for (const auto& [function, planned] : functions_) planned->expect_at_beginning();
  }
  // `types`: of the node's outputs.
  PlannedFunction& planned(const FunctionRef& reference, const std::shared_ptr<const Planning>& planning,
                           Device* device, std::span<const DType> types) {
    for (const std::atomic<PlannedFunction*>& known : first_) {
      PlannedFunction* found = known.load(std::memory_order_acquire);
      if (found != nullptr && found->is_of(reference.body.get(), planning)) return *found;
    }
    return find(reference, planning, device, types);
  }

 private:
  PlannedFunction& find(const FunctionRef& reference, const std::shared_ptr<const Planning>& planning, Device* device,
                        std::span<const DType> types) {
    std::shared_ptr<const GraphFunction> function = graph_function(reference);
    detail::expect_outputs(*function, types);
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = functions_.equal_range(function.get());
    for (auto known = begin; known != end; ++known) {
      if (known->second->is_of(function.get(), planning)) return *known->second;
    }
    const FunctionBody* key = function.get();
    PlannedFunction* made =
        functions_.emplace(key, std::make_unique<PlannedFunction>(std::move(function), device, planning))->second.get();
    if (functions_.size() <= first_.size()) first_[functions_.size() - 1].store(made, std::memory_order_release);
    return *made;
  }

  std::array<std::atomic<PlannedFunction*>, 2> first_ = {};  // read without the lock
  std::mutex mutex_;
  std::multimap<const FunctionBody*, std::unique_ptr<PlannedFunction>> functions_;
};

std::shared_ptr<KernelState> prepare_cond(const KernelContext&) {
  return std::make_shared<InPlan<CondState>>(std::make_shared<CondState>());
}

void run_branch(KernelContext& c, const FunctionRef& branch) {
  const CallDepth deeper;
  const Inputs inputs = c.call().inputs.subspan(1);
  SmallVector<Tensor, 4> outputs(static_cast<size_t>(c.num_outputs()));
  const std::span<Tensor> made(outputs.data(), outputs.size());
  if (const auto* in_plan = c.state<InPlan<CondState>>()) {
    in_plan->kept->planned(branch, in_plan->planning, usual_device(c), c.types("Tout")).run(c.step(), inputs, made);
  } else {  // an eager call, which keeps no state
    CondState once;
    once.planned(branch, nullptr, usual_device(c), c.types("Tout")).run(c.step(), inputs, made);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    c.set_out(static_cast<int>(k), on_device_of(c, std::move(outputs[k])));
  }
}

void run_cond(KernelContext& c) {
  run_branch(c, detail::is_true(c.in(0)) ? c.function("then_branch") : c.function("else_branch"));
}

void run_case(KernelContext& c) {
  const auto branches = c.functions("branches");
  run_branch(c, branches[detail::branch_index(c.in(0), branches.size())]);
}

// ---- Loops -------------------------------------------------------------------------------------------------------

// One round: the body, then the condition on the body's outputs. Its outputs are the values that the body computes,
// then whether to go on.
class Round {
 public:
  Round(const GraphFunction& condition, const GraphFunction& body)
      : endpoints_(body.endpoints()), graph_(body.graph()) {
    const std::vector<NodeOutput> inputs = endpoints_.inputs;
    const std::vector<NodeOutput> given = endpoints_.outputs;
    std::vector<NodeOutput> condition_inputs;
    endpoints_.outputs.clear();
    for (size_t i = 0; i < given.size(); ++i) {
      const NodeOutput source = behind_identities(given[i]);
      const bool same = source == inputs[i];
      condition_inputs.push_back(same ? inputs[i] : given[i]);
      if (same) continue;
      made_.push_back(i);
      endpoints_.outputs.push_back(given[i]);
    }
    std::vector<int> effects;
    const int first_of_condition = graph_.id_limit();
    endpoints_.outputs.push_back(
        insert_function(graph_, condition, condition_inputs, graph_.unique_name("condition"), effects).at(0));
    // Run the condition's effects after the body's, even if the condition only reads state.
    for (int id = first_of_condition; id < graph_.id_limit(); ++id) {
      if (!graph_.at(id).op().has_effects()) continue;
      for (int before : endpoints_.effects) graph_.add_control_input(id, before);
    }
    endpoints_.effects.insert(endpoints_.effects.end(), effects.begin(), effects.end());
  }

  const Graph& graph() const { return graph_; }
  const Endpoints& endpoints() const { return endpoints_; }
  // Which of the loop's values the outputs are, without the last output.
  const std::vector<size_t>& made() const { return made_; }

 private:
  NodeOutput behind_identities(NodeOutput output) const {
    while (graph_.at(output.node).has(Trait::kIdentity) && graph_.at(output.node).control_inputs().empty()) {
      output = graph_.at(output.node).input(output.index);
    }
    return output;
  }

  Endpoints endpoints_;
  Graph graph_;
  std::vector<size_t> made_;
};

// The state of a loop.
class LoopState final : public KernelState {
 public:
  LoopState(std::shared_ptr<const GraphFunction> condition, std::shared_ptr<const GraphFunction> body, Device* device,
            std::shared_ptr<const Planning> planning)
      : body_(std::move(body)),
        device_(device),
        planning_(std::move(planning)),
        condition_(condition, device, planning_),
        round_(*condition, *body_) {}

  const GraphFunction& body() const { return *body_; }
  bool is_of(const GraphFunction* body, const std::shared_ptr<const Planning>& planning) const {
    return body_.get() == body && same_planning(planning_, planning);
  }
  void expect_at_beginning() {
    condition_.expect_at_beginning();
    panto::expect_at_beginning(states_);
  }
  PlannedFunction& condition() { return condition_; }
  const std::vector<size_t>& made() const { return round_.made(); }

  // A plan whose shapes hold in every round of a loop that begins with values of these types and shapes, and its run
  // state.
  struct Ready {
    std::vector<OutputInfo> begins_with;
    std::shared_ptr<const Executable> executable;
    std::unique_ptr<RunState> state;
    std::shared_ptr<const ScalarLoop> scalars;  // null: rounds do more than arithmetic on scalars
  };
  std::unique_ptr<Ready> take(const Step& step, Inputs values) {
    const auto fits = [&](const Ready& r) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (!(values[i]->partial_shape() == r.begins_with[i].shape)) return false;
      }
      return r.executable->accepts(values);
    };
    if (std::unique_ptr<Ready> found = ready_.take(fits)) return found;
    auto made = std::make_unique<Ready>();
    const std::vector<Tensor> known = detail::loop_invariant(*body_, values);
    std::vector<ExecutableFeed> feeds;
    for (size_t i = 0; i < values.size(); ++i) {
      made->begins_with.push_back({values[i]->dtype(), values[i]->partial_shape()});
      feeds.push_back(feed_like(round_.endpoints().inputs[i], *values[i]));
      feeds.back().info.shape = known[i].partial_shape();
      // A round may overwrite the value that the round before computed.
      feeds.back().given_away = std::ranges::find(round_.made(), i) != round_.made().end();
    }
    ExecutableOptions options = function_options(step, planning_.get(), body_->name());
    options.states = &states_;
    options.device = device_;
    made->executable =
        Executable::make(round_.graph(), feeds, round_.endpoints().outputs, round_.endpoints().effects, options);
    made->state = made->executable->new_state();
    if (device_ == nullptr) made->scalars = ScalarLoop::make(round_.graph(), round_.endpoints(), feeds, round_.made());
    return made;
  }
  void put(std::unique_ptr<Ready> ready) { ready_.put(std::move(ready)); }

 private:
  std::shared_ptr<const GraphFunction> body_;
  Device* device_;
  std::shared_ptr<const Planning> planning_;
  PlannedFunction condition_;
  Round round_;
  NodeStates states_{NodeStates::Identity::kId};
  ObjectPool<Ready> ready_;
};

// Creates LoopStates at the first run: the loop may never be reached, and its functions may not be runnable.
class LoopHolder {
 public:
  void expect_at_beginning() {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<LoopState>& loop : loops_) loop->expect_at_beginning();
  }
  LoopState& get(const KernelContext& c, const std::shared_ptr<const Planning>& planning) {
    std::shared_ptr<const GraphFunction> body = graph_function(c.function("body"));
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<LoopState>& known : loops_) {
      if (known->is_of(body.get(), planning)) return *known;
    }
    std::shared_ptr<const GraphFunction> condition = graph_function(c.function("cond"));
    for (const auto& function : {body, condition}) function->check_inputs(c.call().inputs);
    detail::expect_outputs(*body, c.types("T"));
    detail::expect_condition(*condition);
    loops_.push_back(std::make_unique<LoopState>(std::move(condition), std::move(body), usual_device(c), planning));
    return *loops_.back();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<LoopState>> loops_;
};

std::shared_ptr<KernelState> prepare_loop(const KernelContext&) {
  return std::make_shared<InPlan<LoopHolder>>(std::make_shared<LoopHolder>());
}

// Input i as the loop's own value. A variant that is not read afterwards is moved out of the input: the loop then owns
// its list and can change it in place.
Tensor own_value(const KernelContext& c, int i) {
  const Tensor& given = c.in(i);
  if (given.dtype() != kVariant || !c.may_take(i)) return given;
  for (int other = 0; other < c.num_inputs(); ++other) {
    if (other != i && c.in(other).impl() == given.impl()) return given;
  }
  Tensor own = allocate_tensor(given.device(), kVariant, given.shape());
  for (int64_t k = 0; k < given.numel(); ++k) {
    mutable_data<Variant>(own)[k].value = std::move(mutable_data<Variant>(given)[k].value);
  }
  return own;
}

void run_rounds(KernelContext& c, LoopState& loop) {
  const auto count = static_cast<size_t>(c.num_inputs());
  std::vector<Tensor> values;
  std::vector<const Tensor*> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) values.push_back(own_value(c, i));
  for (const Tensor& t : values) inputs.push_back(&t);
  loop.body().check_inputs(inputs);
  Tensor first;
  loop.condition().run(c.step(), inputs, {&first, 1});
  if (detail::is_true(first)) {
    const std::vector<size_t>& made = loop.made();
    std::vector<Tensor> outputs(made.size() + 1);
    std::unique_ptr<LoopState::Ready> ready = loop.take(c.step(), inputs);
    Step step = c.step();
    step.iteration = 0;
    bool more = true;
    // A profiler or trace wants to see the loop's single ops.
    if (ready->scalars != nullptr && watching_stats == nullptr) {
      more = ready->scalars->run(step, values, step.iteration);
    }
    while (more) {
      try {
        ready->executable->run(*ready->state, step, inputs, outputs);
      } catch (Error& error) {
        error.add_context(fmt::format("loop '{}', iteration {}", printable(c.call().node_name), step.iteration));
        throw;
      }
      bool moved = false;  // the round left a value on a device that it was not planned for
      for (size_t k = 0; k < made.size(); ++k) {
        moved = moved || &outputs[k].device() != &values[made[k]].device();
        // Drop the old value before the next round, which may overwrite the new one.
        values[made[k]] = std::exchange(outputs[k], Tensor());
      }
      more = detail::is_true(outputs.back());
      outputs.back() = Tensor();
      ++step.iteration;
      if (moved && more) {
        loop.put(std::move(ready));
        ready = loop.take(c.step(), inputs);
      }
    }
    loop.put(std::move(ready));
  }
  for (size_t i = 0; i < count; ++i) {
    const int at = static_cast<int>(i);
    // An output that is an unchanged input becomes a tensor of its own, except resource handles.
    const bool given = values[i].id() == c.in(at).id() && values[i].dtype() != kResource;
    c.set_out(at, given ? view_tensor(values[i], values[i].shape()) : on_device_of(c, std::move(values[i])));
  }
}

void run_loop(KernelContext& c) {
  const CallDepth deeper;
  if (const auto* in_plan = c.state<InPlan<LoopHolder>>()) {
    return run_rounds(c, in_plan->kept->get(c, in_plan->planning));
  }
  LoopHolder once;
  run_rounds(c, once.get(c, nullptr));
}

// Registers a kernel for every type of a condition.
struct ForEveryType {
  ForEveryType(const char* op, const Kernel& kernel) noexcept {
    for (int t = 0; t < kDTypeSlots; ++t) {
      if (dtypes::kAny.contains(static_cast<DType>(t))) KernelEntry(op, "CPU", static_cast<DType>(t), kernel);
    }
  }
};
constexpr Kernel kCondKernel{.run = run_cond, .prepare = prepare_cond};
constexpr Kernel kCaseKernel{.run = run_case, .prepare = prepare_cond};
constexpr Kernel kLoopKernel{.run = run_loop, .prepare = prepare_loop};
const ForEveryType if_kernels("If", kCondKernel);
const ForEveryType stateless_if_kernels("StatelessIf", kCondKernel);
const KernelEntry case_kernel("Case", "CPU", DType::kInvalid, kCaseKernel);
const KernelEntry stateless_case_kernel("StatelessCase", "CPU", DType::kInvalid, kCaseKernel);
const KernelEntry while_kernel("While", "CPU", DType::kInvalid, kLoopKernel);
const KernelEntry stateless_while_kernel("StatelessWhile", "CPU", DType::kInvalid, kLoopKernel);

}  // namespace
}  // namespace panto
