// The scalar inputs of an optimizer step, as a thread reads them (device/training/rules.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "panto/device/math/convert.h"
#include "panto/lib/core/call/call.h"

namespace panto::cuda {

template <class T>
class Scalars {
 public:
  // Takes the inputs after the `slots` variables, except inputs `first` to `last`: the gradient and, for steps of rows,
  // the row numbers.
  Scalars(const KernelContext& c, size_t slots, int first, int last) : of_rows_(last > first) {
    size_t count = 0;
    for (int i = static_cast<int>(slots); i < c.num_inputs(); ++i) {
      if (i < first || i > last) at_[count++] = c.data<void>(i);
    }
  }
  __device__ Compute<T> next() { return convert<Compute<T>>(*static_cast<const T*>(at_[position_++])); }
  __device__ Compute<T> count() { return static_cast<Compute<T>>(*static_cast<const int64_t*>(at_[position_++])); }
  __device__ bool of_rows() const { return of_rows_; }
  __device__ void expect(bool holds, const char*, const char*, Compute<T>) { holds_ = holds_ && holds; }
  // Returns true if all expectations held.
  __device__ bool hold() const { return holds_; }

 private:
  static constexpr size_t kMost = 6;
  const void* at_[kMost] = {};
  int position_ = 0;
  bool of_rows_;
  bool holds_ = true;
};

}  // namespace panto::cuda
