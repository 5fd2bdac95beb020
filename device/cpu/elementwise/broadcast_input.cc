#include "panto/device/cpu/elementwise/broadcast_input.h"

#include <algorithm>
#include <cstring>

namespace panto::cpu {
namespace {

// Writes the element at `from` n times. The size is a compile-time constant: a call of memcpy for each element took
// longer than the programs for rows of 128 themselves.
template <size_t kSize>
void fill_with(const std::byte* from, int64_t n, std::byte* to) {
  std::byte element[kSize];
  std::memcpy(element, from, kSize);
  for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * static_cast<int64_t>(kSize), element, kSize);
}
void fill_with(const std::byte* from, uint32_t size, int64_t n, std::byte* to) {
  switch (size) {
    case 1: return fill_with<1>(from, n, to);
    case 2: return fill_with<2>(from, n, to);
    case 4: return fill_with<4>(from, n, to);
    case 8: return fill_with<8>(from, n, to);
    default: return fill_with<16>(from, n, to);
  }
}

}  // namespace

void BroadcastRow::find(const BroadcastInput& input, int64_t at) {
  const BroadcastMap<1>& map = input.map;
  int64_t rest = at / map.size[0];
  begin_ = rest * map.size[0];
  offset_ = 0;
  for (int d = 1; d < map.rank; ++d) {
    index_[d] = rest % map.size[d];
    rest /= map.size[d];
    offset_ += index_[d] * map.stride[d][0];
  }
}

void BroadcastInput::write_out(int64_t begin, int64_t n, std::byte* to) const {
  BroadcastRow row;
  row.seek(*this, begin);
  int64_t column = begin - row.begin();
  while (n > 0) {
    const int64_t count = std::min(map.size[0] - column, n);
    const std::byte* from = data + row.offset() * size;
    if (map.stride[0][0] != 0) {
      std::memcpy(to, from + column * size, static_cast<size_t>(count) * size);
    } else {
      fill_with(from, size, count, to);
    }
    to += count * size;
    n -= count;
    column = 0;
    row.next(*this);
  }
}

}  // namespace panto::cpu
