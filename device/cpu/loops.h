// Elementwise kernels: any number of inputs, with broadcasting.
//
//   const CpuKernel tanh_kernel("Tanh", types::floating{}, unary<TanhFn>);
//   const CpuKernel add_kernel("AddV2", types::numeric{}, binary<AddFn>);
#pragma once

#include <cstdint>
#include <utility>

#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/rows.h"
#include "panto/lib/core/call.h"

namespace panto {

namespace cpu {

template <class F>
constexpr int64_t extra_work() {
  if constexpr (requires { F::kWork; }) {
    return F::kWork;
  } else {
    return 0;
  }
}

template <class F, class Out, class... In>
inline constexpr int64_t kRowWork = static_cast<int64_t>(sizeof(Out) + (sizeof(In) + ...)) + extra_work<F>();

// Ops have three, rows that do several ops (device/cpu/fused_join.h) one more.
inline constexpr int kMaxRowInputs = 4;

// What the driver knows of a kernel.
struct RowKernel {
  RowFn row;
  int inputs;
  uint32_t in_size[kMaxRowInputs];  // bytes of an element
  uint32_t out_size;
  int64_t work;  // of an element, in bytes that could be moved meanwhile
};

struct RowInput {
  const void* data;
  const PartialShape* shape;  // broadcasts to the output's
  int64_t numel;
};

// out = f(inputs), with broadcasting and shared between threads; `n`: elements of the output. Throws what the row found
// wrong.
void run_rows(const RowKernel& kernel, const RowInput* in, const PartialShape& out_shape, void* out, int64_t n);
// The same for inputs 0, 1, ... and output 0 of a call.
void run_elementwise(KernelContext& c, const RowKernel& kernel);

// The same, with a short way for inputs of one size that are too small to share. `row` is known to the compiler.
template <class F, class Out, class... In, class RowOf, size_t... I>
inline void elementwise(KernelContext& c, RowOf row, std::index_sequence<I...>) {
  const int64_t n = c.out_numel(0);
  constexpr int64_t kWork = kRowWork<F, Out, In...>;
  // An input that broadcasts to n elements and has as many does not broadcast, whatever its shape.
  if (((c.numel(I) == n) && ...) && n < kParallelBytes / kWork) [[likely]] {
    const void* const in[] = {c.in(I).impl()->data...};
    const uint32_t fault = row()((1u << sizeof...(In)) - 1, c.out(0).impl()->data, n, in);
    if constexpr (kMayFault<F, In...>) {
      if (fault != 0) [[unlikely]]
        throw_fault(static_cast<Fault>(fault));
    }
    return;
  }
  run_elementwise(c, {row(), sizeof...(In), {sizeof(In)...}, sizeof(Out), kWork});
}

template <class F, class Out, class... In>
void run_portable(KernelContext& c) {
  elementwise<F, Out, In...>(c, [] { return &Row<F, Out, In...>::portable; }, std::index_sequence_for<In...>{});
}
#ifdef __x86_64__
template <class F, class Out, class... In>
void run_avx2(KernelContext& c) {
  elementwise<F, Out, In...>(c, [] { return &Row<F, Out, In...>::avx2; }, std::index_sequence_for<In...>{});
}
template <class F, class Out, class... In>
void run_avx512(KernelContext& c) {
  elementwise<F, Out, In...>(c, [] { return &Row<F, Out, In...>::avx512; }, std::index_sequence_for<In...>{});
}
#endif

// The kernel for this machine.
template <class F, class Out, class... In>
Kernel elementwise_kernel() {
#ifdef __x86_64__
  if constexpr (kVectorises<Out, In...>) {
    if (level() >= Level::kAvx512)
      return {run_avx512<F, Out, In...>, nullptr, Row<F, Out, In...>::avx512, kRowWork<F, Out, In...>};
    if (level() >= Level::kAvx2)
      return {run_avx2<F, Out, In...>, nullptr, Row<F, Out, In...>::avx2, kRowWork<F, Out, In...>};
  }
#endif
  return {run_portable<F, Out, In...>, nullptr, Row<F, Out, In...>::portable, kRowWork<F, Out, In...>};
}

}  // namespace cpu

// The makers (device/kernel.h).

template <class F>
struct Unary {
  template <class T>
  static Kernel kernel() {
    return cpu::elementwise_kernel<F, decltype(F{}(T{})), T>();
  }
};
template <class F>
inline constexpr Unary<F> unary{};

template <class F>
struct Binary {
  template <class T>
  static Kernel kernel() {
    return cpu::elementwise_kernel<F, decltype(F{}(T{}, T{})), T, T>();
  }
};
template <class F>
inline constexpr Binary<F> binary{};

// The rows of such ops, for kernels that do the same in passing.
template <class F, class T>
RowFn unary_row() {
  return Unary<F>::template kernel<T>().row;
}
template <class F, class T>
RowFn binary_row() {
  return Binary<F>::template kernel<T>().row;
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
