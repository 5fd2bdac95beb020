// Helpers shared by the kernels of ops on strings.
#pragma once

#include <cstdint>
#include <string_view>

#include "panto/device/cpu/parallel.h"
#include "panto/device/shape/broadcast.h"
#include "panto/lib/core/call/call.h"

namespace panto::strings {

// Returns true for ASCII white space, whatever the locale.
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

constexpr std::string_view stripped(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Calls body(i) for every element i of output 0, in parallel if there are many. The body must not throw (except for
// lack of memory): which error is reported would depend on the threads.
template <class Body>
void for_each_element(KernelContext& c, const Body& body) {
  constexpr int64_t kWork = 128;  // cost of allocating a short string
  const int64_t n = c.out_numel(0);
  cpu::parallel_ranges(n, n < INT64_MAX / kWork ? n * kWork : INT64_MAX, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}
// The same on one thread, in order.
template <class Body>
void for_each_in_order(int64_t n, const Body& body) {
  cpu::in_pieces(n, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i);
  });
}

// Calls body(k, from) for k = 0, ..., n - 1 in order, where from[i] is the element of input i that goes with element k.
template <int N, class Body>
void for_each_broadcast(const BroadcastMap<N>& map, int64_t n, const Body& body) {
  int64_t index[kMaxRank] = {};
  int64_t from[N] = {};
  for_each_in_order(n, [&](int64_t k) {
    body(k, from);
    for (int d = 0; d < map.rank; ++d) {
      for (int i = 0; i < N; ++i) from[i] += map.stride[d][i];
      if (++index[d] < map.size[d]) break;
      for (int i = 0; i < N; ++i) from[i] -= map.stride[d][i] * map.size[d];
      index[d] = 0;
    }
  });
}

}  // namespace panto::strings
