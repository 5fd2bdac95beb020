// Functors that turn the four words of a Philox block (device/math/random/philox.h) into kCount elements, on all
// devices.
#pragma once

#include <cstdint>
#include <type_traits>

#include "panto/device/math/random/philox.h"
#include "panto/lib/core/tensor/half.h"

namespace panto::philox {

// Uniform in [0, 1).
template <class T>
struct UniformBlock;
template <>
struct UniformBlock<float> {
  static constexpr int kCount = 4;
  PANTO_PHILOX_FN void operator()(const Words& b, float* out) const {
    for (int i = 0; i < 4; ++i) out[i] = uniform_float(b.w[i]);
  }
};
template <>
struct UniformBlock<double> {
  static constexpr int kCount = 2;
  PANTO_PHILOX_FN void operator()(const Words& b, double* out) const {
    out[0] = uniform_double(b.w[0], b.w[1]);
    out[1] = uniform_double(b.w[2], b.w[3]);
  }
};

template <>
struct UniformBlock<Half> {
  static constexpr int kCount = 4;
  PANTO_PHILOX_FN void operator()(const Words& b, Half* out) const {
    for (int i = 0; i < 4; ++i) out[i] = Half(uniform_short(b.w[i], 10));
  }
};
template <>
struct UniformBlock<BFloat16> {
  static constexpr int kCount = 4;
  PANTO_PHILOX_FN void operator()(const Words& b, BFloat16* out) const {
    for (int i = 0; i < 4; ++i) out[i] = BFloat16(uniform_short(b.w[i], 7));
  }
};

// Normal with mean 0 and standard deviation 1: float, and types rounded from it.
template <class T>
struct NormalBlock {
  static constexpr int kCount = 4;
  PANTO_PHILOX_FN void operator()(const Words& b, T* out) const {
    for (int i = 0; i < 4; i += 2) {
      const auto pair = normal_pair(uniform_float(b.w[i]), uniform_float(b.w[i + 1]));
      out[i] = T(pair.first);
      out[i + 1] = T(pair.second);
    }
  }
};
template <>
struct NormalBlock<double> {
  static constexpr int kCount = 2;
  PANTO_PHILOX_FN void operator()(const Words& b, double* out) const {
    const auto pair = normal_pair(uniform_double(b.w[0], b.w[1]), uniform_double(b.w[2], b.w[3]));
    out[0] = pair.first;
    out[1] = pair.second;
  }
};

// Normal numbers with an absolute value below 2; the others are rejected. kCount elements (as many as a block of words
// makes) share a stream of their own, which is as far from the previous one as if every element took kBlocksPerElement
// words.
template <class T>
struct TruncatedGroups {
  using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
  static constexpr int kCount = NormalBlock<Number>::kCount;
  // Makes those of the n elements of `out` that belong to group g.
  PANTO_PHILOX_FN static void make(const Stream& stream, int64_t g, int64_t n, T* out) {
    const Stream own = stream.advanced(static_cast<uint64_t>(g) * (kCount * kBlocksPerElement / 4));
    const int64_t last = n - g * kCount < kCount ? n : (g + 1) * kCount;
    int64_t at = g * kCount;
    for (uint64_t b = 0; at < last; ++b) {
      Number numbers[kCount];
      NormalBlock<Number>{}(own.block(b), numbers);
      for (const Number x : numbers) {
        if (at < last && x > Number{-2} && x < Number{2}) out[at++] = static_cast<T>(x);
      }
    }
  }
};

// Integers in [low, low + range), by remainder, as in TensorFlow.
template <class T>
struct IntegerBlock {
  using U = std::make_unsigned_t<T>;
  static constexpr int kCount = sizeof(T) == 4 ? 4 : 2;
  U low, range;
  PANTO_PHILOX_FN void operator()(const Words& b, T* out) const {
    if constexpr (sizeof(T) == 4) {
      for (int i = 0; i < 4; ++i) out[i] = static_cast<T>(low + b.w[i] % range);
    } else {
      for (int i = 0; i < 2; ++i) {
        const uint64_t word = b.w[2 * i] | (static_cast<uint64_t>(b.w[2 * i + 1]) << 32);
        out[i] = static_cast<T>(low + word % range);
      }
    }
  }
};

// All integers of the type.
template <class T>
struct FullIntegerBlock {
  static constexpr int kCount = sizeof(T) == 4 ? 4 : 2;
  PANTO_PHILOX_FN void operator()(const Words& b, T* out) const {
    if constexpr (sizeof(T) == 4) {
      for (int i = 0; i < 4; ++i) out[i] = static_cast<T>(b.w[i]);
    } else {
      for (int i = 0; i < 2; ++i) out[i] = static_cast<T>(b.w[2 * i] | (static_cast<uint64_t>(b.w[2 * i + 1]) << 32));
    }
  }
};

// A stream's words, one after the other.
class WordsInOrder {
 public:
  PANTO_PHILOX_FN explicit WordsInOrder(const Stream& stream) : stream_(stream) {}
  PANTO_PHILOX_FN uint32_t next() {
    if (at_ == 4) {
      words_ = stream_.block(block_++);
      at_ = 0;
    }
    return words_.w[at_++];
  }
  PANTO_PHILOX_FN uint64_t next_long() {
    const uint64_t low = next();
    return low | static_cast<uint64_t>(next()) << 32;
  }

 private:
  Stream stream_;
  uint64_t block_ = 0;
  Words words_{};
  int at_ = 4;
};

// A number below n >= 1, where n - 1 may be any number of the type. Words below 2^bits mod n are skipped, since they
// would make some numbers more likely; so does TensorFlow (lib/random/exact_uniform_int.h).
template <class Word>
Word below(Word n, WordsInOrder& words) {
  const auto next = [&]() -> Word {
    if constexpr (sizeof(Word) == sizeof(uint64_t)) {
      return words.next_long();
    } else {
      return words.next();
    }
  };
  if ((n & (n - 1)) == 0) return next() & (n - 1);
  const Word remainder = static_cast<Word>(~Word{0}) % n + 1;
  for (;;) {
    if (const Word word = next(); word >= remainder) return word % n;
  }
}

}  // namespace panto::philox
