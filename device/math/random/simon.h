// The block cipher Simon (Beaulieu et al. 2013), by which RandomIndexShuffle puts indices in a random order, on all
// devices.
#pragma once

#include <cstdint>

#include "panto/device/math/random/philox.h"

namespace panto {

struct SimonKey {
  uint32_t words[3];
};

// Halves of the block are words of `bits` bits, at most 32.
class Simon {
 public:
  PANTO_PHILOX_FN Simon(const SimonKey& key, int bits, int64_t rounds)
      : bits_(bits), mask_((uint64_t{1} << bits) - 1), rounds_(rounds) {
    for (int i = 0; i < 3; ++i) first_[i] = key.words[i] & mask_;
  }
  PANTO_PHILOX_FN uint64_t encrypt(uint64_t block) const {
    uint64_t high = (block >> bits_) & mask_, low = block & mask_;
    Keys keys{first_[0], first_[1], first_[2], 0x7369f885192c0ef5 & mask_};
    for (int64_t i = 0; i + 1 < rounds_; i += 2) {
      high ^= mixed(low) ^ next(keys);
      low ^= mixed(high) ^ next(keys);
    }
    return (high << bits_) | low;
  }

 private:
  // The keys of the next three rounds, and the bits that go into those after them.
  struct Keys {
    uint64_t a, b, c, z;
  };
  PANTO_PHILOX_FN uint64_t next(Keys& k) const {
    const uint64_t key = k.a;
    const uint64_t added = (0xfffffffc & mask_) ^ (k.z & 1) ^ k.a ^ right(k.c, 3) ^ right(k.c, 4);
    k = {k.b, k.c, added, k.z >> 1};
    return key;
  }
  PANTO_PHILOX_FN uint64_t left(uint64_t x, int by) const { return ((x << by) | (x >> (bits_ - by))) & mask_; }
  PANTO_PHILOX_FN uint64_t right(uint64_t x, int by) const { return left(x, bits_ - by); }
  PANTO_PHILOX_FN uint64_t mixed(uint64_t x) const { return (left(x, 1) & left(x, 8)) ^ left(x, 2); }

  int bits_;
  uint64_t mask_;
  int64_t rounds_;
  uint64_t first_[3];
};

// Returns where `index` is in the order of 0 to `most` that the key chooses. The blocks have as many bits as `most`,
// rounded up to an even number of at least 16; it encrypts until the result is at most `most`. That ends: the cipher is
// a permutation, so the walk at the latest returns to `index`, which is valid.
PANTO_PHILOX_FN uint64_t shuffled_index(uint64_t index, const SimonKey& key, uint64_t most, int64_t rounds) {
  if (most == 0) return 0;
  int bits = 16;
  while (bits < 64 && most >> bits != 0) ++bits;
  const Simon cipher(key, (bits + 1) / 2, rounds);
  do index = cipher.encrypt(index);
  while (index > most);
  return index;
}

}  // namespace panto
