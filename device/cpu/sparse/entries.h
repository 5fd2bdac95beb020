// The indices of a sparse tensor's entries: rows of a matrix, compared one dimension after the other.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"

namespace panto::cpu {

class EntryIndices {
 public:
  EntryIndices(const KernelContext& c, int input)
      : at_(c.data<int64_t>(input)), count_(c.shape(input).dim(0)), rank_(c.shape(input).dim(1)) {}

  int64_t count() const { return count_; }
  int64_t rank() const { return rank_; }
  const int64_t* operator[](int64_t i) const { return at_ + i * rank_; }

 private:
  const int64_t* at_;
  int64_t count_, rank_;
};

// -1, 0 or 1: whether index `a` comes before, is the same as, or comes after `b`.
inline int compare_indices(const int64_t* a, const int64_t* b, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

// Whether 0 <= index < size.
inline bool in_range(int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(size);  // sizes are not negative
}

// Throws InvalidArgument: index `i` of entries is out of range in dimension `d`.
[[noreturn]] inline void out_of_range(const char* what, int64_t i, int64_t d, int64_t size, int64_t got) {
  invalid("{}[{},{}]: expected one in [0, {}), got {}", what, i, d, size, got);
}

}  // namespace panto::cpu
