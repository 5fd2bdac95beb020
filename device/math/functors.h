// The functors of elementwise kernels: each operation on one element is written once, for every device and instruction
// set.
//
// A functor is a small struct with a templated operator(). Optional members:
//   kWork    for functors that are not an op's own: the cost of an element beyond moving its bytes, measured in bytes
//            that could be moved meanwhile (for sharing work); for an op's functor it follows from the op's `.flops`
//   Bounded  a version without branches, or a shorter one, for a restricted domain (device/math/vector_math.h):
//            Bounded::value(x...) is the result for floats for which Bounded::holds(x...) is true; void: none
//   kScalar  true: its loops are compiled once, for all machines
//   kOfStorage  true: it only moves elements, and is instantiated by element size
//   Faulty   a base for functors that can meet bad data: they record it in `fault` and go on with a harmless value; the
//            loop throws afterwards, or raises a flag on a GPU
#pragma once

#include "panto/device/fault.h"
#include "panto/device/math/vocabulary.h"

namespace panto {

struct Faulty {
  Fault fault = Fault::kNone;
};

// ---- Unary ----------------------------------------------------------------------------------------------------------

struct NegFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::neg(x);
  }
};
// Returns one for any x.
struct OneFn {
  template <class T>
  PANTO_FN T operator()(T) const {
    return static_cast<T>(1);
  }
};
struct ConjFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::conj(x);
  }
};
struct AbsFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::abs(x);
  }
};
struct SignFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::sign(x);
  }
};
struct FloorFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::floor(x);
  }
};
struct CeilFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::ceil(x);
  }
};
struct RintFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::rint(x);
  }
};
struct IsNanFn {
  template <class T>
  PANTO_FN bool operator()(T x) const {
    return x != x;
  }
};
// The difference of an infinity or a NaN with itself is NaN, and that of every other number is 0.
struct IsInfFn {
  template <class T>
  PANTO_FN bool operator()(T x) const {
    return x == x && x - x != T{0};
  }
};
struct IsFiniteFn {
  template <class T>
  PANTO_FN bool operator()(T x) const {
    return x - x == T{0};
  }
};
struct SquareFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::mul(x, x);
  }
};
struct SqrtFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::sqrt(x);
  }
};
struct RsqrtFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::div(T{1}, k::sqrt(x));
  }
};
struct ReciprocalFn : Faulty {
  template <class T>
  PANTO_FN T operator()(T x) {
    if constexpr (std::is_integral_v<T>) {
      if (x == T{0}) {
        fault = Fault::kDivisionByZero;
        return T{0};
      }
    }
    return k::div(T{1}, x);
  }
};
struct ExpFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::exp(x);
  }
};
struct Expm1Fn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::expm1(x);
  }
};
struct LogFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::log(x);
  }
};
struct Log1pFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::log1p(x);
  }
};
struct SinFn {
  using Bounded = k::fast::BoundedSin;
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::sin(x);
  }
};
struct CosFn {
  using Bounded = k::fast::BoundedCos;
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::cos(x);
  }
};
struct TanhFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::tanh(x);
  }
};
struct SigmoidFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::sigmoid(x);
  }
};
struct ErfFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::erf(x);
  }
};
struct ErfcFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::erfc(x);
  }
};
struct SoftplusFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::softplus(x);
  }
};
// A NaN passes through, as in TensorFlow.
struct ReluFn {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::select(k::is_negative(x), T{0}, x);
  }
};
struct LogicalNotFn {
  PANTO_FN bool operator()(bool x) const { return !x; }
};

// ---- Binary ---------------------------------------------------------------------------------------------------------

struct AddFn {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return k::add(x, y);
  }
};
struct SubFn {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return k::sub(x, y);
  }
};
struct MulFn {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return k::mul(x, y);
  }
};
// The smallest integer divided by -1 wraps to itself.
struct DivFn : Faulty {
  template <class T>
  PANTO_FN T operator()(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      if (y == T{0}) {
        fault = Fault::kDivisionByZero;
        return T{0};
      }
      if constexpr (std::is_signed_v<T>) {
        if (y == static_cast<T>(-1)) return k::neg(x);
      }
    }
    return k::div(x, y);
  }
};
struct FloorDivFn : Faulty {
  template <class T>
  PANTO_FN T operator()(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      if (y == T{0}) {
        fault = Fault::kDivisionByZero;
        return T{0};
      }
      if constexpr (std::is_signed_v<T>) {
        if (y == static_cast<T>(-1)) return k::neg(x);
      }
      const bool below = x % y != 0 && k::is_negative(x) != k::is_negative(y);
      return static_cast<T>(x / y - T{below});
    } else {
      return k::floor(x / y);
    }
  }
};
// The remainder of FloorDiv: it has the divisor's sign.
struct FloorModFn : Faulty {
  using Bounded = k::fast::BoundedFloorMod;
  template <class T>
  PANTO_FN T operator()(T x, T y) {
    T rest;
    if constexpr (std::is_integral_v<T>) {
      if (y == T{0}) {
        fault = Fault::kDivisionByZero;
        return T{0};
      }
      if constexpr (std::is_signed_v<T>) {
        if (y == static_cast<T>(-1)) return T{0};
      }
      rest = static_cast<T>(x % y);
    } else {
      rest = k::fmod(x, y);
    }
    return rest != T{0} && k::is_negative(rest) != k::is_negative(y) ? static_cast<T>(rest + y) : rest;
  }
};
struct PowFn : Faulty {
  using Bounded = k::fast::BoundedPow;
  template <class T>
  PANTO_FN T operator()(T x, T y) {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (y < T{0}) {
        fault = Fault::kNegativePower;
        return T{0};
      }
    }
    return k::pow(x, y);
  }
};
struct MaximumFn {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return k::max(x, y);
  }
};
struct MinimumFn {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return k::min(x, y);
  }
};
// For complex numbers the squared distance |x - y|^2, as in TensorFlow.
struct SquaredDifferenceFn {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    const T difference = k::sub(x, y);
    return k::mul(difference, k::conj(difference));
  }
};
// The gradient of Relu. A NaN in `dy` passes through even where x <= 0, as in TensorFlow.
struct ReluGradFn {
  template <class T>
  PANTO_FN T operator()(T dy, T x) const {
    return k::mul(dy, k::select(x > T{0}, T{1}, T{0}));
  }
};

struct EqualFn {
  template <class T>
  PANTO_FN bool operator()(const T& x, const T& y) const {
    return x == y;
  }
};
struct NotEqualFn {
  template <class T>
  PANTO_FN bool operator()(const T& x, const T& y) const {
    return !(x == y);
  }
};
struct LessFn {
  template <class T>
  PANTO_FN bool operator()(T x, T y) const {
    return x < y;
  }
};
struct LessEqualFn {
  template <class T>
  PANTO_FN bool operator()(T x, T y) const {
    return x <= y;
  }
};
struct GreaterFn {
  template <class T>
  PANTO_FN bool operator()(T x, T y) const {
    return x > y;
  }
};
struct GreaterEqualFn {
  template <class T>
  PANTO_FN bool operator()(T x, T y) const {
    return x >= y;
  }
};
struct LogicalAndFn {
  PANTO_FN bool operator()(bool x, bool y) const { return x & y; }
};
struct LogicalOrFn {
  PANTO_FN bool operator()(bool x, bool y) const { return x | y; }
};

// ---- Ternary --------------------------------------------------------------------------------------------------------

struct SelectFn {
  // T is the storage type of an element; its dtype does not matter.
  static constexpr bool kOfStorage = true;
  // By value for trivial types: both sides are then loaded without a branch, which vectorises.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  PANTO_FN T operator()(bool condition, T t, T e) const {
    return k::select(condition, t, e);
  }
  template <class T>
    requires(!std::is_trivially_copyable_v<T>)
  const T& operator()(bool condition, const T& t, const T& e) const {
    return condition ? t : e;
  }
};

}  // namespace panto
