#include "panto/lib/ops/math/elementwise.h"

#include <limits>

#include "panto/lib/base/text/format.h"

namespace panto::shapes {
namespace {

bool fits(int64_t value, DType type) {
  switch (type) {
    case kInt64: return true;
    case kInt32: return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
    default: return false;  // shapes are not computed in other types
  }
}

}  // namespace

void merge_equal(PartialShape& shape, const PartialShape& other) {
  if (!shape.compatible_with(other)) [[unlikely]] {
    invalid("shapes: expected equal ones, got {} and {}", shape.to_string(), other.to_string());
  }
  if (!shape.fully_known()) shape = shape.merged_with(other);
}

void all_equal(ShapeContext& c) {
  PartialShape shape = c.shape(0);
  for (int i = 1; i < c.num_inputs(); ++i) merge_equal(shape, c.shape(i));
  c.output(std::move(shape));
}

void infer_values(ShapeContext& c, ValueFn value) {
  const OutputSpec& spec = c.call().specs[0];
  const int64_t n = spec.shape.numel();
  if (!dtypes::kIndex.contains(spec.dtype) || n < 0 || n > kMaxPartialValues || spec.shape.rank() > 1) return;
  const std::optional<PartialValues> x = c.values(0);
  const std::optional<PartialValues> y = c.num_inputs() > 1 ? c.values(1) : x;
  if (!x || !y) return;
  PartialValues result;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const std::optional<int64_t> a = (*x)[x->size() == 1 ? 0 : i];
    const std::optional<int64_t> b = (*y)[y->size() == 1 ? 0 : i];
    std::optional<int64_t> v = a && b ? value(*a, *b) : std::nullopt;
    if (v && !fits(*v, spec.dtype)) v.reset();
    result.push_back(v);
  }
  c.output_values(0, std::move(result));
}

}  // namespace panto::shapes
