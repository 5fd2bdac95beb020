// Elementwise kernels: any number of inputs, with broadcasting.
//
//   const TableKernels<"CPU", Unary, types::common> unary_kernels(UnaryOps{});
//   const CpuKernel less_kernel("Less", types::of<"Less">{}, binary<LessFn>);
//
// Elements of 16-bit types are converted to float a block at a time, computed by the inner loop for floats, and rounded
// once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "panto/device/cpu/elementwise/cast.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/elementwise/kernel_loop.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/elementwise_ops.h"
#include "panto/lib/core/call/call.h"

namespace panto {

namespace cpu {

// The cost of an element beyond moving its bytes, in bytes that could be moved meanwhile: two per operation. 0 for
// functors of at most two operations, which run while the loop waits for memory.
template <class F>
constexpr int64_t extra_work() {
  if constexpr (requires { F::kWork; }) {
    return F::kWork;
  } else {
    return kFlops<F> <= 2 ? 0 : 2 * kFlops<F>;
  }
}

template <class F, class Out, class... In>
inline constexpr int64_t kInnerLoopWork = static_cast<int64_t>(sizeof(Out) + (sizeof(In) + ...)) + extra_work<F>();

// Ops have at most three inputs; joined inner loops (device/cpu/fused/fused_join.h) one more.
inline constexpr int kMaxInnerLoopInputs = 4;

// The inner loop of a kernel and what its driver must know.
struct InnerLoopKernel {
  InnerLoopFn run;
  int inputs;
  uint32_t in_size[kMaxInnerLoopInputs];  // bytes per element
  uint32_t out_size;
  int64_t work;  // cost of an element, in bytes that could be moved meanwhile
};

struct InnerLoopInput {
  const void* data;
  const PartialShape* shape;  // broadcasts to the output's
  int64_t numel;
};

// Computes out = f(inputs) with broadcasting, shared between threads. `n`: elements of the output. Throws the fault
// that the inner loop found.
void run_inner_loops(const InnerLoopKernel& kernel, const InnerLoopInput* in, const PartialShape& out_shape, void* out,
                     int64_t n);
// The same for the inputs and output 0 of a call.
void run_elementwise(KernelContext& c, const InnerLoopKernel& kernel);

// The same, with a fast path for inputs of equal size that are too small to share. `loop` is a compile-time constant.
template <class F, class Out, class... In, class LoopOf, size_t... I>
inline void elementwise(KernelContext& c, LoopOf loop, std::index_sequence<I...>) {
  const int64_t n = c.out_numel(0);
  constexpr int64_t kWork = kInnerLoopWork<F, Out, In...>;
  // An input with n elements that broadcasts to n elements needs no broadcasting, whatever its shape.
  if (((c.numel(I) == n) && ...) && n < kParallelBytes / kWork) [[likely]] {
    const void* const in[] = {c.in(I).impl()->data...};
    const uint32_t fault = loop()((1u << sizeof...(In)) - 1, c.out(0).impl()->data, n, in);
    if constexpr (kMayFault<F, In...>) {
      if (fault != 0) [[unlikely]]
        throw_fault(static_cast<Fault>(fault));
    }
    return;
  }
  run_elementwise(c, {loop(), sizeof...(In), {sizeof(In)...}, sizeof(Out), kWork});
}

template <class F, class Out, class... In>
void run_portable(KernelContext& c) {
  elementwise<F, Out, In...>(c, [] { return &InnerLoop<F, Out, In...>::portable; }, std::index_sequence_for<In...>{});
}
#ifdef __x86_64__
template <class F, class Out, class... In>
void run_avx2(KernelContext& c) {
  elementwise<F, Out, In...>(c, [] { return &InnerLoop<F, Out, In...>::avx2; }, std::index_sequence_for<In...>{});
}
template <class F, class Out, class... In>
void run_avx512(KernelContext& c) {
  elementwise<F, Out, In...>(c, [] { return &InnerLoop<F, Out, In...>::avx512; }, std::index_sequence_for<In...>{});
}
#endif

// The inner loop for this machine.
template <class F, class Out, class... In>
InnerLoopFn elementwise_inner_loop() {
#ifdef __x86_64__
  if constexpr (kVectorises<F, Out, In...>) return inner_loop_for_this_machine<InnerLoop<F, Out, In...>>();
#endif
  return InnerLoop<F, Out, In...>::portable;
}

// For F with 16-bit operands or results: converts blocks to float in the first-level cache.
template <class F, class Out, class... In>
struct RoundedInnerLoop {
  static constexpr size_t kInputs = sizeof...(In);
  static constexpr unsigned kAll = (1u << kInputs) - 1;
  static constexpr int64_t kBlock = 512;

  static uint32_t run(unsigned moves, void* out, int64_t n, const void* const* in) {
    static const InnerLoopFn compute = elementwise_inner_loop<F, Compute<Out>, Compute<In>...>();
    return blocks(compute, moves, out, n, in, std::index_sequence_for<In...>{});
  }

 private:
  // An input. If T is a 16-bit type, blocks of it are converted to `floats`.
  template <class T>
  struct Input {
    static constexpr bool kConverts = is_half_type<T>;
    const T* first;
    bool moves;
    float* floats;
    Input(const void* first, bool moves, float* floats)
        : first(static_cast<const T*>(first)), moves(moves), floats(floats) {
      if (!moves) widen(0, 1);
    }
    const void* at(int64_t begin, int64_t count) {
      if (moves) widen(begin, count);
      if constexpr (kConverts) return floats;
      return first + (moves ? begin : 0);
    }
    void widen(int64_t begin, int64_t count) {
      if constexpr (kConverts) {
        static const InnerLoopFn convert = cast_inner_loop(kFloat32, dtype_of<T>);
        const void* const from[] = {first + begin};
        convert(1, floats, count, from);
      }
    }
  };

  template <size_t... I>
  static uint32_t blocks(InnerLoopFn compute, unsigned moves, void* out, int64_t n, const void* const* in,
                         std::index_sequence<I...>) {
    alignas(64) float floats[kInputs][kBlock];
    std::tuple<Input<In>...> inputs{Input<In>(in[I], (moves >> I & 1u) != 0, floats[I])...};
    uint32_t found = 0;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t count = std::min(kBlock, n - begin);
      const void* const values[] = {std::get<I>(inputs).at(begin, count)...};
      Out* to = static_cast<Out*>(out) + begin;
      if constexpr (is_half_type<Out>) {
        static const InnerLoopFn round = cast_inner_loop(dtype_of<Out>, kFloat32);
        alignas(64) float made[kBlock];
        found |= compute(moves & kAll, made, count, values);
        const void* const from[] = {made};
        round(1u | (moves & kNontemporal), to, count, from);
      } else {
        found |= compute(moves & kAll, to, count, values);
      }
    }
    return found;
  }
};

template <class F, class Out, class... In>
void run_rounded(KernelContext& c) {
  elementwise<F, Out, In...>(c, [] { return &RoundedInnerLoop<F, Out, In...>::run; }, std::index_sequence_for<In...>{});
}

// The type of F's result for elements of these types.
template <class F, class T, class... More>
using Made = std::conditional_t<std::is_same_v<decltype(F{}(Compute<T>{}, Compute<More>{}...)), Compute<T>>, T,
                                decltype(F{}(Compute<T>{}, Compute<More>{}...))>;

// A kernel's payload.
template <InnerLoopFn kRun, int64_t kWork>
inline constexpr KernelLoop kKernelLoop = {kRun, kWork};

// The kernel for this machine.
template <class F, class Out, class... In>
Kernel elementwise_kernel() {
  constexpr int64_t kWork = kInnerLoopWork<F, Out, In...>;
  if constexpr ((is_half_type<In> || ...)) {
    constexpr int64_t kConversions = 2 * sizeof(float);
    return {.run = run_rounded<F, Out, In...>,
            .payload = &kKernelLoop<RoundedInnerLoop<F, Out, In...>::run, kWork + kConversions>};
  } else {
    using Loop = InnerLoop<F, Out, In...>;
#ifdef __x86_64__
    if constexpr (kVectorises<F, Out, In...>) {
      if (isa() >= Isa::kAvx512) {
        return {.run = run_avx512<F, Out, In...>, .payload = &kKernelLoop<Loop::avx512, kWork>};
      }
      if (isa() >= Isa::kAvx2) return {.run = run_avx2<F, Out, In...>, .payload = &kKernelLoop<Loop::avx2, kWork>};
    }
#endif
    return {.run = run_portable<F, Out, In...>, .payload = &kKernelLoop<Loop::portable, kWork>};
  }
}

}  // namespace cpu

// The makers (device/kernel.h).

template <class F>
struct Unary {
  template <class T>
  static Kernel kernel() {
    return cpu::elementwise_kernel<F, cpu::Made<F, T>, T>();
  }
};
template <class F>
inline constexpr Unary<F> unary{};

template <class F>
struct Binary {
  template <class T>
  static Kernel kernel() {
    return cpu::elementwise_kernel<F, cpu::Made<F, T, T>, T, T>();
  }
};
template <class F>
inline constexpr Binary<F> binary{};

// Returns the inner loop of a unary or binary op, for kernels that apply the op as part of their work.
template <class F, class T>
InnerLoopFn unary_inner_loop() {
  return cpu::loop_of(Unary<F>::template kernel<T>())->run;
}
template <class F, class T>
InnerLoopFn binary_inner_loop() {
  return cpu::loop_of(Binary<F>::template kernel<T>())->run;
}

// Input 0 is a mask.
template <class F>
struct Masked {
  template <class T>
  static Kernel kernel() {
    return cpu::elementwise_kernel<F, T, bool, T, T>();
  }
};
template <class F>
inline constexpr Masked<F> masked{};

}  // namespace panto
