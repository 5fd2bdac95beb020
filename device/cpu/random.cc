// Random numbers: Philox blocks made into elements, in any division among threads the same.

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

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

// Normal numbers of which those of an absolute value of 2 or more are thrown away. As many elements as a block of words
// makes are a group; each has a stream of its own, as far from the last as if every element took kBlocksPerElement
// words.
template <class T>
void fill_truncated(KernelContext& c, const Stream& stream) {
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  constexpr int kGroup = NormalBlock<Number>::kCount;
  constexpr uint64_t kApart = kGroup * philox::kBlocksPerElement / 4;
  T* out = c.out_data<T>(0);
  const int64_t n = c.out_numel(0);
  const int64_t groups = n / kGroup + (n % kGroup != 0 ? 1 : 0);
  cpu::parallel_ranges(groups, n * 256, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const Stream own = stream.advanced(static_cast<uint64_t>(g) * kApart);
      const int64_t last = std::min(n, (g + 1) * kGroup);
      int64_t at = g * kGroup;
      for (uint64_t b = 0; at < last; ++b) {
        std::array<Number, kGroup> numbers;
        NormalBlock<Number>{}(own.block(b), numbers.data());
        for (const Number x : numbers) {
          if (at < last && std::abs(x) < 2) out[at++] = static_cast<T>(x);
        }
      }
    }
  });
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

struct RunStatelessFullInt {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, philox::FullIntegerBlock<T>>(c, given_stream(c), kUniformCost);
  }
};

struct RunStatelessTruncated {
  template <class T>
  static void run(KernelContext& c) {
    fill_truncated<T>(c, given_stream(c));
  }
};

struct RunGetKeyCounter {
  template <class T>
  static void run(KernelContext& c) {
    find_key_and_counter<T>(c);
  }
};

// ---- Stateful ------------------------------------------------------------------------------------------------------

struct Stateful {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
};

struct RunUniform : Stateful {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, UniformBlock<T>>(c, next_stream(c), kUniformCost);
  }
};

struct RunNormal : Stateful {
  template <class T>
  static void run(KernelContext& c) {
    fill<T, NormalBlock<T>>(c, next_stream(c), kNormalCost);
  }
};

struct RunTruncated : Stateful {
  template <class T>
  static void run(KernelContext& c) {
    fill_truncated<T>(c, next_stream(c));
  }
};

struct RunUniformInt : Stateful {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const auto integers = asked_integers<T>(c, 1);
    fill<T>(c, next_stream(c), kUniformCost, integers);
  }
};

// Of inputs 0 to 2, a generator, an algorithm and a number of elements: `see` is shown the generator's numbers before
// it advances by what these need.
template <class See>
void skip(KernelContext& c, uint64_t delta, const See& see) {
  VariableResource& generator = variable_of(c.in(0));
  const int64_t alg = host_integer(c.in(1));
  if (alg != 1 && alg != 3) invalid("alg: expected 1 (Philox) or 3 (automatic), got {}", alg);
  if (generator.dtype() != kInt64) {
    invalid("resource: expected a generator, an int64 variable, got one of {}", dtype_name(generator.dtype()));
  }
  generator.update(c.device(), [&](Tensor& state) {
    if (state.numel() != 3) invalid("resource: expected a generator of 3 numbers, got {}", state.numel());
    see(mutable_data<int64_t>(state));
    detail::advance_random(mutable_data<int64_t>(state), delta);
  });
}

void run_read_and_skip(KernelContext& c) {
  skip(c, *c.data<uint64_t>(2), [&](const int64_t* state) { std::copy_n(state, 3, c.out_data<int64_t>(0)); });
}

void run_skip(KernelContext& c) {
  skip(c, static_cast<uint64_t>(*c.data<int64_t>(2)), [](const int64_t*) {});
}

using Floats = TypeList<float, double, Half, BFloat16>;
const CpuKernel uniform_kernel("RandomUniform", Floats{}, RunUniform{});
const CpuKernel normal_kernel("RandomStandardNormal", Floats{}, RunNormal{});
const CpuKernel key_counter_kernel("StatelessRandomGetKeyCounter", types::index{}, RunGetKeyCounter{});
const CpuKernel stateless_uniform_kernel("StatelessRandomUniformV2", Floats{}, RunStatelessUniform{});
const CpuKernel stateless_normal_kernel("StatelessRandomNormalV2", Floats{}, RunStatelessNormal{});
const CpuKernel stateless_int_kernel("StatelessRandomUniformIntV2", TypeList<int32_t, int64_t, uint32_t, uint64_t>{},
                                     RunStatelessUniformInt{});
const CpuKernel skip_kernel("RngSkip", run_skip);
const CpuKernel truncated_kernel("TruncatedNormal", Floats{}, RunTruncated{});
const CpuKernel uniform_int_kernel("RandomUniformInt", types::index{}, RunUniformInt{});
const CpuKernel stateless_truncated_kernel("StatelessTruncatedNormalV2", Floats{}, RunStatelessTruncated{});
const CpuKernel full_int_kernel("StatelessRandomUniformFullIntV2", TypeList<int32_t, int64_t, uint32_t, uint64_t>{},
                                RunStatelessFullInt{});
const CpuKernel read_and_skip_kernel("RngReadAndSkip", run_read_and_skip);

}  // namespace
}  // namespace panto
