#include "panto/device/cpu/signal/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <numbers>
#include <utility>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/signal/fft_tiles.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"

namespace panto::cpu {
namespace {

// For larger prime factors a convolution is faster than a pass.
constexpr int64_t kMostRadix = 31;
// Small enough that work sizes and 8 * position fit into int64.
constexpr int64_t kMostLength = int64_t{1} << 40;
constexpr size_t kMostKept = 16;

size_t at(int64_t i) { return static_cast<size_t>(i); }

// Returns the factors of 4 first, then the remaining prime factors in ascending order.
std::vector<int64_t> factors_of(int64_t n) {
  std::vector<int64_t> factors;
  for (; n % 4 == 0; n /= 4) factors.push_back(4);
  for (int64_t p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) factors.push_back(p);
  }
  if (n > 1) factors.push_back(n);
  return factors;
}

// The inputs and outputs of a pass at one position. Inputs lie `from_step` apart and outputs `to_step`; element q of
// each input contributes to element q of each output.
template <class T>
struct Lines {
  const T *re, *im;
  T *out_re, *out_im;
  int64_t from_step, to_step;

  T r(int64_t k, int64_t q) const { return re[k * from_step + q]; }
  T i(int64_t k, int64_t q) const { return im[k * from_step + q]; }
  void put(int64_t k, int64_t q, T re_value, T im_value) const {
    out_re[k * to_step + q] = re_value;
    out_im[k * to_step + q] = im_value;
  }
  // Writes the value times w.
  void put(int64_t k, int64_t q, T re_value, T im_value, T w_re, T w_im) const {
    put(k, q, re_value * w_re - im_value * w_im, re_value * w_im + im_value * w_re);
  }
};

// Twiddle factors of one position: output k is multiplied by re[k - 1] + i im[k - 1].
template <class T>
struct Factors {
  T re[4], im[4];
};

template <class T>
void pass_of_2(const Lines<T>& x, const Factors<T>& w, int64_t count) {
#pragma omp simd
  for (int64_t q = 0; q < count; ++q) {
    const T ar = x.r(0, q), ai = x.i(0, q), br = x.r(1, q), bi = x.i(1, q);
    x.put(0, q, ar + br, ai + bi);
    x.put(1, q, ar - br, ai - bi, w.re[0], w.im[0]);
  }
}

template <class T>
void pass_of_3(const Lines<T>& x, const Factors<T>& w, int64_t count) {
  const T half = T(0.5), high = std::numbers::sqrt3_v<T> / 2;
#pragma omp simd
  for (int64_t q = 0; q < count; ++q) {
    const T ar = x.r(0, q), ai = x.i(0, q);
    const T sr = x.r(1, q) + x.r(2, q), si = x.i(1, q) + x.i(2, q);
    const T dr = high * (x.r(1, q) - x.r(2, q)), di = high * (x.i(1, q) - x.i(2, q));
    const T mr = ar - half * sr, mi = ai - half * si;
    x.put(0, q, ar + sr, ai + si);
    x.put(1, q, mr + di, mi - dr, w.re[0], w.im[0]);
    x.put(2, q, mr - di, mi + dr, w.re[1], w.im[1]);
  }
}

template <class T>
void pass_of_4(const Lines<T>& x, const Factors<T>& w, int64_t count) {
#pragma omp simd
  for (int64_t q = 0; q < count; ++q) {
    const T ar = x.r(0, q) + x.r(2, q), ai = x.i(0, q) + x.i(2, q);
    const T br = x.r(0, q) - x.r(2, q), bi = x.i(0, q) - x.i(2, q);
    const T cr = x.r(1, q) + x.r(3, q), ci = x.i(1, q) + x.i(3, q);
    const T dr = x.r(1, q) - x.r(3, q), di = x.i(1, q) - x.i(3, q);
    x.put(0, q, ar + cr, ai + ci);
    x.put(1, q, br + di, bi - dr, w.re[0], w.im[0]);
    x.put(2, q, ar - cr, ai - ci, w.re[1], w.im[1]);
    x.put(3, q, br - di, bi + dr, w.re[2], w.im[2]);
  }
}

template <class T>
void pass_of_5(const Lines<T>& x, const Factors<T>& w, int64_t count) {
  // Cosines and sines of a fifth and two fifths of a turn.
  const T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
  const T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
#pragma omp simd
  for (int64_t q = 0; q < count; ++q) {
    const T ar = x.r(0, q), ai = x.i(0, q);
    const T pr = x.r(1, q) + x.r(4, q), pi = x.i(1, q) + x.i(4, q);
    const T mr = x.r(1, q) - x.r(4, q), mi = x.i(1, q) - x.i(4, q);
    const T ur = x.r(2, q) + x.r(3, q), ui = x.i(2, q) + x.i(3, q);
    const T vr = x.r(2, q) - x.r(3, q), vi = x.i(2, q) - x.i(3, q);
    const T er = ar + c1 * pr + c2 * ur, ei = ai + c1 * pi + c2 * ui;
    const T fr = ar + c2 * pr + c1 * ur, fi = ai + c2 * pi + c1 * ui;
    const T gr = s1 * mr + s2 * vr, gi = s1 * mi + s2 * vi;
    const T hr = s2 * mr - s1 * vr, hi = s2 * mi - s1 * vi;
    x.put(0, q, ar + pr + ur, ai + pi + ui);
    x.put(1, q, er + gi, ei - gr, w.re[0], w.im[0]);
    x.put(2, q, fr + hi, fi - hr, w.re[1], w.im[1]);
    x.put(3, q, fr - hi, fi + hr, w.re[2], w.im[2]);
    x.put(4, q, er - gi, ei + gr, w.re[3], w.im[3]);
  }
}

// exp(-2 pi i position / n), for 0 <= position < n.
struct UnitRoot {
  double re, im;
};
UnitRoot unit_root(int64_t position, int64_t n) {
  // Symmetry reduces the angle to an eighth of a turn, where sine and cosine are as exact as their argument.
  int64_t eighths = 8 * position;
  bool below = false, swapped = false, behind = false;
  if (eighths > 4 * n) {  // the lower half of the circle
    eighths = 8 * n - eighths;
    below = true;
  }
  if (eighths > 2 * n) {
    eighths = 4 * n - eighths;
    behind = true;
  }
  if (eighths > n) {
    eighths = 2 * n - eighths;
    swapped = true;
  }
  const double angle = static_cast<double>(eighths) / static_cast<double>(n) * (std::numbers::pi / 4);
  double re = std::cos(angle), im = std::sin(angle);
  if (swapped) std::swap(re, im);
  if (behind) re = -re;
  if (below) im = -im;
  return {re, -im};
}

}  // namespace

template <class T>
FftPlan<T>::FftPlan(int64_t n, bool may_split) : n_(n) {
  if (n > kMostLength) invalid("fft_length: expected at most {}, got {}", kMostLength, n);
  const std::vector<int64_t> factors = factors_of(n);
  if (!factors.empty() && *std::max_element(factors.begin(), factors.end()) > kMostRadix) {
    make_convolution();
    return;
  }
  if (may_split && n >= kLong) {
    split();
    return;
  }
  int64_t left = n;
  for (const int64_t p : factors) {
    add_pass(p, left);
    left /= p;
  }
}

// Splits the length into two factors that are as close to each other as possible.
template <class T>
void FftPlan<T>::split() {
  int64_t rows = 1;
  for (int64_t k = 1; k * k <= n_; ++k) {
    if (n_ % k == 0) rows = k;
  }
  rows_.reset(new FftPlan(rows, false));
  columns_.reset(new FftPlan(n_ / rows, false));
  between_re_.resize(at(n_));
  between_im_.resize(at(n_));
  for (int64_t k = 0; k < n_ / rows; ++k) {
    for (int64_t j = 0; j < rows; ++j) {
      const UnitRoot w = unit_root(j * k, n_);
      between_re_[at(k * rows + j)] = static_cast<T>(w.re);
      between_im_[at(k * rows + j)] = static_cast<T>(w.im);
    }
  }
}

// Output k of position j is multiplied by exp(-2 pi i j k / length).
template <class T>
void FftPlan<T>::add_pass(int64_t radix, int64_t length) {
  Pass pass{.radix = radix, .rest = length / radix};
  const size_t count = at((radix - 1) * pass.rest);
  pass.re.resize(count);
  pass.im.resize(count);
  for (int64_t k = 1; k < radix; ++k) {
    for (int64_t j = 0; j < pass.rest; ++j) {
      const UnitRoot w = unit_root(j * k, length);
      pass.re[at((k - 1) * pass.rest + j)] = static_cast<T>(w.re);
      pass.im[at((k - 1) * pass.rest + j)] = static_cast<T>(w.im);
    }
  }
  if (radix > 5) {
    for (int64_t k = 0; k < radix; ++k) {
      const UnitRoot w = unit_root(k, radix);
      pass.roots_re.push_back(static_cast<T>(w.re));
      pass.roots_im.push_back(static_cast<T>(w.im));
    }
  }
  passes_.push_back(std::move(pass));
}

template <class T>
void FftPlan<T>::make_convolution() {
  int64_t longer = 1;
  while (longer < 2 * n_ - 1) longer *= 2;
  // Three quarters of the power of two, if that suffices.
  if (longer >= 4 && longer / 4 * 3 >= 2 * n_ - 1) longer = longer / 4 * 3;
  inner_ = std::make_unique<FftPlan>(longer);
  chirp_re_.resize(at(n_));
  chirp_im_.resize(at(n_));
  kernel_re_.assign(at(longer), 0);
  kernel_im_.assign(at(longer), 0);
  int64_t square = 0;  // k^2 modulo 2n
  for (int64_t k = 0; k < n_; ++k) {
    const UnitRoot w = unit_root(square, 2 * n_);
    chirp_re_[at(k)] = static_cast<T>(w.re);
    chirp_im_[at(k)] = static_cast<T>(w.im);
    for (const int64_t place : {k, k == 0 ? 0 : longer - k}) {
      kernel_re_[at(place)] = static_cast<T>(w.re / static_cast<double>(longer));
      kernel_im_[at(place)] = static_cast<T>(-w.im / static_cast<double>(longer));
    }
    square = (square + 2 * k + 1) % (2 * n_);
  }
  std::vector<T> work(at(inner_->work_size(1)));
  inner_->run(kernel_re_.data(), kernel_im_.data(), 1, work.data());
}

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
    run_split(re, im, work);
  } else {
    multiversioned([&] { run_passes(re, im, columns, work); });
  }
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
  const int64_t longest = std::max(rows_->n_, columns_->n_), most = kLinesTogether<T>;
  return checked_add(checked_mul(2 * longest, most), std::max(rows_->work_size(most), columns_->work_size(most)));
}

// x[j1 b + j2], with b the rows' length, is transformed along j1 to k1, multiplied by exp(-2 pi i j2 k1 / n), and
// transformed along j2 to k2: that is X[k1 + a k2], with a the columns' length.
template <class T>
void FftPlan<T>::run_split(T* re, T* im, T* work) const {
  const int64_t a = columns_->n_, b = rows_->n_, size = part_size();
  T *half_re = work, *half_im = work + n_, *parts = work + 2 * n_;
  over_tiles(b, a, size, parts, [&](int64_t first, int64_t lines, T* own) {
    T *own_re = own, *own_im = own + a * lines, *rest = own_im + a * lines;
    multiversioned([&] {
      with_lines<T>(lines, [&](auto width) __attribute__((always_inline)) {
        for (int64_t j = 0; j < a; ++j) {
          const T *x_re = re + j * b + first, *x_im = im + j * b + first;
          for (int64_t q = 0; q < width; ++q) own_re[j * width + q] = x_re[q];
          for (int64_t q = 0; q < width; ++q) own_im[j * width + q] = x_im[q];
        }
      });
    });
    columns_->run(own_re, own_im, lines, rest);
    multiversioned([&] {
      with_lines<T>(lines, [&](auto width) __attribute__((always_inline)) {
        for (int64_t k = 0; k < a; ++k) {
          const T *w_re = between_re_.data() + k * b + first, *w_im = between_im_.data() + k * b + first;
          const T *x_re = own_re + k * width, *x_im = own_im + k * width;
          T *to_re = half_re + k * b + first, *to_im = half_im + k * b + first;
#pragma omp simd
          for (int64_t q = 0; q < width; ++q) {
            to_re[q] = x_re[q] * w_re[q] - x_im[q] * w_im[q];
            to_im[q] = x_re[q] * w_im[q] + x_im[q] * w_re[q];
          }
        }
      });
    });
  });
  over_tiles(a, b, size, parts, [&](int64_t first, int64_t lines, T* own) {
    T *own_re = own, *own_im = own + b * lines, *rest = own_im + b * lines;
    multiversioned([&] {
      with_lines<T>(lines, [&](auto width) __attribute__((always_inline)) {
        turn(half_re + first * b, b, width, b, own_re);
        turn(half_im + first * b, b, width, b, own_im);
      });
    });
    rows_->run(own_re, own_im, lines, rest);
    multiversioned([&] {
      with_lines<T>(lines, [&](auto width) __attribute__((always_inline)) {
        for (int64_t k = 0; k < b; ++k) {
          T *y_re = re + k * a + first, *y_im = im + k * a + first;
          for (int64_t q = 0; q < width; ++q) y_re[q] = own_re[k * width + q];
          for (int64_t q = 0; q < width; ++q) y_im[q] = own_im[k * width + q];
        }
      });
    });
  });
}

// A pass reads blocks j, j + rest, j + 2 rest ... of `step` neighbours and writes its results side by side; so after
// the last pass everything is in order.
template <class T>
void FftPlan<T>::run_passes(T* re, T* im, int64_t columns, T* work) const {
  T *from_re = re, *from_im = im, *to_re = work, *to_im = work + n_ * columns;
  int64_t step = columns;
  for (const Pass& pass : passes_) {
    const int64_t p = pass.radix, rest = pass.rest;
    for (int64_t j = 0; j < rest; ++j) {
      const Lines<T> lines{from_re + j * step,   from_im + j * step, to_re + j * p * step,
                           to_im + j * p * step, rest * step,        step};
      if (p > 5) {
        for (int64_t k = 0; k < p; ++k) {
          const T w_re = k == 0 ? T(1) : pass.re[at((k - 1) * rest + j)];
          const T w_im = k == 0 ? T(0) : pass.im[at((k - 1) * rest + j)];
          for (int64_t q = 0; q < step; ++q) {
            T sum_re = 0, sum_im = 0;
            for (int64_t r = 0; r < p; ++r) {
              const T c = pass.roots_re[at(r * k % p)], s = pass.roots_im[at(r * k % p)];
              sum_re += lines.r(r, q) * c - lines.i(r, q) * s;
              sum_im += lines.r(r, q) * s + lines.i(r, q) * c;
            }
            lines.put(k, q, sum_re, sum_im, w_re, w_im);
          }
        }
        continue;
      }
      Factors<T> w;
      for (int64_t k = 1; k < p; ++k) {
        w.re[k - 1] = pass.re[at((k - 1) * rest + j)];
        w.im[k - 1] = pass.im[at((k - 1) * rest + j)];
      }
      switch (p) {
        case 2: pass_of_2(lines, w, step); break;
        case 3: pass_of_3(lines, w, step); break;
        case 4: pass_of_4(lines, w, step); break;
        default: pass_of_5(lines, w, step); break;
      }
    }
    step *= p;
    std::swap(from_re, to_re);
    std::swap(from_im, to_im);
  }
  if (from_re != re) {
    std::copy_n(from_re, n_ * columns, re);
    std::copy_n(from_im, n_ * columns, im);
  }
}

// X[k] = w[k] * sum over j of (x[j] w[j]) conj(w[k - j]), where w[k] = exp(-pi i k^2 / n).
template <class T>
void FftPlan<T>::run_convolution(T* re, T* im, int64_t columns, T* work) const {
  const int64_t longer = inner_->n_;
  T *a_re = work, *a_im = work + longer * columns, *rest = a_im + longer * columns;
  const auto multiply = [columns](const T* x_re, const T* x_im, const std::vector<T>& w_re, const std::vector<T>& w_im,
                                  int64_t rows, T* y_re, T* y_im) {
    for (int64_t j = 0; j < rows; ++j) {
      const T c = w_re[at(j)], s = w_im[at(j)];
      for (int64_t q = j * columns; q < (j + 1) * columns; ++q) {
        const T r = x_re[q], i = x_im[q];
        y_re[q] = r * c - i * s;
        y_im[q] = r * s + i * c;
      }
    }
  };
  multiply(re, im, chirp_re_, chirp_im_, n_, a_re, a_im);
  std::fill(a_re + n_ * columns, a_re + longer * columns, T(0));
  std::fill(a_im + n_ * columns, a_im + longer * columns, T(0));
  inner_->run(a_re, a_im, columns, rest);
  multiply(a_re, a_im, kernel_re_, kernel_im_, longer, a_re, a_im);
  inner_->run(a_im, a_re, columns, rest);  // backward: swapping re and im flips the sign
  multiply(a_re, a_im, chirp_re_, chirp_im_, n_, re, im);
}

template <class T>
FftRoots<T>::FftRoots(int64_t length) : n(length) {
  for (int64_t k = 0; k <= length / 2; ++k) {
    const UnitRoot w = unit_root(k, length);
    re.push_back(static_cast<T>(w.re));
    im.push_back(static_cast<T>(w.im));
  }
}

namespace {

// Returns the plan or roots of this length; caches those used last.
template <class Made>
std::shared_ptr<const Made> kept(int64_t n) {
  static std::mutex mutex;
  static std::list<std::shared_ptr<const Made>> all;  // most recently used first
  {
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(all.begin(), all.end(), [n](const auto& made) { return made->length() == n; });
    if (found != all.end()) {
      all.splice(all.begin(), all, found);
      return all.front();
    }
  }
  auto made = std::make_shared<const Made>(n);
  const std::lock_guard lock(mutex);
  all.push_front(made);
  if (all.size() > kMostKept) all.pop_back();
  return made;
}

}  // namespace

template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n) {
  return kept<FftPlan<T>>(n);
}
template <class T>
std::shared_ptr<const FftRoots<T>> fft_roots(int64_t n) {
  return kept<FftRoots<T>>(n);
}

template class FftPlan<float>;
template class FftPlan<double>;
template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t n);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t n);
template std::shared_ptr<const FftRoots<float>> fft_roots(int64_t n);
template std::shared_ptr<const FftRoots<double>> fft_roots(int64_t n);

}  // namespace panto::cpu
