// The discrete Fourier transform of one length, X[k] = sum over j of x[j] exp(-2 pi i j k / n).
//
//   const auto plan = cpu::fft_plan<float>(n);          // kept for the next call
//   plan->run(re, im, columns, work);                   // of [n, columns], in place
//   plan->run(im, re, columns, work);                   // the sum with the other sign
//
// Lengths whose prime factors are small go through passes of these factors (Stockham's form: Temperton 1983,
// Self-sorting mixed-radix fast Fourier transforms); others are a convolution of such a length (Bluestein 1970, A
// linear filtering approach to the computation of discrete Fourier transform). Real and imaginary parts lie apart and
// columns side by side, so that loops run over neighbours.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace panto::cpu {

template <class T>
class FftPlan {
 public:
  // Precondition: n > 0. Throws InvalidArgument where n is too large.
  explicit FftPlan(int64_t n);

  int64_t length() const { return n_; }
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
  void add_pass(int64_t radix, int64_t length);
  void make_convolution();
  void run_passes(T* re, T* im, int64_t columns, T* work) const;
  void run_convolution(T* re, T* im, int64_t columns, T* work) const;

  int64_t n_;
  std::vector<Pass> passes_;
  // Of lengths with a large prime factor.
  std::unique_ptr<FftPlan> inner_;
  std::vector<T> chirp_re_, chirp_im_;    // [n]
  std::vector<T> kernel_re_, kernel_im_;  // [inner's length], transformed
};

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
