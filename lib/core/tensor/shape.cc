#include "panto/lib/core/tensor/shape.h"

#include <algorithm>
#include <ostream>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

void check_dims(std::span<const int64_t> dims, int64_t smallest) {
  if (dims.size() > kMaxRank) invalid("shape: expected a rank of at most {}, got {}", kMaxRank, dims.size());
  // The product of the non-zero dimensions: a zero must not hide an overflow of the others.
  int64_t product = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = dims[i];
    if (d < smallest) {
      invalid("shape: expected dimension {} to be at least {}, got {}", i, smallest, d);
    }
    if (d > 0 && __builtin_mul_overflow(product, d, &product)) {
      std::string text;
      for (int64_t k : dims) text.append(text.empty() ? "" : ",").append(std::to_string(k));
      invalid("shape: expected fewer than 2^63 elements, got the dimensions [{}]", text);
    }
  }
}

}  // namespace

std::span<const int64_t> Dim::values(std::initializer_list<Dim> dims) {
  static_assert(sizeof(Dim) == sizeof(int64_t), "a list of them is a list of integers");
  return {reinterpret_cast<const int64_t*>(dims.begin()), dims.size()};
}

std::vector<int64_t> detail::int_list(std::initializer_list<int64_t> values) { return values; }

PartialShape::PartialShape(std::initializer_list<Dim> dims) : PartialShape(Dim::values(dims)) {}

PartialShape::PartialShape(Unchecked, std::span<const int64_t> dims)
    : dims_(dims.data(), dims.size()), known_rank_(true) {}

PartialShape::PartialShape(Checked, std::span<const int64_t> dims) : PartialShape(Unchecked{}, dims) {
  check_dims(dims, kUnknownDim);
}

PartialShape PartialShape::of_rank(int rank) {
  return PartialShape(std::vector<int64_t>(static_cast<size_t>(rank), kUnknownDim));
}

bool PartialShape::fully_known() const noexcept {
  return known_rank_ && std::ranges::none_of(dims(), [](int64_t d) { return d < 0; });
}

int64_t PartialShape::numel() const noexcept {
  if (!known_rank_) return -1;
  int64_t n = 1;
  for (int64_t d : dims()) {
    if (d < 0) return -1;
    n *= d;
  }
  return n;
}

bool PartialShape::compatible_with(const PartialShape& other) const noexcept {
  if (!known_rank_ || !other.known_rank_) return true;
  return std::ranges::equal(dims(), other.dims(), [](int64_t a, int64_t b) { return a < 0 || b < 0 || a == b; });
}

PartialShape PartialShape::merged_with(const PartialShape& other) const {
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  if (!compatible_with(other))
    invalid("shape: expected one compatible with {}, got {}", to_string(), other.to_string());
  std::vector<int64_t> merged(dims().begin(), dims().end());
  for (size_t i = 0; i < merged.size(); ++i) {
    if (merged[i] < 0) merged[i] = other.dims_[i];
  }
  return PartialShape(merged);
}

PartialShape PartialShape::in_common_with(const PartialShape& other) const {
  if (!known_rank() || !other.known_rank() || rank() != other.rank()) return {};
  PartialShape common = *this;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] != other.dims_[i]) common.dims_.data()[i] = -1;
  }
  return common;
}

std::string PartialShape::to_string() const {
  if (!known_rank_) return "?";
  std::string text = "[";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ",";
    text += dims_[i] < 0 ? "?" : std::to_string(dims_[i]);
  }
  return text + "]";
}

Shape::Shape(std::initializer_list<Dim> dims) : Shape(Dim::values(dims)) {}

Shape::Shape(const std::vector<int64_t>& dims) : Shape(Checked{}, dims) {}

Shape::Shape(Checked, std::span<const int64_t> dims) : PartialShape(Unchecked{}, dims) { check_dims(dims, 0); }

Shape::Shape(const PartialShape& shape) : PartialShape(shape) {
  if (!fully_known()) invalid("shape: expected a fully known one, got {}", to_string());
}

int dimension_of(int i, int rank) {
  if (i < -rank || i >= rank) {
    failf(Code::kOutOfRange, "dimension: expected one in [{}, {}), got {}", -rank, rank, i);
  }
  return i < 0 ? i + rank : i;
}

int64_t PartialShape::dim_from_end(int i) const {
  if (!known_rank_)
    failf(Code::kOutOfRange, "dimension: expected one of a shape of known rank, got {} of {}", i, to_string());
  return dims_[static_cast<size_t>(dimension_of(i, rank()))];
}

int64_t Shape::operator[](int i) const { return dim(i); }

std::ostream& operator<<(std::ostream& out, const PartialShape& shape) { return out << shape.to_string(); }

namespace {

// Whether b has known dimensions, and a ends with them.
bool ends_with(const PartialShape& a, const PartialShape& b) {
  const size_t rank = b.dims().size();
  return b.fully_known() && rank <= a.dims().size() && std::ranges::equal(a.dims().last(rank), b.dims());
}

}  // namespace

PartialShape broadcast_shapes(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank()) return {};
  // Most shapes that broadcast are equal, or one is the other's end.
  if (ends_with(a, b)) return a;
  if (ends_with(b, a)) return b;
  const int rank = std::max(a.rank(), b.rank());
  SmallVector<int64_t, 8> dims(static_cast<size_t>(rank));
  for (int k = 1; k <= rank; ++k) {
    const int64_t x = k <= a.rank() ? a.dim(a.rank() - k) : 1;
    const int64_t y = k <= b.rank() ? b.dim(b.rank() - k) : 1;
    int64_t d;
    if (x == 1) {
      d = y;
    } else if (y == 1 || x == y) {
      d = x;
    } else if (x < 0) {
      d = y;  // x must be y or 1
    } else if (y < 0) {
      d = x;
    } else {
      invalid("shapes: expected ones that broadcast, got {} and {}", a.to_string(), b.to_string());
    }
    dims[static_cast<size_t>(rank - k)] = d;
  }
  return PartialShape(std::span<const int64_t>(dims));
}

}  // namespace panto
