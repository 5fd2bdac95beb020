// The loop of elementwise kernels: one template for any number of inputs, with broadcasting.
//
//   const CpuKernel tanh_kernel("Tanh", types::floating{}, unary<TanhFn>);
//   const CpuKernel add_kernel("AddV2", types::numeric{}, binary<AddFn>);
//
// The last template parameter, Arch, is the seam for instruction-set variants: it is a tag that only makes otherwise
// equal instantiations distinct, so that a file compiled for AVX2 may instantiate these templates with a tag of its own
// and its code is never linked in place of the portable one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "panto/device/broadcast.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/fault.h"
#include "panto/device/functors.h"
#include "panto/lib/core/call.h"

// An output may share its memory with an input, element for element: no iteration depends on another, which the
// compiler cannot know.
#ifdef __clang__
#define PANTO_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PANTO_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace panto {

struct Portable {};

namespace cpu {

// How a loop reads an input: consecutive elements, or always the same one.
template <bool kMoves, class T>
struct Reader {
  const T* data;
  explicit Reader(const T* first) : data(first) {}
  const T& operator()(int64_t i) const { return data[i]; }
};
template <class T>
struct Reader<false, T> {
  const T value;
  explicit Reader(const T* first) : value(*first) {}
  const T& operator()(int64_t) const { return value; }
};

template <class Arch, class F, class Out, class... Readers>
inline void loop(F& f, Out* out, int64_t n, const Readers&... in) {
  // A local copy: its `fault` then lives in a register, not in memory that a store to `out` might change.
  F local = f;
  PANTO_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) out[i] = local(in(i)...);
  if constexpr (std::is_base_of_v<Faulty, F>) f = local;
}

// n consecutive elements of the output; bit i of `moves` tells whether input i moves along. If none does, n is 1.
template <class Arch, class F, size_t... Variant, size_t... I, class Out, class... In>
inline void row_variants(unsigned moves, F& f, std::index_sequence<Variant...>, std::index_sequence<I...>, Out* out,
                         int64_t n, const In*... in) {
  // One less than 2^inputs: the variant in which nothing moves is left out.
  constexpr unsigned kAll = sizeof...(Variant);
  if (moves == 0) moves = kAll;
  const auto try_variant = [&]<unsigned kMoves>() {
    if (moves != kMoves) return false;
    loop<Arch>(f, out, n, Reader < (kMoves >> I & 1u) != 0, In > (in)...);
    return true;
  };
  static_cast<void>((try_variant.template operator()<kAll - Variant>() || ...));
}
// Not inlined: the compiler makes the loops once for all callers.
template <class Arch, class F, class Out, class... In>
[[gnu::noinline]] void run_row(unsigned moves, F& f, Out* out, int64_t n, const In*... in) {
  row_variants<Arch>(moves, f, std::make_index_sequence<(1u << sizeof...(In)) - 1>{}, std::index_sequence_for<In...>{},
                     out, n, in...);
}

// Elements [begin, end) of the output, row by row.
template <class Arch, class F, class Out, class... In, size_t... I>
void broadcast_range(const BroadcastMap<sizeof...(In)>& map, F& f, int64_t begin, int64_t end,
                     std::index_sequence<I...>, Out* out, const In*... in) {
  constexpr size_t kInputs = sizeof...(In);
  const int64_t row = map.size[0];
  const unsigned moves = ((map.stride[0][I] != 0 ? 1u << I : 0u) | ...);
  int64_t column = begin % row;
  int64_t offset[kInputs] = {};
  int64_t index[kMaxRank];
  for (int64_t rest = begin / row, d = 1; d < map.rank; ++d) {
    index[d] = rest % map.size[d];
    rest /= map.size[d];
    for (size_t i = 0; i < kInputs; ++i) offset[i] += index[d] * map.stride[d][i];
  }
  while (begin < end) {
    const int64_t n = std::min(row - column, end - begin);
    run_row<Arch>(moves, f, out + begin, n, (in + offset[I] + (map.stride[0][I] != 0 ? column : 0))...);
    begin += n;
    column = 0;
    for (int d = 1; d < map.rank; ++d) {
      for (size_t i = 0; i < kInputs; ++i) offset[i] += map.stride[d][i];
      if (++index[d] < map.size[d]) break;
      index[d] = 0;
      for (size_t i = 0; i < kInputs; ++i) offset[i] -= map.size[d] * map.stride[d][i];
    }
  }
}

template <class F>
constexpr int64_t extra_work() {
  if constexpr (requires { F::kWork; }) {
    return F::kWork;
  } else {
    return 0;
  }
}

// What the ranges of one call found, if F can find faults in elements of these types.
template <class F, class... In>
class FaultBox {
 public:
  static constexpr bool kActive = std::is_base_of_v<Faulty, F> && (std::is_integral_v<In> && ...);
  void report(const F& f) {
    if constexpr (kActive) {
      if (f.fault != Fault::kNone) [[unlikely]] {
        found_.store(f.fault, std::memory_order_relaxed);
      }
    }
  }
  void check() const {
    if constexpr (kActive) {
      const Fault fault = found_.load(std::memory_order_relaxed);
      if (fault != Fault::kNone) [[unlikely]] {
        throw_fault(fault);
      }
    }
  }

 private:
  struct Nothing {};
  [[no_unique_address]] std::conditional_t<kActive, std::atomic<Fault>, Nothing> found_{};
};

// out[i] = F{}(in[i]...), inputs broadcast. `in` are the call's inputs 0, 1, ... and `out` its output 0.
template <class F, class Arch = Portable, class Out, class... In, size_t... I>
inline void elementwise(KernelContext& c, std::index_sequence<I...> indices, Out* out, const In*... in) {
  const int64_t n = c.out_numel(0);
  const int64_t work = n * static_cast<int64_t>(sizeof(Out) + (sizeof(In) + ...) + extra_work<F>());
  FaultBox<F, In...> faults;
  // An input that broadcasts to n elements and has as many does not broadcast, whatever its shape.
  if (((c.numel(I) == n) && ...)) [[likely]] {
    parallel_ranges(n, work, [&](int64_t begin, int64_t end) {
      F f;
      run_row<Arch>((1u << sizeof...(In)) - 1, f, out + begin, end - begin, (in + begin)...);
      faults.report(f);
    });
  } else if (n == 0) {
    return;
  } else if (((c.numel(I) == n || c.numel(I) == 1) && ...)) {
    const unsigned moves = ((c.numel(I) == n ? 1u << I : 0u) | ...);
    parallel_ranges(n, work, [&](int64_t begin, int64_t end) {
      F f;
      run_row<Arch>(moves, f, out + begin, end - begin, ((moves >> I & 1u) != 0 ? in + begin : in)...);
      faults.report(f);
    });
  } else {
    BroadcastMap<sizeof...(In)> map;
    make_broadcast_map<sizeof...(In)>(c.out_shape(0), {&c.shape(I)...}, map);
    parallel_ranges(n, work, [&](int64_t begin, int64_t end) {
      F f;
      broadcast_range<Arch>(map, f, begin, end, indices, out, in...);
      faults.report(f);
    });
  }
  faults.check();
}

}  // namespace cpu

// The makers (device/kernel.h).

template <class F, class Arch>
struct Unary {
  template <class T>
  static void run(KernelContext& c) {
    using Out = decltype(F{}(T{}));
    cpu::elementwise<F, Arch>(c, std::make_index_sequence<1>{}, c.out_data<Out>(0), c.data<T>(0));
  }
};
template <class F, class Arch = Portable>
inline constexpr Unary<F, Arch> unary{};

template <class F, class Arch>
struct Binary {
  template <class T>
  static void run(KernelContext& c) {
    using Out = decltype(F{}(T{}, T{}));
    cpu::elementwise<F, Arch>(c, std::make_index_sequence<2>{}, c.out_data<Out>(0), c.data<T>(0), c.data<T>(1));
  }
};
template <class F, class Arch = Portable>
inline constexpr Binary<F, Arch> binary{};

// Input 0 is a mask.
template <class F, class Arch>
struct Masked {
  template <class T>
  static void run(KernelContext& c) {
    cpu::elementwise<F, Arch>(c, std::make_index_sequence<3>{}, c.out_data<T>(0), c.data<bool>(0), c.data<T>(1),
                              c.data<T>(2));
  }
};
template <class F, class Arch = Portable>
inline constexpr Masked<F, Arch> masked{};

}  // namespace panto
