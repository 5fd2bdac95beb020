#include "panto/device/cuda/reduce/sorted_rows.h"

#include <limits>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/reduce/sort_pairs.cuh"

namespace panto::cuda {
namespace {

struct NumberRows {
  uint32_t* rows;
  __device__ void operator()(int64_t i) const { rows[i] = static_cast<uint32_t>(i); }
};

struct KeyOfRow {
  IndexList ids;
  int64_t segments;
  uint32_t* keys;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    const int64_t id = index_at(ids, i);
    if (id >= segments) note(fault, Fault::kIndexOutOfRange);
    keys[i] = static_cast<uint32_t>(id < 0 || id >= segments ? segments : id);
  }
};

}  // namespace

void expect_sortable(int64_t rows, int64_t keys) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (rows <= kMost && keys <= kMost) return;
  fail(Code::kUnimplemented, "rows and slices: expected fewer than 2^31 of each on a GPU, got more");
}

SortedRows::SortedRows(CudaDevice& device, const uint32_t* keys, int64_t count, int64_t limit)
    : count_(count), numbers_(device, 2 * count) {
  expect_sortable(count, limit);
  if (count == 0) return;
  const Scratch<uint32_t> order(device, count);
  for_each_index(device, count, NumberRows{order.data()});
  int bits = 0;
  while (limit >> bits != 0) ++bits;
  sort_pairs(device, count, bits, keys, numbers_.data(), order.data(), numbers_.data() + count);
}

SortedRows sort_by_segment(CudaDevice& device, const IndexList& ids, int64_t segments) {
  expect_sortable(ids.count, segments);
  const Scratch<uint32_t> keys(device, ids.count);
  const DeviceUse stream = device.use();
  for_each_index(device, ids.count, KeyOfRow{ids, segments, keys.data(), device.fault()});
  return {device, keys.data(), ids.count, segments};
}

}  // namespace panto::cuda
