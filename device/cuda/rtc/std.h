// The few words of the standard library that functors use, for NVRTC, which has none: the text behind <cmath>,
// <cstdint>, <limits>, <type_traits>, <bit> and <complex> there. Not part of any other compilation.
#ifndef PANTO_DEVICE_CUDA_RTC_STD_H
#define PANTO_DEVICE_CUDA_RTC_STD_H

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;

namespace std {

// ---- <type_traits>, <concepts> ----

template <bool kCondition, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool kCondition, class A, class B>
using conditional_t = typename conditional<kCondition, A, B>::type;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;

template <class T, class... Types>
inline constexpr bool is_one_of_v = (is_same_v<T, Types> || ...);
template <class T>
inline constexpr bool is_floating_point_v = is_one_of_v<T, float, double>;
template <class T>
inline constexpr bool is_unsigned_v = is_one_of_v<T, bool, uint8_t, uint16_t, uint32_t, uint64_t, unsigned long long>;
template <class T>
inline constexpr bool is_integral_v =
    is_unsigned_v<T> || is_one_of_v<T, char, int8_t, int16_t, int32_t, int64_t, long long>;
template <class T>
inline constexpr bool is_signed_v = is_floating_point_v<T> || (is_integral_v<T> && !is_unsigned_v<T>);
template <class Base, class T>
inline constexpr bool is_base_of_v = __is_base_of(Base, T);
template <class T>
inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);

template <class T>
using make_unsigned_t =
    conditional_t<sizeof(T) == 1, uint8_t,
                  conditional_t<sizeof(T) == 2, uint16_t, conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

// ---- <limits> ----

template <class T>
struct numeric_limits {
  static constexpr T min() {
    return is_unsigned_v<T> ? T{0} : static_cast<T>(make_unsigned_t<T>{1} << (8 * sizeof(T) - 1));
  }
  static constexpr T max() { return static_cast<T>(~static_cast<make_unsigned_t<T>>(min())); }
};

// ---- <bit> ----

template <class To, class From>
__host__ __device__ constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

// ---- <cmath> ----

__device__ inline float fabs(float x) { return ::fabsf(x); }
__device__ inline double fabs(double x) { return ::fabs(x); }
__device__ inline float sqrt(float x) { return ::sqrtf(x); }
__device__ inline double sqrt(double x) { return ::sqrt(x); }
__device__ inline float exp(float x) { return ::expf(x); }
__device__ inline double exp(double x) { return ::exp(x); }
__device__ inline float expm1(float x) { return ::expm1f(x); }
__device__ inline double expm1(double x) { return ::expm1(x); }
__device__ inline float log(float x) { return ::logf(x); }
__device__ inline double log(double x) { return ::log(x); }
__device__ inline float log1p(float x) { return ::log1pf(x); }
__device__ inline double log1p(double x) { return ::log1p(x); }
__device__ inline float sin(float x) { return ::sinf(x); }
__device__ inline double sin(double x) { return ::sin(x); }
__device__ inline float cos(float x) { return ::cosf(x); }
__device__ inline double cos(double x) { return ::cos(x); }
__device__ inline float tanh(float x) { return ::tanhf(x); }
__device__ inline double tanh(double x) { return ::tanh(x); }
__device__ inline float erf(float x) { return ::erff(x); }
__device__ inline double erf(double x) { return ::erf(x); }
__device__ inline float erfc(float x) { return ::erfcf(x); }
__device__ inline double erfc(double x) { return ::erfc(x); }
__device__ inline float floor(float x) { return ::floorf(x); }
__device__ inline double floor(double x) { return ::floor(x); }
__device__ inline float fmod(float x, float y) { return ::fmodf(x, y); }
__device__ inline double fmod(double x, double y) { return ::fmod(x, y); }
__device__ inline float pow(float x, float y) { return ::powf(x, y); }
__device__ inline double pow(double x, double y) { return ::pow(x, y); }

// ---- <complex> ----

// Conversions only ask whether a type is one.
template <class T>
class complex;

}  // namespace std

#endif
