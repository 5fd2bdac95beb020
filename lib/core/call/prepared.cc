// Prepared calls: bound, inferred and given a kernel once, before values exist, and then run many times.
#include <algorithm>
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/call/call_steps.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/moved_inputs.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/step/async.h"
#include "panto/lib/core/step/step.h"

namespace panto::dispatch {
namespace {

[[gnu::noinline]] void run_on_moved_inputs(Call& call, const Kernel& kernel) {
  const MovedInputs moved(call);
  run_kernel(call, kernel);
}

// True if shape inference at preparation time gives the same result as in every run: all shapes are known, and all
// input values on which output shapes depend.
bool knows_all(const Call& call) {
  const CallView view(call);
  const auto& args = call.op->signature().inputs;
  for (size_t a = 0; a < args.size(); ++a) {
    const auto [first, last] = view.list(static_cast<int>(a));
    for (int i = first; i < last; ++i) {
      const Tensor& t = view.in(i);
      if (!t.partial_shape().fully_known()) return false;
      if (!args[a].host || !t.is_meta()) continue;
      const std::optional<PartialValues> values = known_integers(t);
      if (!values || std::ranges::any_of(*values, [](const auto& v) { return !v; })) return false;
    }
  }
  return true;
}

// Infers shapes in a run of a prepared call whose inputs were not all known. Kernels rely on shapes that their op's
// shape function has checked; later steps and reserved memory rely on the shapes that were inferred at preparation.
[[gnu::noinline]] void infer_late(Call& call, std::span<const OutputSpec> prepared) {
  if (call.op->has(Trait::kElementwise) && prepared.size() == 1 && same_known_shapes(call)) {
    call.specs.push_back({prepared[0].dtype, call.inputs[0]->impl()->shape});
  } else {
    infer(call);
    call.outputs.resize(prepared.size());  // the outputs exist already
  }
  for (size_t k = 0; k < prepared.size(); ++k) {
    const PartialShape& shape = call.specs[k].shape;
    if (prepared[k].shape.compatible_with(shape)) continue;
    failf(Code::kInternal, "output {}: expected shape {}, as prepared for, got {}", k, prepared[k].shape.to_string(),
          shape.to_string());
  }
}

}  // namespace

std::shared_ptr<Prepared> prepare(const Op& op, std::span<const Tensor> inputs, std::span<const AttrValue> attrs,
                                  Device& device, std::string_view node_name) {
  ensure_linked(op);
  auto prepared = std::make_shared<Prepared>();
  prepared->op_ = &op;
  prepared->device_ = &device;
  prepared->node_name_ = node_name;
  prepared->values_.reserve(op.signature().attrs.size());
  prepared->values_.assign(attrs.begin(), attrs.end());
  prepared->values_.resize(op.signature().attrs.size());
  for (const AttrValue& v : prepared->values_) prepared->slots_.push_back(borrow(v));
  const SmallVector<const Tensor*, 8> pointers = pointers_to(inputs);
  Call call;
  call.op = &op;
  call.inputs = pointers;
  call.attrs = {prepared->slots_.data(), prepared->slots_.size()};
  call.node_name = node_name;
  call.step = innermost_step;
  call.symbolic = true;
  try {
    bind_inputs(call, prepared->storage_);
    infer(call);
    call.device = &device;
    prepared->kernel_ = find_kernel(call);
    if (prepared->kernel_.prepare != nullptr) prepared->state_ = prepared->kernel_.prepare(KernelContext(call));
  } catch (Error& error) {
    error.add_context("in " + describe(call));
    if (!node_name.empty()) error.add_context(fmt::format("node '{}'", node_name));
    throw;
  }
  for (OutputSpec& spec : call.specs) prepared->specs_.push_back(std::move(spec));
  prepared->static_shapes_ = knows_all(call) && std::ranges::all_of(prepared->specs_, [](const OutputSpec& s) {
                               return s.shape.fully_known();
                             });
  prepared->allocated_ = prepared->static_shapes_ && !op.has(Trait::kSelfAllocating);
  for (size_t k = 0; prepared->allocated_ && k < prepared->specs_.size(); ++k) {
    prepared->allocations_.push_back({&prepared->output_device(k), prepared->specs_[k].shape.numel()});
  }
  return prepared;
}

Device& output_device(const Op& op, size_t k, Device& device) { return device_of_output(op, k, device); }
Device& Prepared::output_device(size_t k) const { return device_of_output(*op_, k, *device_); }

[[gnu::always_inline]] inline void Prepared::begin(Call& call, const Step& step,
                                                   std::span<const Tensor* const> inputs) const {
  call.op = op_;
  call.inputs = inputs;
  // Kernels only read attributes, but a Call has them mutable, because the dispatcher binds them.
  call.attrs = {const_cast<AttrSlot*>(slots_.data()), slots_.size()};  // NOLINT(*-const-cast)
  call.device = device_;
  call.node_name = node_name_;
  call.state = state_.get();
  call.step = &step;
}

[[gnu::always_inline]] inline void Prepared::make_outputs(Call& call, size_t count, uint64_t donated,
                                                          bool given) const {
  if (allocated_ && donated == 0) {
    for (size_t k = 0; k < count; ++k) {
      if (call.outputs[k].defined()) continue;
      const OutputSpec& spec = specs_[k];
      const auto& [device, numel] = allocations_[k];
      call.outputs[k] = allocate_tensor(*device, spec.dtype, static_cast<const Shape&>(spec.shape), numel);
    }
  } else if (op_->has(Trait::kSelfAllocating)) {
    if (static_shapes_) {
      for (const OutputSpec& s : specs_) call.specs.push_back({s.dtype, s.shape});
    } else {
      infer_late(call, specs());
    }
  } else {
    if (!static_shapes_) infer_late(call, specs());
    if (!given) {
      allocate(call, static_shapes_ ? specs() : std::span<const OutputSpec>(call.specs), donated, false);
    }
  }
}

[[gnu::noinline]] void Prepared::add_context(Error& error, const Call& call) const {
  error.add_context("in " + describe(call));
  if (!node_name_.empty()) error.add_context(fmt::format("node '{}'", node_name_));
}

// Flattened: otherwise it depends on the other files of the translation unit whether the compiler inlines ~Call here.
[[gnu::flatten]] void run(const Prepared& prepared, const Step& step, std::span<const Tensor* const> inputs,
                          std::span<Tensor> outputs, uint64_t donated) {
  Call call;
  prepared.begin(call, step, inputs);
  call.donated = donated;
  const size_t count = prepared.specs_.size();
  bool given = count > 0;
  for (size_t k = 0; k < count; ++k) {
    given = given && outputs[k].defined();
    call.outputs.push_back(std::move(outputs[k]));
  }
  try {
    prepared.make_outputs(call, count, donated, given);
    if (any_elsewhere(call)) [[unlikely]] {
      run_on_moved_inputs(call, prepared.kernel_);
    } else {
      run_kernel(call, prepared.kernel_);
    }
  } catch (Error& error) {
    prepared.add_context(error, call);
    throw;
  }
  for (size_t k = 0; k < count; ++k) outputs[k] = std::move(call.outputs[k]);
}

std::shared_ptr<StartedCall> start(const Prepared& prepared, const Step& step, std::span<const Tensor* const> inputs,
                                   Callable<void()> ended) {
  Call call;
  prepared.begin(call, step, inputs);
  call.outputs.resize(prepared.specs_.size());
  try {
    prepared.make_outputs(call, prepared.specs_.size(), 0, false);
    std::optional<MovedInputs> moved;
    if (any_elsewhere(call)) moved.emplace(call);
    return std::make_shared<StartedCall>(call, prepared.kernel_.start, std::move(ended));
  } catch (Error& error) {
    prepared.add_context(error, call);
    throw;
  }
}

void finish(const Prepared& prepared, StartedCall& started, std::span<Tensor> outputs) {
  try {
    started.finish(outputs);
  } catch (Error& error) {
    prepared.add_context(error, started.call());
    throw;
  }
}

}  // namespace panto::dispatch
