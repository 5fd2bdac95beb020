#include "panto/lib/ops/numpy/elementary.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

bool is_floating(const Tensor& x) { return dtypes::kFloating.contains(x.dtype()); }

// log(x) / log(base). In float64 the quotient may miss a whole number by a rounding: log(1000) / log(10) does.
Tensor logarithm(Arg x, double base) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    if (!is_floating(t)) return log(t) / std::log(base);
    const Tensor wide = cast(t, kFloat64), y = log(wide) / std::log(base);
    if (t.dtype() != kFloat64) return cast(y, t.dtype());
    const Tensor whole = round(y), is_whole = logical_and(pow(base, whole) == wide, isfinite(y));
    return y + stop_gradient(select(is_whole, whole - y, zeros_like(y)));
  });
}

// The largest finite number of a floating type.
double largest(DType type) {
  switch (type) {
    case kFloat64: return std::numeric_limits<double>::max();
    case kFloat16: return 65504;
    case kBFloat16: return 0x1.FEp127;
    default: return std::numeric_limits<float>::max();
  }
}

// Of x < 0 or -0.
Tensor negative(const Tensor& x) {
  if (!is_floating(x)) return x < 0;
  return logical_or(x < 0, logical_and(x == 0, reciprocal(x) < 0));
}

}  // namespace

Tensor log2(Arg x) { return logarithm(std::move(x), 2); }
Tensor log10(Arg x) { return logarithm(std::move(x), 10); }
Tensor exp2(Arg x) {
  return from_caller(x.where(), [&] { return pow(2.0, std::move(x)); });
}

Tensor logaddexp(Arg x, Arg y) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor a = identity(std::move(x)), b = identity(std::move(y));
    const Tensor larger = a >= b, distance = select(larger, b - a, a - b);
    // The difference of two equal infinities is NaN.
    const Tensor finite = select(logical_and(a == b, isinf(a + b)), zeros_like(distance), distance);
    return select(larger, a, b) + log1p(exp(finite));
  });
}

Tensor hypot(Arg x, Arg y) {
  return from_caller(x.where(), [&] { return complex_abs(make_complex(std::move(x), std::move(y))); });
}

Tensor logit(Arg p) {
  return from_caller(p.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(p));
    return log(t) - log1p(-t);
  });
}

Tensor sinc(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x)), zero = t == 0;
    // A number other than 0 in its place, so that no gradient is NaN.
    const Tensor angle = select(zero, ones_like(t), t * std::numbers::pi);
    return select(zero, ones_like(t), sin(angle) / angle);
  });
}

Tensor deg2rad(Arg x) {
  return from_caller(x.where(), [&] { return std::move(x) * (std::numbers::pi / 180); });
}
Tensor rad2deg(Arg x) {
  return from_caller(x.where(), [&] { return std::move(x) * (180 / std::numbers::pi); });
}

Tensor trunc(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    return is_floating(t) ? select(t < 0, ceil(t), floor(t)) : t;
  });
}
Tensor fmod(Arg x, Arg y) { return truncate_mod(std::move(x), std::move(y)); }
Tensor remainder(Arg x, Arg y) { return floor_mod(std::move(x), std::move(y)); }

Tensor signbit(Arg x) {
  return from_caller(x.where(), [&] { return negative(identity(std::move(x))); });
}
Tensor copysign(Arg x, Arg y) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor size = abs(std::move(x));
    return select(negative(identity(std::move(y))), -size, size);
  });
}
Tensor heaviside(Arg x, Arg at_zero) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x)), step = select(t < 0, zeros_like(t), ones_like(t));
    return select(isnan(t), t, select(t == 0, std::move(at_zero), step));
  });
}
Tensor lerp(Arg a, Arg b, Arg weight) {
  return from_caller(a.where(), [&]() -> Tensor {
    const Tensor from = identity(std::move(a));
    return from + (std::move(b) - from) * std::move(weight);
  });
}
Tensor logical_xor(Arg x, Arg y) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor a = identity(std::move(x)), b = identity(std::move(y));
    for (const Tensor& t : {a, b}) {
      if (t.dtype() != kBool) invalid("logical_xor: expected bools, got {}", dtype_name(t.dtype()));
    }
    return a != b;
  });
}

Tensor nan_to_num(Arg x, const NanToNumOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    Tensor t = identity(std::move(x));
    if (!is_floating(t)) return t;
    const double most = largest(t.dtype());
    const Tensor finite = select(isnan(t), options.nan, t);
    const Tensor below = select(finite == INFINITY, options.posinf.value_or(most), finite);
    return select(below == -INFINITY, options.neginf.value_or(-most), below);
  });
}

Tensor isclose(Arg x, Arg y, const IscloseOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor b = identity(std::move(y)), a = identity(std::move(x));
    // Equal infinities are close; their difference is NaN.
    const Tensor close = logical_or(a == b, less_equal(abs(a - b), abs(b) * options.rtol + options.atol));
    return options.equal_nan ? logical_or(close, logical_and(isnan(a), isnan(b))) : close;
  });
}

}  // namespace panto
