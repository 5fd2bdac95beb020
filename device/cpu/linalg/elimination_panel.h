// A few columns of many rows, factored while they lie in the first-level cache.
#pragma once

#include <cstdint>

namespace panto::cpu {

// The most columns of a panel.
inline constexpr int64_t kPanel = 16;

// The distance of the columns of a panel of m rows in scratch memory, in elements.
int64_t panel_stride(int64_t m);

// Factors n <= kPanel columns of m >= n rows, which are `row` elements apart, as `eliminate` does. `scratch`: kPanel *
// panel_stride(m) elements.
template <class T>
void factor_panel(int64_t m, int64_t n, T* a, int64_t row, int32_t* pivots, T* scratch);

}  // namespace panto::cpu
