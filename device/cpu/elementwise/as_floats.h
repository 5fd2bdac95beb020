// Copies of 16-bit floating-point tensors as float32, for the duration of a call: the processor has no 16-bit
// arithmetic.
#pragma once

#include <cstdint>

#include "panto/device/cpu/elementwise/cast.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {

// Converts n elements. Conversion to a 16-bit type rounds to nearest, ties to even.
template <class From, class To>
void convert_elements(const From* from, To* to, int64_t n) {
  const InnerLoopFn loop = cast_inner_loop(dtype_of<To>, dtype_of<From>);
  constexpr int64_t kBytes = sizeof(To) + sizeof(From);
  parallel_ranges(n, n * kBytes, [&](int64_t begin, int64_t end) {
    const void* in[] = {from + begin};
    loop(1, to + begin, end - begin, in);
  });
}

// Returns a copy of `t`, of element type T, with element type `As`. Throws ResourceExhausted.
template <class T, class As = float>
Tensor widened(const Tensor& t, Device& device) {
  Tensor made = allocate_tensor(device, dtype_of<As>, t.shape());
  convert_elements(static_cast<const T*>(t.impl()->data), mutable_data<As>(made), t.numel());
  return made;
}

// T: Half or BFloat16.
template <class T>
class AsFloats {
 public:
  // n floats: converted from `data`, or uninitialised if it is null. Throws ResourceExhausted.
  AsFloats(const T* data, int64_t n, Device& device) : floats_(allocate_tensor(device, kFloat32, Shape{n})), n_(n) {
    if (data != nullptr) convert_elements(data, this->data(), n_);
  }
  float* data() const { return mutable_data<float>(floats_); }
  // Rounds the floats to T: to nearest, ties to even.
  void write(T* data) const { convert_elements(static_cast<const float*>(this->data()), data, n_); }

 private:
  Tensor floats_;
  int64_t n_;
};

}  // namespace panto::cpu
