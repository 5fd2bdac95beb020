#include "panto/lib/core/call/composite.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/transform.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::dispatch {
namespace {

// Checks the op calls of a body that runs for shape inference.
class EffectsCheck final : public Recorder {
 public:
  explicit EffectsCheck(const Op& composite) : composite_(composite) {}
  bool keeps(const Call&) override { return false; }
  void record(const Call& call) override { expect_effects(composite_, *call.op); }
  void record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) override {}
  bool symbolic() const override { return true; }

 private:
  const Op& composite_;
};

// True if the body has an effect on something that is not an argument (it draws from the process's generator, prints,
// or reads a variable of the program). A trace must hear these calls themselves, to order them and to capture what they
// use.
bool acts_by_itself(const Op& op) {
  if (std::ranges::none_of(op.effects(), [](const Effect& e) { return e.argument < 0; })) return false;
  // If the op has a kernel, the effect belongs to the op as a whole, as for any op.
  return std::ranges::none_of(device_kinds(), [&](DeviceKind kind) { return op.has_kernel(kind); });
}

// The transform that would take the call; null if a trace that began inside it records the call instead.
const Transform* transform_for(const Call& call, const ThreadState& state) {
  const bool meta = std::ranges::any_of(call.inputs, [](const Tensor* t) { return t->is_meta(); });
  if (!meta && state.transforms.empty()) return nullptr;
  const Transform* const transform = transform_of(call);
  if (transform == nullptr) return nullptr;
  const bool traced = std::ranges::any_of(
      state.recorders, [&](const Recorder* r) { return r->symbolic() && r->level() >= transform->level(); });
  return traced ? nullptr : transform;
}

}  // namespace

void expect_effects(const Op& composite, const Op& called) {
  constexpr std::pair<uint8_t, const char*> kEffects[] = {{Effect::kReads, "reads"},
                                                          {Effect::kWrites, "writes"},
                                                          {Effect::kAllocates, "allocates"},
                                                          {Effect::kRandom, "random"},
                                                          {Effect::kExternal, "external"}};
  for (const auto& [effect, name] : kEffects) {
    if (!called.has_effect(effect) || composite.has_effect(effect)) continue;
    failf(Code::kInternal, "op {}: expected `effects` to say what its body does, got nothing of `{}`, which {} does",
          composite.name(), name, called.name());
  }
}

bool must_expand(const Call& call, ThreadState& state) {
  look_at_recorders(state);
  if (acts_by_itself(*call.op)) return true;
  if (std::ranges::any_of(state.recorders, [&](const Recorder* r) { return r->looks_inside(call); })) return true;
  const Transform* const transform = transform_for(call, state);
  return transform != nullptr && !transform->has_rule(*call.op);
}

void run_body(Call& call) {
  const LibraryScope inside;
  CompositeContext context(call);
  call.op->body()(context);
  for (size_t k = 0; k < call.outputs.size(); ++k) {
    const Tensor& made = call.outputs[k];
    if (made.defined() && made.dtype() == call.specs[k].dtype) continue;
    failf(Code::kInternal, "output {} of the body: expected {}, got {}", k, dtype_name(call.specs[k].dtype),
          made.defined() ? dtype_name(made.dtype()) : "an undefined tensor");
  }
}

void infer_from_body(Call& call) {
  const RecorderPause unheard;
  EffectsCheck check(*call.op);
  const RecorderScope symbolic(&check);
  run_body(call);
  for (size_t k = 0; k < call.outputs.size(); ++k) {
    const Tensor made = std::exchange(call.outputs[k], Tensor());
    OutputSpec& spec = call.specs[k];
    spec.shape = made.partial_shape();
    spec.values = known_integers(made);
    if (made.is_meta()) spec.handle = made.impl()->meta->handle;
  }
}

}  // namespace panto::dispatch
