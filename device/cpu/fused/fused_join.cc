#include "panto/device/cpu/fused/fused_join.h"

#include <vector>

#include "panto/device/cpu/elementwise/loops.h"

namespace panto::cpu {
namespace {

// A product that the compiler cannot contract into a multiply-add: it already is one, which adds -0. It adds -0 because
// (+0) + (-0) is +0 and (-0) + (-0) is -0.
struct RoundedMul {
  [[gnu::always_inline]] float operator()(float x, float y) const { return __builtin_fmaf(x, y, -0.0f); }
};
#ifdef __x86_64__
using PortableMul = MulFn;  // portable x86-64 has no FMA
#else
using PortableMul = RoundedMul;
#endif

// g(f(x, s))
template <class F, class G>
struct ScaledThen {
  [[gnu::always_inline]] float operator()(float x, float s) const { return G{}(F{}(x, s)); }
};
// g(f(x), t)
template <class F, class G>
struct ThenScaled {
  [[gnu::always_inline]] float operator()(float x, float t) const { return G{}(F{}(x), t); }
};
// h(g(f(x, s)), t)
template <class F, class G, class H>
struct ScaledThenScaled {
  [[gnu::always_inline]] float operator()(float x, float s, float t) const { return H{}(G{}(F{}(x, s)), t); }
};
// g(f(x, s), y); g(y, f(x, s)) if kSecond
template <class F, class G, bool kSecond>
struct ScaledWith {
  [[gnu::always_inline]] float operator()(float x, float s, float y) const {
    const float first = F{}(x, s);
    return kSecond ? G{}(y, first) : G{}(first, y);
  }
};

// f(x, y) squared
template <class F>
struct Squared {
  [[gnu::always_inline]] float operator()(float x, float y) const { return SquareFn{}(F{}(x, y)); }
};

// (x * u) * (g(x * s) + t), the form of GELU
template <class G>
struct GatedByItself {
  [[gnu::always_inline]] float operator()(float x, float s, float t, float u) const {
    return MulFn{}(MulFn{}(x, u), ScaledThenScaled<MulFn, G, AddFn>{}(x, s, t));
  }
};

#ifdef __x86_64__
// True if f has an AVX-512 version: f(x), f(x) * t and similar then have one, too.
template <class F>
concept Vectored = requires { &InVectors<F>::value; };
}  // namespace

template <Vectored F>
struct InVectors<ScaledThen<MulFn, F>> {
  [[PANTO_AVX512, gnu::always_inline]] static __m512 value(__m512 x, __m512 s) {
    return InVectors<F>::value(_mm512_mul_ps(x, s));
  }
};
template <Vectored F>
struct InVectors<ThenScaled<F, AddFn>> {
  [[PANTO_AVX512, gnu::always_inline]] static __m512 value(__m512 x, __m512 t) {
    return _mm512_add_ps(InVectors<F>::value(x), t);
  }
};
template <Vectored F>
struct InVectors<ThenScaled<F, MulFn>> {
  [[PANTO_AVX512, gnu::always_inline]] static __m512 value(__m512 x, __m512 t) {
    return _mm512_mul_ps(InVectors<F>::value(x), t);
  }
};
template <Vectored F>
struct InVectors<ScaledThenScaled<MulFn, F, AddFn>> {
  [[PANTO_AVX512, gnu::always_inline]] static __m512 value(__m512 x, __m512 s, __m512 t) {
    return _mm512_add_ps(InVectors<F>::value(_mm512_mul_ps(x, s)), t);
  }
};
template <Vectored F>
struct InVectors<GatedByItself<F>> {
  [[PANTO_AVX512, gnu::always_inline]] static __m512 value(__m512 x, __m512 s, __m512 t, __m512 u) {
    const __m512 gate = _mm512_add_ps(InVectors<F>::value(_mm512_mul_ps(x, s)), t);
    return _mm512_mul_ps(_mm512_mul_ps(x, u), gate);
  }
};

namespace {
#endif

// Loops over floats in which only operand 0, or operands 0 and 2, move; the others are scalars.
template <class F>
using OneMoves2 = PartlyStridedLoop<0b01, F, float, float, float>;
template <class F>
using OneMoves3 = PartlyStridedLoop<0b001, F, float, float, float, float>;
template <class F>
using OneMoves4 = PartlyStridedLoop<0b0001, F, float, float, float, float, float>;
template <class F>
using EndsMove3 = PartlyStridedLoop<0b101, F, float, float, float, float>;

struct Entry {
  InnerLoopFn first, second;
  int place, operands;
  Joined joined;
};

class Table {
 public:
  Table() {
    function<ErfFn>();
    function<ExpFn>();
    function<TanhFn>();
    scaled<MulFn, RoundedMul, PortableMul>();
    scaled<AddFn>();
    scaled<SubFn>();
    squared<MulFn>();
    squared<AddFn>();
    squared<SubFn>();
  }
  Joined find(InnerLoopFn first, InnerLoopFn second, int place, int operands) const {
    for (const Entry& e : entries_) {
      if (e.first == first && e.second == second && e.place == place && e.operands == operands) return e.joined;
    }
    return {};
  }

 private:
  void add(InnerLoopFn first, InnerLoopFn second, int place, int operands, Joined joined) {
    entries_.push_back({first, second, place, operands, joined});
  }
  // f(x * s), f(x) + t, f(x) * t, f(x * s) + t, (x * u) * (f(x * s) + t)
  template <class F>
  void function() {
    const InnerLoopFn scaled = inner_loop_for_this_machine<OneMoves2<ScaledThen<MulFn, F>>>();
    const InnerLoopFn shifted = inner_loop_for_this_machine<OneMoves3<ScaledThenScaled<MulFn, F, AddFn>>>();
    add(binary_inner_loop<MulFn, float>(), unary_inner_loop<F, float>(), 0, 1, {scaled, 0b10});
    for (int place : {0, 1}) {  // for ops that commute
      add(unary_inner_loop<F, float>(), binary_inner_loop<AddFn, float>(), place, 2,
          {inner_loop_for_this_machine<OneMoves2<ThenScaled<F, AddFn>>>(), 0b10});
      add(unary_inner_loop<F, float>(), binary_inner_loop<MulFn, float>(), place, 2,
          {inner_loop_for_this_machine<OneMoves2<ThenScaled<F, MulFn>>>(), 0b10});
      add(scaled, binary_inner_loop<AddFn, float>(), place, 2, {shifted, 0b110});
    }
    add(shifted, inner_loop_for_this_machine<EndsMove3<ScaledWith<MulFn, MulFn, false>>>(), 2, 3,
        {inner_loop_for_this_machine<OneMoves4<GatedByItself<F>>>(), 0b1110, true});
  }
  template <class F>
  void squared() {
    add(binary_inner_loop<F, float>(), unary_inner_loop<SquareFn, float>(), 0, 1,
        {inner_loop_for_this_machine<InnerLoop<Squared<F>, float, float, float>>(), 0});
  }
  // Adds (x . s) * y, (x . s) + y, (x . s) - y, y - (x . s), where . is F. `Rounded` and `Portable` are F with the
  // rounding of F alone.
  template <class F, class Rounded = F, class Portable = F>
  void scaled() {
    for (int place : {0, 1}) {
      with<F, MulFn, F, F, false>(place);
      with<F, AddFn, Rounded, Portable, false>(place);
    }
    with<F, SubFn, Rounded, Portable, false>(0);
    with<F, SubFn, Rounded, Portable, true>(1);
  }
  template <class F, class G, class Rounded, class Portable, bool kSecond>
  void with(int place) {
    using R = EndsMove3<ScaledWith<Rounded, G, kSecond>>;
    using P = EndsMove3<ScaledWith<Portable, G, kSecond>>;
    add(binary_inner_loop<F, float>(), binary_inner_loop<G, float>(), place, 2,
        {inner_loop_for_this_machine<R, P>(), 0b010});
  }

  std::vector<Entry> entries_;
};

}  // namespace

Joined join(InnerLoopFn first, InnerLoopFn second, int place, int operands) {
  static const Table table;
  return table.find(first, second, place, operands);
}

bool commutes(InnerLoopFn loop) {
  return loop == binary_inner_loop<AddFn, float>() || loop == binary_inner_loop<MulFn, float>();
}

}  // namespace panto::cpu
