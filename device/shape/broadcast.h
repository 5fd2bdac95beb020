// Broadcasting, with as few dimensions as possible in the loop.
#pragma once

#include <cstdint>
#include <span>

#include "panto/lib/core/tensor/shape.h"

namespace panto {

inline bool broadcasts_to(const PartialShape& in, const PartialShape& out) {
  if (in.rank() > out.rank()) return false;
  for (int k = 1; k <= in.rank(); ++k) {
    const int64_t d = in.dim(in.rank() - k);
    if (d != 1 && d != out.dim(out.rank() - k)) return false;
  }
  return true;
}

// How N contiguous inputs are read in the order of the output's elements. Dimensions are innermost first. Dimensions of
// size 1 are dropped, and neighbouring dimensions are merged if the same inputs broadcast along both. So an input's
// stride in dimension 0 is 1 or 0.
template <int N>
struct BroadcastMap {
  int rank;  // at least 1
  // Elements from `rank` on are uninitialised: a map is made for every call, so this saves time.
  int64_t size[kMaxRank];
  int64_t stride[kMaxRank][N];  // in elements; 0 where the input broadcasts
};

// Precondition: every input broadcasts to `out`.
template <int N>
void make_broadcast_map(const PartialShape& out, const PartialShape* const (&inputs)[N], BroadcastMap<N>& map) {
  map.rank = 0;
  int64_t step[N];  // stride of the next dimension of each input
  for (int64_t& s : step) s = 1;
  unsigned previous = 0;
  for (int d = 0; d < out.rank(); ++d) {  // from the end
    const int64_t size = out.dim(out.rank() - 1 - d);
    if (size == 1) continue;
    unsigned moves = 0;
    for (int i = 0; i < N; ++i) {
      const int rank = inputs[i]->rank();
      if (d < rank && inputs[i]->dim(rank - 1 - d) != 1) moves |= 1u << i;
    }
    if (map.rank > 0 && moves == previous) {
      map.size[map.rank - 1] *= size;
    } else {
      map.size[map.rank] = size;
      for (int i = 0; i < N; ++i) map.stride[map.rank][i] = (moves >> i & 1u) != 0 ? step[i] : 0;
      ++map.rank;
    }
    for (int i = 0; i < N; ++i) step[i] *= (moves >> i & 1u) != 0 ? size : 1;
    previous = moves;
  }
  if (map.rank > 0) return;
  map.rank = 1;
  map.size[0] = 1;
  for (int64_t& s : map.stride[0]) s = 0;
}

}  // namespace panto
