#include "panto/lib/core/call/transform.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/call/thread_state.h"

namespace panto {
namespace {

// While a rule runs: only the transforms outside of its own are open.
class OutsideOf {
 public:
  explicit OutsideOf(int level) : pause_(level), kept_(thread_state().transforms) {
    thread_state().transforms.resize(static_cast<size_t>(level - 1));
  }
  ~OutsideOf() { thread_state().transforms = std::move(kept_); }
  OutsideOf(const OutsideOf&) = delete;
  OutsideOf& operator=(const OutsideOf&) = delete;

 private:
  RecorderPause pause_;
  LibraryScope inside_;
  SmallVector<Transform*, 4> kept_;
};

}  // namespace

TransformScope::TransformScope(std::shared_ptr<Transform> transform) : transform_(std::move(transform)) {
  auto& open = thread_state().transforms;
  open.push_back(transform_.get());
  transform_->level_ = static_cast<int>(open.size());
}

TransformScope::~TransformScope() {
  thread_state().transforms.pop_back();
  transform_->level_ = 0;
}

SmallVector<Tensor, 2> RuleContext::again(std::span<const Tensor> inputs) const {
  return dispatch::call(op(), dispatch::pointers_to(inputs), call().attrs, {.where = call().where});
}

Transform* transform_of(const Call& call) {
  const auto& open = thread_state().transforms;
  Transform* innermost = nullptr;
  for (const Tensor* t : call.inputs) {
    const MetaInfo* meta = t->impl()->meta;
    if (meta == nullptr || meta->lifted == nullptr) continue;
    Transform* const of = meta->lifted->of.get();
    const auto level = static_cast<size_t>(of->level());
    if (level == 0 || level > open.size() || open[level - 1] != of) {
      failf(Code::kFailedPrecondition,
            "tensor inside {0}: expected a call inside the function that is given to {0}, on its thread, got one "
            "outside",
            of->name());
    }
    if (innermost == nullptr || of->level() > innermost->level()) innermost = of;
  }
  for (size_t i = open.size(); innermost == nullptr && i-- > 0;) {
    if (open[i]->takes(*call.op)) innermost = open[i];
  }
  return innermost;
}

void run_transform(Transform& transform, Call& call) {
  const OutsideOf outside(transform.level());
  transform.run(call);
}

}  // namespace panto
