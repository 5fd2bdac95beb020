// DataFormatVecPermute on every device: which row goes where.
#pragma once

#include <cstdint>
#include <string_view>

#include "panto/lib/core/call/call.h"

namespace panto {

// Row k of the result is row from[k] of the input, for the at most 5 rows that there are.
struct PermutedRows {
  int64_t from[5] = {};
};

inline PermutedRows permuted_rows(const KernelContext& c) {
  const std::string_view from = c.text("src_format"), to = c.text("dst_format");
  // Otherwise there are rows for spatial dimensions only.
  const bool whole = c.shape(0).dim(0) == static_cast<int64_t>(from.size());
  const auto counts = [whole](char letter) { return whole || (letter != 'N' && letter != 'C'); };
  PermutedRows rows;
  int64_t* row = rows.from;
  for (const char letter : to) {
    if (!counts(letter)) continue;
    for (const char other : from) {
      if (other == letter) break;
      if (counts(other)) ++*row;
    }
    ++row;
  }
  return rows;
}

}  // namespace panto
