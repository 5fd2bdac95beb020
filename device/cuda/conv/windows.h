// The matrix of windows that makes a convolution a product of matrices (im2col; Chellapilla, Puri and Simard 2006), on
// the GPU, a piece at a time: all of it may be far larger than the images.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/device/cuda/device.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cuda {

// What is made of the matrix at a time: the windows of some images, or of some rows of the output of one image.
struct Piece {
  int64_t image, images;
  int64_t row, rows;
};

// In order. Throws Unimplemented where indices of 32 bits are too few for what cannot be cut.
std::vector<Piece> pieces_of(const Convolution& c, size_t element_bytes);

// Where the elements of a piece are: from image to image, group to group, element of a window to element and pixel of
// the output to pixel it is so many elements. Elements are in the order of the filter: row, column, channel of the
// group.
struct WindowSteps {
  int64_t image, group, element, pixel;
};

// T: float or double. Padding is 0.
template <class T>
void gather_windows(CudaDevice& device, const Convolution& c, const Piece& piece, const WindowSteps& steps,
                    const T* images, T* windows);
// The other way: each element of the images becomes the sum of those of the windows that are there, in the order of the
// filter; with `accumulate`, starting from what it was.
template <class T>
void scatter_windows(CudaDevice& device, const Convolution& c, const Piece& piece, const WindowSteps& steps,
                     const T* windows, T* images, bool accumulate);

extern template void gather_windows(CudaDevice&, const Convolution&, const Piece&, const WindowSteps&, const float*,
                                    float*);
extern template void gather_windows(CudaDevice&, const Convolution&, const Piece&, const WindowSteps&, const double*,
                                    double*);
extern template void scatter_windows(CudaDevice&, const Convolution&, const Piece&, const WindowSteps&, const float*,
                                     float*, bool);
extern template void scatter_windows(CudaDevice&, const Convolution&, const Piece&, const WindowSteps&, const double*,
                                     double*, bool);

}  // namespace panto::cuda
