// Fourier transforms along one dimension of a tensor, several lines at a time.
#pragma once

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <list>
#include <utility>
#include <vector>

#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/signal/fft_plan.h"
#include "panto/device/scratch.h"
#include "panto/lib/core/call/call.h"

namespace panto::cpu::fourier {

enum class Sign { kForward, kBackward };

using Dims = std::vector<int64_t>;
inline Dims dims_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }
inline int64_t count_of(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) count *= d;
  return count;
}

// A dimension of a tensor that is seen as [outer, length, inner].
struct Dimension {
  int64_t outer = 1, length = 1, inner = 1;
  Dimension(const Dims& dims, size_t k) {
    for (size_t i = 0; i < dims.size(); ++i) (i < k ? outer : i == k ? length : inner) *= dims[i];
  }
};

// Lines of one dimension that are transformed together. In the last dimension they are those of neighbouring rows.
struct Block {
  int64_t first;    // offset of the first line's first element
  int64_t columns;  // lines
};
class Blocks {
 public:
  // Returns the number of lines that fill 64 bytes; fewer for long lines, so that they stay in the cache.
  template <class T>
  static int64_t columns_for(const cpu::FftPlan<T>& plan) {
    constexpr int64_t kSize = sizeof(T), kCache = 262144;
    if (plan.one_by_one()) return 1;
    return std::clamp<int64_t>(kCache / (plan.length() * kSize), 1, 64 / kSize);
  }
  Blocks(const Dimension& d, int64_t columns)
      : lines_(d.inner == 1 ? d.outer : d.inner), columns_(columns), per_slice_((lines_ + columns - 1) / columns) {
    count_ = d.inner == 1 ? per_slice_ : d.outer * per_slice_;
  }
  int64_t count() const { return count_; }
  // Block i of a tensor with the dimension `d`.
  Block at(int64_t i, const Dimension& d) const {
    const int64_t slice = i / per_slice_, line = i % per_slice_ * columns_;
    return {slice * d.length * d.inner + line * line_step(d), std::min(columns_, lines_ - line)};
  }
  static int64_t line_step(const Dimension& d) { return d.inner == 1 ? d.length : 1; }

 private:
  int64_t lines_, columns_, per_slice_, count_ = 0;
};

// Calls body(i, work) in parallel for each block; `work` has `size` elements. `elements` measures the total work.
template <class T, class Body>
void for_blocks(const KernelContext& c, int64_t blocks, int64_t size, int64_t elements, const Body& body) {
  cpu::parallel_ranges(
      blocks, elements * static_cast<int64_t>(8 * sizeof(T)),
      [&](int64_t begin, int64_t end) {
        const Scratch<T> work(c.device(), size);
        for (int64_t i = begin; i < end; ++i) body(i, work.data());
      },
      1);
}

// Transforms dimension k of a complex tensor. If `from` is longer in it, the first elements are taken; if shorter,
// zeros are appended. The backward transform divides by the length. `to` may be `from` if the dimensions are the same.
template <class T>
void transform(const KernelContext& c, const std::complex<T>* from, const Dims& from_dims, std::complex<T>* to,
               const Dims& to_dims, size_t k, Sign sign) {
  const Dimension source(from_dims, k), target(to_dims, k);
  const int64_t n = target.length, there = std::min(n, source.length);
  const auto plan = cpu::fft_plan<T>(n);
  const T scale = sign == Sign::kForward ? T(1) : T(1) / static_cast<T>(n);
  if (target.inner == 1 && there == n && plan->takes_lines()) {
    const cpu::Scaling<T> scaling{.sign = sign == Sign::kForward ? T(1) : T(-1), .scale = scale};
    return for_blocks<T>(c, target.outer, plan->work_size(1), target.outer * n, [&](int64_t i, T* work) {
      plan->run_line(reinterpret_cast<const T*>(from + i * source.length), reinterpret_cast<T*>(to + i * n), scaling,
                     work);
    });
  }
  const int64_t columns = Blocks::columns_for(*plan);
  const Blocks blocks(target, columns);
  for_blocks<T>(c, blocks.count(), 2 * n * columns + plan->work_size(columns), target.outer * n * target.inner,
                [&](int64_t i, T* work) {
                  T *re = work, *im = work + n * columns, *rest = im + n * columns;
                  const Block in = blocks.at(i, source), out = blocks.at(i, target);
                  const int64_t in_step = Blocks::line_step(source), out_step = Blocks::line_step(target);
                  cpu::take_lines(reinterpret_cast<const T*>(from + in.first), 2 * in_step, 2 * source.inner,
                                  in.columns, there, re, im);
                  std::fill(re + there * in.columns, re + n * in.columns, T(0));
                  std::fill(im + there * in.columns, im + n * in.columns, T(0));
                  if (sign == Sign::kForward) {
                    plan->run(re, im, in.columns, rest);
                  } else {
                    plan->run(im, re, in.columns, rest);
                  }
                  cpu::put_lines(re, im, in.columns, n, scale, reinterpret_cast<T*>(to + out.first), 2 * out_step,
                                 2 * target.inner);
                });
}

// Two elements of a real line of even length are paired to one complex element; `length` is that of the lines that are
// transformed.
struct Halves {
  int64_t n, half = n / 2;
  bool paired = n % 2 == 0;
  int64_t length = paired ? half : n;
  explicit Halves(int64_t size) : n(size) {}
};

// Transforms the last dimension of a real tensor [rows, from_length]. Writes the first n / 2 + 1 results; the others
// are their conjugates. If elements were paired, the transform is that of the even elements plus i times that of the
// odd elements; symmetry separates the two.
template <class T>
void transform_real(const KernelContext& c, const T* from, int64_t from_length, std::complex<T>* to, int64_t rows,
                    int64_t n) {
  const Halves h(n);
  const auto plan = cpu::fft_plan<T>(h.length);
  const auto roots = cpu::fft_roots<T>(h.paired ? n : 1);
  const bool by_line = h.paired && plan->takes_lines();
  const int64_t columns = by_line ? 1 : Blocks::columns_for(*plan);
  const Blocks blocks(Dimension({rows, n}, 1), columns);
  for_blocks<T>(c, blocks.count(), 2 * h.length * columns + plan->work_size(columns), rows * n,
                [&](int64_t i, T* work) {
                  T *re = work, *im = work + h.length * columns, *rest = im + h.length * columns;
                  const int64_t first = i * columns, count = std::min(columns, rows - first);
                  const T* x = from + first * from_length;
                  if (by_line) {
                    plan->run_line(x, work, {}, rest);
                    return cpu::separate_halves<T>(work, *roots, h.half, reinterpret_cast<T*>(to + i * (h.half + 1)));
                  }
                  if (h.paired) {
                    cpu::take_lines(x, from_length, 2, count, h.length, re, im);
                    plan->run(re, im, count, rest);
                  } else {
                    for (int64_t j = 0; j < h.length; ++j) {
                      for (int64_t q = 0; q < count; ++q) re[j * count + q] = x[q * from_length + j];
                    }
                    std::fill_n(im, h.length * count, T(0));
                    plan->run(re, im, count, rest);
                  }
                  for (int64_t k = 0; k <= h.half; ++k) {
                    const int64_t a = (h.paired && k == h.half ? 0 : k) * count, b = (k == 0 ? 0 : h.half - k) * count;
                    for (int64_t q = 0; q < count; ++q) {
                      std::complex<T>& y = to[(first + q) * (h.half + 1) + k];
                      if (!h.paired) {
                        y = {re[a + q], k == 0 ? T(0) : im[a + q]};
                        continue;
                      }
                      const std::complex<T> even((re[a + q] + re[b + q]) / 2, (im[a + q] - im[b + q]) / 2);
                      const std::complex<T> odd((im[a + q] + im[b + q]) / 2, (re[b + q] - re[a + q]) / 2);
                      const T w_re = roots->re[static_cast<size_t>(k)], w_im = roots->im[static_cast<size_t>(k)];
                      y = {even.real() + odd.real() * w_re - odd.imag() * w_im,
                           even.imag() + odd.real() * w_im + odd.imag() * w_re};
                    }
                  }
                });
}

// The inverse, from the first n / 2 + 1 of `from_length` elements. Ignores imaginary parts of elements that are their
// own conjugates.
template <class T>
void transform_to_real(const KernelContext& c, const std::complex<T>* from, int64_t from_length, T* to, int64_t rows,
                       int64_t n) {
  const Halves h(n);
  const auto plan = cpu::fft_plan<T>(h.length);
  const auto roots = cpu::fft_roots<T>(h.paired ? n : 1);
  const bool by_line = h.paired && plan->takes_lines();
  const int64_t columns = by_line ? 1 : Blocks::columns_for(*plan);
  const Blocks blocks(Dimension({rows, n}, 1), columns);
  const T scale = T(1) / static_cast<T>(n);
  for_blocks<T>(c, blocks.count(), 2 * h.length * columns + plan->work_size(columns), rows * n,
                [&](int64_t i, T* work) {
                  T *re = work, *im = work + h.length * columns, *rest = im + h.length * columns;
                  const int64_t first = i * columns, count = std::min(columns, rows - first);
                  T* y = to + first * n;
                  if (by_line) {
                    cpu::join_halves<T>(reinterpret_cast<const T*>(from + i * from_length), *roots, h.half, work);
                    return plan->run_line(work, y, {.sign = -1, .scale = scale}, rest);
                  }
                  for (int64_t q = 0; q < count; ++q) {
                    const std::complex<T>* x = from + (first + q) * from_length;
                    const auto imaginary = [&](int64_t k) { return k == 0 || 2 * k == n ? T(0) : x[k].imag(); };
                    for (int64_t k = 0; k < (h.paired ? h.half : h.half + 1); ++k) {
                      if (h.paired) {
                        const int64_t b = h.half - k;
                        const T even_re = x[k].real() + x[b].real(), even_im = imaginary(k) - imaginary(b);
                        const T odd_re = x[k].real() - x[b].real(), odd_im = imaginary(k) + imaginary(b);
                        const T w_re = roots->re[static_cast<size_t>(k)], w_im = -roots->im[static_cast<size_t>(k)];
                        re[k * count + q] = even_re - (odd_re * w_im + odd_im * w_re);
                        im[k * count + q] = even_im + (odd_re * w_re - odd_im * w_im);
                      } else {
                        re[k * count + q] = x[k].real();
                        im[k * count + q] = imaginary(k);
                        if (k == 0) continue;
                        re[(n - k) * count + q] = x[k].real();
                        im[(n - k) * count + q] = -imaginary(k);
                      }
                    }
                  }
                  plan->run(im, re, count, rest);
                  if (h.paired) return cpu::put_lines(re, im, count, h.length, scale, y, n, 2);
                  for (int64_t j = 0; j < h.length; ++j) {
                    for (int64_t q = 0; q < count; ++q) y[q * n + j] = re[j * count + q] * scale;
                  }
                });
}

// Transforms dimensions to other lengths, one after the other. Owns the intermediate results.
template <class C>
class Chain {
 public:
  Chain(const KernelContext& c, const C* from, Dims dims) : c_(c), from_(from), dims_(std::move(dims)) {}
  void go(size_t k, int64_t length, Sign sign, C* to = nullptr) {
    Dims next = dims_;
    next[k] = length;
    if (to == nullptr) to = kept_.emplace_back(c_.device(), count_of(next)).data();
    transform(c_, from_, dims_, to, next, k, sign);
    from_ = to;
    dims_ = std::move(next);
  }
  const C* data() const { return from_; }

 private:
  const KernelContext& c_;
  const C* from_;
  Dims dims_;
  std::list<Scratch<C>> kept_;
};

}  // namespace panto::cpu::fourier
