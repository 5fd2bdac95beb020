#include "panto/device/cpu/elementwise/loops.h"

#include <algorithm>
#include <atomic>

#include "panto/device/cpu/stream.h"
#include "panto/device/shape/broadcast.h"

namespace panto::cpu {
namespace {

// Collects the faults that the ranges of one call find.
class Faults {
 public:
  void report(uint32_t fault) {
    if (fault != 0) [[unlikely]]
      found_.store(fault, std::memory_order_relaxed);
  }
  void check() const {
    if (const uint32_t fault = found_.load(std::memory_order_relaxed); fault != 0) [[unlikely]]
      throw_fault(static_cast<Fault>(fault));
  }

 private:
  std::atomic<uint32_t> found_{0};
};

constexpr int64_t kShortestStreamed = 1024;  // bytes per row: too little of shorter rows is whole cache lines
// An input of at most this size stays in the second-level cache while it is reread: prefetching would only cost time.
constexpr int64_t kNearBytes = 256 << 10;

const std::byte* at(const void* data, int64_t element, uint32_t size) {
  return static_cast<const std::byte*>(data) + element * size;
}

// Computes elements [begin, end) of the output row by row. `how`: additional flags for the inner loops.
template <int kInputs>
void broadcast_range(const InnerLoopKernel& kernel, const BroadcastMap<kInputs>& map, int64_t begin, int64_t end,
                     std::byte* out, const void* const* in, unsigned how, Faults& faults) {
  const int64_t row = map.size[0];
  unsigned moves = 0;
  for (int i = 0; i < kInputs; ++i) moves |= map.stride[0][i] != 0 ? 1u << i : 0u;
  int64_t column = begin % row;
  int64_t offset[kInputs] = {};
  int64_t index[kMaxRank];
  for (int64_t rest = begin / row, d = 1; d < map.rank; ++d) {
    index[d] = rest % map.size[d];
    rest /= map.size[d];
    for (int i = 0; i < kInputs; ++i) offset[i] += index[d] * map.stride[d][i];
  }
  while (begin < end) {
    const int64_t n = std::min(row - column, end - begin);
    const void* first[kInputs];
    for (int i = 0; i < kInputs; ++i) {
      first[i] = at(in[i], offset[i] + (map.stride[0][i] != 0 ? column : 0), kernel.in_size[i]);
    }
    faults.report(kernel.run(moves | how, out + begin * kernel.out_size, n, first));
    begin += n;
    column = 0;
    for (int d = 1; d < map.rank; ++d) {
      for (int i = 0; i < kInputs; ++i) offset[i] += map.stride[d][i];
      if (++index[d] < map.size[d]) break;
      index[d] = 0;
      for (int i = 0; i < kInputs; ++i) offset[i] -= map.size[d] * map.stride[d][i];
    }
  }
}

template <int kInputs>
void run(const InnerLoopKernel& kernel, const InnerLoopInput* inputs, const PartialShape& out_shape, std::byte* out,
         int64_t n) {
  const void* in[kInputs];
  bool one_row = true, in_place = false;
  unsigned moves = 0, how = kNontemporal;
  int64_t traffic = n * kernel.out_size;
  for (int i = 0; i < kInputs; ++i) {
    in[i] = inputs[i].data;
    // An input with as many elements as the output does not broadcast, whatever its shape.
    one_row = one_row && (inputs[i].numel == n || inputs[i].numel == 1);
    moves |= inputs[i].numel == n ? 1u << i : 0u;
    in_place = in_place || in[i] == out;
    const int64_t bytes = inputs[i].numel * kernel.in_size[i];
    how |= bytes > kNearBytes ? 1u << (kPrefetch + i) : 0u;
    traffic += bytes;
  }
  bool stream = !in_place && should_stream(traffic);
  Faults faults;
  if (one_row) {
    parallel_ranges(n, n * kernel.work, [&](int64_t begin, int64_t end) {
      const void* first[kInputs];
      for (int i = 0; i < kInputs; ++i) first[i] = at(in[i], (moves >> i & 1u) != 0 ? begin : 0, kernel.in_size[i]);
      faults.report(kernel.run(stream ? moves | how : moves, out + begin * kernel.out_size, end - begin, first));
      if (stream) stream_fence();
    });
  } else {
    const PartialShape* shapes[kInputs];
    for (int i = 0; i < kInputs; ++i) shapes[i] = inputs[i].shape;
    BroadcastMap<kInputs> map;
    make_broadcast_map<kInputs>(out_shape, shapes, map);
    stream = stream && map.size[0] * kernel.out_size >= kShortestStreamed;
    parallel_ranges(n, n * kernel.work, [&](int64_t begin, int64_t end) {
      broadcast_range<kInputs>(kernel, map, begin, end, out, in, stream ? how : 0, faults);
      if (stream) stream_fence();
    });
  }
  faults.check();
}

}  // namespace

void run_inner_loops(const InnerLoopKernel& kernel, const InnerLoopInput* in, const PartialShape& out_shape, void* out,
                     int64_t n) {
  if (n == 0) return;
  auto* first = static_cast<std::byte*>(out);
  switch (kernel.inputs) {
    case 1: return run<1>(kernel, in, out_shape, first, n);
    case 2: return run<2>(kernel, in, out_shape, first, n);
    case 3: return run<3>(kernel, in, out_shape, first, n);
    default: return run<kMaxInnerLoopInputs>(kernel, in, out_shape, first, n);
  }
}

void run_elementwise(KernelContext& c, const InnerLoopKernel& kernel) {
  InnerLoopInput in[kMaxInnerLoopInputs];
  for (int i = 0; i < kernel.inputs; ++i) in[i] = {c.in(i).impl()->data, &c.shape(i), c.numel(i)};
  run_inner_loops(kernel, in, c.out_shape(0), c.out(0).impl()->data, c.out_numel(0));
}

}  // namespace panto::cpu
