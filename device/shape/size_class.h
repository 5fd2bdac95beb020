// Size classes of caching allocators: four steps to each power of two, so that at most a fifth of a block is wasted.
#pragma once

#include <bit>
#include <cstddef>

namespace panto {

struct SizeClass {
  int index;  // below kSizeClasses
  size_t bytes;
};
inline constexpr int kSizeClasses = 200;
inline constexpr size_t kLargestBlock = size_t{1} << 50;  // more than any machine has

// The smallest class that holds `bytes`, which is at most kLargestBlock.
constexpr SizeClass size_class(size_t bytes) {
  constexpr int kSmallestLog2 = 9;
  constexpr int kStepsLog2 = 2;
  if (bytes <= size_t{1} << kSmallestLog2) return {0, size_t{1} << kSmallestLog2};
  const size_t last = bytes - 1;
  const int log2 = static_cast<int>(std::bit_width(last)) - 1;  // 2^log2 <= last < 2^(log2 + 1)
  const size_t step = size_t{1} << (log2 - kStepsLog2);
  const size_t steps = last / step + 1;  // in (4, 8]
  return {(log2 - kSmallestLog2 - 1) * (1 << kStepsLog2) + static_cast<int>(steps), steps * step};
}
static_assert(size_class(512).index == 0 && size_class(513).index == 1 && size_class(513).bytes == 640);
static_assert(size_class(1024).index == 4 && size_class(1025).index == 5 && size_class(1025).bytes == 1280);
static_assert(size_class(kLargestBlock).index < kSizeClasses);

}  // namespace panto
