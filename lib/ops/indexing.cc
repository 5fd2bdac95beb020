// x(...): numbers, ranges and new dimensions become one StridedSlice; masks and positions are then gathered from its
// result.
#include <algorithm>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/index.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

constexpr int kMostIndices = 62;  // one bit each in StridedSlice's masks

// The number of dimensions that an index consumes.
int dimensions_of(const Index& index) {
  switch (index.kind()) {
    case Index::Kind::kNumber:
    case Index::Kind::kSlice: return 1;
    case Index::Kind::kEllipsis:
    case Index::Kind::kNewAxis: return 0;
    case Index::Kind::kTensor: break;
  }
  const Tensor& t = index.tensor();
  if (t.dtype() != kBool) return 1;
  if (!t.partial_shape().known_rank())
    invalid("mask: expected a known rank, got shape {}", t.partial_shape().to_string());
  return t.partial_shape().rank();
}

bool is_positions(const Tensor& t) { return dtypes::kInteger.contains(t.dtype()); }

// A mask or positions, and the first dimension of the slice that it indexes; negative: from the end.
struct Taken {
  const Tensor* by;
  int axis;
  int dimensions;
};

class Indexing {
 public:
  Indexing(const Tensor& x, std::span<const Index> indices) : x_(x), shape_(x.partial_shape()) {
    int named = 0;
    for (const Index& index : indices) {
      if (index.kind() == Index::Kind::kTensor && index.tensor().dtype() != kBool && !is_positions(index.tensor())) {
        invalid("index: expected integers or truth values, got a tensor of {}", dtype_name(index.tensor().dtype()));
      }
      named += dimensions_of(index);
      if (index.kind() != Index::Kind::kEllipsis) continue;
      if (has_ellipsis_) invalid("index: expected one Ellipsis, got a second");
      has_ellipsis_ = true;
    }
    if (shape_.known_rank() && named > shape_.rank()) {
      invalid("index: expected at most {}, for shape {}, got {}", shape_.rank(), shape_.to_string(), named);
    }
    rest_ = named;
    for (const Index& index : indices) add(index);
    if (begin_.size() > kMostIndices) invalid("index: expected at most {}, got {}", kMostIndices, begin_.size());
  }

  Tensor run() const {
    Tensor y = moves_ ? strided_slice(x_, begin_, end_, strides_, masks_) : x_;
    if (taken_.empty()) return y;
    if (taken_.size() == 1) {
      const Taken& t = taken_[0];
      const int axis = axis_in(y, t);
      return t.by->dtype() == kBool ? masked(y, *t.by, axis) : gather(y, wrapped(*t.by, size_of(y, axis)), axis);
    }
    return together(y);
  }

 private:
  int64_t bit() const { return int64_t{1} << begin_.size(); }

  // The size of the next dimension; -1 if unknown.
  int64_t next_size() const {
    if (!shape_.known_rank()) return -1;
    return shape_.dim(after_ellipsis_ ? shape_.rank() - rest_ : done_);
  }

  void add(const Index& index) {
    switch (index.kind()) {
      case Index::Kind::kNumber: {
        int64_t i = index.number();
        const int64_t size = next_size();
        if (size >= 0) {
          if (i < -size || i >= size) {
            failf(Code::kOutOfRange, "index: expected one in [{}, {}), got {}", -size, size, i);
          }
          if (i < 0) i += size;
        }
        masks_.shrink_axis_mask |= bit();
        push(i, i + 1, 1);
        passed(1);
        break;
      }
      case Index::Kind::kSlice: {
        const Slice& s = index.slice();
        if (s.step == 0) invalid("Slice: expected a step other than 0, got 0");
        if (!s.begin.given) masks_.begin_mask |= bit();
        if (!s.end.given) masks_.end_mask |= bit();
        moves_ = moves_ || s.begin.given || s.end.given || s.step != 1;
        push_kept(s.begin.value, s.end.value, s.step);
        passed(1);
        break;
      }
      case Index::Kind::kEllipsis:
        masks_.ellipsis_mask |= bit();
        begin_.push_back(0);
        end_.push_back(0);
        strides_.push_back(1);
        after_ellipsis_ = true;
        kept_ = 0;
        break;
      case Index::Kind::kNewAxis:
        masks_.new_axis_mask |= bit();
        moves_ = true;
        push_kept(0, 0, 1);
        break;
      case Index::Kind::kTensor: {
        const int dimensions = dimensions_of(index);
        taken_.push_back({&index.tensor(), kept_, dimensions});
        from_end_.push_back(after_ellipsis_);
        for (int k = 0; k < dimensions; ++k) {
          masks_.begin_mask |= bit();
          masks_.end_mask |= bit();
          push_kept(0, 0, 1);
        }
        passed(dimensions);
        break;
      }
    }
  }
  void passed(int dimensions) {
    done_ += dimensions;
    rest_ -= dimensions;
  }
  // Adds a number, whose dimension is removed.
  void push(int64_t begin, int64_t end, int64_t step) {
    moves_ = true;
    begin_.push_back(begin);
    end_.push_back(end);
    strides_.push_back(step);
  }
  void push_kept(int64_t begin, int64_t end, int64_t step) {
    begin_.push_back(begin);
    end_.push_back(end);
    strides_.push_back(step);
    ++kept_;
  }

  // The first dimension of the slice `y` that a mask or positions index.
  int axis_in(const Tensor& y, const Taken& t) const {
    const bool from_end = from_end_[static_cast<size_t>(&t - taken_.data())];
    if (!from_end) return t.axis;
    if (!y.partial_shape().known_rank()) {
      invalid("index: expected a known rank for what comes after an Ellipsis, got shape {}",
              y.partial_shape().to_string());
    }
    return y.partial_shape().rank() - kept_ + t.axis;
  }

  static Tensor size_of(const Tensor& y, int axis) {
    const PartialShape& shape = y.partial_shape();
    if (shape.known_rank() && shape.dim(axis) >= 0) return constant(tensor(shape.dim(axis)), kInt64);
    return gather(panto::shape(y, {.out_type = kInt64}), axis, 0);
  }

  // Converts negative positions, which count from the end, to positions from the start.
  static Tensor wrapped(const Tensor& positions, const Tensor& size) {
    const Tensor wide = positions.dtype() == kInt64 ? positions : cast(positions, kInt64);
    return select(less(wide, 0), wide + size, wide);
  }

  // The elements of `y` where the mask is true; the mask covers the dimensions from `axis` on.
  static Tensor masked(const Tensor& y, const Tensor& mask, int axis) {
    const PartialShape &whole = y.partial_shape(), &part = mask.partial_shape();
    for (int k = 0; whole.known_rank() && k < part.rank(); ++k) {
      const int64_t a = whole.dim(axis + k), b = part.dim(k);
      if (a >= 0 && b >= 0 && a != b) {
        invalid("mask: expected shape {} from dimension {} on, got {}", whole.to_string(), axis, part.to_string());
      }
    }
    bool known = whole.known_rank();
    for (int k = 0; known && k < part.rank(); ++k) known = whole.dim(axis + k) >= 0 && part.dim(k) >= 0;
    // logical_and with a full tensor checks unknown dimensions when the graph runs: they must broadcast.
    const Tensor fitting = known ? mask : logical_and(mask, fill(slice(panto::shape(y), {axis}, {part.rank()}), true));
    const Tensor positions = reshape(nonzero(reshape(fitting, {-1})), {-1});
    if (part.rank() == 1) return gather(y, positions, axis);
    if (part.rank() == 0) return gather(expand_dims(y, axis), positions, axis);
    const Tensor shape = panto::shape(y, {.out_type = kInt64});
    const Tensor rest = slice(shape, {axis + part.rank()}, {-1});
    const Tensor before = slice(shape, {0}, {axis});
    const Tensor joined = concat({before, reshape(size(mask, {.out_type = kInt64}), {1}), rest}, 0);
    return gather(reshape(y, joined), positions, axis);
  }

  // Several masks or positions: they broadcast, and each element is selected by all together. Their dimensions go to
  // the place of the first one if they are neighbours, else to the front, as in NumPy.
  Tensor together(const Tensor& y) const {
    if (!y.partial_shape().known_rank()) {
      invalid("index: expected a known rank for several masks or positions, got shape {}",
              y.partial_shape().to_string());
    }
    const int rank = y.partial_shape().rank();
    std::vector<Tensor> positions;
    std::vector<int64_t> axes;
    for (const Taken& t : taken_) {
      const int axis = axis_in(y, t);
      if (t.by->dtype() != kBool) {
        positions.push_back(wrapped(*t.by, size_of(y, axis)));
        axes.push_back(axis);
        continue;
      }
      const std::vector<Tensor> columns = unpack(nonzero(*t.by), t.dimensions, {.axis = 1});
      for (int k = 0; k < t.dimensions; ++k) {
        positions.push_back(columns[static_cast<size_t>(k)]);
        axes.push_back(axis + k);
      }
    }
    // Broadcast all to one shape by adding zeros.
    Tensor zero = zeros_like(positions[0]);
    for (size_t k = 1; k < positions.size(); ++k) zero = zero + zeros_like(positions[k]);
    for (Tensor& p : positions) p = p + zero;
    std::vector<int64_t> perm = axes;
    bool neighbours = true;
    for (size_t k = 1; k < axes.size(); ++k) neighbours = neighbours && axes[k] == axes[k - 1] + 1;
    for (int64_t k = 0; k < rank; ++k) {
      if (std::find(axes.begin(), axes.end(), k) == axes.end()) perm.push_back(k);
    }
    Tensor got = gather_nd(transpose(y, perm), pack(positions, {.axis = -1}));
    if (!neighbours || axes[0] == 0) return got;
    if (!zero.partial_shape().known_rank()) {
      invalid("index: expected positions of a known rank, got shape {}", zero.partial_shape().to_string());
    }
    // From [positions..., before..., after...], move the `before` dimensions to the front.
    const int of_positions = zero.partial_shape().rank();
    std::vector<int64_t> back;
    for (int64_t k = 0; k < axes[0]; ++k) back.push_back(of_positions + k);
    for (int64_t k = 0; k < of_positions; ++k) back.push_back(k);
    for (int64_t k = of_positions + axes[0]; k < of_positions + rank - static_cast<int64_t>(axes.size()); ++k) {
      back.push_back(k);
    }
    return transpose(got, back);
  }

  const Tensor& x_;
  const PartialShape& shape_;
  std::vector<int64_t> begin_, end_, strides_;
  StridedSliceAttrs masks_;
  std::vector<Taken> taken_;
  std::vector<bool> from_end_;  // for each of these: whether it comes after an Ellipsis
  bool has_ellipsis_ = false, after_ellipsis_ = false;
  bool moves_ = false;       // the slice is not `x_` itself
  int done_ = 0, rest_ = 0;  // dimensions of `x_` consumed by earlier indices, and by the remaining ones
  int kept_ = 0;             // dimensions of the slice since its begin, or since the Ellipsis
};

// The positions, in a flattened `x`, of the elements that x(...) selects: [count, 1].
Tensor flat_positions(const Tensor& x, std::span<const Index> indices, Tensor& shape) {
  const Tensor numbers =
      reshape(range(int64_t{0}, size(x, {.out_type = kInt64}), int64_t{1}), panto::shape(x, {.out_type = kInt64}));
  const Tensor taken = numbers.at(indices);
  shape = panto::shape(taken, {.out_type = kInt64});
  return reshape(taken, {-1, 1});
}

}  // namespace

Tensor Tensor::at(std::span<const Index> indices) const { return Indexing(*this, indices).run(); }

namespace {

template <size_t N>
Tensor part_of(const Tensor& x, const Index (&list)[N]) {
  return from_caller(list[0].where(), [&] {
    const bool numbers = std::ranges::all_of(list, [](const Index& i) { return i.kind() == Index::Kind::kNumber; });
    if (!numbers) return x.at(std::span<const Index>(list));
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return x.at({list[I].number()...});
    }(std::make_index_sequence<N>());
  });
}

}  // namespace

Tensor Tensor::operator[](Index i) const { return part_of(*this, {std::move(i)}); }
Tensor Tensor::operator[](std::initializer_list<Index> indices) const {
  if (indices.size() == 0) return *this;
  return from_caller(indices.begin()->where(), [&] { return at(std::span(indices.begin(), indices.size())); });
}
Tensor Tensor::operator()(Index a) const { return part_of(*this, {std::move(a)}); }
Tensor Tensor::operator()(Index a, Index b) const { return part_of(*this, {std::move(a), std::move(b)}); }
Tensor Tensor::operator()(Index a, Index b, Index c) const {
  return part_of(*this, {std::move(a), std::move(b), std::move(c)});
}
Tensor Tensor::operator()(Index a, Index b, Index c, Index d) const {
  return part_of(*this, {std::move(a), std::move(b), std::move(c), std::move(d)});
}
Tensor Tensor::operator()(Index a, Index b, Index c, Index d, Index e) const {
  return part_of(*this, {std::move(a), std::move(b), std::move(c), std::move(d), std::move(e)});
}
Tensor Tensor::operator()(Index a, Index b, Index c, Index d, Index e, Index f) const {
  return part_of(*this, {std::move(a), std::move(b), std::move(c), std::move(d), std::move(e), std::move(f)});
}

Tensor with_part(const Tensor& x, std::span<const Index> indices, Arg part) {
  Tensor shape;
  const Tensor positions = flat_positions(x, indices, shape);
  const Tensor values = reshape(broadcast_to(cast(std::move(part), x.dtype()), shape), {-1});
  const Tensor flat = tensor_scatter_update(reshape(x, {-1}), positions, values);
  return reshape(flat, panto::shape(x));
}

VariablePart Variable::operator[](Index i) const { return VariablePart(*this, {std::move(i)}); }
VariablePart Variable::operator[](std::initializer_list<Index> indices) const {
  // No index selects the whole.
  return indices.size() == 0 ? VariablePart(*this, {Ellipsis}) : VariablePart(*this, indices);
}
VariablePart Variable::operator()(Index a) const { return VariablePart(*this, {std::move(a)}); }
VariablePart Variable::operator()(Index a, Index b) const { return VariablePart(*this, {std::move(a), std::move(b)}); }
VariablePart Variable::operator()(Index a, Index b, Index c) const {
  return VariablePart(*this, {std::move(a), std::move(b), std::move(c)});
}
VariablePart Variable::operator()(Index a, Index b, Index c, Index d) const {
  return VariablePart(*this, {std::move(a), std::move(b), std::move(c), std::move(d)});
}
VariablePart Variable::operator()(Index a, Index b, Index c, Index d, Index e) const {
  return VariablePart(*this, {std::move(a), std::move(b), std::move(c), std::move(d), std::move(e)});
}
VariablePart Variable::operator()(Index a, Index b, Index c, Index d, Index e, Index f) const {
  return VariablePart(*this, {std::move(a), std::move(b), std::move(c), std::move(d), std::move(e), std::move(f)});
}

VariablePart::VariablePart(Variable variable, std::vector<Index> indices)
    : variable_(std::move(variable)), indices_(std::move(indices)) {}

Tensor VariablePart::value() const {
  return from_caller(indices_[0].where(), [&] { return variable_.value().at(indices_); });
}
const VariablePart& VariablePart::operator=(Arg part) const {
  from_caller(indices_[0].where(), [&] { variable_.assign(with_part(variable_.value(), indices_, std::move(part))); });
  return *this;
}
const VariablePart& VariablePart::operator=(const VariablePart& other) const {
  return *this = Arg(other.value(), indices_[0].where());
}
const VariablePart& VariablePart::operator+=(Arg more) const {
  return *this = Arg(value(), indices_[0].where()) + std::move(more);
}
const VariablePart& VariablePart::operator-=(Arg less) const {
  return *this = Arg(value(), indices_[0].where()) - std::move(less);
}
const VariablePart& VariablePart::operator*=(Arg factor) const {
  return *this = Arg(value(), indices_[0].where()) * std::move(factor);
}
const VariablePart& VariablePart::operator/=(Arg divisor) const {
  return *this = Arg(value(), indices_[0].where()) / std::move(divisor);
}

}  // namespace panto
