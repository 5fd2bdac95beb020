// Philox-4x32-10 (Salmon et al., SC 2011) and how TensorFlow turns its words into numbers, for the CPU and CUDA.
//
// A stream is a key and a 128-bit counter. Block n is four 32-bit words that depend on (key, counter + n) only, so any
// thread can make any part. The functions below say which element takes which words; tests/reference/philox.py says it
// too, and where keys and counters come from.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define PANTO_PHILOX_FN __host__ __device__ inline
#else
#define PANTO_PHILOX_FN inline
#endif

namespace panto::philox {

// A call of a stateful op with n elements advances the counter by this many blocks per element, however many it used
// (TensorFlow's number).
constexpr uint64_t kBlocksPerElement = 256;

struct Words {
  uint32_t w[4];
};

// mix() is one of the ten rounds, next_key() makes the key of the next.
constexpr int kRounds = 10;
PANTO_PHILOX_FN void mix(Words& b, uint32_t k0, uint32_t k1) {
  const uint64_t p0 = uint64_t{0xD2511F53u} * b.w[0];
  const uint64_t p1 = uint64_t{0xCD9E8D57u} * b.w[2];
  b = {{static_cast<uint32_t>(p1 >> 32) ^ b.w[1] ^ k0, static_cast<uint32_t>(p1),
        static_cast<uint32_t>(p0 >> 32) ^ b.w[3] ^ k1, static_cast<uint32_t>(p0)}};
}
PANTO_PHILOX_FN void next_key(uint32_t& k0, uint32_t& k1) {
  k0 += 0x9E3779B9u;
  k1 += 0xBB67AE85u;
}

struct Stream {
  uint64_t key = 0;
  uint64_t low = 0;  // the counter
  uint64_t high = 0;

  PANTO_PHILOX_FN Stream advanced(uint64_t blocks) const {
    const uint64_t sum = low + blocks;
    return {key, sum, high + (sum < low ? 1 : 0)};
  }

  // Block n.
  PANTO_PHILOX_FN Words block(uint64_t n) const {
    const Stream at = advanced(n);
    Words b{{static_cast<uint32_t>(at.low), static_cast<uint32_t>(at.low >> 32), static_cast<uint32_t>(at.high),
             static_cast<uint32_t>(at.high >> 32)}};
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < kRounds; ++round) {
      mix(b, k0, k1);
      next_key(k0, k1);
    }
    return b;
  }
};

// The stream for a seed of two numbers (StatelessRandomGetKeyCounter).
PANTO_PHILOX_FN Stream from_seed(uint64_t seed, uint64_t seed2) {
  const Words w = Stream{0x02461E293EC8F720u, seed, seed2}.block(0);
  return {w.w[0] | (static_cast<uint64_t>(w.w[1]) << 32), 0, w.w[2] | (static_cast<uint64_t>(w.w[3]) << 32)};
}

template <class To, class From>
PANTO_PHILOX_FN To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

// ---- Words to numbers in [0, 1): makes the mantissa of a number in [1, 2), then subtracts 1 -------------------------

PANTO_PHILOX_FN float uniform_float(uint32_t word) { return bits_as<float>((word & 0x7FFFFFu) | 0x3F800000u) - 1.f; }

// The first word gives the high bits.
PANTO_PHILOX_FN double uniform_double(uint32_t first, uint32_t second) {
  const uint64_t mantissa = (static_cast<uint64_t>(first & 0xFFFFFu) << 32) | second;
  return bits_as<double>(mantissa | (uint64_t{1023} << 52)) - 1.0;
}

// `bits`: mantissa bits of the 16-bit type, 10 for float16, 7 for bfloat16. Exact in a float.
PANTO_PHILOX_FN float uniform_short(uint32_t word, int bits) {
  const uint32_t mantissa = word & ((1u << bits) - 1);
  return bits_as<float>((mantissa << (23 - bits)) | 0x3F800000u) - 1.f;
}

// ---- Two uniform numbers to two normal ones (Box and Muller 1958); the sine comes first -----------------------------

template <class T>
struct Pair {
  T first, second;
};

PANTO_PHILOX_FN Pair<float> normal_pair(float u, float v) {
  const float angle = static_cast<float>(6.283185307179586 * static_cast<double>(v));
  const float radius = std::sqrt(-2.f * std::log(u < 1e-7f ? 1e-7f : u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

PANTO_PHILOX_FN Pair<double> normal_pair(double u, double v) {
  const double angle = 6.283185307179586 * v;
  const double radius = std::sqrt(-2. * std::log(u < 1e-7 ? 1e-7 : u));
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

}  // namespace panto::philox
