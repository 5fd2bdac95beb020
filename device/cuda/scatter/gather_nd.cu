// Gathering slices by positions in several dimensions, and rows and slices of variables.
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/scatter/places.cuh"
#include "panto/device/cuda/storage.cuh"
#include "panto/device/state_rows.h"

namespace panto {
namespace {

// An index out of range is reported and copies nothing.
template <class T>
struct TakeElement {
  cuda::Places places;
  int64_t inner;
  const T* from;
  T* out;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    const int64_t row = i / inner;
    const int64_t slice = places.at(row);
    if (slice < 0) {
      cuda::note(fault, Fault::kIndexOutOfRange);
    } else {
      out[i] = from[slice * inner + (i - row * inner)];
    }
  }
};

// out[r] = the slice of `from` that row r addresses; slices have `inner` elements of `element_size` bytes.
void take_slices(cuda::CudaDevice& device, const cuda::Places& places, int64_t inner, size_t element_size,
                 const void* from, void* out) {
  // A wrong index is an error even if nothing is to be copied.
  if (inner == 0) return cuda::check_places(device, places);
  if (places.rows == 0) return;
  const size_t wide = cuda::widest_element(reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(out) |
                                           static_cast<uint64_t>(inner) * element_size);
  const int64_t width = inner * static_cast<int64_t>(element_size) / static_cast<int64_t>(wide);
  const cuda::DeviceUse stream = device.use();
  cuda::with_storage(wide, [&]<class T>() {
    cuda::for_each_index(
        device, places.rows * width,
        TakeElement<T>{places, width, static_cast<const T*>(from), static_cast<T*>(out), device.fault()});
  });
}

struct GatherNd {
  template <class T>
  static void run(KernelContext& c) {
    const Positions positions(c.shape(1), c.shape(0));
    take_slices(cuda::device_of(c), cuda::places_of(c, 1, positions), positions.inner, sizeof(T), c.data<T>(0),
                c.out_data<T>(0));
  }
};

struct GatherRows {
  template <class T>
  static void run(KernelContext& c) {
    state::gather_rows<T>(c, [&](const T* from, const state::Rows& rows) {
      take_slices(cuda::device_of(c), cuda::rows_of(c, 1, rows.count), rows.width, sizeof(T), from, c.out_data<T>(0));
    });
  }
};

struct GatherSlices {
  template <class T>
  static void run(KernelContext& c) {
    state::gather_slices<T>(c, [&](const T* from, const Positions& positions) {
      take_slices(cuda::device_of(c), cuda::places_of(c, 1, positions), positions.inner, sizeof(T), from,
                  c.out_data<T>(0));
    });
  }
};

const CudaKernel gather_nd_kernel("GatherNd", types::plain{}, GatherNd{});
const CudaKernel gather_rows_kernel("ResourceGather", types::plain{}, GatherRows{});
const CudaKernel gather_slices_kernel("ResourceGatherNd", types::plain{}, GatherSlices{});

}  // namespace
}  // namespace panto
