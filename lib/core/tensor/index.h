// What x(...) and x[{...}] take, as NumPy's brackets do: numbers, ranges, an ellipsis, new dimensions, masks and lists
// of positions. (Brackets take one argument in C++: several stand in braces. They are no list of positions: that is a
// tensor.)
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

// Where a range begins or ends: a number, or {}.
struct SliceBound {
  constexpr SliceBound() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): Slice(1, 3)
  constexpr SliceBound(int64_t v) : value(v), given(true) {}
  int64_t value = 0;
  bool given = false;
};

// From `begin` on, before `end`, every `step`-th; negative ones count from the end, steps below 0 go backwards. A bound
// that is left out, or {}, is the end of the dimension where the range begins or stops.
struct Slice {
  constexpr Slice() = default;
  constexpr explicit Slice(SliceBound first, SliceBound last = {}, int64_t every = 1)
      : begin(first), end(last), step(every) {}

  SliceBound begin, end;
  int64_t step = 1;
};

// All dimensions that the other indices leave.
struct EllipsisIndex {};
inline constexpr EllipsisIndex Ellipsis{};
// A dimension of 1 that was not there.
struct NewAxisIndex {};
inline constexpr NewAxisIndex NewAxis{};

// One of the indices of x(...) or x[{...}]. Made implicitly at the call.
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
  // Of bool: a mask over as many dimensions as it has; of integers: positions.
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
