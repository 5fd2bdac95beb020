// Tensors of 16-bit floating types as floats, for the time of a call: how kernels compute with what the processor has
// no arithmetic for.
#pragma once

#include <cstdint>

#include "panto/device/cpu/level.h"
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
    if (data == nullptr) return;
    float* to = this->data();
    in_parallel([data, to](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = static_cast<float>(data[i]);
    });
  }
  float* data() const { return mutable_data<float>(floats_); }
  // Each to the nearest T, ties to even.
  void write(T* data) const {
    const float* from = this->data();
    in_parallel([data, from](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) data[i] = T(from[i]);
    });
  }

 private:
  template <class Body>
  void in_parallel(const Body& body) const {
    constexpr int64_t kBytes = sizeof(float) + sizeof(T);
    parallel_ranges(n_, n_ * kBytes, [&](int64_t begin, int64_t end) { specialised([&] { body(begin, end); }); });
  }

  Tensor floats_;
  int64_t n_;
};

}  // namespace panto::cpu
