// A step of an optimizer's rule (device/training/rules.h), in one kernel, whose threads read the scalar inputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/math/convert.h"
#include "panto/device/training/rules.h"
#include "panto/lib/core/call/call.h"

namespace panto::cuda {

// The scalar inputs.
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

// Changes nothing and reports a fault if the scalars are not valid for the rule.
template <class R, class T, class Change>
__global__ void __launch_bounds__(kThreads)
    run_step(int64_t n, bool flag, Scalars<T> scalars, Change change, Fault* fault) {
  R::with(flag, scalars, [&](const auto& rule) {
    if (!scalars.hold()) return note(fault, Fault::kRateOutOfRange);
    const int64_t step = int64_t{blockDim.x} * gridDim.x;
    for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) change.run(rule, i);
  });
}

// Calls change.run(rule, i) for each i below n, with the rule R of these scalars.
template <class R, class T, class Change>
void launch_step(const KernelContext& c, int64_t n, const Scalars<T>& scalars, const Change& change) {
  CudaDevice& device = device_of(c);
  const DeviceUse stream = device.use();
  run_step<R>
      <<<grid_size(device, n), kThreads, 0, stream>>>(n, training::flag_for<R>(c), scalars, change, device.fault());
  check(cudaGetLastError(), "starting a kernel");
}

}  // namespace panto::cuda
