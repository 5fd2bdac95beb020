#include "panto/autograd/transforms/vmap.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "panto/autograd/transforms/rules.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/call/transform.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/array.h"

namespace panto {

BatchFn batch_rule_of(const Op& op) {
  if (op.batch() != nullptr) return op.batch();
  if (op.has(Trait::kShapeOnly)) return batching::shape_only;
  if (op.has(Trait::kElementwise) || op.is(OpKind::kFusedLoop)) return batching::elementwise;
  if (op.has(Trait::kIdentity)) return batching::each;
  if (op.has(Trait::kReduction)) return batching::axes<1>;
  return nullptr;
}

namespace {

class Vmap final : public Transform, public std::enable_shared_from_this<Vmap> {
 public:
  Vmap(int64_t size, Randomness randomness) : size_(size), randomness_(randomness) {}

  std::string_view name() const override { return "vmap"; }
  std::string why_no_value() const override {
    return "it has one for each element of the batch; to decide by a value use select, of which both sides are "
           "computed, and to see values return them";
  }
  bool has_rule(const Op& composite) const override { return batch_rule_of(composite) != nullptr; }
  bool takes(const Op& op) const override {
    return op.has_effect(Effect::kRandom) && randomness_ != Randomness::kSame && !calls_functions(op);
  }

  void run(Call& call) override {
    std::vector<Tensor> inputs;
    std::vector<uint8_t> batched;
    for (const Tensor* t : call.inputs) {
      const Lifted* lifted = lifted_of(*t, this);
      inputs.push_back(lifted != nullptr ? lifted->value : *t);
      batched.push_back(lifted != nullptr ? 1 : 0);
    }
    BatchContext c(call, inputs, batched, size_);
    if (calls_functions(*call.op)) {
      batch_rule_of (*call.op)(c);  // the rule checks what the functions do
    } else if (call.op->has_effect(Effect::kRandom)) {
      draw(c);
    } else if (call.op->has_effect(Effect::kWrites)) {
      fail(Code::kInvalidArgument,
           "value for a variable: expected one that all elements of the batch share, got one that differs inside vmap "
           "(return it, and assign what is made of all of them outside, for instance their mean)");
    } else if (const BatchFn rule = batch_rule_of(*call.op); rule != nullptr) {
      rule(c);
    } else {
      c.loop();
    }
    for (size_t k = 0; k < call.outputs.size(); ++k) call.outputs[k] = output(call, k, std::move(c.outputs()[k]));
  }

  // `value` must have the batch's dimension in front.
  static Tensor lift(const std::shared_ptr<Vmap>& vmap, Tensor value) {
    const PartialShape& s = value.partial_shape();
    const PartialShape own = s.known_rank() ? PartialShape(s.dims().subspan(1)) : PartialShape();
    return lifted_tensor(own, {.of = vmap, .value = std::move(value)});
  }

 private:
  void draw(BatchContext& c) const {
    if (randomness_ == Randomness::kError) {
      fail(Code::kInvalidArgument,
           "randomness of vmap: expected kSame or kDifferent where random ops are called inside, got kError");
    }
    if (randomness_ == Randomness::kSame) {
      failf(Code::kInvalidArgument, "randomness of vmap: expected kDifferent where {} gets what differs, got kSame",
            c.op().name());
    }
    // Ops that read a generator's state advance it for each element, so loop. Ops that take only a shape draw the whole
    // batch at once.
    if (c.num_inputs() != 1 || c.batched(0) || size_ < 0) return c.loop();
    c.set_all(c.again({put_before({size_}, c.in(0))}));
  }

  Tensor output(const Call& call, size_t k, BatchContext::Output made) {
    if (!made.value.defined()) failf(Code::kInternal, "vmap of {}: expected output {}, got none", call.op->name(), k);
    if (!made.batched) return std::move(made.value);
    if (made.value.partial_shape().rank() == 0) {
      failf(Code::kInternal, "vmap of {}: expected the batch's dimension in output {}, got a scalar", call.op->name(),
            k);
    }
    Tensor lifted = lift(shared_from_this(), std::move(made.value));
    if (!lifted.partial_shape().compatible_with(call.specs[k].shape)) {
      failf(Code::kInternal, "vmap of {}: expected shape {} of output {}, got {}", call.op->name(),
            call.specs[k].shape.to_string(), k, lifted.partial_shape().to_string());
    }
    return lifted;
  }

  int64_t size_;
  Randomness randomness_;
};

// The axis of argument or result `i`, from a list that has one for each or one for all.
int64_t axis_at(const std::vector<int64_t>& axes, size_t i, size_t count, const char* what) {
  if (axes.size() != 1 && axes.size() != count) {
    invalid("{} of vmap: expected 1 or {}, got {}", what, count, axes.size());
  }
  return axes.size() == 1 ? axes[0] : axes[i];
}

// Moves dimension `from` to position `to`; both count from 0.
Tensor move_dim(const Tensor& t, int rank, int from, int to) {
  if (from == to) return t;
  std::vector<int64_t> perm;
  for (int k = 0; k < rank; ++k) {
    if (k != from) perm.push_back(k);
  }
  perm.insert(perm.begin() + to, from);
  return transpose(t, perm);
}

int dim_of_axis(int64_t axis, int rank, const char* what) {
  if (rank < 0) fail(Code::kUnimplemented, "vmap: expected a known rank, got an unknown one while tracing");
  if (axis < -rank || axis >= rank) invalid("{} of vmap: expected one in [{}, {}), got {}", what, -rank, rank, axis);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace

detail::Tensors detail::vmap_call(const TensorsFunction& f, const Tensors& args, const std::vector<int64_t>& counts,
                                  const VmapOptions& options) {
  std::vector<Tensor> inside;
  std::vector<uint8_t> batched;
  int64_t size = kUnknownDim;
  bool any = false;
  size_t next = 0;
  for (size_t a = 0; a < counts.size(); ++a) {
    const int64_t axis = axis_at(options.in_axes, a, counts.size(), "in_axes");
    for (int64_t i = 0; i < counts[a]; ++i) {
      const Tensor& t = args[next++];
      inside.push_back(t);
      batched.push_back(axis != kNoBatch ? 1 : 0);
      if (axis == kNoBatch) continue;
      const int rank = t.partial_shape().rank();
      const int dim = dim_of_axis(axis, rank, "in_axes");
      const int64_t d = t.partial_shape().dim(dim);
      if (size >= 0 && d >= 0 && d != size) invalid("argument {} of vmap: expected a batch of {}, got {}", a, size, d);
      size = std::max(size, d);
      any = true;
      inside.back() = move_dim(t, rank, dim, 0);
    }
  }
  if (!any) invalid("in_axes of vmap: expected at least one argument with a batch, got none");
  const auto vmap = std::make_shared<Vmap>(size, options.randomness);
  Tensors outputs;
  {
    for (size_t i = 0; i < inside.size(); ++i) {
      if (batched[i] != 0) inside[i] = Vmap::lift(vmap, std::move(inside[i]));
    }
    const TransformScope scope(vmap);
    outputs = f(inside);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    Tensor& t = outputs[k];
    if (!t.defined()) continue;
    const Lifted* lifted = lifted_of(t, vmap.get());
    const int64_t axis = axis_at(options.out_axes, k, outputs.size(), "out_axes");
    if (axis == kNoBatch) {
      if (lifted != nullptr) invalid("result {} of vmap: expected one without a batch, got one that has it", k);
      continue;
    }
    Tensor value = lifted != nullptr ? lifted->value : Tensor();
    if (lifted == nullptr) {
      if (size < 0) {
        fail(Code::kUnimplemented,
             "result of vmap that does not depend on the batch: expected a known size of it, got an unknown one");
      }
      value = broadcast_to(expand_dims(t, 0), put_before({size}, shape(t, {.out_type = kInt64})));
    }
    const int rank = value.partial_shape().rank();
    t = axis == 0 ? value : move_dim(value, rank, 0, dim_of_axis(axis, rank, "out_axes"));
  }
  return outputs;
}

}  // namespace panto
