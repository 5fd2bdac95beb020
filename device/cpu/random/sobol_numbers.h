// What the direction numbers of Sobol sequences follow from.
#pragma once

namespace panto::cpu {

// Six bits a letter ('A' to 'Z', 'a' to 'z', '0' to '9', '+', '/'), the highest first. Of each dimension but the first:
// the degree of a primitive polynomial in 4 bits; its coefficients but for the first and last, which are 1; and of its
// degree's first direction numbers, which are odd, what is before the last bit: 0, 1, 2 ... bits.
extern const char* const kSobolNumbers;
inline constexpr int kSobolDimensions = 2000;

}  // namespace panto::cpu
