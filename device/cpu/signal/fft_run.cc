// How plans of Fourier transforms run.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/signal/fft_interleaved.h"
#include "panto/device/cpu/signal/fft_passes.h"
#include "panto/device/cpu/signal/fft_plan.h"
#include "panto/device/cpu/signal/fft_tiles.h"
#include "panto/lib/base/checked.h"

namespace panto::cpu {

namespace {

// A line with real and imaginary parts apart, transformed in place.
template <class T>
struct Apart {
  T *re, *im;

  // Copies `count` elements from element `from` on.
  template <int kBytes, class Count>
  [[gnu::always_inline]] void take(int64_t from, Count count, T* to_re, T* to_im) const {
    for (int64_t q = 0; q < count; ++q) to_re[q] = re[from + q];
    for (int64_t q = 0; q < count; ++q) to_im[q] = im[from + q];
  }
  template <int kBytes, class Count>
  [[gnu::always_inline]] void put(const T* from_re, const T* from_im, Count count, int64_t to) const {
    for (int64_t q = 0; q < count; ++q) re[to + q] = from_re[q];
    for (int64_t q = 0; q < count; ++q) im[to + q] = from_im[q];
  }
};

// A line as it lies in tensors, and where its transform goes.
template <class T>
struct InTurns {
  const T* x;
  T* y;
  Scaling<T> scaling;

  template <int kBytes, class Count>
  [[gnu::always_inline]] void take(int64_t from, Count count, T* to_re, T* to_im) const {
    using V = typename Vector<T, kBytes>::type;
    constexpr int64_t kWidth = kBytes / sizeof(T);
    int64_t q = 0;
    for (; q + kWidth <= count; q += kWidth) {
      V re, im;
      Turns<kBytes, T>::take(x + 2 * (from + q), re, im);
      im *= scaling.sign;
      store(re, to_re + q);
      store(im, to_im + q);
    }
    for (; q < count; ++q) {
      to_re[q] = x[2 * (from + q)];
      to_im[q] = x[2 * (from + q) + 1] * scaling.sign;
    }
  }
  template <int kBytes, class Count>
  [[gnu::always_inline]] void put(const T* from_re, const T* from_im, Count count, int64_t to) const {
    using V = typename Vector<T, kBytes>::type;
    constexpr int64_t kWidth = kBytes / sizeof(T);
    const T scale = scaling.scale, scale_im = scaling.sign * scaling.scale;
    int64_t q = 0;
    for (; q + kWidth <= count; q += kWidth) {
      V re, im;
      load(from_re + q, re);
      load(from_im + q, im);
      re *= scale;
      im *= scale_im;
      Turns<kBytes, T>::put(re, im, y + 2 * (to + q));
    }
    for (; q < count; ++q) {
      y[2 * (to + q)] = from_re[q] * scale;
      y[2 * (to + q) + 1] = from_im[q] * scale_im;
    }
  }
};

}  // namespace

template <class T>
int64_t FftPlan<T>::work_size(int64_t columns) const {
  const int64_t own = checked_mul(checked_mul(inner_ ? inner_->n_ : n_, columns), 2);
  if (rows_) return checked_add(own / columns, checked_mul(tiles_for_processors(), part_size()));
  return inner_ ? checked_add(own, inner_->work_size(columns)) : own;
}

template <class T>
void FftPlan<T>::run(T* re, T* im, int64_t columns, T* work) const {
  if (inner_) {
    run_convolution(re, im, columns, work);
  } else if (rows_) {
    run_split(Apart<T>{re, im}, work);
  } else {
    run_passes(re, im, columns, work);
  }
}

template <class T>
void FftPlan<T>::run_line(const T* x, T* y, const Scaling<T>& scaling, T* work) const {
  if (rows_) return run_split(InTurns<T>{x, y, scaling}, work);
  const Factors<T> inner1 = factors(passes_[0].inner), inner2 = factors(passes_[1].inner), turned = factors(turned_);
  with_vectors([&](auto bytes) __attribute__((always_inline)) {
    constexpr int kBytes = decltype(bytes)::value;
    switch (n_) {
      case 256: return transform_line<kBytes, 4, 4, 4, 4>(x, y, scaling, inner1, turned, inner2, work);
      case 512: return transform_line<kBytes, 4, 4, 8, 4>(x, y, scaling, inner1, turned, inner2, work);
      case 1024: return transform_line<kBytes, 8, 4, 8, 4>(x, y, scaling, inner1, turned, inner2, work);
      case 2048: return transform_line<kBytes, 8, 4, 8, 8>(x, y, scaling, inner1, turned, inner2, work);
      default: return transform_line<kBytes, 8, 8, 8, 8>(x, y, scaling, inner1, turned, inner2, work);
    }
  });
}

namespace {

// Calls body(first line, lines, work) for tiles of lines; each thread has its own `work`.
template <class T, class Body>
void over_tiles(int64_t lines, int64_t length, int64_t size, T* work, const Body& body) {
  const int64_t parts = tiles_for_processors(), tiles = (lines + kLinesTogether<T> - 1) / kLinesTogether<T>;
  const int64_t each = (tiles + parts - 1) / parts;
  parallel_ranges(
      parts, lines * length * static_cast<int64_t>(8 * sizeof(T)),
      [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
          for (int64_t tile = part * each; tile < std::min(tiles, (part + 1) * each); ++tile) {
            const int64_t first = tile * kLinesTogether<T>;
            body(first, std::min(kLinesTogether<T>, lines - first), work + part * size);
          }
        }
      },
      1);
}

}  // namespace

template <class T>
int64_t FftPlan<T>::part_size() const {
  const int64_t most = kLinesTogether<T>;
  const int64_t first = checked_add(checked_mul(2 * most, columns_->n_), columns_->work_size(most));
  return std::max(first, rows_->work_size(most));
}

// x[j1 b + j2], with b the rows' length, is transformed along j1 to k1, multiplied by exp(-2 pi i j2 k1 / n), and
// transformed along j2 to k2: that is X[k1 + a k2], with a the columns' length. In between, lines that are transformed
// together lie side by side.
template <class T>
template <class Line>
void FftPlan<T>::run_split(const Line& line, T* work) const {
  constexpr int64_t kMost = kLinesTogether<T>;
  const int64_t a = columns_->n_, b = rows_->n_, size = part_size();
  T *half_re = work, *half_im = work + n_, *parts = work + 2 * n_;
  over_tiles(b, a, size, parts, [&](int64_t first, int64_t lines, T* own) {
    T *own_re = own, *own_im = own + a * lines, *rest = own_im + a * lines;
    with_vectors([&](auto bytes) __attribute__((always_inline)) {
      with_lines<T>(lines, [&](auto width) __attribute__((always_inline)) {
        for (int64_t j = 0; j < a; ++j) {
          line.template take<decltype(bytes)::value>(j * b + first, width, own_re + j * width, own_im + j * width);
        }
      });
    });
    columns_->run(own_re, own_im, lines, rest);
    with_vectors([&](auto bytes) __attribute__((always_inline)) {
      with_lines<T>(lines, [&](auto width) __attribute__((always_inline)) {
        for (int64_t k = 0; k < a; ++k) {
          const T *w_re = between_.re.data() + k * b + first, *w_im = between_.im.data() + k * b + first;
          T *x_re = own_re + k * width, *x_im = own_im + k * width;
#pragma omp simd
          for (int64_t q = 0; q < width; ++q) {
            const T re = x_re[q], im = x_im[q];
            x_re[q] = re * w_re[q] - im * w_im[q];
            x_im[q] = re * w_im[q] + im * w_re[q];
          }
        }
        for (int64_t k = 0; k < a; k += kMost) {
          with_lines<T>(std::min(kMost, a - k), [&](auto rows) __attribute__((always_inline)) {
            const int64_t to = k * b + first * rows;
            turn<decltype(bytes)::value>(own_re + k * width, width, rows, width, half_re + to);
            turn<decltype(bytes)::value>(own_im + k * width, width, rows, width, half_im + to);
          });
        }
      });
    });
  });
  over_tiles(a, b, size, parts, [&](int64_t first, int64_t lines, T* own) {
    T *own_re = half_re + first * b, *own_im = half_im + first * b;
    rows_->run(own_re, own_im, lines, own);
    with_vectors([&](auto bytes) __attribute__((always_inline)) {
      with_lines<T>(lines, [&](auto width) __attribute__((always_inline)) {
        for (int64_t k = 0; k < b; ++k) {
          line.template put<decltype(bytes)::value>(own_re + k * width, own_im + k * width, width, k * a + first);
        }
      });
    });
  });
}

template <class T>
void FftPlan<T>::run_passes(T* re, T* im, int64_t columns, T* work) const {
  constexpr int64_t kMost = kLinesTogether<T>, kFew = 16 / sizeof(T);
  T *from_re = re, *from_im = im, *to_re = work, *to_im = work + n_ * columns;
  int64_t step = columns;
  for (const FftPass<T>& pass : passes_) {
    if (pass.rest == 1) {  // the last pass needs no other place
      to_re = re;
      to_im = im;
    }
    const Lines<T> x{from_re, from_im, to_re, to_im, pass.rest * step, step};
    const int64_t whole = step / kMost * kMost;
    if (whole > 0) {
      with_vectors([&](auto bytes) __attribute__((always_inline)) {
        run_pass<decltype(bytes)::value, kMost>(pass, x, step, 0, whole);
      });
    }
    if (whole < step) {
      with_fused_products([&]() __attribute__((always_inline)) {
        const int64_t middle = step / kFew * kFew;
        run_pass<16, kFew>(pass, x, step, whole, middle);
        run_pass<sizeof(T), 1>(pass, x, step, middle, step);
      });
    }
    step *= pass.radix;
    std::swap(from_re, to_re);
    std::swap(from_im, to_im);
  }
}

// X[k] = w[k] * sum over j of (x[j] w[j]) conj(w[k - j]), where w[k] = exp(-pi i k^2 / n).
template <class T>
void FftPlan<T>::run_convolution(T* re, T* im, int64_t columns, T* work) const {
  const int64_t longer = inner_->n_;
  T *a_re = work, *a_im = work + longer * columns, *rest = a_im + longer * columns;
  const auto multiply = [columns](const T* x_re, const T* x_im, const Factors<T>& w, int64_t rows, T* y_re, T* y_im) {
    multiversioned([&]() __attribute__((always_inline)) {
      const auto product = [&](int64_t i, int64_t j) __attribute__((always_inline)) {
        const T re = x_re[i], im = x_im[i];
        y_re[i] = re * w.re[j] - im * w.im[j];
        y_im[i] = re * w.im[j] + im * w.re[j];
      };
      if (columns == 1) {
#pragma omp simd
        for (int64_t j = 0; j < rows; ++j) product(j, j);
        return;
      }
      for (int64_t j = 0; j < rows; ++j) {
#pragma omp simd
        for (int64_t i = j * columns; i < (j + 1) * columns; ++i) product(i, j);
      }
    });
  };
  multiply(re, im, factors(chirp_), n_, a_re, a_im);
  std::fill(a_re + n_ * columns, a_re + longer * columns, T(0));
  std::fill(a_im + n_ * columns, a_im + longer * columns, T(0));
  inner_->run(a_re, a_im, columns, rest);
  multiply(a_re, a_im, factors(kernel_), longer, a_re, a_im);
  inner_->run(a_im, a_re, columns, rest);  // backward: swapping re and im flips the sign
  multiply(a_re, a_im, factors(chirp_), n_, re, im);
}

namespace {

// body(bytes, begin, end) for parts of `count` elements that take 8 numbers of memory each.
template <class T, class Body>
void over_halves(int64_t count, const Body& body) {
  parallel_ranges(
      count, count * static_cast<int64_t>(8 * sizeof(T)),
      [&](int64_t begin, int64_t end) {
        with_vectors([&](auto bytes) __attribute__((always_inline)) { body(bytes, begin, end); });
      },
      kLinesTogether<T>);
}

}  // namespace

template <class T>
void separate_halves(const T* z, const RootTable<T>& roots, int64_t half, T* y) {
  over_halves<T>(half + 1, [&](auto bytes, int64_t begin, int64_t end) __attribute__((always_inline)) {
    separate_halves<decltype(bytes)::value>(z, factors(roots), half, begin, end, y);
  });
}

template <class T>
void join_halves(const T* x, const RootTable<T>& roots, int64_t half, T* z) {
  over_halves<T>(half, [&](auto bytes, int64_t begin, int64_t end) __attribute__((always_inline)) {
    join_halves<decltype(bytes)::value>(x, factors(roots), half, begin, end, z);
  });
}

template void separate_halves(const float*, const RootTable<float>&, int64_t, float*);
template void separate_halves(const double*, const RootTable<double>&, int64_t, double*);
template void join_halves(const float*, const RootTable<float>&, int64_t, float*);
template void join_halves(const double*, const RootTable<double>&, int64_t, double*);
template class FftPlan<float>;
template class FftPlan<double>;

}  // namespace panto::cpu
