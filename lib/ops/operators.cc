#include "panto/lib/ops/operators.h"

#include "panto/lib/base/error.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/attr.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// Like the typed function, without moving the arguments again. All these ops have only the attribute T.
Tensor call(const Op& op, Arg& x, Arg& y) {
  Arg* args[] = {&x, &y};
  AttrSlot slots[1];
  return dispatch::call_typed_1(op, args, slots);
}

DType type_of(const Arg& x) {
  if (x.is_literal()) return x.literal_type();
  return x.kind() == Arg::Kind::kVariable ? x.variable().dtype() : x.tensor().dtype();
}

bool is_integral(const Arg& x) {
  return (dtypes::kInteger | DTypeSet{kBool}).contains(type_of(x)) || x.is_integer_list();
}

bool are_bools(const Arg& x, const Arg& y) { return type_of(x) == kBool && type_of(y) == kBool; }

}  // namespace

Tensor operator+(Arg x, Arg y) { return call(kAddV2, x, y); }
Tensor operator-(Arg x, Arg y) { return call(kSub, x, y); }
Tensor operator*(Arg x, Arg y) { return call(kMul, x, y); }

Tensor operator/(Arg x, Arg y) {
  if (is_integral(x) && is_integral(y)) {
    from_caller(x.where(), [&] {
      invalid("operator/: expected a floating or complex operand, got {} and {}; use floor_div, or cast first",
              dtype_name(type_of(x)), dtype_name(type_of(y)));
    });
  }
  return call(kRealDiv, x, y);
}

Tensor operator%(Arg x, Arg y) { return call(kFloorMod, x, y); }
Tensor operator-(Arg x) { return neg(std::move(x)); }
Tensor operator!(Arg x) { return logical_not(std::move(x)); }
// An operator cannot have a default argument to get the caller's line.
Tensor operator!(const Tensor& x) { return logical_not(Arg(x, std::source_location())); }

Tensor operator&(Arg x, Arg y) {
  return are_bools(x, y) ? logical_and(std::move(x), std::move(y)) : bitwise_and(std::move(x), std::move(y));
}
Tensor operator|(Arg x, Arg y) {
  return are_bools(x, y) ? logical_or(std::move(x), std::move(y)) : bitwise_or(std::move(x), std::move(y));
}
Tensor operator^(Arg x, Arg y) {
  return are_bools(x, y) ? not_equal(std::move(x), std::move(y)) : bitwise_xor(std::move(x), std::move(y));
}
Tensor operator~(Arg x) { return type_of(x) == kBool ? logical_not(std::move(x)) : invert(std::move(x)); }

Tensor operator<(Arg x, Arg y) { return call(kLess, x, y); }
Tensor operator>(Arg x, Arg y) { return call(kGreater, x, y); }
Tensor operator<=(Arg x, Arg y) { return call(kLessEqual, x, y); }
Tensor operator>=(Arg x, Arg y) { return call(kGreaterEqual, x, y); }
Tensor operator==(Arg x, Arg y) { return equal(std::move(x), std::move(y)); }
Tensor operator!=(Arg x, Arg y) { return not_equal(std::move(x), std::move(y)); }

Tensor& operator+=(Tensor& x, Arg y) {
  Arg left(x, y.where());
  return x = std::move(left) + std::move(y);
}
Tensor& operator-=(Tensor& x, Arg y) {
  Arg left(x, y.where());
  return x = std::move(left) - std::move(y);
}
Tensor& operator*=(Tensor& x, Arg y) {
  Arg left(x, y.where());
  return x = std::move(left) * std::move(y);
}
Tensor& operator/=(Tensor& x, Arg y) {
  Arg left(x, y.where());
  return x = std::move(left) / std::move(y);
}
Tensor& operator%=(Tensor& x, Arg y) {
  Arg left(x, y.where());
  return x = std::move(left) % std::move(y);
}

// Assigns f(v, y) to the variable.
namespace {
template <class F>
Variable changed(const Variable& v, Arg& y, F f) {
  const Arg::Where where = y.where();
  v.assign(Arg(f(Arg(v, where), std::move(y)), where));
  return v;
}
}  // namespace

Variable operator+=(const Variable& v, Arg y) {
  return changed(v, y, [](Arg a, Arg b) { return std::move(a) + std::move(b); });
}
Variable operator-=(const Variable& v, Arg y) {
  return changed(v, y, [](Arg a, Arg b) { return std::move(a) - std::move(b); });
}
Variable operator*=(const Variable& v, Arg y) {
  return changed(v, y, [](Arg a, Arg b) { return std::move(a) * std::move(b); });
}
Variable operator/=(const Variable& v, Arg y) {
  return changed(v, y, [](Arg a, Arg b) { return std::move(a) / std::move(b); });
}

}  // namespace panto
