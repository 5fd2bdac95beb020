// Transform: changes the meaning of op calls. Inside `vmap` a call acts on each element of a batch; inside `jvp` it
// also computes tangents.
//
// Transforms and recorders share one order: the order in which they began. A tensor inside a transform is Lifted and
// has no bytes. So dispatch checks for transforms only if an input has no bytes, and other calls cost nothing. A call
// goes to the innermost transform among its inputs. Recorders that began inside that transform hear the call itself;
// recorders outside hear the calls that the transform's rule makes, which may belong to outer transforms in turn.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"

namespace panto {

class PANTO_EXPORT Transform {
 public:
  Transform() = default;
  Transform(const Transform&) = delete;
  Transform& operator=(const Transform&) = delete;
  virtual ~Transform() = default;

  virtual std::string_view name() const = 0;  // "vmap"
  // Makes the outputs of a call by public ops, from the tensors that its inputs stand for. The shapes are inferred
  // already.
  virtual void run(Call& call) = 0;
  // True if the transform handles calls of this op even if no input belongs to it.
  virtual bool takes(const Op& op) const {
    static_cast<void>(op);
    return false;
  }
  // True if `run` has a rule for this composite; otherwise it gets the calls of the body.
  virtual bool has_rule(const Op& composite) const = 0;
  // Explains why a tensor of this transform has no readable value, and what to do instead.
  virtual std::string why_no_value() const = 0;

  // Its number among the open transforms of its thread, from 1; 0 if it is not open.
  int level() const noexcept { return level_; }

 private:
  friend class TransformScope;
  int level_ = 0;
};

// Opens a transform on this thread, until the scope ends. Scopes must end in reverse order.
class PANTO_EXPORT TransformScope {
 public:
  explicit TransformScope(std::shared_ptr<Transform> transform);
  ~TransformScope();
  TransformScope(const TransformScope&) = delete;
  TransformScope& operator=(const TransformScope&) = delete;

 private:
  std::shared_ptr<Transform> transform_;
};

// What `t` stands for in `transform`; null if `t` does not belong to it.
inline const Lifted* lifted_of(const Tensor& t, const Transform* transform) {
  const MetaInfo* meta = t.impl()->meta;
  return meta == nullptr || meta->lifted == nullptr || meta->lifted->of.get() != transform ? nullptr
                                                                                           : meta->lifted.get();
}

// One call, as an op's rule for a transform sees it.
class PANTO_EXPORT RuleContext : public CallView {
 public:
  using CallView::CallView;
  // Calls the op with the same attributes on these inputs.
  SmallVector<Tensor, 2> again(std::span<const Tensor> inputs) const;
  SmallVector<Tensor, 2> again(std::initializer_list<Tensor> inputs) const {
    return again({inputs.begin(), inputs.size()});
  }
};

// The transform that a call belongs to; null if there is none. Throws FailedPrecondition if an input belongs to a
// transform that has ended, or that is of another thread.
Transform* transform_of(const Call& call);
// Runs transform.run(call) with only those recorders and transforms active that are outside of the transform.
void run_transform(Transform& transform, Call& call);

}  // namespace panto
