// Makes kernels for narrow types from kernels of wider types.
//
//   const CpuKernel softmax_kernel("Softmax", types::of<"Softmax">{}, InWider<SoftmaxKernel>{});
//   const CpuKernel argmax_kernel("ArgMax", types::of<"ArgMax">{}, InWider<ArgBest<Greater>, AsCommon>{});
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "panto/device/cpu/elementwise/as_floats.h"
#include "panto/device/in_wider.h"
#include "panto/device/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// Computes halves as floats.
template <class T>
using AsComputed = Compute<T>;
// Also computes rare integer types as a common type that holds all their values. For ops in which the low bits of the
// wide result are the narrow result.
template <class T>
using AsCommon = std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && (sizeof(T) < sizeof(int32_t)),
                                    int32_t, std::conditional_t<std::is_same_v<T, uint32_t>, int64_t, Compute<T>>>;
// Computes integers narrower than 64 bits, except int32, as int64.
template <class T>
using AsLongest =
    std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, int32_t> && (sizeof(T) < sizeof(int64_t)), int64_t,
                       Compute<T>>;

// Wraps `Maker`: makes the same kernels, and kernels for types T with Wider<T> != T. These convert tensors of T to
// Wider<T> for the call, run Maker's kernel, and convert its results back once: halves are rounded, integers wrap.
// `Maker` must not read an attribute that holds the type.
template <class Maker, template <class> class Wider = AsComputed>
struct InWider {
  template <class T>
    requires(std::is_same_v<T, Wider<T>> && HasPrepare<Maker, T>)
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return Maker::template prepare<T>(c);
  }

  template <class T>
  static void run(KernelContext& c) {
    if constexpr (std::is_same_v<T, Wider<T>>) {
      Maker::template run<T>(c);
    } else {
      run_in_wider<Wider<T>>(
          c, TypeList<T>{}, [](const auto* from, auto* to, int64_t n) { cpu::convert_elements(from, to, n); },
          [](KernelContext& wider) { Maker::template run<Wider<T>>(wider); });
    }
  }
};

}  // namespace panto
