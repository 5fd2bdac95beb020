// Random numbers: one thread per Philox block, so uniform numbers and integers are bit-identical to the CPU's. Normal
// numbers use the device's own functions and differ in the last bits.
#include <memory>

#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/random_stream.h"

namespace panto {
namespace {

using philox::Stream;

template <class T, class Block>
__global__ void __launch_bounds__(cuda::kThreads) make_blocks(int64_t n, Stream stream, Block make, T* out) {
  constexpr int kCount = Block::kCount;
  const int64_t step = int64_t{blockDim.x} * gridDim.x * kCount;
  for (int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * kCount; i < n; i += step) {
    cuda::Pack<T, kCount> made;
    make(stream.block(static_cast<uint64_t>(i / kCount)), made.v);
    if (i + kCount <= n) {
      *reinterpret_cast<cuda::Pack<T, kCount>*>(out + i) = made;
    } else {
      for (int k = 0; i + k < n; ++k) out[i + k] = made.v[k];
    }
  }
}

template <class T, class Block>
void fill(KernelContext& c, const Stream& stream, const Block& make = {}) {
  const int64_t n = c.out_numel(0);
  if (n == 0) return;
  cuda::CudaDevice& device = cuda::device_of(c);
  const cuda::DeviceUse on = device.use();
  make_blocks<<<cuda::grid_size(device, ceil_div(n, Block::kCount)), cuda::kThreads, 0, on>>>(n, stream, make,
                                                                                              c.out_data<T>(0));
  cuda::check(cudaGetLastError(), "starting a kernel");
}

template <template <class> class Block>
struct Stateless {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, Block<T>>(c, given_stream(c));
  }
};
struct StatelessIntegers {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    fill<T>(c, given_stream(c), asked_integers<T>(c));
  }
};
struct KeyCounter {
  template <class T>
  static void run(KernelContext& c) {
    find_key_and_counter<T>(c);
  }
};

template <template <class> class Block>
struct Stateful {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, Block<T>>(c, next_stream(c));
  }
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
};

struct StatefulIntegers {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const auto integers = asked_integers<T>(c, 1);
    fill<T>(c, next_stream(c), integers);
  }
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
};

struct OfGenerator {
  template <class T>
  static void run(KernelContext& c) {
    const Stream stream = tagged_generator_stream(c, static_cast<uint64_t>(c.out_numel(0)));
    fill<T, philox::NormalBlock<T>>(c, stream);
  }
};

// ---- Normal numbers below 2 ----------------------------------------------------------------------------------------

template <class T>
struct MakeGroup {
  Stream stream;
  int64_t n;
  T* out;
  __device__ void operator()(int64_t g) const { philox::TruncatedGroups<T>::make(stream, g, n, out); }
};

template <class T>
void fill_truncated(KernelContext& c, const Stream& stream) {
  const int64_t n = c.out_numel(0);
  cuda::for_each_index(cuda::device_of(c), ceil_div(n, philox::TruncatedGroups<T>::kCount),
                       MakeGroup<T>{stream, n, c.out_data<T>(0)});
}

struct StatelessTruncated {
  template <class T>
  static void run(KernelContext& c) {
    fill_truncated<T>(c, given_stream(c));
  }
};
struct StatefulTruncated {
  template <class T>
  static void run(KernelContext& c) {
    fill_truncated<T>(c, next_stream(c));
  }
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
};

using Floats = TypeList<float, double, Half, BFloat16>;
using Integers = TypeList<int32_t, int64_t, uint32_t, uint64_t>;
const CudaKernel uniform_kernel("RandomUniform", Floats{}, Stateful<philox::UniformBlock>{});
const CudaKernel normal_kernel("RandomStandardNormal", Floats{}, Stateful<philox::NormalBlock>{});
const CudaKernel key_counter_kernel("StatelessRandomGetKeyCounter", types::index{}, KeyCounter{});
const CudaKernel stateless_uniform_kernel("StatelessRandomUniformV2", Floats{}, Stateless<philox::UniformBlock>{});
const CudaKernel stateless_normal_kernel("StatelessRandomNormalV2", Floats{}, Stateless<philox::NormalBlock>{});
const CudaKernel stateless_int_kernel("StatelessRandomUniformIntV2", Integers{}, StatelessIntegers{});
const CudaKernel full_int_kernel("StatelessRandomUniformFullIntV2", Integers{}, Stateless<philox::FullIntegerBlock>{});
const CudaKernel uniform_int_kernel("RandomUniformInt", types::index{}, StatefulIntegers{});
const CudaKernel truncated_kernel("TruncatedNormal", Floats{}, StatefulTruncated{});
const CudaKernel stateless_truncated_kernel("StatelessTruncatedNormalV2", Floats{}, StatelessTruncated{});
const CudaKernel generator_normal_kernel("StatefulStandardNormal", Floats{}, OfGenerator{});
const CudaKernel read_and_skip_kernel("RngReadAndSkip", read_and_skip_generator);
const CudaKernel skip_kernel("RngSkip", skip_generator);

}  // namespace
}  // namespace panto
