// Kernels of the matrix products.
#include <algorithm>
#include <climits>
#include <complex>
#include <type_traits>
#include <vector>

#include "panto/device/cpu/constant_input.h"
#include "panto/device/cpu/elementwise/as_floats.h"
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/fused/epilogue.h"
#include "panto/device/cpu/gemm/batch.h"
#include "panto/device/cpu/gemm/gemm.h"
#include "panto/device/cpu/gemm/tile_gemm.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/gemm_size.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

using cpu::GemmPlan;

// The type in which products of T are accumulated, for narrow T: the result is rounded, or wraps, once.
template <class T>
using Wide = std::conditional_t<is_half_type<T>, float, uint32_t>;
template <class T>
inline constexpr bool kIsWidened = is_half_type<T> || (std::is_integral_v<T> && sizeof(T) < sizeof(uint32_t));

// Signed integers are multiplied as unsigned ones, so that the product wraps.
template <class T>
using Factor = std::conditional_t<std::is_integral_v<T>,
                                  std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>, T>;

template <class T>
bool for_library(const GemmSize& s) {
  if constexpr (std::is_same_v<T, BFloat16>) return cpu::has_bfloat16() && !cpu::is_small(s);
  // BLAS has 32-bit sizes.
  const bool fits = std::is_same_v<T, float> || (s.m <= INT_MAX && s.n <= INT_MAX && s.k <= INT_MAX);
  return std::is_floating_point_v<T> && fits && !cpu::is_small(s);
}

// A column times a row (k = 1) needs no summation. Mul's inner loop computes it, and writes large results past the
// caches: 64 of 784 by 512 take 3.7 ms on a Zen 4 core, and 7.8 as other products. Not for short rows, where starting
// the loop costs more than running it: 1000 by 2 takes 5.9 us, and 2.2 as other products. `conjugates`: whether a
// complex factor is conjugated.
template <class T>
bool is_by_mul(const GemmSize& s, bool conjugates) {
  constexpr int64_t kShortRow = 16;
  const bool in_rows = s.n >= kShortRow || s.n == 1 || s.m == 1;
  return s.k == 1 && in_rows && (std::is_arithmetic_v<T> || is_half_type<T> || !conjugates);
}

template <class T>
void columns_by_rows(KernelContext& c, const GemmSize& s) {
  const auto with_last = [](const Shape& shape, int64_t rows, int64_t columns) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    dims[dims.size() - 2] = rows;
    dims[dims.size() - 1] = columns;
    return Shape(dims);
  };
  const Shape left = with_last(c.shape(0), s.m, 1), right = with_last(c.shape(1), 1, s.n);
  const cpu::KernelLoop& multiply = *cpu::loop_of(binary<MulFn>.template kernel<T>());
  const cpu::InnerLoopInput in[] = {{c.in(0).impl()->data, &left, c.numel(0)},
                                    {c.in(1).impl()->data, &right, c.numel(1)}};
  cpu::run_inner_loops({multiply.run, 2, {sizeof(T), sizeof(T)}, sizeof(T), multiply.work}, in, c.out_shape(0),
                       c.out_data<T>(0), c.out_numel(0));
}

// The plan of a library product, made when a call is prepared.
struct PreparedProduct final : KernelState {
  GemmPlan plan;
  cpu::MadeOfConstant<std::shared_ptr<const cpu::PackedFactor>> right;

  PreparedProduct(DType type, const GemmSize& size, int64_t products) : plan(type, size, products) {}
  const cpu::PackedFactor* packed(const Tensor& given) const {
    const auto* made = right.of(given);
    return made == nullptr ? nullptr : made->get();
  }
  int64_t bytes() const noexcept override { return right.bytes(); }
};

// Returns null if the sizes are unknown or too small. Packs a constant right factor that is shared by the whole batch.
template <class T>
std::shared_ptr<KernelState> prepare_product(const KernelContext& c, bool transpose_a, bool transpose_b) {
  const PartialShape &a = c.in(0).partial_shape(), &b = c.in(1).partial_shape();
  if (!a.fully_known() || !b.fully_known()) return nullptr;
  const GemmSize s = gemm_size(a, b, transpose_a, transpose_b);
  if (is_by_mul<T>(s, true) || !for_library<T>(s)) return nullptr;
  const int64_t products = c.spec(0).shape.numel() / (s.m * s.n);
  auto prepared = std::make_shared<PreparedProduct>(dtype_of<T>, s, products);
  if (cpu::is_constant(c, 1) && c.numel(1) == s.k * s.n) {
    prepared->right.set(c.in(1), [&](const Tensor& right) { return prepared->plan.pack(right); });
  }
  return prepared;
}

// Computes rows [begin, end) of the product. `conjugates`: transposed complex factors are conjugated.
template <class T>
void product_rows(const GemmSize& s, const T* a, const T* b, T* c, int64_t begin, int64_t end, bool) {
  using F = Factor<T>;
  cpu::MatrixRef<F> left = cpu::left_matrix(s, reinterpret_cast<const F*>(a));
  left.data += begin * left.row;
  cpu::tile_gemm<F>(end - begin, s.n, s.k, left, cpu::right_matrix(s, reinterpret_cast<const F*>(b)),
                    reinterpret_cast<F*>(c) + begin * s.n, s.n);
}

// For complex numbers: sums real and imaginary parts of a piece of a row, each in the order of k.
template <class R>
void product_rows(const GemmSize& s, const std::complex<R>* a, const std::complex<R>* b, std::complex<R>* c,
                  int64_t begin, int64_t end, bool conjugates) {
  constexpr int64_t kPiece = 256;
  const auto left = cpu::left_matrix(s, a), right = cpu::right_matrix(s, b);
  const R left_sign = conjugates && s.transpose_a ? R{-1} : R{1};
  const R right_sign = conjugates && s.transpose_b ? R{-1} : R{1};
  for (int64_t i = begin; i < end; ++i) {
    for (int64_t first = 0; first < s.n; first += kPiece) {
      const int64_t n = std::min(kPiece, s.n - first);
      R real[kPiece] = {}, imag[kPiece] = {};
      for (int64_t k = 0; k < s.k; ++k) {
        const std::complex<R> x = left.data[i * left.row + k * left.column];
        const R x_real = x.real(), x_imag = left_sign * x.imag();
        const std::complex<R>* row = right.data + k * right.row + first * right.column;
        for (int64_t j = 0; j < n; ++j) {
          const R y_real = row[j * right.column].real(), y_imag = right_sign * row[j * right.column].imag();
          real[j] += x_real * y_real - x_imag * y_imag;
          imag[j] += x_real * y_imag + x_imag * y_real;
        }
      }
      for (int64_t j = 0; j < n; ++j) c[i * s.n + first + j] = {real[j], imag[j]};
    }
  }
}

// The plan of a library product: the prepared one if it fits, else a cached one.
struct ChosenPlan {
  std::shared_ptr<const GemmPlan> cached;
  const GemmPlan* plan = nullptr;
  const cpu::PackedFactor* packed = nullptr;

  ChosenPlan(DType type, const GemmSize& s, int64_t products, const KernelContext* call) {
    const auto* prepared = call == nullptr ? nullptr : call->state<PreparedProduct>();
    if (prepared != nullptr && prepared->plan.is_for(s, products)) {
      plan = &prepared->plan;
      packed = prepared->packed(call->in(1));
    } else {
      cached = cpu::cached_gemm_plan(type, s, products);
      plan = cached.get();
    }
  }
};

// `call`, here and below: the call whose inputs are the factors, or null.
template <class T>
void product_by_plan(const GemmSize& s, const T* a, const T* b, T* c, const KernelContext* call,
                     const cpu::TileCallback& done = {}) {
  const ChosenPlan chosen(dtype_of<T>, s, 1, call);
  chosen.plan->run(a, b, c, done, chosen.packed);
}

// `done` is called only for products by a plan.
template <class T>
void product(const GemmSize& s, const T* a, const T* b, T* c, const KernelContext* call,
             const cpu::TileCallback& done = {}) {
  if (cpu::is_small(s)) return product_rows(s, a, b, c, 0, s.m, false);
  if (for_library<T>(s)) return product_by_plan(s, a, b, c, call, done);
  // Every element is added up in the same order, however rows are shared. One range per thread, since tile_gemm copies
  // a factor in each call.
  cpu::parallel_for(
      s.m, s.work(), [&](int64_t begin, int64_t end) { product_rows(s, a, b, c, begin, end, false); }, 16);
}

// Converts the factors to the wide type, calls multiply(a, b, c) and converts the result back.
template <class T, class Multiply>
void product_widened(KernelContext& c, const Multiply& multiply) {
  using W = Wide<T>;
  const Tensor a = cpu::widened<T, W>(c.in(0), c.device()), b = cpu::widened<T, W>(c.in(1), c.device());
  const Tensor made = allocate_tensor(c.device(), dtype_of<W>, c.out_shape(0));
  auto* y = mutable_data<W>(made);
  multiply(static_cast<const W*>(mutable_data<W>(a)), static_cast<const W*>(mutable_data<W>(b)), y);
  cpu::convert_elements(static_cast<const W*>(y), c.out_data<T>(0), c.out_numel(0));
}

// Few rows by a matrix that is read once: its rows are converted piece by piece, in the cache.
constexpr int64_t kFewRows = 4;
bool is_few_rows(const GemmSize& s) { return s.m <= kFewRows && !s.transpose_b && s.n >= 256 && s.k >= 16; }

// Every element is added up in the order of k.
template <class T>
void few_rows_by_halves(const GemmSize& s, const T* a, const T* b, T* c) {
  constexpr int64_t kPiece = 2048, kUnit = 64;  // columns
  const auto left = cpu::left_matrix(s, a);
  std::vector<float> factors(static_cast<size_t>(s.m * s.k));
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t k = 0; k < s.k; ++k) {
      factors[static_cast<size_t>(i * s.k + k)] = static_cast<float>(left.data[i * left.row + k * left.column]);
    }
  }
  const InnerLoopFn widen = cpu::cast_inner_loop(kFloat32, dtype_of<T>);
  const InnerLoopFn narrow = cpu::cast_inner_loop(dtype_of<T>, kFloat32);
  const auto piece = [&](int64_t first, int64_t n) {
    alignas(64) float sums[kFewRows][kPiece], row[kPiece];
    for (int64_t i = 0; i < s.m; ++i) std::fill_n(sums[i], n, 0.f);
    for (int64_t k = 0; k < s.k; ++k) {
      if (k % 1024 == 0) throw_if_cancelled();
      const void* in[] = {b + k * s.n + first};
      widen(1, row, n, in);
      cpu::multiversioned([&] {
        for (int64_t i = 0; i < s.m; ++i) {
          const float x = factors[static_cast<size_t>(i * s.k + k)];
          for (int64_t j = 0; j < n; ++j) sums[i][j] += x * row[j];
        }
      });
    }
    for (int64_t i = 0; i < s.m; ++i) {
      const void* in[] = {sums[i]};
      narrow(1, c + i * s.n + first, n, in);
    }
  };
  cpu::parallel_for(
      ceil_div(s.n, kUnit), s.work(),
      [&](int64_t begin, int64_t end) {
        const int64_t last = std::min(s.n, end * kUnit);
        for (int64_t at = begin * kUnit; at < last; at += kPiece) piece(at, std::min(kPiece, last - at));
      },
      4);
}

struct MatMulKernel {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_product<T>(c, c.flag("transpose_a"), c.flag("transpose_b"));
  }
  template <class T>
  static void run(KernelContext& c) {
    const GemmSize s = gemm_size(c.shape(0), c.shape(1), c.flag("transpose_a"), c.flag("transpose_b"));
    if (is_by_mul<T>(s, false)) return columns_by_rows<T>(c, s);
    if constexpr (kIsWidened<T>) {
      using W = Wide<T>;
      if (for_library<T>(s)) return product_by_plan(s, c.data<T>(0), c.data<T>(1), c.out_data<T>(0), &c);
      if constexpr (is_half_type<T>) {
        if (is_few_rows(s)) return few_rows_by_halves(s, c.data<T>(0), c.data<T>(1), c.out_data<T>(0));
      }
      product_widened<T>(c, [&](const W* a, const W* b, W* y) { product(s, a, b, y, nullptr); });
    } else {
      product(s, c.data<T>(0), c.data<T>(1), c.out_data<T>(0), &c);
    }
  }
};
const CpuKernel matmul_kernel("MatMul", types::of<"MatMul">{}, MatMulKernel{});

using cpu::Batch;

template <class T>
struct BatchProduct {
  const GemmSize& s;
  const Batch& batch;
  const T *x, *y;
  T* out;

  int64_t work() const {
    const int64_t most = INT64_MAX / batch.count();
    return s.work() > most ? INT64_MAX : s.work() * batch.count();
  }
  // Calls body(a, b, r) with the matrices of product i.
  template <class Body>
  void one(int64_t i, const Body& body) const {
    const auto [at_x, at_y] = batch.at(i);
    body(x + at_x * s.m * s.k, y + at_y * s.k * s.n, out + i * s.m * s.n);
  }

  // Shares the rows of all products as one sequence.
  void by_rows() const {
    const int64_t grain = cpu::is_small(s) && s.work() > 0 ? s.m : 16;
    constexpr int64_t kPiece = 1 << 22;  // multiplications
    cpu::parallel_for(
        batch.count() * s.m, work(),
        [&](int64_t begin, int64_t end) {
          for (int64_t done = 0; begin < end;) {
            const int64_t first = begin % s.m;
            const int64_t last = std::min(s.m, first + (end - begin));
            one(begin / s.m, [&](const T* a, const T* b, T* r) { product_rows(s, a, b, r, first, last, true); });
            begin += last - first;
            done += s.work();
            if (done < kPiece) continue;
            throw_if_cancelled();
            done = 0;
          }
        },
        grain);
  }

  void by_plan(const KernelContext* call) const {
    const ChosenPlan chosen(dtype_of<T>, s, batch.count(), call);
    const GemmPlan& plan = *chosen.plan;
    if (plan.parts() > 1) {
      for (int64_t i = 0; i < batch.count(); ++i) {
        one(i, [&](const T* a, const T* b, T* r) { plan.run(a, b, r, {}, chosen.packed); });
      }
      return;
    }
    const int64_t tiles = plan.tiles();
    cpu::parallel_ranges(
        batch.count() * tiles, work(),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            one(i / tiles, [&](const T* a, const T* b, T* r) { plan.run_tile(i % tiles, 0, a, b, r, chosen.packed); });
          }
        },
        1);
  }

  void run(const KernelContext* call) const { for_library<T>(s) ? by_plan(call) : by_rows(); }
};

struct BatchMatMulKernel {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_product<T>(c, c.flag("adj_x"), c.flag("adj_y"));
  }

  template <class T>
  static void run(KernelContext& c) {
    const GemmSize s = gemm_size(c.shape(0), c.shape(1), c.flag("adj_x"), c.flag("adj_y"));
    if (c.out_numel(0) == 0) return;
    if (is_by_mul<T>(s, s.transpose_a || s.transpose_b)) return columns_by_rows<T>(c, s);
    const Batch batch(c.shape(0), c.shape(1), c.out_shape(0));
    const BatchProduct<T> products{s, batch, c.data<T>(0), c.data<T>(1), c.out_data<T>(0)};
    if constexpr (kIsWidened<T>) {
      using W = Wide<T>;
      if (for_library<T>(s)) return products.by_plan(&c);
      product_widened<T>(c, [&](const W* x, const W* y, W* out) { BatchProduct<W>{s, batch, x, y, out}.run(nullptr); });
    } else {
      products.run(&c);
    }
  }
};
const CpuKernel batch_matmul_kernel("BatchMatMulV2", types::of<"BatchMatMulV2">{}, BatchMatMulKernel{});

// The epilogue uses the functors of the separate kernels rather than oneDNN's post-operations. Those turn a NaN into 0
// in Relu, and the others differ in the last bits. They would save no pass either: where oneDNN multiplies by its gemm,
// as here, they are a separate pass, too.
struct FusedMatMulKernel {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_product<T>(c, c.flag("transpose_a"), c.flag("transpose_b"));
  }
  template <class T>
  static void run(KernelContext& c) {
    const GemmSize s = gemm_size(c.shape(0), c.shape(1), c.flag("transpose_a"), c.flag("transpose_b"));
    const cpu::BoundEpilogue epilogue(c, s.n);
    float* y = c.out_data<T>(0);
    const auto finish = [&](int64_t row, int64_t rows, int64_t column, int64_t columns) {
      epilogue.finish_rows(y, row * s.n + column, rows, column, columns, s.n);
    };
    if (is_by_mul<T>(s, false)) {
      columns_by_rows<T>(c, s);
      return epilogue.finish_all(y, s.m, 1);
    }
    product(s, c.data<T>(0), c.data<T>(1), y, &c, finish);
    if (!for_library<T>(s)) epilogue.finish_all(y, s.m, 1);
  }
};
const CpuKernel fused_matmul_kernel("_FusedMatMul", TypeList<float>{}, FusedMatMulKernel{});

}  // namespace
}  // namespace panto
