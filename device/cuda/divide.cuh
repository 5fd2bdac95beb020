// Division by numbers that are known when a kernel starts. A 32-bit division by multiplication takes a few
// instructions; the hardware has none.
#pragma once

#include <cstdint>
#include <type_traits>

namespace panto::cuda {

// Index is uint32_t, for dividends and divisors below 2^31, or uint64_t. The divisor is at least 1.
template <class Index>
struct Divider {
  Index divisor;

  Divider() = default;
  explicit Divider(int64_t d) : divisor(static_cast<Index>(d)) {}
  __device__ Index divide(Index n) const { return n / divisor; }
};

// Granlund and Montgomery 1994, figure 4.1, where 1 + m' / 2^32 is the reciprocal of the divisor over 2^shift.
template <>
struct Divider<uint32_t> {
  uint32_t divisor, magic, shift;

  Divider() = default;
  explicit Divider(int64_t d) : divisor(static_cast<uint32_t>(d)), shift(0) {
    while ((uint64_t{1} << shift) < divisor) ++shift;
    magic = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - divisor)) / divisor + 1);
  }
  // The sum cannot wrap below 2^31.
  __device__ uint32_t divide(uint32_t n) const { return (__umulhi(n, magic) + n) >> shift; }
};

// Numbers below this go by 32-bit indices.
inline constexpr int64_t kIndex32 = int64_t{1} << 31;

}  // namespace panto::cuda
