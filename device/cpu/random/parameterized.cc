// Samples of distributions with several parameters: TensorFlow's methods, including which words of the stream they
// consume.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/limits.h"
#include "panto/device/math/random/binomial.h"
#include "panto/device/math/random/philox_blocks.h"
#include "panto/device/op_kernels.h"
#include "panto/device/random_stream.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/ops/random_types.h"

namespace panto {
namespace {

using philox::Stream;
using philox::Trials;

// Returns, for each element of the broadcast shape `each`, the position of its parameter in input i.
std::vector<int64_t> positions(const KernelContext& c, int i, const Shape& each) {
  const Shape& own = c.shape(i);
  std::vector<int64_t> result(static_cast<size_t>(each.numel()));
  for (int64_t flat = 0; flat < each.numel(); ++flat) {
    int64_t rest = flat, step = 1, at = 0;
    for (int k = 1; k <= each.rank(); ++k) {
      const int64_t size = each.dim(each.rank() - k), index = rest % size;
      rest /= size;
      if (k > own.rank()) continue;
      const int64_t dim = own.dim(own.rank() - k);
      if (dim != 1) at += index * step;
      step *= dim;
    }
    result[static_cast<size_t>(flat)] = at;
  }
  return result;
}

// Returns the shape to which inputs `first` to `last` broadcast.
Shape broadcast(const KernelContext& c, int first, int last) {
  PartialShape each = c.shape(first);
  for (int i = first + 1; i <= last; ++i) each = broadcast_shapes(each, c.shape(i));
  return Shape(each);
}

// ---- Binomial -------

// The parameters are inputs `first` and `first` + 1. Throws InvalidArgument for counts that the output cannot hold.
template <class U>
std::vector<Trials> trials_of(const KernelContext& c, int first, const Shape& each) {
  const auto counts = positions(c, first, each), probs = positions(c, first + 1, each);
  std::vector<Trials> all;
  const auto fill = [&]<class T>() {
    for (size_t i = 0; i < counts.size(); ++i) {
      all.push_back(Trials::of(c.data<T>(first)[counts[i]], c.data<T>(first + 1)[probs[i]]));
    }
  };
  switch (c.in(first).dtype()) {
    case kFloat16: fill.template operator()<Half>(); break;
    case kFloat32: fill.template operator()<float>(); break;
    case kFloat64: fill.template operator()<double>(); break;
    case kInt32: fill.template operator()<int32_t>(); break;
    default: fill.template operator()<int64_t>();
  }
  const auto most = convert<double>(highest<U>());
  for (size_t i = 0; i < all.size(); ++i) {
    const Trials& t = all[i];
    if (!t.count_fits(most)) {
      invalid("counts[{}]: expected a finite number of at most {}, got {}", counts[i], most, t.count);
    }
    if (std::is_integral_v<U> && t.by == Trials::By::kNan) invalid("probs[{}]: expected a number, got nan", probs[i]);
  }
  return all;
}

// Sample numbers run over all samples of the first parameter, then of the next.
template <class U>
void sample_binomial(KernelContext& c, const Stream& stream, int first, const Shape& each) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  const std::vector<Trials> all = trials_of<U>(c, first, each);
  const auto parameters = static_cast<int64_t>(all.size());
  const int64_t samples = n / parameters;
  U* out = c.out_data<U>(0);
  cpu::parallel_ranges(
      n, n * 1000,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t p = i / samples, s = i % samples;
          out[s * parameters + p] = convert<U>(all[static_cast<size_t>(p)].draw(stream, static_cast<uint64_t>(i)));
        }
      },
      8);
}

struct RunBinomial {
  template <class U>
  static void run(KernelContext& c) {
    sample_binomial<U>(c, stream_of_seed(c.in(1)), 2, broadcast(c, 2, 3));
  }
};

struct RunGeneratorBinomial {
  template <class U>
  static void run(KernelContext& c) {
    const Shape each = broadcast(c, 3, 4);
    const auto parameters = static_cast<uint64_t>(each.numel());
    const uint64_t samples = parameters == 0 ? 0 : static_cast<uint64_t>(c.out_numel(0)) / parameters;
    const Stream stream = generator_stream(c, philox::blocks_of_binomial(parameters, samples));
    sample_binomial<U>(c, stream, 3, each);
  }
};

// ---- Normal numbers between two bounds -------

constexpr int kMostRejections = 1000;

// A number that is rounded to T after each operation, as TensorFlow does for float16 and bfloat16.
template <class T>
class Rounded {
 public:
  Rounded() = default;
  explicit Rounded(float x) : value_(convert<float>(T(x))) {}
  explicit Rounded(T x) : value_(convert<float>(x)) {}
  float value() const { return value_; }
  friend Rounded operator+(Rounded a, Rounded b) { return Rounded(a.value_ + b.value_); }
  friend Rounded operator-(Rounded a, Rounded b) { return Rounded(a.value_ - b.value_); }
  friend Rounded operator*(Rounded a, Rounded b) { return Rounded(a.value_ * b.value_); }
  friend Rounded operator/(Rounded a, Rounded b) { return Rounded(a.value_ / b.value_); }
  friend Rounded operator-(Rounded a) { return Rounded(-a.value_); }
  friend auto operator<=>(Rounded a, Rounded b) { return a.value_ <=> b.value_; }
  friend bool operator==(Rounded a, Rounded b) { return a.value_ == b.value_; }

 private:
  float value_ = 0;
};

template <class T>
constexpr bool kIsShort = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;
template <class T>
using Number = std::conditional_t<kIsShort<T>, Rounded<T>, T>;

template <class N>
auto plain(N x) {
  if constexpr (std::is_floating_point_v<N>) {
    return x;
  } else {
    return x.value();
  }
}
template <class N>
N exp_of(N x) {
  return N(std::exp(plain(x)));
}
template <class N>
N log_of(N x) {
  return N(std::log(plain(x)));
}
template <class N>
N sqrt_of(N x) {
  return N(std::sqrt(plain(x)));
}

template <class T>
class TruncatedNormal {
 public:
  using N = Number<T>;

  explicit TruncatedNormal(const Stream& stream) : stream_(stream) {}

  // Draws `count` samples and calls put(i, sample) for each. Consumes whole blocks. Throws InvalidArgument for
  // parameters that allow no sample, Internal if nearly all samples are rejected.
  template <class Put>
  void draw(T mean_given, T deviation_given, T low_given, T high_given, int64_t count, const Put& put) {
    const N mean(mean_given);
    N deviation(deviation_given), low(low_given), high(high_given);
    const bool fits = !std::isnan(plain(mean)) && deviation > N(0.F) && low < high &&
                      (std::isfinite(plain(low)) || std::isfinite(plain(high)));
    if (!fits) {
      invalid(
          "expected a mean, a standard deviation above 0 and bounds in order, of which one is finite, got {}, {} and "
          "{} "
          "to {}",
          plain(mean), plain(deviation), plain(low), plain(high));
    }
    // Mirrors if needed: a single bound is then the lower one, and bounds on one side of the mean are above it.
    if ((std::isinf(plain(low)) && low < N(0.F)) || high < mean) {
      std::swap(low, high);
      deviation = -deviation;
    }
    const N from = (low - mean) / deviation, to = (high - mean) / deviation;
    const N root = sqrt_of(from * from + N(4.F));
    const N cutoff = N(2.F) * exp_of(N(0.5F) + (from * (from - root)) / N(4.F)) / (from + root);
    const N width = to - from, inside(1.3F);
    int64_t done = 0;
    const auto accept = [&](N sample) {
      put(done++, convert_back(sample * deviation + mean));
      rejected_ = 0;
    };
    rejected_ = 0;
    if ((from < -inside && to >= N(0.F)) || (to > inside && from <= N(0.F))) {
      while (done < count) by_normal(from, to, count, done, accept);
    } else if (width < cutoff) {
      while (done < count) by_uniform(from, width, count, done, accept);
    } else {
      const N alpha = (from + sqrt_of(from * from + N(4.F))) / N(2.F);
      while (done < count) by_exponential(from, to, alpha, count, done, accept);
    }
  }

 private:
  static constexpr int kCount = philox::UniformBlock<T>::kCount;

  static T convert_back(N x) { return convert<T>(plain(x)); }

  template <class Block>
  void next(N (&numbers)[kCount]) {
    static_assert(Block::kCount == kCount);
    T values[kCount];
    Block{}(stream_.block(block_++), values);
    for (int i = 0; i < kCount; ++i) numbers[i] = N(values[i]);
    if (block_ % 65536 == 0) throw_if_cancelled();
  }
  void reject() {
    if (++rejected_ >= kMostRejections) {
      failf(Code::kInternal, "expected a sample in {} tries, got none", kMostRejections);
    }
  }

  // Each tries one block of numbers.
  template <class Accept>
  void by_normal(N from, N to, int64_t count, const int64_t& done, const Accept& accept) {
    N x[kCount];
    next<philox::NormalBlock<T>>(x);
    for (int i = 0; i < kCount && done < count; ++i) x[i] >= from&& x[i] <= to ? accept(x[i]) : reject();
  }
  template <class Accept>
  void by_uniform(N from, N width, int64_t count, const int64_t& done, const Accept& accept) {
    const N plus = from < N(0.F) ? N(0.F) : from * from;
    N z[kCount], u[kCount];
    next<philox::UniformBlock<T>>(z);
    next<philox::UniformBlock<T>>(u);
    for (int i = 0; i < kCount && done < count; ++i) {
      const N x = z[i] * width + from;
      u[i] <= exp_of((plus - x * x) / N(2.F)) ? accept(x) : reject();
    }
  }
  template <class Accept>
  void by_exponential(N from, N to, N alpha, int64_t count, const int64_t& done, const Accept& accept) {
    N u[kCount];
    next<philox::UniformBlock<T>>(u);
    for (int i = 0; i < kCount && done < count; i += 2) {
      const N z = -log_of(u[i]) / alpha + from;
      const N x = from < alpha ? alpha - z : from - alpha;
      u[i + 1] <= exp_of(-x * x / N(2.F)) && z < to ? accept(z) : reject();
    }
  }

  Stream stream_;
  uint64_t block_ = 0;
  int rejected_ = 0;
};

// Parallel by rows; with a single set of parameters, 100 samples are a row.
struct RunTruncated {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    const bool one = c.numel(1) == 1 && c.numel(2) == 1 && c.shape(3).rank() == 0 && c.shape(4).rank() == 0;
    const int64_t samples = one ? 100 : n / c.out_shape(0).dim(0), rows = (n + samples - 1) / samples;
    const auto numbers = static_cast<uint64_t>(rows) * 2 * kMostRejections * static_cast<uint64_t>(samples + 3);
    TruncatedNormal<T> normal(next_stream(c, numbers / 4));
    T* out = c.out_data<T>(0);
    for (int64_t r = 0; r < rows; ++r) {
      const auto parameter = [&](int i) { return c.data<T>(i)[c.numel(i) == 1 ? 0 : r]; };
      normal.draw(parameter(1), parameter(2), parameter(3), parameter(4), std::min(samples, n - r * samples),
                  [&](int64_t i, T x) { out[r * samples + i] = x; });
    }
  }
};

struct RunStatelessTruncated {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    const Shape each = broadcast(c, 2, 5);
    const int64_t parameters = each.numel(), samples = n / parameters;
    std::vector<int64_t> at[4];
    for (int i = 0; i < 4; ++i) at[i] = positions(c, 2 + i, each);
    TruncatedNormal<T> normal(stream_of_seed(c.in(1)));
    T* out = c.out_data<T>(0);
    for (int64_t p = 0; p < parameters; ++p) {
      const auto parameter = [&](int i) { return c.data<T>(2 + i)[at[i][static_cast<size_t>(p)]]; };
      normal.draw(parameter(0), parameter(1), parameter(2), parameter(3), samples,
                  [&](int64_t i, T x) { out[i * parameters + p] = x; });
    }
  }
};

using Counts = TypeList<Half, float, double, int32_t, int64_t>;
const CpuKernel binomial("StatelessRandomBinomial", Counts{}, RunBinomial{});
const CpuKernel generator_binomial("StatefulRandomBinomial", Counts{}, RunGeneratorBinomial{});
const CpuKernel truncated("ParameterizedTruncatedNormal", types::of<"ParameterizedTruncatedNormal">{}, RunTruncated{});
const CpuKernel stateless_truncated("StatelessParameterizedTruncatedNormal", TypeList<Half, float, double>{},
                                    RunStatelessTruncated{});

}  // namespace
}  // namespace panto
