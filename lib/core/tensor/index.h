// Arguments of x(...) and x[{...}], which index as NumPy's brackets do: numbers, ranges, an ellipsis, new dimensions,
// masks and lists of positions. In C++ brackets take one argument, so several indices stand in braces. Braces are not a
// list of positions: for that use a tensor.
//
//   x(0, Slice(1, 3))          x[0, 1:3]          also x[{0, Slice(1, 3)}]
//   x[{0, 2}]                  x[0, 2]
//   x[tensor({0, 2})]          x[[0, 2]]
//   x(Slice(1, {}), -1)        x[1:, -1]          {}: up to the end
//   x(Slice({}, {}, -1))       x[::-1]
//   x(Ellipsis, 0)             x[..., 0]
//   x(Slice(), NewAxis)        x[:, None]
//   x(y > 0), x(tensor({2, 0})) a mask, positions
#pragma once

#include <concepts>
#include <cstdint>
#include <source_location>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// A bound of a range: a number, or {} for none.
struct SliceBound {
  constexpr SliceBound() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): Slice(1, 3)
  constexpr SliceBound(int64_t v) : value(v), given(true) {}
  int64_t value = 0;
  bool given = false;
};

// Positions from `begin` up to but not including `end`, every `step`-th. Negative bounds count from the end, negative
// steps go backwards. A missing bound, or {}, means the start or end of the dimension.
struct Slice {
  constexpr Slice() = default;
  constexpr explicit Slice(SliceBound first, SliceBound last = {}, int64_t every = 1)
      : begin(first), end(last), step(every) {}

  SliceBound begin, end;
  int64_t step = 1;
};

// Stands for all dimensions that the other indices do not use.
struct EllipsisIndex {};
inline constexpr EllipsisIndex Ellipsis{};
// Inserts a new dimension of size 1.
struct NewAxisIndex {};
inline constexpr NewAxisIndex NewAxis{};

// One index of x(...) or x[{...}]. Converted implicitly at the call.
class Index {
 public:
  using Where = std::source_location;
  enum class Kind : uint8_t { kNumber, kSlice, kEllipsis, kNewAxis, kTensor };

  // NOLINTBEGIN(google-explicit-constructor): implicit on purpose
  template <std::integral I>
    requires(!std::same_as<I, bool>)
  Index(I number, Where where = Where::current())
      : kind_(Kind::kNumber), slice_(SliceBound(static_cast<int64_t>(number))), where_(where) {}
  Index(Slice slice, Where where = Where::current()) : kind_(Kind::kSlice), slice_(slice), where_(where) {}
  Index(EllipsisIndex, Where where = Where::current()) : kind_(Kind::kEllipsis), where_(where) {}
  Index(NewAxisIndex, Where where = Where::current()) : kind_(Kind::kNewAxis), where_(where) {}
  // A bool tensor is a mask over as many dimensions as it has; an integer tensor is a list of positions.
  Index(Tensor tensor, Where where = Where::current())
      : kind_(Kind::kTensor), tensor_(std::move(tensor)), where_(where) {}
  // NOLINTEND(google-explicit-constructor)

  Kind kind() const { return kind_; }
  int64_t number() const { return slice_.begin.value; }
  const Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }
  const Where& where() const { return where_; }  // the caller's line

 private:
  Kind kind_;
  Slice slice_;
  Tensor tensor_;
  Where where_;
};

}  // namespace panto
