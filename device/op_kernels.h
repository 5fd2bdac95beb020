// Kernels for exactly the types that an op's signature allows; the generated header of the op's family has these types.
//
//   #include "panto/lib/ops/math_types.h"
//   const CpuKernel sum_kernel("Sum", types::of<"Sum">{}, Reduction<SumOf>{});
//   const TableKernels<"CPU", Unary, types::common> unary_kernels(UnaryOps{});  // every op of a table
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "panto/device/kernel.h"
#include "panto/lib/core/op/op_types.h"
#include "panto/lib/core/tensor/half.h"

namespace panto {

namespace types {

// Numbers and bool. `common` types get loops for several instruction sets, `rare` types one portable loop.
using common = TypeList<float, double, int32_t, int64_t, Half, BFloat16, bool>;
using rare =
    TypeList<int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>, std::complex<double>>;

template <class... Lists>
struct Join {
  using type = TypeList<>;
};
template <class... A, class... Lists>
struct Join<TypeList<A...>, Lists...> {
  template <class... B>
  static TypeList<A..., B...> with(TypeList<B...>);
  using type = decltype(with(typename Join<Lists...>::type{}));
};
using numbers = Join<common, rare>::type;
using halves = TypeList<Half, BFloat16>;
using fractions = TypeList<float, double, Half, BFloat16, std::complex<float>, std::complex<double>>;
using reals =
    TypeList<float, double, Half, BFloat16, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using arithmetic = Join<reals, TypeList<std::complex<float>, std::complex<double>>>::type;

template <class List, class Has>
struct Filter;
template <class... Ts, class Has>
struct Filter<TypeList<Ts...>, Has> {
  using type = typename Join<std::conditional_t<Has::value(dtype_of<Ts>), TypeList<Ts>, TypeList<>>...>::type;
};
template <LiteralName kOp>
struct AllowedBy {
  static constexpr DTypeSet kSet = OpTypes<kOp>::kTypes;
  static consteval bool value(DType type) { return kSet.contains(type); }
};
template <class List>
struct OneOf {
  static consteval bool value(DType type) { return List::set.contains(type); }
};

// The types of `List` that the op allows.
template <LiteralName kOp, class List = numbers>
using of = typename Filter<List, AllowedBy<kOp>>::type;
template <class A, class B>
using both = typename Filter<A, OneOf<B>>::type;

}  // namespace types

// Calls f.operator()<T>() for the type T of the list whose dtype is `type`. Returns false if there is none.
template <class... Ts, class F>
bool with_type(TypeList<Ts...>, DType type, const F& f) {
  return ((type == dtype_of<Ts> && (f.template operator()<Ts>(), true)) || ...);
}

// A line of a table: the op, and the functor that computes one element. `Of` restricts the types if the functor makes
// sense for fewer than the signature allows; the op's block gives the reason (`types_reason`).
template <LiteralName kOp, class F, class Of = types::numbers>
struct ElementwiseOp {
  static constexpr auto kName = kOp;
  using Functor = F;
  template <class Types>
  using In = types::of<kOp, types::both<Types, Of>>;
};
template <class... Lines>
struct OpTable {
  // The `.flops` that the block of F's op declares; 0 if F is not in the table.
  template <class F>
  static consteval int flops() {
    int result = 0;
    ((result = std::is_same_v<F, typename Lines::Functor> ? std::max(result, OpTypes<Lines::kName>::kFlops) : result),
     ...);
    return result;
  }
};

// Registers kernels Maker<F> for the ops of a table, for the types in `Types` that each op allows.
template <LiteralName kKind, template <class> class Maker, class Types>
class TableKernels {
 public:
  template <class... Lines>
  explicit TableKernels(OpTable<Lines...>) noexcept {
    ((void)KernelObject<kKind>(Lines::kName.text, typename Lines::template In<Types>{},
                               Maker<typename Lines::Functor>{}),
     ...);
  }
};

}  // namespace panto
