// Scratch memory of a device, for the duration of a kernel.
#pragma once

#include <cstdint>

#include "panto/lib/base/checked.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// Uninitialised room for n objects. On a GPU it may be freed as soon as the work that uses it is enqueued on the
// device's stream, since the next user's work is enqueued after it.
template <class T>
class Scratch {
 public:
  Scratch(Device& device, int64_t n)
      : bytes_(n == 0 ? Tensor()
                      : allocate_tensor(device, kUint8, Shape{checked_mul(n, static_cast<int64_t>(sizeof(T)))})) {}
  T* data() const { return bytes_.defined() ? mutable_data<T>(bytes_) : nullptr; }

 private:
  Tensor bytes_;
};

}  // namespace panto
