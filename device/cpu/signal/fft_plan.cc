#include "panto/device/cpu/signal/fft_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <numbers>
#include <utility>

#include "panto/lib/base/text/format.h"

namespace panto::cpu {
namespace {

// Small enough that work sizes and 8 * position fit into int64.
constexpr int64_t kMostLength = int64_t{1} << 40;
constexpr size_t kMostKept = 16;

size_t at(int64_t i) { return static_cast<size_t>(i); }

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

// Returns the radices of the passes: those of the power of two, which are as large and as equal as they can be, those
// of the powers of three and five, and the remaining prime factors in ascending order.
std::vector<int64_t> radices_of(int64_t n) {
  std::vector<int64_t> radices;
  int64_t twos = std::countr_zero(static_cast<uint64_t>(n)), threes = 0, fives = 0;
  n >>= twos;
  for (; n % 3 == 0; n /= 3) ++threes;
  for (; n % 5 == 0; n /= 5) ++fives;
  for (int64_t passes = (twos + 5) / 6; passes > 0; --passes) {
    const int64_t own = twos / passes;
    radices.push_back(int64_t{1} << own);
    twos -= own;
  }
  radices.insert(radices.end(), at(threes / 2), 9);
  radices.insert(radices.end(), at(fives / 2), 25);
  const int64_t left = (threes % 2 == 0 ? 1 : 3) * (fives % 2 == 0 ? 1 : 5);
  if (left > 1) radices.push_back(left);
  for (int64_t p = 7; p * p <= n; p += 2) {
    for (; n % p == 0; n /= p) radices.push_back(p);
  }
  if (n > 1) radices.push_back(n);
  return radices;
}

// Returns the part of a radix that its pass transforms first, 0 if the radix is another prime.
int64_t first_factor(int64_t radix) {
  switch (radix) {
    case 2:
    case 3:
    case 4:
    case 5:
    case 8: return radix;
    case 9: return 3;
    case 15: return 5;
    case 16: return 4;
    case 25: return 5;
    case 32:
    case 64: return 8;
    default: return 0;
  }
}

}  // namespace

template <class T>
FftPlan<T>::FftPlan(int64_t n, bool may_split) : n_(n) {
  if (n > kMostLength) invalid("fft_length: expected at most {}, got {}", kMostLength, n);
  const std::vector<int64_t> radices = radices_of(n);
  if (!radices.empty() && first_factor(radices.back()) == 0 && radices.back() > kMostPrime) {
    make_convolution();
    return;
  }
  if (may_split && n >= kLong) {
    split();
    return;
  }
  int64_t left = n;
  for (const int64_t radix : radices) {
    add_pass(radix, left);
    left /= radix;
  }
  if (n >= 256 && std::has_single_bit(static_cast<uint64_t>(n)) && passes_.size() == 2) {
    for (int64_t k = 0; k < passes_[0].radix; ++k) {
      for (int64_t j = 0; j < passes_[0].rest; ++j) turned_.add(j * k, n);
    }
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
  for (int64_t k = 0; k < n_ / rows; ++k) {
    for (int64_t j = 0; j < rows; ++j) between_.add(j * k, n_);
  }
}

template <class T>
void RootTable<T>::add(int64_t k, int64_t n) {
  const UnitRoot w = unit_root(k, n);
  re.push_back(static_cast<T>(w.re));
  im.push_back(static_cast<T>(w.im));
}

// Output k of position j is multiplied by exp(-2 pi i j k / length).
template <class T>
void FftPlan<T>::add_pass(int64_t radix, int64_t length) {
  const int64_t first = first_factor(radix);
  FftPass<T> pass{.radix = radix, .rest = length / radix};
  for (int64_t j = 0; j < pass.rest; ++j) {
    for (int64_t k = 0; k < radix; ++k) pass.between.add(j * k, length);
  }
  if (first == 0) {
    for (int64_t k = 1; k <= radix / 2; ++k) {
      for (int64_t j = 1; j <= radix / 2; ++j) pass.inner.add(j * k % radix, radix);
    }
  } else {
    for (int64_t b = 0; b < radix / first; ++b) {
      for (int64_t a = 0; a < first; ++a) pass.inner.add(a * b, radix);
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
  kernel_.re.assign(at(longer), 0);
  kernel_.im.assign(at(longer), 0);
  int64_t square = 0;  // k^2 modulo 2n
  for (int64_t k = 0; k < n_; ++k) {
    const UnitRoot w = unit_root(square, 2 * n_);
    chirp_.add(square, 2 * n_);
    for (const int64_t place : {k, k == 0 ? 0 : longer - k}) {
      kernel_.re[at(place)] = static_cast<T>(w.re / static_cast<double>(longer));
      kernel_.im[at(place)] = static_cast<T>(-w.im / static_cast<double>(longer));
    }
    square = (square + 2 * k + 1) % (2 * n_);
  }
  std::vector<T> work(at(inner_->work_size(1)));
  inner_->run(kernel_.re.data(), kernel_.im.data(), 1, work.data());
}

template <class T>
FftRoots<T>::FftRoots(int64_t length) : n(length) {
  for (int64_t k = 0; k <= length / 2; ++k) this->add(k, length);
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

template struct RootTable<float>;
template struct RootTable<double>;
template FftPlan<float>::FftPlan(int64_t n, bool may_split);
template FftPlan<double>::FftPlan(int64_t n, bool may_split);
template std::shared_ptr<const FftPlan<float>> fft_plan(int64_t n);
template std::shared_ptr<const FftPlan<double>> fft_plan(int64_t n);
template std::shared_ptr<const FftRoots<float>> fft_roots(int64_t n);
template std::shared_ptr<const FftRoots<double>> fft_roots(int64_t n);

}  // namespace panto::cpu
