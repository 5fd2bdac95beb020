// Selects the rows that scatter into one part of the output. Each thread owns a part and scans all rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "panto/device/cpu/stream.h"

namespace panto::cpu {

// Calls visit(r, to(r)) for those rows r of [first, last), in order, for which place(r) is in [begin, end). to(r)
// points to `width` elements; the first ones are prefetched some rows ahead. Rows are selected block by block without
// branches, because the branches would be unpredictable. For functions that `multiversioned` compiles.
template <class Place, class To, class Visit>
[[gnu::always_inline]] inline void for_rows_in_part(int64_t first, int64_t last, int64_t begin, int64_t end,
                                                    const Place& place, const To& to, int64_t width,
                                                    const Visit& visit) {
  constexpr int64_t kBlock = 256, kAhead = 8, kAsked = 64;
  int64_t rows[kBlock];
  const auto ask = [&](int64_t r) { prefetch(to(r), std::min(width, kAsked)); };
  for (; first < last; first += kBlock) {
    const int64_t size = std::min(kBlock, last - first);
    int64_t count = 0;
    for (int64_t r = first; r < first + size; ++r) {
      const int64_t at = place(r);
      rows[count] = r;
      count += static_cast<int64_t>(at >= begin) & static_cast<int64_t>(at < end);
    }
    for (int64_t k = 0; k < std::min(count, kAhead); ++k) ask(rows[k]);
    for (int64_t k = 0; k < count; ++k) {
      if (k + kAhead < count) ask(rows[k + kAhead]);
      visit(rows[k], to(rows[k]));
    }
  }
}

}  // namespace panto::cpu
