// IDX files, the format of MNIST.
//
//   auto [images, labels] = read_mnist("mnist", "train");   // float32 [60000, 28, 28], int32 [60000]
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Reads an IDX file, gzipped or not (http://yann.lecun.com/exdb/mnist: magic 0 0 <type> <rank>, big-endian sizes, then
// the elements). Types: uint8, int8, int16, int32, float32, float64. Throws NotFound; DataLoss naming the file if it is
// malformed, truncated or longer than its header says; InvalidArgument above 2 GiB.
PANTO_EXPORT Tensor read_idx(const std::string& path);

// Images and their class labels.
struct LabelledImages {
  Tensor images;  // float32 [n, rows, columns] in [0, 1]
  Tensor labels;  // int32 [n]
};
// Reads <folder>/<prefix>-images-idx3-ubyte[.gz] and <prefix>-labels-idx1-ubyte[.gz]. Throws as read_idx, and DataLoss
// if the numbers of images and labels differ.
PANTO_EXPORT LabelledImages read_mnist(const std::string& folder, const std::string& prefix);

}  // namespace panto
