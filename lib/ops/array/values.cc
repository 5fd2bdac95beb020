#include "panto/lib/ops/array/values.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

constexpr int64_t kMost = 2 * kMaxRank + 4;  // Pad takes two for each dimension

template <class T, class Out>
void widen(const TensorImpl& impl, Out& out) {
  const T* data = static_cast<const T*>(impl.data);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(data[i]);
}

}  // namespace

KnownIntegers::KnownIntegers(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  if (impl.numel < 0) return;
  count_ = impl.numel;
  if (count_ > kMost) invalid("integers that shape an output: expected at most {}, got {}", kMost, count_);
  if (impl.meta == nullptr && impl.device->host_memory() && (impl.dtype == kInt32 || impl.dtype == kInt64)) {
    values_.resize(static_cast<size_t>(count_));
    impl.dtype == kInt32 ? widen<int32_t>(impl, values_) : widen<int64_t>(impl, values_);
    complete_ = true;
    return;
  }
  const std::optional<PartialValues> known = known_integers(t);
  values_.resize(static_cast<size_t>(count_));
  known_.resize(static_cast<size_t>(count_));
  complete_ = true;
  for (size_t i = 0; i < values_.size(); ++i) {
    const std::optional<int64_t> value = known ? (*known)[i] : std::nullopt;
    values_[i] = value.value_or(0);
    known_[i] = value.has_value();
    complete_ = complete_ && value.has_value();
  }
}

KnownIntegers::KnownIntegers(const ShapeContext& c, int input, int64_t count) : KnownIntegers(c, input) {
  if (counted() || count < 0) return;
  if (count > kMost) invalid("integers that shape an output: expected at most {}, got {}", kMost, count);
  count_ = count;
  complete_ = count == 0;
  values_.resize(static_cast<size_t>(count));
  known_.resize(static_cast<size_t>(count));
}

std::optional<int64_t> known_scalar(const ShapeContext& c, int i) {
  c.expect_scalar(i);
  const TensorImpl& impl = *c.in(i).impl();
  if (impl.meta == nullptr && impl.device->host_memory()) {
    if (impl.dtype == kInt32) return *static_cast<const int32_t*>(impl.data);
    if (impl.dtype == kInt64) return *static_cast<const int64_t*>(impl.data);
  }
  const std::optional<PartialValues> known = known_integers(c.in(i));
  return known && known->size() == 1 ? (*known)[0] : std::nullopt;
}

int64_t host_integer(const Tensor& t, int64_t i) {
  const void* data = t.impl()->data;
  switch (t.dtype()) {
    case kInt8: return static_cast<const int8_t*>(data)[i];
    case kInt16: return static_cast<const int16_t*>(data)[i];
    case kInt32: return static_cast<const int32_t*>(data)[i];
    case kInt64: return static_cast<const int64_t*>(data)[i];
    case kUint8: return static_cast<const uint8_t*>(data)[i];
    default: failf(Code::kInternal, "integer argument: expected an integer type, got {}", dtype_name(t.dtype()));
  }
}

Tensor constant_integers(const std::vector<int64_t>& values) { return constant(tensor(values), kInt64); }

BroadcastAxes broadcast_gradient_axes(std::span<const int64_t> a, std::span<const int64_t> b) {
  BroadcastAxes axes;
  if (std::ranges::equal(a, b)) return axes;  // nothing to sum, even in dimensions where both are 1
  const size_t rank = std::max(a.size(), b.size());
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    const int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) invalid("dimension {} of shapes that broadcast: expected {} or 1, got {}", i, x, y);
    if (x == 1) axes.first.push_back(static_cast<int64_t>(i));
    if (y == 1) axes.second.push_back(static_cast<int64_t>(i));
  }
  return axes;
}

void pass_values(ShapeContext& c, int i, int k) {
  if (!c.symbolic()) return;
  if (auto values = c.values(i)) c.output_values(k, std::move(*values));
  const MetaInfo* meta = c.in(i).impl()->meta;
  if (meta != nullptr && meta->handle != nullptr) c.output_handle(k, meta->handle);
}

}  // namespace panto
