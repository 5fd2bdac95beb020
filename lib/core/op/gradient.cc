#include "panto/lib/core/op/gradient.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"

namespace panto {

bool ends_gradients(const Op& op) { return !op.no_gradient().empty() || op.is(OpKind::kStopGradient); }

GradContext::GradContext(const GradRecord& record)
    : record_(record), view_(call_), gradients_(record.needed.size()) {  // call_() would first clear all its bytes
  call_.op = record.op;
  // Views never write to the attributes, but a Call has them mutable for the dispatcher.
  call_.attrs = {const_cast<AttrSlot*>(record.attrs.data()), record.attrs.size()};  // NOLINT(*-const-cast)
}

const Tensor& GradContext::in(int i) const {
  const auto at = static_cast<size_t>(i);
  if (at >= record_.inputs.size() || !record_.inputs[at].defined()) {
    failf(Code::kInternal, "gradient of {}: expected its block to save input {}", record_.op->name(), i);
  }
  return record_.inputs[at];
}

const Tensor& GradContext::out(int k) const {
  const auto at = static_cast<size_t>(k);
  if (at >= record_.outputs.size() || !record_.outputs[at].defined()) {
    failf(Code::kInternal, "gradient of {}: expected its block to save output {}", record_.op->name(), k);
  }
  return record_.outputs[at];
}

const Tensor* GradContext::conjugate(const Tensor* t) {
  if (!dtypes::kComplex.contains(t->dtype())) return t;
  conjugates_.push_front(std::move(dispatch::call("Conj", {t, 1})[0]));
  return &conjugates_.front();
}

const PartialShape& GradContext::in_shape(int i) const {
  const auto at = static_cast<size_t>(i);
  if (at < record_.inputs.size() && record_.inputs[at].defined()) return record_.inputs[at].partial_shape();
  if (at >= record_.input_shapes.size()) {
    failf(Code::kInternal, "gradient of {}: expected its block to save the shape of input {}", record_.op->name(), i);
  }
  return record_.input_shapes[at];
}

Tensor shape_literal(const PartialShape& known) {
  // int32, TensorFlow's default for Shape, unless a dimension is too large.
  bool narrow = true;
  for (int64_t d : known.dims()) narrow = narrow && d <= INT32_MAX;
  Tensor t = allocate_tensor(cpu_device(), narrow ? kInt32 : kInt64, Shape{known.rank()});
  for (int k = 0; k < known.rank(); ++k) {
    if (narrow) {
      mutable_data<int32_t>(t)[k] = static_cast<int32_t>(known.dim(k));
    } else {
      mutable_data<int64_t>(t)[k] = known.dim(k);
    }
  }
  t.impl()->literal = true;
  return t;
}

Tensor GradContext::shape(int i) const {
  const PartialShape& known = in_shape(i);
  if (known.fully_known()) return shape_literal(known);
  const Tensor& input = in(i);
  return std::move(dispatch::call("Shape", {&input, 1})[0]);
}

}  // namespace panto
