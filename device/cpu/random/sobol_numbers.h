// The data from which direction numbers of Sobol sequences are computed.
#pragma once

namespace panto::cpu {

// Six bits per letter ('A' to 'Z', 'a' to 'z', '0' to '9', '+', '/'), the highest first. For each dimension but the
// first: the degree d of a primitive polynomial in 4 bits; the coefficients without the first and the last, which are
// 1; and the first d direction numbers, which are odd, without their last bit: 0, 1, 2 ... bits.
extern const char* const kSobolNumbers;
inline constexpr int kSobolDimensions = 2000;

}  // namespace panto::cpu
