// Random numbers: Philox blocks made into elements, in any division among threads the same.

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/philox.h"
#include "panto/lib/base/format.h"
#include "panto/lib/core/half.h"
#include "panto/lib/core/resource.h"
#include "panto/lib/ops/random.h"
#include "panto/lib/ops/values.h"

namespace panto {
namespace {

using philox::Stream;
using philox::Words;

// How the four words of a block become elements: kCount of them.
template <class T>
struct UniformBlock;
template <>
struct UniformBlock<float> {
  static constexpr int kCount = 4;
  static void make(const Words& b, float* out) {
    for (int i = 0; i < 4; ++i) out[i] = philox::uniform_float(b.w[i]);
  }
};
template <>
struct UniformBlock<double> {
  static constexpr int kCount = 2;
  static void make(const Words& b, double* out) {
    out[0] = philox::uniform_double(b.w[0], b.w[1]);
    out[1] = philox::uniform_double(b.w[2], b.w[3]);
  }
};
template <>
struct UniformBlock<Half> {
  static constexpr int kCount = 4;
  static void make(const Words& b, Half* out) {
    for (int i = 0; i < 4; ++i) out[i] = Half(philox::uniform_short(b.w[i], 10));
  }
};
template <>
struct UniformBlock<BFloat16> {
  static constexpr int kCount = 4;
  static void make(const Words& b, BFloat16* out) {
    for (int i = 0; i < 4; ++i) out[i] = BFloat16(philox::uniform_short(b.w[i], 7));
  }
};

// float, and types that are rounded from it.
template <class T>
struct NormalBlock {
  static constexpr int kCount = 4;
  static void make(const Words& b, T* out) {
    for (int i = 0; i < 4; i += 2) {
      const auto pair = philox::normal_pair(philox::uniform_float(b.w[i]), philox::uniform_float(b.w[i + 1]));
      out[i] = T(pair.first);
      out[i + 1] = T(pair.second);
    }
  }
};
template <>
struct NormalBlock<double> {
  static constexpr int kCount = 2;
  static void make(const Words& b, double* out) {
    const auto pair =
        philox::normal_pair(philox::uniform_double(b.w[0], b.w[1]), philox::uniform_double(b.w[2], b.w[3]));
    out[0] = pair.first;
    out[1] = pair.second;
  }
};

// Elements of output 0, blocks from `stream`. `cost`: bytes moved in the time that one element takes.
template <class Block, class T>
void fill_blocks(KernelContext& c, const Stream& stream, int64_t cost, const Block& make) {
  constexpr int kCount = sizeof(T) == 8 ? 2 : 4;
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

template <template <class> class Block, class T>
void fill_from(KernelContext& c, const Stream& stream, int64_t cost) {
  fill_blocks<void (*)(const Words&, T*), T>(c, stream, cost, &Block<T>::make);
}

constexpr int64_t kUniformCost = 16;
constexpr int64_t kNormalCost = 128;

// ---- Stateless -----------------------------------------------------------------------------------------------------

Stream given_stream(KernelContext& c) {
  const int64_t alg = host_integer(c.in(3));
  if (alg != 1 && alg != 3) invalid("alg: expected 1 (Philox) or 3 (automatic), got {}", alg);
  const auto* counter = c.data<uint64_t>(2);
  return {*c.data<uint64_t>(1), counter[0], counter[1]};
}

struct RunStatelessUniform {
  template <class T>
  static void run(KernelContext& c) {
    fill_from<UniformBlock, T>(c, given_stream(c), kUniformCost);
  }
};

struct RunStatelessNormal {
  template <class T>
  static void run(KernelContext& c) {
    fill_from<NormalBlock, T>(c, given_stream(c), kNormalCost);
  }
};

struct RunStatelessUniformInt {
  template <class T>
  static void run(KernelContext& c) {
    using U = std::make_unsigned_t<T>;
    const T low = *c.data<T>(4);
    const T high = *c.data<T>(5);
    if (c.out_numel(0) == 0) return;
    if (low >= high) invalid("minval: expected less than maxval {}, got {}", high, low);
    const U range = static_cast<U>(high) - static_cast<U>(low);
    const auto make = [low, range](const Words& b, T* out) {
      if constexpr (sizeof(T) == 4) {
        for (int i = 0; i < 4; ++i) out[i] = static_cast<T>(static_cast<U>(low) + b.w[i] % range);
      } else {
        for (int i = 0; i < 2; ++i) {
          const uint64_t word = b.w[2 * i] | (static_cast<uint64_t>(b.w[2 * i + 1]) << 32);
          out[i] = static_cast<T>(static_cast<U>(low) + word % range);
        }
      }
    };
    fill_blocks<decltype(make), T>(c, given_stream(c), kUniformCost, make);
  }
};

struct RunGetKeyCounter {
  template <class T>
  static void run(KernelContext& c) {
    const T* seed = c.data<T>(0);
    const Stream stream = philox::from_seed(static_cast<uint64_t>(static_cast<int64_t>(seed[0])),
                                            static_cast<uint64_t>(static_cast<int64_t>(seed[1])));
    *c.out_data<uint64_t>(0) = stream.key;
    c.out_data<uint64_t>(1)[0] = stream.low;
    c.out_data<uint64_t>(1)[1] = stream.high;
  }
};

// ---- Stateful ------------------------------------------------------------------------------------------------------

// The generator of one prepared call: a node of a session keeps its own.
class NodeGenerator {
 public:
  explicit NodeGenerator(Stream start) : stream_(start) {}
  Stream take(int64_t elements) {
    const std::lock_guard lock(mutex_);
    const Stream start = stream_;
    stream_ = stream_.advanced(static_cast<uint64_t>(elements) * philox::kBlocksPerElement);
    return start;
  }

 private:
  std::mutex mutex_;
  Stream stream_;
};

Stream seeded_stream(const KernelContext& c) {
  return {static_cast<uint64_t>(c.integer("seed")), 0, static_cast<uint64_t>(c.integer("seed2"))};
}

bool has_seed(const KernelContext& c) { return c.integer("seed") != 0 || c.integer("seed2") != 0; }

std::shared_ptr<void> prepare_generator(const KernelContext& c) {
  if (has_seed(c)) return std::make_shared<NodeGenerator>(seeded_stream(c));
  // A stream of its own for every node: its key is drawn from the process's generator.
  const detail::RandomStart drawn = detail::take_random(1);
  const Words w = Stream{drawn.key, drawn.low, drawn.high}.block(0);
  return std::make_shared<NodeGenerator>(
      Stream{w.w[0] | (static_cast<uint64_t>(w.w[1]) << 32), 0, w.w[2] | (static_cast<uint64_t>(w.w[3]) << 32)});
}

Stream next_stream(KernelContext& c) {
  if (auto* generator = c.state<NodeGenerator>()) return generator->take(c.out_numel(0));
  if (has_seed(c)) return seeded_stream(c);
  const detail::RandomStart start = detail::take_random(static_cast<uint64_t>(c.out_numel(0)));
  return {start.key, start.low, start.high};
}

struct RunUniform {
  template <class T>
  static void run(KernelContext& c) {
    fill_from<UniformBlock, T>(c, next_stream(c), kUniformCost);
  }
  template <class T>
  static std::shared_ptr<void> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
};

struct RunNormal {
  template <class T>
  static void run(KernelContext& c) {
    fill_from<NormalBlock, T>(c, next_stream(c), kNormalCost);
  }
  template <class T>
  static std::shared_ptr<void> prepare(const KernelContext& c) {
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
