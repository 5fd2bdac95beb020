#include "panto/nn/layers/preprocessing/preprocessing.h"

#include <utility>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/nn/layers/preprocessing/encoding.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"
#include "panto/ops/strings.h"

namespace panto {
namespace detail {

Tensor encoded_categories(std::string_view layer, const Tensor& x, int64_t categories, CategoryOutput output) {
  if (output == CategoryOutput::kInt) return x;
  const int rank = known_rank(layer, x);
  Tensor numbers = x;
  if (output == CategoryOutput::kOneHot && rank > 0 && x.partial_shape().dim(rank - 1) == 1) {
    numbers = squeeze(x, {.squeeze_dims = {rank - 1}});
  } else if (output != CategoryOutput::kOneHot && rank == 0) {
    numbers = expand_dims(x, 0);
  }
  Tensor each = one_hot(numbers, checked_cast<int32_t>(categories, "categories"), 1.0F, 0.0F);
  switch (output) {
    case CategoryOutput::kMultiHot: return minimum(sum(each, -2), 1.0);  // for an example without numbers: zeros
    case CategoryOutput::kCount: return sum(each, -2);
    default: return each;
  }
}

}  // namespace detail

Rescaling::Rescaling(double scale, double offset, DType dtype) : scale_(scale), offset_(offset), dtype_(dtype) {
  if (!dtypes::kFloating.contains(dtype)) invalid("Rescaling: expected a floating type, got {}", dtype_name(dtype));
}
Tensor Rescaling::forward(const Tensor& x) const {
  const Tensor y = dtypes::kFloating.contains(x.dtype()) ? x : cast(x, dtype_);
  return offset_ == 0 ? y * scale_ : y * scale_ + offset_;
}
std::string Rescaling::to_string() const { return fmt::format("Rescaling({}, {})", scale_, offset_); }

Discretization::Discretization(std::vector<double> boundaries, DiscretizationOptions options)
    : boundaries_(std::move(boundaries)), output_(options.output) {
  if (boundaries_.empty()) invalid("Discretization: expected at least one boundary, got none");
  for (size_t i = 1; i < boundaries_.size(); ++i) {
    if (!(boundaries_[i - 1] < boundaries_[i])) {
      invalid("Discretization: expected boundaries that increase, got {} and {}", boundaries_[i - 1], boundaries_[i]);
    }
  }
}

Tensor Discretization::forward(const Tensor& x) const {
  Tensor sorted = tensor(boundaries_);
  // Boundaries are as precise as x: float32 0.7 lies on the boundary 0.7.
  if (dtypes::kFloating.contains(x.dtype()) && x.dtype() != kFloat64) sorted = cast(cast(sorted, kFloat32), kFloat64);
  const Tensor numbers = cast(upper_bound(expand_dims(sorted, 0), reshape(cast(x, kFloat64), {1, -1})), kInt64);
  const PartialShape& known = x.partial_shape();
  const Tensor places = known.fully_known() ? reshape(numbers, Shape(known)) : reshape(numbers, shape(x));
  return detail::encoded_categories("Discretization", places, static_cast<int64_t>(boundaries_.size()) + 1, output_);
}

std::string Discretization::to_string() const {
  return fmt::format("Discretization({} boundaries)", boundaries_.size());
}

CategoryEncoding::CategoryEncoding(int64_t categories, CategoryEncodingOptions options)
    : categories_(categories), output_(options.output) {
  if (categories < 1 || categories > INT32_MAX) {
    invalid("CategoryEncoding: expected a positive number of categories, got {}", categories);
  }
  if (output_ == CategoryOutput::kInt) invalid("CategoryEncoding: expected an output of vectors, got kInt");
}
Tensor CategoryEncoding::forward(const Tensor& x) const {
  return detail::encoded_categories("CategoryEncoding", x, categories_, output_);
}
std::string CategoryEncoding::to_string() const { return fmt::format("CategoryEncoding({})", categories_); }

Hashing::Hashing(int64_t bins) : bins_(bins) {
  if (bins < 1) invalid("Hashing: expected a positive number of bins, got {}", bins);
}
Tensor Hashing::forward(const Tensor& x) const {
  return string_to_hash_bucket_fast(x.dtype() == kString ? x : as_string(x), bins_);
}
std::string Hashing::to_string() const { return fmt::format("Hashing({})", bins_); }

Tensor hashed_crossing(const ArgList& columns, int64_t bins) {
  return from_caller(columns.where(), [&]() -> Tensor {
    const std::vector<Tensor>& given = columns.tensors();
    if (bins < 1) invalid("hashed_crossing: expected a positive number of bins, got {}", bins);
    if (given.size() < 2) invalid("hashed_crossing: expected at least two columns, got {}", given.size());
    std::vector<Tensor> matrices;
    DType internal = kString;
    for (const Tensor& t : given) {
      const PartialShape &shape = t.partial_shape(), &first = given[0].partial_shape();
      const bool fits = shape.known_rank() && (shape.rank() == 1 || (shape.rank() == 2 && shape.dim(1) == 1)) &&
                        shape.compatible_with(first);
      if (!fits) {
        invalid("hashed_crossing: expected columns of one shape, [batch] or [batch, 1], got {} and {}",
                first.to_string(), shape.to_string());
      }
      const bool integers = t.dtype() == kInt32 || t.dtype() == kInt64;
      if (!integers && t.dtype() != kString) {
        invalid("hashed_crossing: expected strings, int32 or int64, got {}", dtype_name(t.dtype()));
      }
      if (integers) internal = kInt64;
      const Tensor column = integers ? cast(t, kInt64) : t;
      matrices.push_back(shape.rank() == 1 ? expand_dims(column, 1) : column);
    }
    constexpr int64_t kKey = 0xDECAFCAFFE;  // tf.sparse.cross_hashed's
    const std::vector<Tensor> none;
    const Tensor values = sparse_cross_v1(none, none, none, matrices, true, bins, kKey, kInt64, internal).output_values;
    return given[0].partial_shape().rank() == 1 ? values : expand_dims(values, 1);
  });
}

}  // namespace panto
