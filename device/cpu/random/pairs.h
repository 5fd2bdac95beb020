// The uniform and normal numbers that one sample of a distribution consumes.
#pragma once

#include <cstdint>

#include "panto/device/math/philox_blocks.h"

namespace panto::cpu {

// Each block yields a pair of numbers, whose second one is returned first.
class Pairs {
 public:
  explicit Pairs(const philox::Stream& stream) : stream_(stream) {}
  double uniform() { return take<philox::UniformBlock<double>>(uniforms_); }
  double normal() { return take<philox::NormalBlock<double>>(normals_); }

 private:
  struct Pair {
    double values[2];
    int left = 0;
  };
  template <class Block>
  double take(Pair& pair) {
    if (pair.left == 0) {
      Block{}(stream_.block(block_++), pair.values);
      pair.left = 2;
    }
    return pair.values[--pair.left];
  }
  philox::Stream stream_;
  uint64_t block_ = 0;
  Pair uniforms_, normals_;
};

}  // namespace panto::cpu
