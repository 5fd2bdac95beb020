#include "panto/lib/ops/control/control.h"

#include <algorithm>
#include <complex>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/half.h"

namespace panto::detail {
namespace {

std::string list_of(std::span<const DType> types) {
  std::string text;
  for (const DType type : types) text.append(text.empty() ? "" : ", ").append(dtype_name(type));
  return text;
}

template <class T>
bool not_zero(const Tensor& t) {
  return !(*static_cast<const T*>(t.impl()->data) == T());
}

}  // namespace

bool is_true(const Tensor& condition) {
  if (condition.is_meta()) {
    invalid("condition: expected a value, got a symbolic tensor {}", condition.to_string());
  }
  if (condition.partial_shape().rank() != 0) return condition.numel() > 0;
  const Tensor copied = condition.device().kind() == DeviceKind::kCpu ? Tensor() : condition.cpu();
  const Tensor& on_host = copied.defined() ? copied : condition;
  switch (on_host.dtype()) {
    case kBool: return *static_cast<const bool*>(on_host.impl()->data);
    case kString: return !static_cast<const std::string*>(on_host.impl()->data)->empty();
    case kFloat32: return not_zero<float>(on_host);
    case kFloat64: return not_zero<double>(on_host);
    case kInt8:
    case kQInt8: return not_zero<int8_t>(on_host);
    case kInt16:
    case kQInt16: return not_zero<int16_t>(on_host);
    case kInt32:
    case kQInt32: return not_zero<int32_t>(on_host);
    case kInt64: return not_zero<int64_t>(on_host);
    case kUint8:
    case kQUint8: return not_zero<uint8_t>(on_host);
    case kUint16:
    case kQUint16: return not_zero<uint16_t>(on_host);
    case kUint32: return not_zero<uint32_t>(on_host);
    case kUint64: return not_zero<uint64_t>(on_host);
    case kFloat16: return static_cast<float>(*static_cast<const Half*>(on_host.impl()->data)) != 0;
    case kBFloat16: return static_cast<float>(*static_cast<const BFloat16*>(on_host.impl()->data)) != 0;
    case kComplex64: return not_zero<std::complex<float>>(on_host);
    case kComplex128: return not_zero<std::complex<double>>(on_host);
    default: break;
  }
  invalid("condition: expected a bool, a number or a string, got {}", dtype_name(on_host.dtype()));
}

size_t branch_index(const Tensor& index, size_t branches) {
  const auto i = static_cast<int64_t>(index.item<int32_t>());
  return i >= 0 && i < static_cast<int64_t>(branches) ? static_cast<size_t>(i) : branches - 1;
}

PartialShape known_of_both(const PartialShape& a, const PartialShape& b) {
  if (a.rank() < 0 || a.rank() != b.rank()) return {};
  std::vector<int64_t> dims;
  for (int i = 0; i < a.rank(); ++i) dims.push_back(a.dim(i) == b.dim(i) ? a.dim(i) : kUnknownDim);
  return PartialShape(dims);
}

std::vector<Tensor> loop_invariant(const FunctionBody& body, std::span<const Tensor* const> inputs) {
  std::vector<Tensor> values;
  for (const Tensor* t : inputs) {
    // Known values of integers hold in the first round only, unlike shapes and handles.
    values.push_back(t->dtype() == kResource ? *t : meta_tensor(t->dtype(), t->partial_shape()));
  }
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<Tensor> next = body.infer(dispatch::pointers_to(values));
    for (size_t i = 0; i < values.size() && i < next.size(); ++i) {
      const PartialShape known = known_of_both(values[i].partial_shape(), next[i].partial_shape());
      if (values[i].dtype() == kResource || known == values[i].partial_shape()) continue;
      values[i] = meta_tensor(values[i].dtype(), known);
      changed = true;
    }
  }
  return values;
}

void expect_outputs(const FunctionBody& body, std::span<const DType> types, std::string_view of) {
  if (std::ranges::equal(types, body.output_types())) return;
  invalid("outputs of {} '{}': expected ({}), got ({})", of, printable(body.name()), list_of(types),
          list_of(body.output_types()));
}

void expect_condition(const FunctionBody& condition) {
  if (condition.output_types().size() == 1) return;
  invalid("outputs of the condition '{}': expected one, got {}", printable(condition.name()),
          condition.output_types().size());
}

}  // namespace panto::detail
