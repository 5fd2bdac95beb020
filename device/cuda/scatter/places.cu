#include "panto/device/cuda/scatter/places.cuh"

#include "panto/device/cuda/each.cuh"

namespace panto::cuda {
namespace {

struct CheckPlace {
  Places places;
  Fault* fault;
  __device__ void operator()(int64_t r) const {
    if (places.at(r) < 0) note(fault, Fault::kIndexOutOfRange);
  }
};

struct KeyOfPlace {
  Places places;
  uint32_t* keys;
  uint32_t* wrong;
  Fault* fault;
  __device__ void operator()(int64_t r) const {
    const int64_t slice = places.at(r);
    keys[r] = static_cast<uint32_t>(slice < 0 ? places.slices : slice);
    if (slice >= 0) return;
    note(fault, Fault::kIndexOutOfRange);
    *static_cast<volatile uint32_t*>(wrong) = 1;
  }
};

}  // namespace

Places places_of(const KernelContext& c, int i, const Positions& positions) {
  Places places{.indices = indices_of(c, i), .rows = positions.rows, .depth = positions.depth, .slices = 1, .dims = {}};
  for (int64_t d = 0; d < positions.depth; ++d) {
    const int64_t dim = positions.dims[static_cast<size_t>(d)];
    places.dims[d] = dim;
    // Overflows only if slices are empty, and then nobody asks for their number.
    places.slices = static_cast<int64_t>(static_cast<uint64_t>(places.slices) * static_cast<uint64_t>(dim));
  }
  return places;
}

Places rows_of(const KernelContext& c, int i, int64_t rows) {
  Places places{.indices = indices_of(c, i), .rows = c.numel(i), .depth = 1, .slices = rows, .dims = {}};
  places.dims[0] = rows;
  return places;
}

void check_places(CudaDevice& device, const Places& places) {
  if (places.rows == 0) return;
  for_each_index(device, places.rows, CheckPlace{places, device.fault()});
}

Scratch<uint32_t> SortedPlaces::keys_of(CudaDevice& device, const Places& places) {
  expect_sortable(places.rows, places.slices);
  Scratch<uint32_t> keys(device, places.rows + 1);
  uint32_t* wrong = keys.data() + places.rows;
  const DeviceUse stream = device.use();
  check(cudaMemsetAsync(wrong, 0, sizeof(uint32_t), stream), "filling with zeros");
  for_each_index(device, places.rows, KeyOfPlace{places, keys.data(), wrong, device.fault()});
  return keys;
}

SortedPlaces::SortedPlaces(CudaDevice& device, const Places& places)
    : limit_(static_cast<uint32_t>(places.slices)),
      keys_(keys_of(device, places)),
      order_(device, keys_.data(), places.rows, places.slices) {}

}  // namespace panto::cuda
