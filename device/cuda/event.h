// A CUDA event: a point in the work of a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include "panto/device/cuda/device.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::cuda {

class CudaEvent final : public DeviceEvent {
 public:
  // Records the event after the work enqueued on the stream. Precondition: the thread uses its GPU. Throws if the
  // driver fails.
  explicit CudaEvent(cudaStream_t stream) {
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
    const cudaError_t result = cudaEventRecord(event_, stream);
    if (result == cudaSuccess) return;
    static_cast<void>(cudaEventDestroy(event_));
    check(result, "recording an event");
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() override { static_cast<void>(cudaEventDestroy(event_)); }  // CUDA keeps it until it has completed

  bool is_done() const override {
    const cudaError_t result = cudaEventQuery(event_);
    if (result == cudaErrorNotReady) return false;
    check(result, "asking for an event");
    return true;
  }
  void wait() override { check(cudaEventSynchronize(event_), "waiting for an event"); }
  cudaEvent_t get() const noexcept { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace panto::cuda
