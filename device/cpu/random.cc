// Random numbers: Philox blocks made into elements, in any division among threads the same.

#include <algorithm>
#include <array>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/philox_blocks.h"
#include "panto/device/random_stream.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/random/random.h"

namespace panto {

namespace {

using philox::NormalBlock;
using philox::Stream;
using philox::UniformBlock;

// Elements of output 0, blocks from `stream`. `cost`: bytes moved in the time that one element takes.
template <class T, class Block>
void fill(KernelContext& c, const Stream& stream, int64_t cost, const Block& make = {}) {
  constexpr int kCount = Block::kCount;
  T* out = c.out_data<T>(0);
  const int64_t n = c.out_numel(0);
  const int64_t blocks = n / kCount;
  cpu::parallel_ranges(blocks, n * cost, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) make(stream.block(static_cast<uint64_t>(b)), out + b * kCount);
  });
  if (const int64_t left = n - blocks * kCount; left > 0) {
    std::array<T, kCount> last;
    make(stream.block(static_cast<uint64_t>(blocks)), last.data());
    for (int64_t i = 0; i < left; ++i) out[blocks * kCount + i] = last[static_cast<size_t>(i)];
  }
}

constexpr int64_t kUniformCost = 16;
constexpr int64_t kNormalCost = 128;

// ---- Stateless -----------------------------------------------------------------------------------------------------

struct RunStatelessUniform {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, UniformBlock<T>>(c, given_stream(c), kUniformCost);
  }
};

struct RunStatelessNormal {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, NormalBlock<T>>(c, given_stream(c), kNormalCost);
  }
};

struct RunStatelessUniformInt {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    fill<T>(c, given_stream(c), kUniformCost, asked_integers<T>(c));
  }
};

struct RunGetKeyCounter {
  template <class T>
  static void run(KernelContext& c) {
    find_key_and_counter<T>(c);
  }
};

// ---- Stateful ------------------------------------------------------------------------------------------------------

struct RunUniform {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, UniformBlock<T>>(c, next_stream(c), kUniformCost);
  }
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
};

struct RunNormal {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, NormalBlock<T>>(c, next_stream(c), kNormalCost);
  }
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
};

void run_read_and_skip(KernelContext& c) {
  VariableResource& generator = variable_of(c.in(0));
  const int64_t alg = host_integer(c.in(1));
  if (alg != 1 && alg != 3) invalid("alg: expected 1 (Philox) or 3 (automatic), got {}", alg);
  if (generator.dtype() != kInt64) {
    invalid("resource: expected a generator, an int64 variable, got one of {}", dtype_name(generator.dtype()));
  }
  const uint64_t delta = *c.data<uint64_t>(2);
  generator.update(c.device(), [&](Tensor& state) {
    if (state.numel() != 3) invalid("resource: expected a generator of 3 numbers, got {}", state.numel());
    std::copy_n(mutable_data<int64_t>(state), 3, c.out_data<int64_t>(0));
    detail::advance_random(mutable_data<int64_t>(state), delta);
  });
}

using Floats = TypeList<float, double, Half, BFloat16>;
const CpuKernel uniform_kernel("RandomUniform", Floats{}, RunUniform{});
const CpuKernel normal_kernel("RandomStandardNormal", Floats{}, RunNormal{});
const CpuKernel key_counter_kernel("StatelessRandomGetKeyCounter", types::index{}, RunGetKeyCounter{});
const CpuKernel stateless_uniform_kernel("StatelessRandomUniformV2", Floats{}, RunStatelessUniform{});
const CpuKernel stateless_normal_kernel("StatelessRandomNormalV2", Floats{}, RunStatelessNormal{});
const CpuKernel stateless_int_kernel("StatelessRandomUniformIntV2", TypeList<int32_t, int64_t, uint32_t, uint64_t>{},
                                     RunStatelessUniformInt{});
const CpuKernel read_and_skip_kernel("RngReadAndSkip", run_read_and_skip);

}  // namespace
}  // namespace panto
