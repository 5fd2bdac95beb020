// Row splits of ragged tensors: row r has the elements [splits[r], splits[r + 1]).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "panto/device/cpu/row_numbers.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {

// Throws InvalidArgument unless there is at least one split, no split is negative, they do not decrease, and the last
// is at most `elements`.
inline void check_splits_within(const Indices& splits, int64_t elements, const char* what) {
  if (splits.count() == 0) invalid("{}: expected at least one, got none", what);
  if (splits[0] < 0) invalid("{}[0]: expected at least 0, got {}", what, splits[0]);
  for (int64_t i = 1; i < splits.count(); ++i) {
    if (splits[i] < splits[i - 1]) {
      invalid("{}[{}]: expected at least {}, the one before, got {}", what, i, splits[i - 1], splits[i]);
    }
  }
  const int64_t last = splits[splits.count() - 1];
  if (last > elements) invalid("{}: expected at most {}, the number of elements, got {}", what, elements, last);
}

// As check_splits_within, and the splits must go from 0 to `elements`.
inline void check_splits(const Indices& splits, int64_t elements, const char* what) {
  if (splits.count() > 0 && splits[0] != 0) invalid("{}[0]: expected 0, got {}", what, splits[0]);
  check_splits_within(splits, elements, what);
  const int64_t last = splits[splits.count() - 1];
  if (last != elements) invalid("{}: expected {} at the end, the number of elements, got {}", what, elements, last);
}

// Returns the checked splits of each ragged dimension. Each dimension's splits refer to the rows of the next one, the
// last one's to the values.
template <class Check>
std::vector<Indices> checked_splits(const KernelContext& c, int count, const char* what, const Check& check) {
  std::vector<Indices> splits;
  for (int k = 0; k < count; ++k) splits.emplace_back(c.in(k));
  for (int k = 0; k < count; ++k) {
    const int64_t elements = k + 1 < count ? c.numel(k + 1) - 1 : c.shape(count).dim(0);
    check(splits[static_cast<size_t>(k)], elements, what);
  }
  return splits;
}

// Writes a vector of splits of the op's type Tsplits, beginning with 0.
class SplitsWriter {
 public:
  SplitsWriter(const KernelContext& c, int64_t rows)
      : splits_(allocate_tensor(c.device(), c.type("Tsplits"), Shape{checked_add(rows, 1, "rows")})) {
    push(0);
  }
  int64_t last() const { return last_; }
  void push(int64_t split) {
    last_ = split;
    if (splits_.dtype() == kInt64) {
      mutable_data<int64_t>(splits_)[next_++] = split;
    } else {
      mutable_data<int32_t>(splits_)[next_++] = checked_cast<int32_t>(split, "splits");
    }
  }
  Tensor take() { return std::move(splits_); }

 private:
  Tensor splits_;
  int64_t next_ = 0, last_ = 0;
};

}  // namespace panto::cpu
