// Convolutions and their gradients by their definition, on the GPU: of integers, and of groups of few channels
// (depthwise convolutions), which are read and written more than they are multiplied.
#pragma once

#include "panto/device/cuda/device.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cuda {

// Whether products of matrices would be slower.
bool prefers_direct(const Convolution& c);

// T: float, double or int32_t, whose sums wrap. No tensor may be empty.
template <class T>
class DirectConvolution {
 public:
  // Throws Unimplemented where indices of 32 bits are too few for an image.
  DirectConvolution(CudaDevice& device, const Convolution& c);
  void forward(const T* input, const T* filter, T* output) const;
  // `input` becomes the gradient.
  void by_input(T* input, const T* filter, const T* output) const;
  // `filter` becomes the gradient: sums of parts, which depend on sizes only.
  void by_filter(const T* input, T* filter, const T* output) const;

 private:
  // body(first image, images) for as many at a time as indices of 32 bits reach.
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
