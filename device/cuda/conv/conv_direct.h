// Direct convolutions and their gradients on the GPU: of integers, and of groups of few channels (depthwise
// convolutions), which are bound by memory.
#pragma once

#include "panto/device/cuda/device.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cuda {

// Returns true if matrix products would be slower.
bool prefers_direct(const Convolution& c);

// T: float, double or int32_t, whose sums wrap. No tensor may be empty.
template <class T>
class DirectConvolution {
 public:
  // Throws Unimplemented if an image needs indices of more than 32 bits.
  DirectConvolution(CudaDevice& device, const Convolution& c);
  void forward(const T* input, const T* filter, T* output) const;
  // Writes the gradient to `input`.
  void by_input(T* input, const T* filter, const T* output) const;
  // Writes the gradient to `filter`. It is a sum of parts, which depend on sizes only.
  void by_filter(const T* input, T* filter, const T* output) const;

 private:
  // Calls body(first image, images) for as many images at a time as 32-bit indices can address.
  template <class Body>
  void over_images(const Body& body) const;

  CudaDevice& device_;
  const Convolution& c_;
  int64_t input_, output_;  // elements of an image
};

extern template class DirectConvolution<float>;
extern template class DirectConvolution<double>;
extern template class DirectConvolution<int32_t>;

}  // namespace panto::cuda
