// Reads CIFAR-10 and CIFAR-100 in their binary form (https://www.cs.toronto.edu/~kriz/cifar.html). A record is one
// label (CIFAR-10) or a coarse and a fine label (CIFAR-100), then 32 x 32 pixels: all red values, then all green, then
// all blue.
//
//   auto [images, labels] = read_cifar10("cifar-10-batches-bin");   // float32 [50000, 32, 32, 3], int32 [50000]
//   auto [test_images, test_labels] = read_cifar10("cifar-10-batches-bin", false);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/data/idx.h"

namespace panto {

enum class CifarKind : uint8_t {
  kCifar10,         // one label, 0 to 9
  kCifar100,        // two labels per record; the fine one, 0 to 99, is read
  kCifar100Coarse,  // ... the coarse one, 0 to 19, is read
};

// Reads the images of the files, in order: float32 [n, 32, 32, 3] in [0, 1]; and their labels. Files may be gzipped.
// Throws NotFound; DataLoss naming the file if it does not hold whole records, or naming the position of a label out of
// range.
PANTO_EXPORT LabelledImages read_cifar(const std::vector<std::string>& files, CifarKind kind = CifarKind::kCifar10);
// Reads the unpacked CIFAR-10 archive: <folder>/data_batch_1.bin to data_batch_5.bin, or test_batch.bin.
PANTO_EXPORT LabelledImages read_cifar10(const std::string& folder, bool train = true);
// Reads the unpacked CIFAR-100 archive: <folder>/train.bin, or test.bin.
PANTO_EXPORT LabelledImages read_cifar100(const std::string& folder, bool train = true, bool coarse = false);

}  // namespace panto
