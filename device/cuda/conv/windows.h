// The matrix of windows that turns a convolution into a matrix product (im2col; Chellapilla, Puri and Simard 2006), on
// the GPU. It is built a piece at a time, as all of it may be far larger than the images.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/device/cuda/device.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cuda {

// A piece of the matrix: the windows of some images, or of some output rows of one image.
struct Piece {
  int64_t image, images;
  int64_t row, rows;
};

// Returns the pieces in order. Throws Unimplemented if the smallest piece needs indices of more than 32 bits.
std::vector<Piece> pieces_of(const Convolution& c, size_t element_bytes);

// Strides of a piece: between images, groups, elements of a window and output pixels. Elements of a window are in the
// order of the filter: row, column, channel of the group.
struct WindowSteps {
  int64_t image, group, element, pixel;
};

// T: float or double. Padding is 0.
template <class T>
void gather_windows(CudaDevice& device, const Convolution& c, const Piece& piece, const WindowSteps& steps,
                    const T* images, T* windows);
// The transpose: sets each element of the images to the sum of the window elements at that place, in the order of the
// filter; with `accumulate`, adds the sum to the old value.
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
