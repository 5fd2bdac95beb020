// The kernel of SobolSample: each point differs from the one before by one direction number in each dimension, that of
// the lowest bit that changes in a Gray code (Antonov and Saleev 1979).
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/random/sobol_numbers.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

constexpr int kDigits = 32;
// Direction numbers by digit, in units of 2^-32.
using Directions = std::array<uint32_t, kDigits>;

class Bits {
 public:
  explicit Bits(const char* letters) : letters_(letters) {}
  uint32_t take(int width) {
    uint32_t value = 0;
    for (int i = 0; i < width; ++i, ++at_) value = value << 1 | (digit(letters_[at_ / 6]) >> (5 - at_ % 6) & 1U);
    return value;
  }

 private:
  static uint32_t digit(char letter) {
    if (letter >= 'a') return static_cast<uint32_t>(letter - 'a') + 26;
    if (letter >= 'A') return static_cast<uint32_t>(letter - 'A');
    return letter == '+' ? 62 : letter == '/' ? 63 : static_cast<uint32_t>(letter - '0') + 52;
  }
  const char* letters_;
  size_t at_ = 0;
};

std::vector<Directions> make_directions() {
  std::vector<Directions> all(cpu::kSobolDimensions);
  for (size_t k = 0; k < kDigits; ++k) all[0][k] = 1U << (kDigits - 1 - k);
  Bits bits(cpu::kSobolNumbers);
  for (size_t d = 1; d < all.size(); ++d) {
    const auto degree = static_cast<size_t>(bits.take(4));
    const uint32_t polynomial = bits.take(static_cast<int>(degree) - 1);
    Directions& v = all[d];
    for (size_t k = 0; k < degree; ++k) v[k] = (bits.take(static_cast<int>(k)) << 1 | 1U) << (kDigits - 1 - k);
    for (size_t k = degree; k < kDigits; ++k) {
      v[k] = v[k - degree] ^ v[k - degree] >> degree;
      for (size_t i = 1; i < degree; ++i) {
        if ((polynomial >> (degree - 1 - i) & 1U) != 0) v[k] ^= v[k - i];
      }
    }
  }
  return all;
}

struct Sample {
  template <class T>
  static void run(KernelContext& c) {
    static const auto* const kAll = new std::vector<Directions>(make_directions());
    const int64_t count = c.out_shape(0).dim(0), dims = c.out_shape(0).dim(1);
    if (dims > cpu::kSobolDimensions) {
      invalid("dim: expected at most {}, got {}", cpu::kSobolDimensions, dims);
    }
    // Skips point 0, which is all zeros.
    const auto first = static_cast<uint32_t>(host_integer(c.in(2))) + 1;
    std::vector<uint32_t> point(static_cast<size_t>(dims));
    T* out = c.out_data<T>(0);
    for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
      const uint32_t number = first + i;
      // The first point takes all digits of its Gray code, the others only the digit that changes.
      uint32_t digits = i == 0 ? number ^ number >> 1 : 1U << std::countr_zero(number);
      for (; digits != 0; digits &= digits - 1) {
        const auto k = static_cast<size_t>(std::countr_zero(digits));
        for (size_t d = 0; d < point.size(); ++d) point[d] ^= (*kAll)[d][k];
      }
      for (const uint32_t x : point) *out++ = static_cast<T>(x) * static_cast<T>(0x1p-32);
      if (i % 4096 == 0) throw_if_cancelled();
    }
  }
};

const CpuKernel sobol("SobolSample", TypeList<float, double>{}, Sample{});

}  // namespace
}  // namespace panto
