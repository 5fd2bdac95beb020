// Copies between strided blocks of a GPU's memory, of elements of 1, 2, 4, 8 or 16 bytes: the engine of the kernels in
// device/array_kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "panto/device/cuda/device.h"
#include "panto/device/shape/strided_dims.h"

namespace panto::cuda {

// Strides may be negative or, in `in`, 0.
void strided_copy(CudaDevice& device, const StridedDims& dims, size_t element_size, const void* in, void* out);

// Writes all `count` elements of `out`: copies to it from element `first` on, and to all other places writes the
// element at `rest`, which is in the GPU's memory, or zeros if `rest` is null. The strides of `dims` in `out` are those
// of a slice of a tensor: each one spans all inner dimensions.
void strided_place(CudaDevice& device, const StridedDims& dims, size_t element_size, const void* in, void* out,
                   int64_t count, int64_t first, const void* rest);

// A part of each row of a matrix. The parts of a row follow each other; in `data` the rows of one part are dense.
struct RowPart {
  void* data;
  int64_t size;  // elements per row
};
enum class Rows { kJoin, kSplit };  // from the parts to the matrix, or from the matrix to the parts
// `matrix` has `rows` rows of `row` elements.
void move_rows(CudaDevice& device, Rows what, int64_t rows, int64_t row, size_t element_size, void* matrix,
               std::span<const RowPart> parts);

}  // namespace panto::cuda
