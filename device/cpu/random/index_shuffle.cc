// Kernel of RandomIndexShuffle: a block cipher with as many bits as the largest index, rounded up to an even number of
// at least 16. It is applied repeatedly until the result is a valid index.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

using Key = std::array<uint32_t, 3>;

// Halves of the block are words of `bits` bits.
class Simon {
 public:
  Simon(const Key& key, int bits, int64_t rounds) : bits_(bits), mask_((uint64_t{1} << bits) - 1) {
    for (const uint32_t k : key) keys_.push_back(k & mask_);
    uint64_t z = 0x7369f885192c0ef5 & mask_;
    for (int64_t i = 3; i < rounds; ++i, z >>= 1) {
      const auto at = static_cast<size_t>(i);
      keys_.push_back((0xfffffffc & mask_) ^ (z & 1) ^ keys_[at - 3] ^ right(keys_[at - 1], 3) ^
                      right(keys_[at - 1], 4));
    }
  }
  uint64_t encrypt(uint64_t block) const {
    uint64_t high = (block >> bits_) & mask_, low = block & mask_;
    for (size_t i = 0; i + 1 < keys_.size(); i += 2) {
      high ^= mixed(low) ^ keys_[i];
      low ^= mixed(high) ^ keys_[i + 1];
    }
    return (high << bits_) | low;
  }

 private:
  uint64_t left(uint64_t x, int by) const { return ((x << by) | (x >> (bits_ - by))) & mask_; }
  uint64_t right(uint64_t x, int by) const { return left(x, bits_ - by); }
  uint64_t mixed(uint64_t x) const { return (left(x, 1) & left(x, 8)) ^ left(x, 2); }

  int bits_;
  uint64_t mask_;
  std::vector<uint64_t> keys_;
};

// Cycle walking ends: the cipher is a permutation, so the walk at the latest returns to `index`, which is valid.
uint64_t shuffled(uint64_t index, const Key& key, uint64_t most, int64_t rounds) {
  if (most == 0) return 0;
  const int bits = std::max(16, static_cast<int>(std::bit_width(most)));
  const Simon cipher(key, (bits + 1) / 2, rounds);
  do index = cipher.encrypt(index);
  while (index > most);
  return index;
}

template <class T>
std::vector<Key> keys_of(const KernelContext& c) {
  std::vector<Key> keys;
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
    std::vector<Key> keys;
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
        out[i] = static_cast<T>(shuffled(static_cast<uint64_t>(index[each_index ? i : 0]),
                                         keys[each_key ? static_cast<size_t>(i) : 0],
                                         static_cast<uint64_t>(most[each_most ? i : 0]), rounds));
      }
    });
  }
};

const CpuKernel index_shuffle_kernel("RandomIndexShuffle", Integers{}, RunIndexShuffle{});

}  // namespace
}  // namespace panto
