// Batches of matrices that broadcast.
#pragma once

#include <cstdint>
#include <utility>

#include "panto/device/shape/broadcast.h"
#include "panto/device/shape/gemm_size.h"

namespace panto::cpu {

// For each product of a batch: the numbers of the two matrices that are multiplied.
class Batch {
 public:
  Batch(const PartialShape& x, const PartialShape& y, const PartialShape& out) : map_(batch_map(x, y, out)) {
    for (int d = 0; d < map_.rank; ++d) count_ *= map_.size[d];
  }
  int64_t count() const { return count_; }
  std::pair<int64_t, int64_t> at(int64_t i) const {
    int64_t x = 0, y = 0;
    for (int d = 0; d < map_.rank; ++d) {
      const int64_t index = i % map_.size[d];
      i /= map_.size[d];
      x += index * map_.stride[d][0];
      y += index * map_.stride[d][1];
    }
    return {x, y};
  }

 private:
  BroadcastMap<2> map_;
  int64_t count_ = 1;
};

}  // namespace panto::cpu
