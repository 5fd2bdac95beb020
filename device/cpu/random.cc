// Random numbers from Philox blocks. Results do not depend on how work is divided among threads.

#include <algorithm>
#include <array>
#include <cmath>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/random/philox_blocks.h"
#include "panto/device/math/vector_math.h"
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

// The cost of an element, in bytes that could be moved meanwhile.
constexpr int64_t kUniformCost = 6;
constexpr int64_t kNormalCost = 16;

// Several blocks are computed side by side, in the layout of vectors: word k of block j is words[k][j].
constexpr int64_t kGroup = 16;
struct Group {
  alignas(64) uint32_t words[4][kGroup];

  // Computes blocks [first, first + kGroup) of the stream, as Stream::block does.
  [[gnu::always_inline]] inline void make(const Stream& stream, uint64_t first) {
    for (uint64_t j = 0; j < kGroup; ++j) {
      const uint64_t low = stream.low + first + j;
      const uint64_t high = stream.high + (low < stream.low ? 1 : 0);
      words[0][j] = static_cast<uint32_t>(low);
      words[1][j] = static_cast<uint32_t>(low >> 32);
      words[2][j] = static_cast<uint32_t>(high);
      words[3][j] = static_cast<uint32_t>(high >> 32);
    }
    auto k0 = static_cast<uint32_t>(stream.key), k1 = static_cast<uint32_t>(stream.key >> 32);
    for (int round = 0; round < philox::kRounds; ++round) {
      for (int64_t j = 0; j < kGroup; ++j) {
        philox::Words block{{words[0][j], words[1][j], words[2][j], words[3][j]}};
        philox::mix(block, k0, k1);
        for (int k = 0; k < 4; ++k) words[k][j] = block.w[k];
      }
      philox::next_key(k0, k1);
    }
  }
  philox::Words block(int64_t j) const { return {{words[0][j], words[1][j], words[2][j], words[3][j]}}; }
};

// Calls body(blocks of group g, g) for groups [begin, end).
template <class Body>
void over_groups(const Stream& stream, int64_t begin, int64_t end, const Body& body) {
  constexpr int64_t kAtOnce = 8;
  Group groups[kAtOnce];
  for (int64_t first = begin; first < end; first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, end - first);
    cpu::multiversioned([&] {
      for (int64_t g = 0; g < count; ++g) groups[g].make(stream, static_cast<uint64_t>((first + g) * kGroup));
    });
    for (int64_t g = 0; g < count; ++g) body(groups[g], first + g);
  }
}

// Fills output 0 with blocks from `stream`. `cost`: cost of an element, in bytes that could be moved meanwhile.
template <class T, class Block>
void fill(KernelContext& c, const Stream& stream, int64_t cost, const Block& make = {}) {
  constexpr int kCount = Block::kCount;
  T* out = c.out_data<T>(0);
  const int64_t n = c.out_numel(0);
  const int64_t blocks = n / kCount, groups = blocks / kGroup;
  cpu::parallel_ranges(groups, n * cost, [&](int64_t begin, int64_t end) {
    over_groups(stream, begin, end, [&](const Group& group, int64_t g) {
      for (int64_t j = 0; j < kGroup; ++j) make(group.block(j), out + (g * kGroup + j) * kCount);
    });
  });
  for (int64_t b = groups * kGroup; b < blocks; ++b) make(stream.block(static_cast<uint64_t>(b)), out + b * kCount);
  if (const int64_t left = n - blocks * kCount; left > 0) {
    std::array<T, kCount> last;
    make(stream.block(static_cast<uint64_t>(blocks)), last.data());
    for (int64_t i = 0; i < left; ++i) out[blocks * kCount + i] = last[static_cast<size_t>(i)];
  }
}

// Computes philox::normal_pair for a group's words, in the order of NormalBlock, with functions that vectorise.
[[gnu::always_inline]] inline void normal_numbers(const Group& group, float* out) {
  for (int pair = 0; pair < 2; ++pair) {
    alignas(64) float first[kGroup], second[kGroup];
    for (int64_t j = 0; j < kGroup; ++j) {
      const float u = philox::uniform_float(group.words[2 * pair][j]);
      const float v = philox::uniform_float(group.words[2 * pair + 1][j]);
      const auto angle = static_cast<float>(6.283185307179586 * static_cast<double>(v));
      const float radius = std::sqrt(-2.F * vmath::log(u < 1e-7F ? 1e-7F : u));
      first[j] = vmath::BoundedSin::value(angle) * radius;
      second[j] = vmath::BoundedCos::value(angle) * radius;
    }
    for (int64_t j = 0; j < kGroup; ++j) {
      out[4 * j + 2 * pair] = first[j];
      out[4 * j + 2 * pair + 1] = second[j];
    }
  }
}

// For float and types rounded from it. The last elements are computed as part of a whole group, too, so that an element
// does not depend on the number of elements.
template <class T>
void fill_normal(KernelContext& c, const Stream& stream) {
  constexpr int64_t kCount = 4 * kGroup;
  T* out = c.out_data<T>(0);
  const int64_t n = c.out_numel(0), groups = n / kCount + (n % kCount != 0 ? 1 : 0);
  cpu::parallel_ranges(
      groups, n * kNormalCost,
      [&](int64_t begin, int64_t end) {
        cpu::multiversioned([&] {
          for (int64_t g = begin; g < end; ++g) {
            Group group;
            group.make(stream, static_cast<uint64_t>(g * kGroup));
            alignas(64) float numbers[kCount];
            normal_numbers(group, numbers);
            const int64_t here = std::min(kCount, n - g * kCount);
            for (int64_t i = 0; i < here; ++i) out[g * kCount + i] = static_cast<T>(numbers[i]);
          }
        });
      },
      16);
}
template <>
void fill_normal<double>(KernelContext& c, const Stream& stream) {
  fill<double, NormalBlock<double>>(c, stream, kNormalCost);
}

template <class T>
void fill_truncated(KernelContext& c, const Stream& stream) {
  using Groups = philox::TruncatedGroups<T>;
  T* out = c.out_data<T>(0);
  const int64_t n = c.out_numel(0);
  const int64_t groups = n / Groups::kCount + (n % Groups::kCount != 0 ? 1 : 0);
  cpu::parallel_ranges(groups, n * 256, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) Groups::make(stream, g, n, out);
  });
}

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
    fill_normal<T>(c, given_stream(c));
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
    fill_normal<T>(c, next_stream(c));
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

struct RunGeneratorNormal {
  template <class T>
  static void run(KernelContext& c) {
    const Stream stream = tagged_generator_stream(c, static_cast<uint64_t>(c.out_numel(0)));
    fill<T, NormalBlock<T>>(c, stream, kNormalCost);
  }
};

using Floats = TypeList<float, double, Half, BFloat16>;
const CpuKernel uniform_kernel("RandomUniform", Floats{}, RunUniform{});
const CpuKernel normal_kernel("RandomStandardNormal", Floats{}, RunNormal{});
const CpuKernel key_counter_kernel("StatelessRandomGetKeyCounter", types::index{}, RunGetKeyCounter{});
const CpuKernel stateless_uniform_kernel("StatelessRandomUniformV2", Floats{}, RunStatelessUniform{});
const CpuKernel stateless_normal_kernel("StatelessRandomNormalV2", Floats{}, RunStatelessNormal{});
const CpuKernel stateless_int_kernel("StatelessRandomUniformIntV2", TypeList<int32_t, int64_t, uint32_t, uint64_t>{},
                                     RunStatelessUniformInt{});
const CpuKernel skip_kernel("RngSkip", skip_generator);
const CpuKernel truncated_kernel("TruncatedNormal", Floats{}, RunTruncated{});
const CpuKernel uniform_int_kernel("RandomUniformInt", types::index{}, RunUniformInt{});
const CpuKernel stateless_truncated_kernel("StatelessTruncatedNormalV2", Floats{}, RunStatelessTruncated{});
const CpuKernel full_int_kernel("StatelessRandomUniformFullIntV2", TypeList<int32_t, int64_t, uint32_t, uint64_t>{},
                                RunStatelessFullInt{});
const CpuKernel generator_normal_kernel("StatefulStandardNormal", Floats{}, RunGeneratorNormal{});
const CpuKernel read_and_skip_kernel("RngReadAndSkip", read_and_skip_generator);

}  // namespace
}  // namespace panto
