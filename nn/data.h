// Data for training: IDX files (the format of MNIST) and shuffled batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor.h"

namespace panto {

// Reads an IDX file, gzipped or not (http://yann.lecun.com/exdb/mnist: magic 0 0 <type> <rank>, big-endian sizes, then
// the elements). Types: uint8, int8, int16, int32, float32, float64. Throws NotFound, and DataLoss naming the file for
// anything that is no such file, is truncated or longer than its header says; InvalidArgument above 2 GiB.
PANTO_EXPORT Tensor read_idx(const std::string& path);

struct Dataset {
  Tensor images;  // float32 [n, rows, columns] in [0, 1]
  Tensor labels;  // int32 [n]
};
// Reads <folder>/<prefix>-images-idx3-ubyte[.gz] and <prefix>-labels-idx1-ubyte[.gz]. Throws as read_idx, and DataLoss
// where the numbers of images and labels differ.
PANTO_EXPORT Dataset read_mnist(const std::string& folder, const std::string& prefix);

struct BatchOptions {
  std::optional<uint64_t> shuffle_seed = std::nullopt;  // none: in order
  bool drop_remainder = true;                           // leave out a last batch that is smaller
};

// One pass over rows of `x` and `y` (same first dimension, plain dtypes) in batches in host memory:
//   for (auto [images, labels] : Batches(x, y, 64, {.shuffle_seed = epoch})) ...
// The order depends on the seed only, on every machine. Not thread-safe.
class PANTO_EXPORT Batches {
 public:
  // Throws InvalidArgument unless x and y have the same number of rows and batch_size is positive.
  Batches(const Tensor& x, const Tensor& y, int64_t batch_size, BatchOptions options = {});

  int64_t size() const;  // number of batches
  std::pair<Tensor, Tensor> at(int64_t batch) const;

  class Iterator {
   public:
    Iterator(const Batches* batches, int64_t at) : batches_(batches), at_(at) {}
    std::pair<Tensor, Tensor> operator*() const { return batches_->at(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Batches* batches_;
    int64_t at_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

 private:
  Tensor x_, y_;
  int64_t batch_size_;
  bool drop_remainder_;
  std::vector<int64_t> order_;
};

}  // namespace panto
