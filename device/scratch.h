// Memory of a device for what a kernel keeps until it ends.
#pragma once

#include <cstdint>

#include "panto/lib/base/checked.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {

// Room for n objects; none is constructed. On a GPU it may be given back as soon as the work that uses it is on the
// device's stream: whoever gets it next comes after.
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
