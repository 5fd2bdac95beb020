// Tensors of 16-bit floating types as floats, for the time of a call: how kernels compute with what the processor has
// no arithmetic for.
#pragma once

#include <cstdint>

#include "panto/device/cpu/cast.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/core/half.h"
#include "panto/lib/core/shape.h"
#include "panto/lib/core/tensor_alloc.h"

namespace panto::cpu {

// T: Half or BFloat16.
template <class T>
class AsFloats {
 public:
  // n floats: those that stand in `data`, or undefined ones where it is null. Throws ResourceExhausted.
  AsFloats(const T* data, int64_t n, Device& device) : floats_(allocate_tensor(device, kFloat32, Shape{n})), n_(n) {
    if (data != nullptr) convert(this->data(), data);
  }
  float* data() const { return mutable_data<float>(floats_); }
  // Each to the nearest T, ties to even.
  void write(T* data) const { convert(data, static_cast<const float*>(this->data())); }

 private:
  template <class To, class From>
  void convert(To* to, const From* from) const {
    const RowFn row = cast_row(dtype_of<To>, dtype_of<From>);
    constexpr int64_t kBytes = sizeof(To) + sizeof(From);
    parallel_ranges(n_, n_ * kBytes, [&](int64_t begin, int64_t end) {
      const void* in[] = {from + begin};
      row(1, to + begin, end - begin, in);
    });
  }

  Tensor floats_;
  int64_t n_;
};

}  // namespace panto::cpu
