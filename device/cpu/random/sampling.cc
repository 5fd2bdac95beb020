// Samples of distributions with parameters, and random orders: TensorFlow's methods, including which words of the
// stream they consume.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/random/pairs.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/philox_blocks.h"
#include "panto/device/op_kernels.h"
#include "panto/device/random_stream.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/random_types.h"

namespace panto {
namespace {

using cpu::Pairs;
using philox::Stream;
using philox::Words;

// ---- Orders ---------------------------------------------------------------------------------------------------------

// kSeeded: the stream is an input.
template <bool kSeeded>
struct RunShuffle {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return kSeeded ? nullptr : prepare_generator(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    if constexpr (kSeeded) given_stream(c);  // checks the stream even if nothing is to be shuffled
    const Shape& shape = c.shape(0);
    const T* from = c.data<T>(0);
    T* to = c.out_data<T>(0);
    const int64_t rows = shape.rank() > 0 ? shape.dim(0) : 1;
    if (rows <= 1 || c.numel(0) <= 1) return void(std::copy_n(from, c.numel(0), to));
    const int64_t width = c.numel(0) / rows;
    std::vector<int64_t> order(static_cast<size_t>(rows));
    std::iota(order.begin(), order.end(), int64_t{0});
    philox::WordsInOrder words(kSeeded ? given_stream(c) : next_stream(c, static_cast<uint64_t>(rows + 2) / 4));
    for (size_t i = 0; i + 1 < order.size(); ++i) {
      const size_t choice = words.next() % static_cast<uint32_t>(order.size() - i);
      std::swap(order[i], order[i + choice]);
    }
    for (const int64_t row : order) to = std::copy_n(from + row * width, width, to);
  }
};

// ---- Classes --------------------------------------------------------------------------------------------------------

// Sets `sums` to the running sums of the classes' weights; returns the total.
template <class T>
double add_weights(const T* logits, std::vector<double>& sums) {
  const auto value = [&](size_t j) { return convert<double>(logits[j]); };
  double highest = std::numeric_limits<double>::lowest();
  for (size_t j = 0; j < sums.size(); ++j) {
    if (std::isfinite(value(j))) highest = std::max(highest, value(j));
  }
  double total = 0;
  for (size_t j = 0; j < sums.size(); ++j) {
    if (std::isfinite(value(j))) total += std::exp(value(j) - highest);
    sums[j] = total;
  }
  return total;
}

// Consecutive rows of samples use consecutive parts of the stream.
template <class T>
void sample_classes(KernelContext& c, const Stream& stream) {
  const int64_t rows = c.shape(0).dim(0), classes = c.shape(0).dim(1), samples = c.out_shape(0).dim(1);
  with_index_type(c.type("output_dtype"), [&]<class Index>() {
    auto* out = c.out_data<Index>(0);
    const int64_t work = rows * (classes * 32 + samples * 64);
    cpu::parallel_ranges(
        rows, work,
        [&](int64_t begin, int64_t end) {
          std::vector<double> sums(static_cast<size_t>(classes));
          for (int64_t r = begin; r < end; ++r) {
            const double total = add_weights(c.data<T>(0) + r * classes, sums);
            const uint64_t first = static_cast<uint64_t>(r) * static_cast<uint64_t>(samples);  // number of a double
            Words words{};
            for (int64_t i = 0; i < samples; ++i) {
              const uint64_t number = first + static_cast<uint64_t>(i);
              if (i == 0 || number % 2 == 0) words = stream.block(number / 2);
              const uint64_t half = number % 2 * 2;
              const double found = philox::uniform_double(words.w[half], words.w[half + 1]) * total;
              const auto at = std::upper_bound(sums.begin(), sums.end(), found) - sums.begin();
              out[r * samples + i] = static_cast<Index>(at);
            }
          }
        },
        1);
  });
}

struct RunMultinomial {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    // Two words per sample; the number of samples per row is rounded up to a multiple of 4.
    const auto samples = static_cast<uint64_t>(c.out_shape(0).dim(1));
    const uint64_t numbers = static_cast<uint64_t>(c.out_shape(0).dim(0)) * ((samples + 3) / 4 * 4) * 2;
    sample_classes<T>(c, next_stream(c, numbers * philox::kBlocksPerElement));
  }
};

struct RunStatelessMultinomial {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    sample_classes<T>(c, stream_of_seed(c.in(2)));
  }
};

// ---- Samples by a parameter ----------------------------------------------------------------------------------------

// out[s, p] = make(p, the sample's own numbers). Sample numbers run over all samples of parameter 0, then of the next.
template <class T, class Make>
void sample_each(KernelContext& c, const Stream& stream, int64_t parameters, const Make& make) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  const int64_t samples = n / parameters;
  T* out = c.out_data<T>(0);
  cpu::parallel_ranges(
      n, n * 1000,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t p = i / samples, s = i % samples;
          Pairs numbers(stream.advanced(static_cast<uint64_t>(i) * philox::kBlocksPerElement));
          out[s * parameters + p] = convert<T>(make(p, numbers));
        }
      },
      8);
}

// Marsaglia and Tsang 2000.
double sample_gamma(double alpha, Pairs& numbers) {
  if (!(alpha > 0) || std::isinf(alpha)) return alpha > 0 ? alpha : std::numeric_limits<double>::quiet_NaN();
  if (alpha == 1) return -std::log1p(-numbers.uniform());
  const bool below_one = alpha < 1;
  const double d = alpha + (below_one ? 2. / 3 : -1. / 3), scale = 1. / 3 / std::sqrt(d);
  for (;;) {
    const double x = numbers.normal();
    double v = 1 + scale * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = numbers.uniform();
    if (u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      return below_one ? d * v * std::pow(numbers.uniform(), 1 / alpha) : d * v;
    }
  }
}

// Takes a key, a counter and an algorithm.
struct RunGammaOfStream {
  template <class T>
  static void run(KernelContext& c) {
    const T* alpha = c.data<T>(4);
    sample_each<T>(c, given_stream(c), c.numel(4),
                   [alpha](int64_t p, Pairs& numbers) { return sample_gamma(convert<double>(alpha[p]), numbers); });
  }
};

template <bool kSeeded>
struct RunGamma {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return kSeeded ? nullptr : prepare_generator(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    constexpr int kAlpha = kSeeded ? 2 : 1;
    const T* alpha = c.data<T>(kAlpha);
    const Stream stream = kSeeded ? stream_of_seed(c.in(1)) : next_stream(c);
    sample_each<T>(c, stream, c.numel(kAlpha),
                   [alpha](int64_t p, Pairs& numbers) { return sample_gamma(convert<double>(alpha[p]), numbers); });
  }
};

// Below a rate of 10: counts uniform numbers until their product is small enough (Knuth). Else Hormann's transformed
// rejection (1993); the names are the paper's. Samples above `most` are drawn again.
double sample_poisson(double rate, double most, Pairs& numbers) {
  if (rate < 10) {
    const double enough = std::exp(-rate);
    double product = 1, count = 0;
    while ((product *= numbers.uniform()) > enough) ++count;
    return count;
  }
  if (std::isinf(rate)) return rate;
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const double u = numbers.uniform() - 0.5, v = numbers.uniform();
    const double shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (k > most) continue;
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    int sign;
    const double s = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    if (s <= -rate + k * log_rate - ::lgamma_r(k + 1, &sign)) return k;
  }
}

template <bool kSeeded>
struct RunPoisson {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return kSeeded ? nullptr : prepare_generator(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    constexpr int kRate = kSeeded ? 2 : 1;
    const std::vector<double> rates = as_doubles(c.in(kRate));
    const double most = std::is_same_v<T, Half> ? 65504 : convert<double>(std::numeric_limits<T>::max());
    for (size_t i = 0; i < rates.size(); ++i) {
      // With a rate that is too large, drawing would never end.
      const bool infinite = std::isinf(rates[i]) && !std::is_integral_v<T>;
      if (std::isnan(rates[i]) || (rates[i] > most && !infinite)) {
        invalid("{}[{}]: expected a number of at most {}, got {}", kSeeded ? "lam" : "rate", i, most, rates[i]);
      }
    }
    const Stream stream = kSeeded ? stream_of_seed(c.in(1)) : next_stream(c);
    sample_each<T>(c, stream, c.numel(kRate), [&rates, most](int64_t p, Pairs& numbers) {
      return sample_poisson(rates[static_cast<size_t>(p)], most, numbers);
    });
  }

 private:
  static std::vector<double> as_doubles(const Tensor& t) {
    std::vector<double> values(static_cast<size_t>(t.numel()));
    const auto fill = [&]<class R>() {
      const R* from = static_cast<const R*>(t.impl()->data);
      for (size_t i = 0; i < values.size(); ++i) values[i] = convert<double>(from[i]);
    };
    switch (t.dtype()) {
      case kFloat16: fill.template operator()<Half>(); break;
      case kFloat32: fill.template operator()<float>(); break;
      case kFloat64: fill.template operator()<double>(); break;
      case kInt32: fill.template operator()<int32_t>(); break;
      default: fill.template operator()<int64_t>();
    }
    return values;
  }
};

using Floats = TypeList<Half, float, double>;
using Counts = TypeList<Half, float, double, int32_t, int64_t>;
const CpuKernel shuffle_kernel("RandomShuffle", types::every{}, RunShuffle<false>{});
const CpuKernel stateless_shuffle_kernel("StatelessShuffle", types::every{}, RunShuffle<true>{});
const CpuKernel multinomial_kernel("Multinomial", types::of<"Multinomial">{}, RunMultinomial{});
const CpuKernel stateless_multinomial_kernel("StatelessMultinomial", types::of<"StatelessMultinomial">{},
                                             RunStatelessMultinomial{});
const CpuKernel gamma_kernel("RandomGamma", Floats{}, RunGamma<false>{});
const CpuKernel stateless_gamma_kernel("StatelessRandomGammaV2", Floats{}, RunGamma<true>{});
const CpuKernel stateless_gamma_v3_kernel("StatelessRandomGammaV3", Floats{}, RunGammaOfStream{});
const CpuKernel poisson_kernel("RandomPoissonV2", Counts{}, RunPoisson<false>{});
const CpuKernel stateless_poisson_kernel("StatelessRandomPoisson", Counts{}, RunPoisson<true>{});

}  // namespace
}  // namespace panto
