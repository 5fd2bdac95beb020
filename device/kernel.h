// Kernel objects: how a back-end's source file registers its kernels. Their constructors only queue the kernel
// (lib/core/op/kernel.h); define them at namespace scope. `CpuKernel` is in device/cpu/kernel.h, `CudaKernel` in
// device/cuda/kernel.h; your own back-end declares `using NpuKernel = KernelObject<"NPU">`.
//
//   const CpuKernel tanh_kernel("Tanh", types::floating{}, unary<TanhFn>);     // a maker, for each type of a list
//   const CpuKernel cumsum_kernel("Cumsum", types::numeric{}, []<class T>(KernelContext& c) { ... });
//   const CpuKernel pack_kernel("Pack", types::every{}, []<class T>(KernelContext& c) { ... });  // T: storage, below
//   const CpuKernel reshape_kernel("Reshape", dtypes::kAny, run_reshape);      // one function for several dtypes
//   const CpuKernel no_op_kernel("NoOp", run_no_op);                           // an op without a type attribute
//
// A maker is a lambda without captures, or an empty struct. The struct has either `template <class T> static void
// run(KernelContext&)`, with an optional `template <class T> static std::shared_ptr<KernelState> prepare(const
// KernelContext&)` for work that is done once per prepared call; or `template <class T> static Kernel kernel()`, which
// returns the whole kernel. T is the op's primary type attribute.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "panto/lib/base/text/literal_name.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/kernel.h"

namespace panto {

// Type lists over which makers are instantiated.
namespace types {
using floating = TypeList<float, double>;
using index = TypeList<int32_t, int64_t>;
using numeric = TypeList<float, double, int32_t, int64_t>;
using numeric_and_bool = TypeList<float, double, int32_t, int64_t, bool>;
using real = TypeList<float, double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
// Every dtype, by the storage of its elements. Kernels that only move elements are instantiated once for each element
// size (as an unsigned integer or Bytes16) and for std::string, ResourceHandle and Variant.
struct every {};
// The dtypes whose elements are plain bytes, by storage.
struct plain {};
}  // namespace types

// The storage of an element of complex128.
struct Bytes16 {
  uint64_t low, high;
};

template <size_t Size>
using UnsignedOfSize = std::conditional_t<
    Size == 1, uint8_t,
    std::conditional_t<Size == 2, uint16_t,
                       std::conditional_t<Size == 4, uint32_t, std::conditional_t<Size == 8, uint64_t, Bytes16>>>>;

template <class Maker, class T>
concept HasPrepare = requires(const KernelContext& c) {
  { Maker::template prepare<T>(c) } -> std::convertible_to<std::shared_ptr<KernelState>>;
};
template <class Maker, class T>
concept HasRun = requires(KernelContext& c) { Maker::template run<T>(c); };
template <class Maker, class T>
concept MakesKernel = requires {
  { Maker::template kernel<T>() } -> std::same_as<Kernel>;
};

template <class Maker, class T>
Kernel make_kernel() {
  if constexpr (MakesKernel<Maker, T>) return Maker::template kernel<T>();
  Kernel kernel;
  if constexpr (HasRun<Maker, T>) {
    kernel.run = &Maker::template run<T>;
  } else if constexpr (!MakesKernel<Maker, T>) {
    kernel.run = [](KernelContext& c) { Maker{}.template operator()<T>(c); };
  }
  if constexpr (HasPrepare<Maker, T>) kernel.prepare = &Maker::template prepare<T>;
  return kernel;
}

// The types for which kernels are compiled: all, or with PANTO_FEW_TYPES only a few, to check quickly that kernels
// compile.
#ifdef PANTO_FEW_TYPES
template <class T>
constexpr bool kMade = std::is_same_v<T, float> || std::is_same_v<T, int32_t> || std::is_same_v<T, Half> ||
                       std::is_same_v<T, bool> || std::is_same_v<T, std::complex<float>>;
#else
template <class T>
constexpr bool kMade = true;
#endif

template <LiteralName kKind>
class KernelObject {
 public:
  explicit KernelObject(const char* op, KernelFn run, KernelPrepareFn prepare = nullptr) noexcept
      : KernelObject(op, Kernel{.run = run, .prepare = prepare}) {}
  KernelObject(const char* op, Kernel kernel) noexcept { KernelEntry(op, kKind.text, DType::kInvalid, kernel); }
  KernelObject(const char* op, DTypeSet set, KernelFn run, KernelPrepareFn prepare = nullptr) noexcept
      : KernelObject(op, set, Kernel{.run = run, .prepare = prepare}) {}
  KernelObject(const char* op, DTypeSet set, Kernel kernel) noexcept {
    for (int i = 0; i < kDTypeSlots; ++i) {
      const auto type = static_cast<DType>(i);
      if (set.contains(type)) KernelEntry(op, kKind.text, type, kernel);
    }
  }
  template <class... Ts, class Maker>
  KernelObject([[maybe_unused]] const char* op, TypeList<Ts...>, Maker) noexcept {
    (add<Maker, Ts>(op), ...);
  }
  template <class Maker>
  KernelObject(const char* op, types::plain, Maker) noexcept {
    add_plain<Maker, 1>(op, {kBool, kInt8, kUint8, kQInt8, kQUint8});
    add_plain<Maker, 2>(op, {kInt16, kUint16, kFloat16, kBFloat16, kQInt16, kQUint16});
    add_plain<Maker, 4>(op, {kInt32, kUint32, kFloat32, kQInt32});
    add_plain<Maker, 8>(op, {kInt64, kUint64, kFloat64, kComplex64});
    add_plain<Maker, 16>(op, {kComplex128});
  }
  template <class Maker>
  KernelObject(const char* op, types::every, Maker maker) noexcept : KernelObject(op, types::plain{}, maker) {
    (void)KernelObject(op, TypeList<std::string, ResourceHandle, Variant>{}, maker);
  }

 private:
  template <class Maker, class T>
  static void add([[maybe_unused]] const char* op) noexcept {
    if constexpr (kMade<T>) KernelEntry(op, kKind.text, dtype_of<T>, make_kernel<Maker, T>());
  }
  template <class Maker, size_t Size>
  static void add_plain(const char* op, std::initializer_list<DType> dtypes) noexcept {
    for (DType type : dtypes) KernelEntry(op, kKind.text, type, make_kernel<Maker, UnsignedOfSize<Size>>());
  }
};

}  // namespace panto
