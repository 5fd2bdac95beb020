// Samples of distributions with parameters: one thread per sample, with the CPU's numbers. Logarithms and powers are
// the device's own and differ in the last bits.
#include <memory>
#include <type_traits>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/limits.h"
#include "panto/device/math/random/binomial.h"
#include "panto/device/math/random/samples.h"
#include "panto/device/op_kernels.h"
#include "panto/device/random_stream.h"
#include "panto/device/scratch.h"
#include "panto/lib/ops/random_types.h"

namespace panto {
namespace {

using philox::Pairs;
using philox::Stream;
using philox::Trials;

// ---- Classes -------------------------------------------------------------------------------------------------------

template <class T>
struct AddWeights {
  const T* logits;
  int64_t classes;
  double* sums;
  __device__ void operator()(int64_t r) const {
    philox::add_weights(logits + r * classes, classes, sums + r * classes);
  }
};

// Sample i takes number i of the stream's doubles.
template <class Index>
struct ChooseClass {
  const double* sums;
  int64_t classes, samples;
  Stream stream;
  Index* out;
  __device__ void operator()(int64_t i) const {
    const auto number = static_cast<uint64_t>(i);
    const philox::Words words = stream.block(number / 2);
    const uint64_t half = number % 2 * 2;
    const double* row = sums + i / samples * classes;
    const double share = philox::uniform_double(words.w[half], words.w[half + 1]) * row[classes - 1];
    out[i] = static_cast<Index>(philox::chosen_class(row, classes, share));
  }
};

template <class T>
void sample_classes(KernelContext& c, const Stream& stream) {
  cuda::CudaDevice& device = cuda::device_of(c);
  const int64_t rows = c.shape(0).dim(0), classes = c.shape(0).dim(1), samples = c.out_shape(0).dim(1);
  const Scratch<double> sums(device, c.numel(0));
  cuda::for_each_index(device, rows, AddWeights<T>{c.data<T>(0), classes, sums.data()});
  with_index_type(c.type("output_dtype"), [&]<class Index>() {
    cuda::for_each_index(device, c.out_numel(0),
                         ChooseClass<Index>{sums.data(), classes, samples, stream, c.out_data<Index>(0)});
  });
}

struct Multinomial {
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

struct StatelessMultinomial {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    sample_classes<T>(c, stream_of_seed(c.in(2)));
  }
};

// ---- Samples by a parameter ----------------------------------------------------------------------------------------

// out[s, p] = make(p, the sample's own numbers). Sample numbers run over all samples of parameter 0, then of the next.
template <class T, class Make>
struct DrawSample {
  Make make;
  Stream stream;
  int64_t parameters, samples;
  T* out;
  __device__ void operator()(int64_t i) const {
    const int64_t p = i / samples, s = i - p * samples;
    Pairs numbers(stream.advanced(static_cast<uint64_t>(i) * philox::kBlocksPerElement));
    out[s * parameters + p] = convert<T>(make(p, numbers));
  }
};

template <class T, class Make>
void sample_each(KernelContext& c, const Stream& stream, int64_t parameters, const Make& make) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  cuda::for_each_index(cuda::device_of(c), n,
                       DrawSample<T, Make>{make, stream, parameters, n / parameters, c.out_data<T>(0)});
}

template <class T>
struct MakeGamma {
  const T* alpha;
  __device__ double operator()(int64_t p, Pairs& numbers) const {
    return philox::sample_gamma(convert<double>(alpha[p]), numbers);
  }
};

struct GammaOfStream {
  template <class T>
  static void run(KernelContext& c) {
    sample_each<T>(c, given_stream(c), c.numel(4), MakeGamma<T>{c.data<T>(4)});
  }
};
struct SeededGamma {
  template <class T>
  static void run(KernelContext& c) {
    sample_each<T>(c, stream_of_seed(c.in(1)), c.numel(2), MakeGamma<T>{c.data<T>(2)});
  }
};
struct StatefulGamma {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    sample_each<T>(c, next_stream(c), c.numel(1), MakeGamma<T>{c.data<T>(1)});
  }
};

// ---- Poisson -------------------------------------------------------------------------------------------------------

// Numbers of type float16, float32, float64, int32 or int64.
struct Numbers {
  const void* data;
  DType type;
  __device__ double at(int64_t i) const {
    switch (type) {
      case kFloat16: return convert<double>(static_cast<const Half*>(data)[i]);
      case kFloat32: return convert<double>(static_cast<const float*>(data)[i]);
      case kFloat64: return static_cast<const double*>(data)[i];
      case kInt32: return convert<double>(static_cast<const int32_t*>(data)[i]);
      default: return convert<double>(static_cast<const int64_t*>(data)[i]);
    }
  }
};

template <class T>
struct CheckRate {
  Numbers rates;
  double most;
  Fault* fault;
  __device__ void operator()(int64_t p) const {
    if (!philox::poisson_rate_fits<T>(rates.at(p), most)) cuda::note(fault, Fault::kParameterOutOfRange);
  }
};

template <class T>
struct MakePoisson {
  Numbers rates;
  double most;
  __device__ double operator()(int64_t p, Pairs& numbers) const {
    const double rate = rates.at(p);
    return philox::poisson_rate_fits<T>(rate, most) ? philox::sample_poisson(rate, most, numbers) : 0;
  }
};

template <class T>
void sample_poisson(KernelContext& c, const Stream& stream, int rate) {
  cuda::CudaDevice& device = cuda::device_of(c);
  const Numbers rates{c.data<void>(rate), c.in(rate).dtype()};
  const auto most = convert<double>(highest<T>());
  cuda::for_each_index(device, c.numel(rate), CheckRate<T>{rates, most, device.fault()});
  sample_each<T>(c, stream, c.numel(rate), MakePoisson<T>{rates, most});
}

struct SeededPoisson {
  template <class T>
  static void run(KernelContext& c) {
    sample_poisson<T>(c, stream_of_seed(c.in(1)), 2);
  }
};
struct StatefulPoisson {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    sample_poisson<T>(c, next_stream(c), 1);
  }
};

// ---- Binomial ------------------------------------------------------------------------------------------------------

// Parameters that the samples' type U cannot hold are reported as a fault; their samples are 0.
template <class U, class T>
struct MakeTrials {
  const T* counts;
  const T* probs;
  cuda::Mapped<2, int64_t> from;
  double most;
  Trials* all;
  Fault* fault;
  __device__ void operator()(int64_t p) const {
    const cuda::Offsets<2> at = from.at(p);
    Trials trials = Trials::of(counts[at.at[0]], probs[at.at[1]]);
    if (!trials.count_fits(most) || (std::is_integral_v<U> && trials.by == Trials::By::kNan)) {
      cuda::note(fault, Fault::kParameterOutOfRange);
      trials.by = Trials::By::kNothing;
    }
    all[p] = trials;
  }
};

template <class U>
struct DrawTrials {
  const Trials* all;
  Stream stream;
  int64_t parameters, samples;
  U* out;
  __device__ void operator()(int64_t i) const {
    const int64_t p = i / samples, s = i - p * samples;
    out[s * parameters + p] = convert<U>(all[p].draw(stream, static_cast<uint64_t>(i)));
  }
};

// The counts are input `first`, the probabilities the next; they broadcast to `each`.
template <class U>
void sample_binomial(KernelContext& c, const Stream& stream, int first, const Shape& each) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  cuda::CudaDevice& device = cuda::device_of(c);
  const int64_t parameters = each.numel();
  const Scratch<Trials> all(device, parameters);
  BroadcastMap<2> map;
  make_broadcast_map<2>(each, {&c.shape(first), &c.shape(first + 1)}, map);
  const bool known = with_type(TypeList<Half, float, double, int32_t, int64_t>{}, c.in(first).dtype(), [&]<class T>() {
    cuda::for_each_index(device, parameters,
                         MakeTrials<U, T>{c.data<T>(first), c.data<T>(first + 1), cuda::Mapped<2, int64_t>(map),
                                          convert<double>(highest<U>()), all.data(), device.fault()});
  });
  if (!known) fail(Code::kInternal, "counts: expected real numbers, got others");
  cuda::for_each_index(device, n, DrawTrials<U>{all.data(), stream, parameters, n / parameters, c.out_data<U>(0)});
}

struct SeededBinomial {
  template <class U>
  static void run(KernelContext& c) {
    const Shape each(broadcast_shapes(c.shape(2), c.shape(3)));
    sample_binomial<U>(c, stream_of_seed(c.in(1)), 2, each);
  }
};
struct GeneratorBinomial {
  template <class U>
  static void run(KernelContext& c) {
    const Shape each(broadcast_shapes(c.shape(3), c.shape(4)));
    const auto parameters = static_cast<uint64_t>(each.numel());
    const uint64_t samples = parameters == 0 ? 0 : static_cast<uint64_t>(c.out_numel(0)) / parameters;
    sample_binomial<U>(c, generator_stream(c, philox::blocks_of_binomial(parameters, samples)), 3, each);
  }
};

using Floats = TypeList<Half, float, double>;
using Counts = TypeList<Half, float, double, int32_t, int64_t>;
const CudaKernel multinomial_kernel("Multinomial", types::of<"Multinomial">{}, Multinomial{});
const CudaKernel stateless_multinomial_kernel("StatelessMultinomial", types::of<"StatelessMultinomial">{},
                                              StatelessMultinomial{});
const CudaKernel gamma_kernel("RandomGamma", Floats{}, StatefulGamma{});
const CudaKernel stateless_gamma_kernel("StatelessRandomGammaV2", Floats{}, SeededGamma{});
const CudaKernel stateless_gamma_v3_kernel("StatelessRandomGammaV3", Floats{}, GammaOfStream{});
const CudaKernel poisson_kernel("RandomPoissonV2", Counts{}, StatefulPoisson{});
const CudaKernel stateless_poisson_kernel("StatelessRandomPoisson", Counts{}, SeededPoisson{});
const CudaKernel binomial_kernel("StatelessRandomBinomial", Counts{}, SeededBinomial{});
const CudaKernel generator_binomial_kernel("StatefulRandomBinomial", Counts{}, GeneratorBinomial{});

}  // namespace
}  // namespace panto
