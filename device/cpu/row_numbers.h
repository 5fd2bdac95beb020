// Row numbers of variables, read from index inputs.
#pragma once

#include <cstdint>

#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Row numbers of type int32 or int64.
class Indices {
 public:
  explicit Indices(const Tensor& t) : data_(t.impl()->data), wide_(t.dtype() == kInt64), count_(t.numel()) {}
  int64_t count() const { return count_; }
  int64_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : static_cast<const int32_t*>(data_)[i];
  }
  // Throws InvalidArgument unless all are in [0, rows).
  void check(int64_t rows) const {
    for (int64_t i = 0; i < count_; ++i) at(i, rows);
  }
  // Returns row number i, and checks it again: memory that is not ours may have changed since check().
  int64_t at(int64_t i, int64_t rows) const {
    const int64_t index = (*this)[i];
    if (index < 0 || index >= rows) [[unlikely]]
      invalid("indices[{}]: expected a row in [0, {}), got {}", i, rows, index);
    return index;
  }

 private:
  const void* data_;
  bool wide_;
  int64_t count_;
};

}  // namespace panto
