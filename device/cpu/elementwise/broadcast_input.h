// Inputs of elementwise loops that are repeated (broadcast).
#pragma once

#include <cstddef>
#include <cstdint>

#include "panto/device/shape/broadcast.h"

namespace panto::cpu {

// An input that is repeated to the shape of the outputs.
struct BroadcastInput {
  int input = -1;
  uint32_t size = 0;
  const std::byte* data = nullptr;
  BroadcastMap<1> map;
  // Short rows that follow one another unchanged, however often: written out once.
  bool periodic() const { return map.rank == 2 && map.stride[0][0] == 1 && map.stride[1][0] == 0; }
  bool in_place() const { return map.size[0] >= kLongRow; }

  // Elements [begin, begin + n), spread out.
  void write_out(int64_t begin, int64_t n, std::byte* to) const;

  static constexpr int64_t kLongRow = 256;  // rows from here on are read in place
};

}  // namespace panto::cpu
