// Samples of distributions with parameters, and random orders: TensorFlow's methods, including which words of the
// stream they consume.
#include <algorithm>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/limits.h"
#include "panto/device/math/random/philox_blocks.h"
#include "panto/device/math/random/samples.h"
#include "panto/device/op_kernels.h"
#include "panto/device/random_stream.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/random_types.h"

namespace panto {
namespace {

using philox::Pairs;
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
    const Stream stream = kSeeded ? given_stream(c) : next_stream(c, blocks_of_order(rows));
    for (const int64_t row : random_order(stream, rows)) to = std::copy_n(from + row * width, width, to);
  }
};

// ---- Classes --------------------------------------------------------------------------------------------------------

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
            const double total = philox::add_weights(c.data<T>(0) + r * classes, classes, sums.data());
            const uint64_t first = static_cast<uint64_t>(r) * static_cast<uint64_t>(samples);  // number of a double
            Words words{};
            for (int64_t i = 0; i < samples; ++i) {
              const uint64_t number = first + static_cast<uint64_t>(i);
              if (i == 0 || number % 2 == 0) words = stream.block(number / 2);
              const uint64_t half = number % 2 * 2;
              const double found = philox::uniform_double(words.w[half], words.w[half + 1]) * total;
              out[r * samples + i] = static_cast<Index>(philox::chosen_class(sums.data(), classes, found));
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
    const Shape& shape = c.out_shape(0);
    sample_classes<T>(c, next_stream(c, philox::blocks_of_classes(shape.dim(0), shape.dim(1))));
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

// Takes a key, a counter and an algorithm.
struct RunGammaOfStream {
  template <class T>
  static void run(KernelContext& c) {
    const T* alpha = c.data<T>(4);
    sample_each<T>(c, given_stream(c), c.numel(4), [alpha](int64_t p, Pairs& numbers) {
      return philox::sample_gamma(convert<double>(alpha[p]), numbers);
    });
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
    sample_each<T>(c, stream, c.numel(kAlpha), [alpha](int64_t p, Pairs& numbers) {
      return philox::sample_gamma(convert<double>(alpha[p]), numbers);
    });
  }
};

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
    const auto most = convert<double>(highest<T>());
    for (size_t i = 0; i < rates.size(); ++i) {
      if (!philox::poisson_rate_fits<T>(rates[i], most)) {
        invalid("{}[{}]: expected a number of at most {}, got {}", kSeeded ? "lam" : "rate", i, most, rates[i]);
      }
    }
    const Stream stream = kSeeded ? stream_of_seed(c.in(1)) : next_stream(c);
    sample_each<T>(c, stream, c.numel(kRate), [&rates, most](int64_t p, Pairs& numbers) {
      return philox::sample_poisson(rates[static_cast<size_t>(p)], most, numbers);
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
