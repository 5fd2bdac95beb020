// The discrete Fourier transform of one length, X[k] = sum over j of x[j] exp(-2 pi i j k / n).
//
//   const auto plan = cpu::fft_plan<float>(n); // cached for the next call
//   plan->run(re, im, columns, work);                   // of [n, columns], in place
//   plan->run(im, re, columns, work);                   // the sum with the other sign
//
// A length with small prime factors is transformed by passes (Stockham's form: Temperton 1983, Self-sorting mixed-radix
// fast Fourier transforms) of a radix of up to 64 each; any other by a convolution of such a length
// (Bluestein 1970, A linear filtering approach to the computation of discrete Fourier transform). Real and imaginary
// parts are separate arrays and columns are adjacent, so that inner loops are contiguous. A long line is treated as a
// matrix: first its columns are transformed, then its rows, in tiles that fit into a thread's cache (Bailey 1990, FFTs
// in external or hierarchical memory).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace panto::cpu {

// For larger prime factors a convolution is faster than a pass.
inline constexpr int64_t kMostPrime = 31;

// exp(-2 pi i k / n) for some k, real and imaginary parts apart.
template <class T>
struct RootTable {
  std::vector<T> re, im;
  // Appends the root of k, for 0 <= k < n.
  void add(int64_t k, int64_t n);
};

// One pass over a line of length `radix * rest` or of the transforms that it was divided into.
template <class T>
struct FftPass {
  int64_t radix, rest;
  // Output k of position j is multiplied by element j * radix + k.
  RootTable<T> between = {};
  // Of a radix that is a product: the factors between its two parts (transform_chunk). Of other primes: their roots
  // (transform_odd).
  RootTable<T> inner = {};
};

// How elements of a line change on their way: imaginary parts are multiplied by `sign` before and after the transform,
// which is then the one with the other sign, and results by `scale`.
template <class T>
struct Scaling {
  T sign = 1, scale = 1;
};

template <class T>
class FftPlan {
 public:
  // Precondition: n > 0. Throws InvalidArgument if n is too large.
  explicit FftPlan(int64_t n) : FftPlan(n, true) {}

  int64_t length() const { return n_; }
  // Returns true if `run` accepts one column only, because lines are long.
  bool one_by_one() const { return rows_ || (inner_ && inner_->rows_); }
  // Returns the number of elements of `run`'s workspace.
  int64_t work_size(int64_t columns) const;
  // Transforms the columns of `re` and `im`, [length, columns], in place. A column's result does not depend on the
  // others.
  void run(T* re, T* im, int64_t columns, T* work) const;

  // Returns true if `run_line` is there: for powers of two from 256 to 4096, and for long lines.
  bool takes_lines() const { return rows_ || !turned_.re.empty(); }
  // Transforms a line from x to y, which may be x; real and imaginary parts are in turns. `work` has work_size(1)
  // elements.
  void run_line(const T* x, T* y, const Scaling<T>& scaling, T* work) const;

 private:
  FftPlan(int64_t n, bool may_split);
  void add_pass(int64_t radix, int64_t length);
  void make_convolution();
  void split();
  // Size of a thread's workspace if the line is split.
  int64_t part_size() const;
  template <class Line>
  void run_split(const Line& line, T* work) const;
  void run_passes(T* re, T* im, int64_t columns, T* work) const;
  void run_convolution(T* re, T* im, int64_t columns, T* work) const;

  static constexpr int64_t kLong = (int64_t{1} << 12) + 1;  // from this length on, lines are split

  int64_t n_;
  std::vector<FftPass<T>> passes_;
  RootTable<T> turned_;  // for run_line: the first pass's factors between both, [radix, rest]
  // For a long line, seen as a matrix [columns_'s length, rows_'s length]: both plans, and the twiddle factors exp(-2
  // pi i j k / n) between them.
  std::unique_ptr<FftPlan> columns_, rows_;
  RootTable<T> between_;
  // For lengths with a large prime factor: Bluestein's convolution.
  std::unique_ptr<FftPlan> inner_;
  RootTable<T> chirp_;   // [n]
  RootTable<T> kernel_;  // [inner's length], transformed
};

// Copies `count` elements of `columns` interleaved complex lines into the layout of `run`. Element j of line q is at
// x[q line_step + j element_step].
template <class T>
void take_lines(const T* x, int64_t line_step, int64_t element_step, int64_t columns, int64_t count, T* re, T* im);
// Copies back, times `scale`.
template <class T>
void put_lines(const T* re, const T* im, int64_t columns, int64_t count, T scale, T* y, int64_t line_step,
               int64_t element_step);

// What a transform of 2 * half real numbers adds to that of `half` pairs (fft_interleaved.h). `roots` are those of the
// numbers' count.
template <class T>
void separate_halves(const T* z, const RootTable<T>& roots, int64_t half, T* y);
template <class T>
void join_halves(const T* x, const RootTable<T>& roots, int64_t half, T* z);

// Returns the plan of a length. Caches those used last.
template <class T>
std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);

// exp(-2 pi i k / n) for k = 0, 1 ... n / 2. fft_roots caches those used last.
template <class T>
struct FftRoots : RootTable<T> {
  int64_t n;
  explicit FftRoots(int64_t length);
  int64_t length() const { return n; }
};
template <class T>
std::shared_ptr<const FftRoots<T>> fft_roots(int64_t n);

}  // namespace panto::cpu
