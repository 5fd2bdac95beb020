#include "panto/autograd/transforms/custom_gradient.h"

#include <algorithm>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/vmap.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/transform.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/control/custom_gradient.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/state.h"

namespace panto {
namespace {

using detail::Tensors;

Tensors list_of(std::span<const Tensor> tensors) { return {tensors.begin(), tensors.end()}; }

// Applies a rule for one example to a batch.
class BatchedRule final : public GradientRule, public std::enable_shared_from_this<BatchedRule> {
 public:
  BatchedRule(std::shared_ptr<const GradientRule> one, std::vector<uint8_t> batched)
      : one_(std::move(one)), batched_(std::move(batched)) {}

  std::vector<Tensor> gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                               std::span<const Tensor> dys, std::span<const uint8_t> needed) const override {
    Tensors all = list_of(inputs);
    all.insert(all.end(), outputs.begin(), outputs.end());
    all.insert(all.end(), dys.begin(), dys.end());
    VmapOptions options{.in_axes = {}};
    std::vector<int64_t> counts(all.size(), 1);
    for (size_t i = 0; i < all.size(); ++i) {
      options.in_axes.push_back(i >= inputs.size() || batched_[i] != 0 ? 0 : kNoBatch);
    }
    const detail::TensorsFunction each = [&](const Tensors& own) {
      const std::span<const Tensor> parts(own);
      return one_->gradient(parts.first(inputs.size()), parts.subspan(inputs.size(), outputs.size()),
                            parts.subspan(inputs.size() + outputs.size()), needed);
    };
    Tensors dxs = detail::vmap_call(each, all, counts, options);
    for (size_t i = 0; i < dxs.size(); ++i) {
      if (dxs[i].defined() && batched_[i] == 0) dxs[i] = sum(dxs[i], {0});
    }
    return dxs;
  }
  std::shared_ptr<const GradientRule> batched(std::vector<uint8_t> batched, int64_t) const override {
    return std::make_shared<BatchedRule>(shared_from_this(), std::move(batched));
  }

 private:
  std::shared_ptr<const GradientRule> one_;
  std::vector<uint8_t> batched_;
};

// A rule whose batched form is a BatchedRule that refers to it.
template <class Rule>
class Shared : public GradientRule, public std::enable_shared_from_this<Rule> {
 public:
  std::shared_ptr<const GradientRule> batched(std::vector<uint8_t> batched, int64_t) const final {
    return std::make_shared<BatchedRule>(this->shared_from_this(), std::move(batched));
  }

 private:
  friend Rule;
  Shared() = default;
};

class WrittenRule final : public Shared<WrittenRule> {
 public:
  explicit WrittenRule(detail::PullbackFunction pullback) : pullback_(std::move(pullback)) {}

  std::vector<Tensor> gradient(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                               std::span<const Tensor> dys, std::span<const uint8_t>) const override {
    return pullback_(list_of(inputs), list_of(outputs), list_of(dys));
  }

 private:
  detail::PullbackFunction pullback_;
};

// Tensors and variables that a function used besides its arguments.
struct Used {
  Tensors tensors;           // floating
  Tensors variables;         // handles
  std::vector<DType> types;  // of the variables
};

// Runs the function again, on arguments behind a barrier, so that no pass merges the two computations.
class AgainRule final : public Shared<AgainRule> {
 public:
  AgainRule(detail::TensorsFunction again, size_t arguments, Used used)
      : again_(std::move(again)), arguments_(arguments), used_(std::move(used)) {}

  // `inputs`: the arguments, then the used tensors, then the values of the used variables.
  std::vector<Tensor> gradient(std::span<const Tensor> inputs, std::span<const Tensor>, std::span<const Tensor> dys,
                               std::span<const uint8_t>) const override {
    Tensors args;
    if (arguments_ > 0) args = behind_barrier(inputs.first(arguments_), dys);
    GradientTape tape({.watch_variables = false});
    std::vector<GradSource> sources;
    std::vector<size_t> positions;
    const auto watch = [&](const GradSource& source, size_t position) {
      tape.watch(source);
      sources.push_back(source);
      positions.push_back(position);
    };
    for (size_t i = 0; i < args.size(); ++i) {
      if (differentiable(args[i])) watch(args[i], i);
    }
    for (size_t i = 0; i < used_.tensors.size(); ++i) watch(used_.tensors[i], arguments_ + i);
    for (size_t i = 0; i < used_.variables.size(); ++i) {
      const Tensor& handle = used_.variables[i];
      watch(Variable::from_handle(handle, used_.types[i], PartialShape(), ""), arguments_ + used_.tensors.size() + i);
    }
    const Tensors results = again_(args);
    Tensors targets, seeds;
    for (size_t k = 0; k < results.size(); ++k) {
      if (!results[k].defined() || !differentiable(results[k])) continue;
      targets.push_back(results[k]);
      seeds.push_back(dys[k]);
    }
    const Tensors found = tape.gradients(targets, sources, seeds);
    std::vector<Tensor> dxs(inputs.size());
    for (size_t i = 0; i < found.size(); ++i) dxs[positions[i]] = found[i];
    return dxs;
  }

 private:
  detail::TensorsFunction again_;
  size_t arguments_;
  Used used_;
};

// Records the tensors and variables that a function uses besides its arguments.
class UseRecorder final : public Recorder {
 public:
  explicit UseRecorder(const Tensors& args) {
    for (const Tensor& t : args) made_.insert(t.id());
  }
  bool keeps(const Call&) override { return false; }
  bool inlines_functions() const override { return true; }
  void record(const Call& call) override {
    for (size_t i = 0; i < call.inputs.size(); ++i) note(*call.inputs[i], call);
    for (const Tensor& t : call.outputs) made_.insert(t.id());
  }
  void record_custom(std::span<const Tensor>, std::span<const Tensor> outputs,
                     std::shared_ptr<CustomBackward>) override {
    for (const Tensor& t : outputs) made_.insert(t.id());
  }
  Used take() { return std::move(used_); }

 private:
  void note(const Tensor& t, const Call& call) {
    const bool variable = t.dtype() == kResource && call.op->is(OpKind::kReadVariable);
    if ((!variable && !differentiable(t)) || t.impl()->literal || !made_.insert(t.id()).second) return;
    if (variable) {
      used_.variables.push_back(t);
      used_.types.push_back(call.outputs[0].dtype());
      return;
    }
    const MetaInfo* meta = t.impl()->meta;
    if (meta != nullptr && meta->trace != nullptr) {
      invalid("checkpoint: expected what was computed in the trace to be an argument, got {} used besides",
              t.to_string());
    }
    used_.tensors.push_back(t);
  }

  std::unordered_set<int64_t> made_;
  Used used_;
};

// Tensors that carry neither gradients nor tangents of `args`.
Tensors stopped(const Tensors& args) {
  Tensors result;
  for (const Tensor& t : args) result.push_back(t.defined() ? stop_gradient(t) : t);
  return result;
}

}  // namespace

detail::Tensors detail::custom_gradient_call(const TensorsFunction& f, const Tensors& args,
                                             const PullbackFunction& pullback) {
  Tensors results;
  {
    const RecorderPause traces_only{RecorderPause::AllButTraces{}};
    results = f(stopped(args));
  }
  // Tangents of other tensors that f used are dropped, as their gradients are.
  return with_gradient(stopped(results), args, std::make_shared<const WrittenRule>(pullback));
}

detail::Tensors detail::checkpoint_call(const TensorsFunction& f, const Tensors& args, const TensorsFunction& again) {
  Tensors results;
  Used used;
  {
    const RecorderPause traces_only{RecorderPause::AllButTraces{}};
    const Tensors inside = stopped(args);
    UseRecorder uses(inside);
    const RecorderScope scope(&uses);
    results = f(inside);
    used = uses.take();
  }
  Tensors inputs = args;
  inputs.insert(inputs.end(), used.tensors.begin(), used.tensors.end());
  for (size_t i = 0; i < used.variables.size(); ++i) {
    inputs.push_back(read_variable_op(used.variables[i], used.types[i]));
  }
  return with_gradient(stopped(results), inputs,
                       std::make_shared<const AgainRule>(again, args.size(), std::move(used)));
}

}  // namespace panto
