// Transform: gives calls another meaning. Inside `vmap` a call is one for each element of a batch, inside `jvp` it has
// tangents.
//
// Transforms and recorders are in one order, that in which they began. A tensor of a transform is Lifted and has no
// bytes, so that dispatch, which looks further where inputs have none, asks no other call about transforms. A call goes
// to the innermost transform among its inputs: recorders that began inside it hear the call, those outside hear the
// calls that its rule makes, which belong to the transforms further out.
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
  // Makes the outputs of a call, whose shapes are inferred, from what its inputs stand for: with public ops.
  virtual void run(Call& call) = 0;
  // Wants a call of which no input is its own.
  virtual bool takes(const Op& op) const {
    static_cast<void>(op);
    return false;
  }
  // Whether `run` has a rule for this composite as a whole; otherwise it gets the calls of the body.
  virtual bool has_rule(const Op& composite) const = 0;
  // Why a tensor of it has no value to be read, and what helps.
  virtual std::string why_no_value() const = 0;

  // Its number among the open ones of its thread, from 1; 0: it is not open.
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

// What `t` stands for in `transform`; null if it is not its own.
inline const Lifted* lifted_of(const Tensor& t, const Transform* transform) {
  const MetaInfo* meta = t.impl()->meta;
  return meta == nullptr || meta->lifted == nullptr || meta->lifted->of.get() != transform ? nullptr
                                                                                           : meta->lifted.get();
}

// What an op's rule for a transform sees of one call.
class PANTO_EXPORT RuleContext : public CallView {
 public:
  using CallView::CallView;
  // The op, with the same attributes, on these inputs.
  SmallVector<Tensor, 2> again(std::span<const Tensor> inputs) const;
  SmallVector<Tensor, 2> again(std::initializer_list<Tensor> inputs) const {
    return again({inputs.begin(), inputs.size()});
  }
};

// The transform that a call belongs to; null if there is none. Throws FailedPrecondition where an input is of one that
// has ended, or of another thread.
Transform* transform_of(const Call& call);
// transform.run(call), with what is outside of the transform only: recorders and transforms.
void run_transform(Transform& transform, Call& call);

}  // namespace panto
