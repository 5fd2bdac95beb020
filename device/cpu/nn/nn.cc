// Kernels of BiasAdd, softmax and softmax losses.
#include <cmath>
#include <type_traits>

#include "panto/device/channels.h"
#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/reduce/reduce.h"
#include "panto/device/cpu/reduce/row_pieces.h"
#include "panto/device/math/reducers.h"
#include "panto/device/math/vector_math.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

// The cost of an exponential, in bytes that could be moved meanwhile.
constexpr int64_t kExpWork = 32;
constexpr int64_t kKeptRow = 64 << 10;  // up to this many bytes a row is made in the cache and then written past it
using cpu::kPiece;

template <class T>
void add_bias_last(const T* x, const T* bias, int64_t rows, int64_t channels, T* y) {
  // Several short rows are joined, with the bias repeated.
  T repeated[kPiece];
  int64_t width = channels;
  if (channels < 32 && rows >= 8) {
    const int64_t times = std::min(rows, kPiece / channels);
    for (int64_t i = 0; i < times * channels; ++i) repeated[i] = bias[i % channels];
    width = times * channels;
    bias = repeated;
  }
  const int64_t n = rows * channels, bytes = n * 2 * static_cast<int64_t>(sizeof(T));
  const bool stream = x != y && cpu::should_stream(bytes);
  const unsigned how = 0b11u | (stream ? cpu::kNontemporal | 1u << cpu::kPrefetch : 0);
  const InnerLoopFn add = binary_inner_loop<AddFn, T>();
  cpu::parallel_ranges(
      n, bytes,
      [&](int64_t begin, int64_t end) {
        for (; begin < end; begin += width) {
          cpu::in_pieces(std::min(width, end - begin), cpu::kStoppable, [&](int64_t first, int64_t last) {
            const void* const in[] = {x + begin + first, bias + first};
            add(how, y + begin + first, last - first, in);
          });
        }
        if (stream) cpu::stream_fence();
      },
      width);
}

template <class T>
void add_bias_second(const T* x, const T* bias, int64_t batch, int64_t channels, int64_t inner, T* y) {
  cpu::parallel_ranges(
      batch * channels, batch * channels * inner * 2 * static_cast<int64_t>(sizeof(T)),
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const T b = bias[r % channels];
          PANTO_INDEPENDENT
          for (int64_t j = r * inner; j < (r + 1) * inner; ++j) y[j] = k::add(x[j], b);
        }
      },
      std::max<int64_t>(1, 64 / std::max<int64_t>(1, inner)));
}

struct BiasAddKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Shape& shape = c.shape(0);
    const Channels l(shape, c.text("data_format") == "NCHW" ? 1 : shape.rank() - 1);
    if (c.numel(1) != l.channels) invalid("bias: expected {} elements, got {}", l.channels, c.numel(1));
    if (l.inner == 1) {
      add_bias_last(c.data<T>(0), c.data<T>(1), l.outer, l.channels, c.out_data<T>(0));
    } else {
      add_bias_second(c.data<T>(0), c.data<T>(1), l.outer, l.channels, l.inner, c.out_data<T>(0));
    }
  }
};
const CpuKernel bias_add_kernel("BiasAdd", types::of<"BiasAdd">{}, InWider<BiasAddKernel>{});

// ---- Rows: each function computes one. Sums have the bits of the reductions. ---------------------------------------

// Returns the largest number, ignoring NaN, which takes one instruction rather than four. (A NaN still reaches the sum
// of the exponentials and all results.) The order of comparisons is free, so it uses more lanes than a reduction, up to
// the end of the row.
template <class T>
T largest(const T* x, int64_t n) {
  constexpr int64_t kAtOnce = 64;
  const auto larger = [](T a, T b) __attribute__((always_inline)) { return a < b ? b : a; };
  T result = MaxOf<T>::total();
  int64_t i = 0;
  if (n >= kAtOnce) {
    T found[kAtOnce];
    std::fill_n(found, kAtOnce, result);
    for (; i + kAtOnce <= n; i += kAtOnce) {
      for (int64_t l = 0; l < kAtOnce; ++l) found[l] = larger(found[l], x[i + l]);
    }
    for (int64_t width = kAtOnce / 2; width > 0; width /= 2) {
      for (int64_t l = 0; l < width; ++l) found[l] = larger(found[l], found[l + width]);
    }
    result = found[0];
  }
  for (; i < n; ++i) result = larger(result, x[i]);
  return result;
}

template <class T>
using SumTotal = typename SumOf<T>::Total;

// Returns the sum of f(i) for i in [0, n), where f(begin, size, out) fills a piece.
template <class T, class F>
T sum_of_pieces(int64_t n, const F& f) {
  SumTotal<T> total{};
  T piece[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    cpu::stop_within_row(i);
    const int64_t size = std::min(kPiece, n - i);
    f(i, size, piece);
    total = cpu::reduce_run<SumOf<T>>(piece, size, total);
  }
  return SumOf<T>::finish(total, n);
}

struct ExpOfDifference {
  template <class T>
  [[gnu::always_inline]] T operator()(T x, T shift) const {
    return vmath::exp(x - shift);
  }
};
}  // namespace
#ifdef __x86_64__
template <>
struct cpu::InVectors<ExpOfDifference> {
  [[PANTO_AVX512, gnu::always_inline]] static __m512 value(__m512 x, __m512 shift) {
    return cpu::avx512::exp(_mm512_sub_ps(x, shift));
  }
};
#endif
namespace {

// Computes to = exp(x - shift) for elements [first, first + size) of a row; `to` may be their memory. Prefetches
// `next`, the following row, unless it is null.
template <class T>
void exponentials(const T* x, int64_t first, int64_t size, T shift, T* to, const T* next) {
  const InnerLoopFn row = cpu::inner_loop_for_this_machine<cpu::PartlyStridedLoop<0b01, ExpOfDifference, T, T, T>>();
  cpu::with_next_row(next, first, first + size, [&](int64_t begin, int64_t end) {
    const void* const in[] = {x + begin, &shift};
    row(0b01, to + (begin - first), end - begin, in);
  });
}

// Computes y = exp(x - shift) for a row and returns the sum. `y` may be `x`.
template <class T>
T summed_exponentials(const T* x, int64_t n, T shift, T* y, const T* next = nullptr) {
  SumTotal<T> total{};
  for (int64_t i = 0; i < n; i += cpu::kBlock) {
    cpu::stop_within_row(i);
    const int64_t size = std::min(cpu::kBlock, n - i);
    exponentials(x, i, size, shift, y + i, next);
    total = cpu::reduce_run<SumOf<T>>(y + i, size, total);
  }
  return SumOf<T>::finish(total, n);
}

template <class T>
void softmax_row(const T* x, int64_t n, T* y, bool stream) {
  const T shift = largest(x, n);
  if (!stream || n * static_cast<int64_t>(sizeof(T)) > kKeptRow) {
    const T factor = 1 / summed_exponentials(x, n, shift, y);
    for (int64_t j = 0; j < n; ++j) y[j] *= factor;
    return;
  }
  alignas(64) T kept[kKeptRow / sizeof(T)];
  const T factor = 1 / summed_exponentials(x, n, shift, kept, x + n);
  const void* const in[] = {kept, &factor};
  binary_inner_loop<MulFn, T>()(0b01u | cpu::kNontemporal, y, n, in);
}

template <class T>
void log_softmax_row(const T* x, int64_t n, T* y, bool stream) {
  const T shift = largest(x, n);
  const T* next = stream ? x + n : nullptr;
  const T sum = sum_of_pieces<T>(
      n, [&](int64_t first, int64_t size, T* piece) { exponentials(x, first, size, shift, piece, next); });
  const T log_sum = std::log(sum);
  cpu::write_pieces(n, y, stream, binary_inner_loop<SubFn, T>(), &log_sum, false,
                    [&](int64_t begin, int64_t size, T* to) {
                      PANTO_INDEPENDENT
                      for (int64_t j = 0; j < size; ++j) to[j] = x[begin + j] - shift;
                    });
}

struct SoftmaxKernel {
  template <class T>
  static void run(KernelContext& c) {
    cpu::by_rows<T>(c, kExpWork, [](const auto* x, int64_t n, auto* y, bool stream) { softmax_row(x, n, y, stream); });
  }
};
struct LogSoftmaxKernel {
  template <class T>
  static void run(KernelContext& c) {
    cpu::by_rows<T>(c, kExpWork,
                    [](const auto* x, int64_t n, auto* y, bool stream) { log_softmax_row(x, n, y, stream); });
  }
};
const CpuKernel softmax_kernel("Softmax", types::of<"Softmax">{}, SoftmaxKernel{});
const CpuKernel log_softmax_kernel("LogSoftmax", types::of<"LogSoftmax">{}, LogSoftmaxKernel{});

// Reads an input that broadcasts to a matrix row by row.
template <class T>
class Rows {
 public:
  Rows(const T* data, const Shape& shape, int64_t columns) : data_(data), columns_(columns) {
    const int rank = shape.rank();
    const int64_t width = rank >= 1 ? shape[-1] : 1;
    const int64_t height = rank >= 2 ? shape[-2] : 1;
    row_stride_ = height == 1 ? 0 : width;
    broadcast_ = width == 1 && columns != 1;
  }
  // Returns the elements of row r. `buffer` must have buffer_size() elements; broadcast rows are written to it.
  const T* row(int64_t r, T* buffer) const {
    const T* first = data_ + r * row_stride_;
    if (!broadcast_) return first;
    std::fill_n(buffer, columns_, *first);
    return buffer;
  }
  int64_t buffer_size() const { return broadcast_ ? columns_ : 0; }

 private:
  const T* data_;
  int64_t columns_;
  int64_t row_stride_;
  bool broadcast_;
};

struct CrossEntropyKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.out_shape(1);
    const int64_t rows = shape[0], n = shape[1];
    const Rows<T> features(c.data<T>(0), c.shape(0), n), labels(c.data<T>(1), c.shape(1), n);
    T *loss = c.out_data<T>(0), *backprop = c.out_data<T>(1);
    cpu::parallel_ranges(
        rows, rows * n * kExpWork,
        [&](int64_t begin, int64_t end) {
          const Scratch<T> feature_row(c.device(), features.buffer_size());
          const Scratch<T> label_row(c.device(), labels.buffer_size());
          cpu::multiversioned([&] {
            for (int64_t r = begin; r < end; ++r) {
              const T* x = features.row(r, feature_row.data());
              const T* p = labels.row(r, label_row.data());
              T* y = backprop + r * n;
              const T shift = largest(x, n);
              const T sum = summed_exponentials(x, n, shift, y);
              const T log_sum = n == 0 ? 0 : std::log(sum);
              loss[r] = sum_of_pieces<T>(n, [&](int64_t first, int64_t size, T* piece) {
                for (int64_t j = 0; j < size; ++j) piece[j] = p[first + j] * (log_sum - (x[first + j] - shift));
              });
              const T factor = 1 / sum;
              for (int64_t j = 0; j < n; ++j) y[j] = y[j] * factor - p[j];
            }
          });
        },
        std::max<int64_t>(1, 64 / std::max<int64_t>(1, n)));
  }
};
const CpuKernel cross_entropy_kernel("SoftmaxCrossEntropyWithLogits", types::of<"SoftmaxCrossEntropyWithLogits">{},
                                     InWider<CrossEntropyKernel>{});

template <class T, class Label>
void sparse_cross_entropy(KernelContext& c) {
  const Shape& shape = c.out_shape(1);
  const int64_t rows = shape[0], n = shape[1];
  if (n == 0) invalid("classes: expected at least 1, got 0");
  const T* features = c.data<T>(0);
  const Label* labels = c.data<Label>(1);
  T *loss = c.out_data<T>(0), *backprop = c.out_data<T>(1);
  const auto check = [&](int64_t row, int64_t label) {
    if (label < 0 || label >= n) [[unlikely]]
      invalid("labels[{}]: expected a class in [0, {}), got {}", row, n, label);
  };
  // All checks come before the first write.
  for (int64_t r = 0; r < rows; ++r) check(r, labels[r]);
  cpu::parallel_ranges(
      rows, rows * n * kExpWork,
      [&](int64_t begin, int64_t end) {
        cpu::multiversioned([&] {
          for (int64_t r = begin; r < end; ++r) {
            const int64_t label = labels[r];
            check(r, label);  // again: memory that is not ours may have changed
            const T* x = features + r * n;
            T* y = backprop + r * n;
            const T shift = largest(x, n);
            const T sum = summed_exponentials(x, n, shift, y);
            loss[r] = std::log(sum) - (x[label] - shift);
            const T factor = 1 / sum;
            for (int64_t j = 0; j < n; ++j) y[j] *= factor;
            y[label] -= 1;
          }
        });
      },
      std::max<int64_t>(1, 64 / n));
}

struct SparseCrossEntropyKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.in(1).dtype() == kInt32) {
      sparse_cross_entropy<T, int32_t>(c);
    } else {
      sparse_cross_entropy<T, int64_t>(c);
    }
  }
};
const CpuKernel sparse_cross_entropy_kernel("SparseSoftmaxCrossEntropyWithLogits",
                                            types::of<"SparseSoftmaxCrossEntropyWithLogits">{},
                                            InWider<SparseCrossEntropyKernel>{});

template <class T>
struct HalfSquareSumOf : SquareSumOf<T> {
  static T finish(SumTotal<T> t, int64_t) { return static_cast<T>(SumOf<T>::value(t) / 2); }
};

struct L2LossKernel {
  template <class T>
  static void run(KernelContext& c) {
    AxisFlags all;
    all.set();
    cpu::reduce<HalfSquareSumOf<T>>(c.data<T>(0), c.shape(0), all, c.out_data<T>(0), 1, c.device());
  }
};
const CpuKernel l2_loss_kernel("L2Loss", types::of<"L2Loss">{}, InWider<L2LossKernel>{});

}  // namespace
}  // namespace panto
