// Broadcast inputs of elementwise loops.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace panto::cpu
