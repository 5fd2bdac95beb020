// CIFAR-10 and CIFAR-100 in their binary form (https://www.cs.toronto.edu/~kriz/cifar.html): records of a label, or of
// a coarse and a fine one, and of 32 x 32 pixels, all of red before all of green and all of blue.
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
  kCifar100,        // two, of which the fine one, 0 to 99, is given
  kCifar100Coarse,  // ... the coarse one, 0 to 19
};

// The images of files, one file behind the other: float32 [n, 32, 32, 3] in [0, 1]; and their labels. Gzipped or not.
// Throws NotFound, and DataLoss naming the file for one that does not hold whole records, and for a label that is none,
// with its position.
PANTO_EXPORT LabelledImages read_cifar(const std::vector<std::string>& files, CifarKind kind = CifarKind::kCifar10);
// What the archive unpacks to: of CIFAR-10 <folder>/data_batch_1.bin to data_batch_5.bin, or test_batch.bin.
PANTO_EXPORT LabelledImages read_cifar10(const std::string& folder, bool train = true);
// Of CIFAR-100 <folder>/train.bin, or test.bin.
PANTO_EXPORT LabelledImages read_cifar100(const std::string& folder, bool train = true, bool coarse = false);

}  // namespace panto
