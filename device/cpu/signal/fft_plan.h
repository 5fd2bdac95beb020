// The discrete Fourier transform of one length, X[k] = sum over j of x[j] exp(-2 pi i j k / n).
//
//   const auto plan = cpu::fft_plan<float>(n);          // kept for the next call
//   plan->run(re, im, columns, work);                   // of [n, columns], in place
//   plan->run(im, re, columns, work);                   // the sum with the other sign
//
// Lengths whose prime factors are small go through passes of these factors (Stockham's form: Temperton 1983,
// Self-sorting mixed-radix fast Fourier transforms); others are a convolution of such a length (Bluestein 1970, A
// linear filtering approach to the computation of discrete Fourier transform). Real and imaginary parts lie apart and
// columns side by side, so that loops run over neighbours. A long line is a matrix whose columns and then rows are
// transformed, some side by side and all that one thread works with in its cache (Bailey 1990, FFTs in external or
// hierarchical memory).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace panto::cpu {

template <class T>
class FftPlan {
 public:
  // Precondition: n > 0. Throws InvalidArgument where n is too large.
  explicit FftPlan(int64_t n) : FftPlan(n, true) {}

  int64_t length() const { return n_; }
  // Whether `run` takes one column only: a long one.
  bool one_by_one() const { return rows_ || (inner_ && inner_->rows_); }
  // How many elements of type T `run` takes to work with.
  int64_t work_size(int64_t columns) const;
  // `re` and `im`: [length, columns]. The result does not depend on what else is transformed beside a column.
  void run(T* re, T* im, int64_t columns, T* work) const;

 private:
  struct Pass {
    int64_t radix, rest;                          // rest: what is left of the length below this pass
    std::vector<T> re = {}, im = {};              // the factors between passes, [radix - 1, rest]
    std::vector<T> roots_re = {}, roots_im = {};  // of unity, [radix], where there is no formula for the radix
  };
  FftPlan(int64_t n, bool may_split);
  void add_pass(int64_t radix, int64_t length);
  void make_convolution();
  void split();
  // What a thread works with where the line is split.
  int64_t part_size() const;
  void run_split(T* re, T* im, T* work) const;
  void run_passes(T* re, T* im, int64_t columns, T* work) const;
  void run_convolution(T* re, T* im, int64_t columns, T* work) const;

  static constexpr int64_t kLong = int64_t{1} << 13;  // a length that is split

  int64_t n_;
  std::vector<Pass> passes_;
  // Of a long line, as a matrix [columns_'s length, rows_'s length]: what is between the two, exp(-2 pi i j k / n).
  std::unique_ptr<FftPlan> columns_, rows_;
  std::vector<T> between_re_, between_im_;
  // Of lengths with a large prime factor.
  std::unique_ptr<FftPlan> inner_;
  std::vector<T> chirp_re_, chirp_im_;    // [n]
  std::vector<T> kernel_re_, kernel_im_;  // [inner's length], transformed
};

// `count` elements of each of some lines of complex numbers, a real and an imaginary part one after the other, as `run`
// takes them: element j of line q is at x[q line_step + j element_step].
template <class T>
void take_lines(const T* x, int64_t line_step, int64_t element_step, int64_t columns, int64_t count, T* re, T* im);
// And back, times `scale`.
template <class T>
void put_lines(const T* re, const T* im, int64_t columns, int64_t count, T scale, T* y, int64_t line_step,
               int64_t element_step);

// The plan of a length. Those used last are kept.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

// exp(-2 pi i k / n) for k = 0, 1 ... n / 2. Those used last are kept.
template <class T>
struct FftRoots {
  std::vector<T> re, im;
  int64_t n;
  explicit FftRoots(int64_t length);
  int64_t length() const { return n; }
};
template <class T>
std::shared_ptr<const FftRoots<T>> fft_roots(int64_t n);

}  // namespace panto::cpu
