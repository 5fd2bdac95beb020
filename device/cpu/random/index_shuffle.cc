// Kernel of RandomIndexShuffle.
#include <cstdint>
#include <type_traits>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/random/simon.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

template <class T>
std::vector<SimonKey> keys_of(const KernelContext& c) {
  std::vector<SimonKey> keys;
  const T* seed = c.data<T>(1);
  for (int64_t i = 0; i + 2 < c.numel(1); i += 3) {
    keys.push_back(
        {static_cast<uint32_t>(seed[i]), static_cast<uint32_t>(seed[i + 1]), static_cast<uint32_t>(seed[i + 2])});
  }
  return keys;
}

using Integers = TypeList<int32_t, int64_t, uint32_t, uint64_t>;

struct RunIndexShuffle {
  template <class T>
  static void run(KernelContext& c) {
    const T *index = c.data<T>(0), *most = c.data<T>(2);
    T* out = c.out_data<T>(0);
    std::vector<SimonKey> keys;
    with_type(Integers{}, c.in(1).dtype(), [&]<class Seed>() { keys = keys_of<Seed>(c); });
    const bool each_index = c.shape(0).rank() > 0, each_most = c.shape(2).rank() > 0, each_key = c.shape(1).rank() > 1;
    const int64_t n = c.out_numel(0), rounds = c.integer("rounds");
    for (int64_t i = 0; i < n; ++i) {
      const T last = most[each_most ? i : 0], at = index[each_index ? i : 0];
      if constexpr (std::is_signed_v<T>) {
        if (last < 0) invalid("max_index: expected at least 0, got {}", last);
        if (at < 0) invalid("index: expected 0 to {}, got {}", last, at);
      }
      if (at > last) invalid("index: expected 0 to {}, got {}", last, at);
    }
    cpu::parallel_ranges(n, n < INT64_MAX / 1024 ? n * 1024 : INT64_MAX, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<T>(shuffled_index(static_cast<uint64_t>(index[each_index ? i : 0]),
                                               keys[each_key ? static_cast<size_t>(i) : 0],
                                               static_cast<uint64_t>(most[each_most ? i : 0]), rounds));
      }
    });
  }
};

const CpuKernel index_shuffle_kernel("RandomIndexShuffle", Integers{}, RunIndexShuffle{});

}  // namespace
}  // namespace panto
