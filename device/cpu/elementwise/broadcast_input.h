// Broadcast inputs of elementwise loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "panto/device/shape/broadcast.h"

namespace panto::cpu {

// An input that broadcasts to the shape of the outputs.
struct BroadcastInput {
  int input = -1;
  uint32_t size = 0;
  const std::byte* data = nullptr;
  BroadcastMap<1> map;
  // True if a short contiguous row is repeated any number of times: the pattern is written out only once.
  bool periodic() const { return map.rank == 2 && map.stride[0][0] == 1 && map.stride[1][0] == 0; }
  bool in_place() const { return map.size[0] >= kLongRow; }

  // Writes elements [begin, begin + n) of the broadcast input to `to`.
  void write_out(int64_t begin, int64_t n, std::byte* to) const;

  static constexpr int64_t kLongRow = 256;  // rows of at least this size are read in place
};

// A row (map.size[0] elements) of a broadcast input. Rows are mostly visited one after the other: going to the next one
// needs no division.
class BroadcastRow {
 public:
  // Goes to the row that holds element `at` of the output.
  void seek(const BroadcastInput& input, int64_t at) {
    const int64_t size = input.map.size[0];
    const int64_t beyond = at - begin_;
    if (beyond >= 0 && beyond < size) return;
    if (beyond == size) return next(input);
    find(input, at);
  }
  void next(const BroadcastInput& input) {
    begin_ += input.map.size[0];
    for (int d = 1; d < input.map.rank; ++d) {
      offset_ += input.map.stride[d][0];
      if (++index_[d] < input.map.size[d]) return;
      index_[d] = 0;
      offset_ -= input.map.size[d] * input.map.stride[d][0];
    }
  }
  int64_t begin() const { return begin_; }    // its first element in the output ...
  int64_t offset() const { return offset_; }  // ... and in the input

 private:
  void find(const BroadcastInput& input, int64_t at);

  int64_t begin_ = std::numeric_limits<int64_t>::min() / 2;  // far from any element
  int64_t offset_ = 0;
  int64_t index_[kMaxRank];
};

}  // namespace panto::cpu
