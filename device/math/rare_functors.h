// Functors of ops that are rarely called, or whose elements cost so much that wider vectors do not help. Their loops
// are compiled once, for all machines (`kScalar`).
#pragma once

#include "panto/device/math/functors.h"

namespace panto {

struct Scalar {
  static constexpr bool kScalar = true;
};

// ---- Trigonometry ---------------------------------------------------------------------------------------------------

struct TanFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::tan(x);
  }
};
struct AsinFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::asin(x);
  }
};
struct AcosFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::acos(x);
  }
};
struct AtanFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::atan(x);
  }
};
struct SinhFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::sinh(x);
  }
};
struct CoshFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::cosh(x);
  }
};
struct AsinhFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::asinh(x);
  }
};
struct AcoshFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::acosh(x);
  }
};
struct AtanhFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::atanh(x);
  }
};
struct Atan2Fn : Scalar {
  template <class T>
  PANTO_FN T operator()(T y, T x) const {
    return k::atan2(y, x);
  }
};

// ---- Ops that give zero if one operand is zero ----------------------------------------------------------------------

struct DivNoNanFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return y == T{0} ? T{0} : k::div(x, y);
  }
};
struct MulNoNanFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return y == T{0} ? T{0} : k::mul(x, y);
  }
};
struct XdivyFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return x == T{0} ? T{0} : k::div(x, y);
  }
};
struct XlogyFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return x == T{0} ? T{0} : k::mul(x, k::log(y));
  }
};
struct Xlog1pyFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return x == T{0} ? T{0} : k::mul(x, k::log1p(y));
  }
};

// ---- Truncated division ---------------------------------------------------------------------------------------------

struct TruncateDivFn : Faulty, Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      DivFn divide;
      const T quotient = divide(x, y);
      if (divide.fault != Fault::kNone) fault = divide.fault;
      return quotient;
    } else {
      const T quotient = x / y;
      return quotient < T{0} ? k::ceil(quotient) : k::floor(quotient);
    }
  }
};
// The remainder of TruncateDiv: it has the dividend's sign.
struct TruncateModFn : Faulty, Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) {
    if constexpr (std::is_integral_v<T>) {
      if (y == T{0}) {
        fault = Fault::kDivisionByZero;
        return T{0};
      }
      if constexpr (std::is_signed_v<T>) {
        if (y == static_cast<T>(-1)) return T{0};
      }
      return static_cast<T>(x % y);
    } else {
      return k::fmod(x, y);
    }
  }
};

// ---- Bits -----------------------------------------------------------------------------------------------------------

struct BitwiseAndFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return static_cast<T>(x & y);
  }
};
struct BitwiseOrFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return static_cast<T>(x | y);
  }
};
struct BitwiseXorFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return static_cast<T>(x ^ y);
  }
};
struct InvertFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
// The shift count, clamped to [0, width of T - 1].
template <class T>
PANTO_FN int shift_of(T y) {
  constexpr int kMost = static_cast<int>(8 * sizeof(T)) - 1;
  if (k::is_negative(y)) return 0;
  return y > static_cast<T>(kMost) ? kMost : static_cast<int>(y);
}
struct LeftShiftFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return static_cast<T>(static_cast<k::Wrapping<T>>(x) << shift_of(y));
  }
};
struct RightShiftFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x, T y) const {
    return static_cast<T>(x >> shift_of(y));
  }
};
struct PopulationCountFn : Scalar {
  template <class T>
  PANTO_FN uint8_t operator()(T x) const {
    uint8_t count = 0;
    for (auto rest = static_cast<std::make_unsigned_t<T>>(x); rest != 0; ++count) {
      rest = static_cast<std::make_unsigned_t<T>>(rest & (rest - 1));
    }
    return count;
  }
};

// ---- Activations ----------------------------------------------------------------------------------------------------

struct EluFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return x < T{0} ? k::expm1(x) : x;
  }
};
// Takes Elu's output y.
struct EluGradFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T dy, T y) const {
    return y < T{0} ? dy * (y + T{1}) : dy;
  }
};
struct SeluFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return x < T{0} ? static_cast<T>(kScaleAlpha) * k::expm1(x) : static_cast<T>(kScale) * x;
  }
  static constexpr double kScale = 1.0507009873554804934193349852946, kScaleAlpha = 1.7580993408473768599402175208123;
};
// Takes Selu's output y.
struct SeluGradFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T dy, T y) const {
    return y < T{0} ? dy * (y + static_cast<T>(SeluFn::kScaleAlpha)) : dy * static_cast<T>(SeluFn::kScale);
  }
};
// A NaN passes through, as in TensorFlow.
struct Relu6Fn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return k::is_negative(x) ? T{0} : x > T{6} ? T{6} : x;
  }
};
struct Relu6GradFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T dy, T x) const {
    return k::mul(dy, x > T{0} && x < T{6} ? T{1} : T{0});
  }
};
struct SoftsignFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T x) const {
    return x / (k::abs(x) + T{1});
  }
};
struct SoftsignGradFn : Scalar {
  template <class T>
  PANTO_FN T operator()(T dy, T x) const {
    const T d = k::abs(x) + T{1};
    return dy / (d * d);
  }
};

}  // namespace panto
