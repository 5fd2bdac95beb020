// Updates of slices on the GPU. Those of one slice are done one after the other, in the order in which they are given,
// as on the CPU.
#pragma once

#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/scatter/places.cuh"
#include "panto/device/cuda/storage.cuh"
#include "panto/device/math/convert.h"
#include "panto/device/math/row_changes.h"

namespace panto::cuda {

// One element of a slice: all its updates are computed in Compute<T> and rounded once.
template <class Change, class T>
struct ChangeElement {
  Runs runs;
  int64_t inner;
  const T* updates;
  bool one;  // a single update for all
  T* to;
  __device__ void operator()(int64_t at) const {
    const int64_t i = at / inner, k = at - i * inner;
    if (!runs.begins_at(i)) return;
    T& element = to[int64_t{runs.keys[i]} * inner + k];
    auto value = convert<Compute<T>>(element);
    runs.for_each(
        i, [&](int64_t row) { value = Change{}(value, convert<Compute<T>>(updates[one ? 0 : row * inner + k])); });
    element = convert<T>(value);
  }
};

// The last update is the one that stays.
template <class T>
struct ReplaceElement {
  Runs runs;
  int64_t inner;
  const T* updates;
  bool one;
  T* to;
  __device__ void operator()(int64_t at) const {
    const int64_t i = at / inner, k = at - i * inner;
    if (!runs.ends_at(i)) return;
    to[int64_t{runs.keys[i]} * inner + k] = updates[one ? 0 : int64_t{runs.rows[i]} * inner + k];
  }
};

// Reports a fault, and leaves out all rows, if integers are to be divided by 0.
template <class T>
struct RefuseZero {
  const T* updates;
  uint32_t* wrong;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    if (updates[i] != T{0}) return;
    note(fault, Fault::kDivisionByZero);
    *static_cast<volatile uint32_t*>(wrong) = 1;
  }
};

// to[slice] = Change{}(to[slice], update) for each row of `updates`, whose slices `places` tells; slices have `inner`
// elements. `one`: there is a single update, a number, for all. Changes nothing and reports a fault if an index is out
// of range, or an integer would be divided by 0.
template <class Change, class T>
void change_slices(CudaDevice& device, const Places& places, int64_t inner, const T* updates, bool one, T* to) {
  if (inner == 0) return check_places(device, places);
  if (places.rows == 0) return;
  const SortedPlaces sorted(device, places);
  const int64_t n = places.rows * inner;
  if constexpr (kRefusesZero<Change, T>) {
    const DeviceUse stream = device.use();
    for_each_index(device, one ? 1 : n, RefuseZero<T>{updates, sorted.wrong(), device.fault()});
  }
  for_each_index(device, n, ChangeElement<Change, T>{sorted.runs(), inner, updates, one, to});
}

// The same for replacing slices of elements of `element_size` bytes.
inline void replace_slices(CudaDevice& device, const Places& places, int64_t inner, size_t element_size,
                           const void* updates, bool one, void* to) {
  if (inner == 0) return check_places(device, places);
  if (places.rows == 0) return;
  const SortedPlaces sorted(device, places);
  const size_t wide = one ? element_size
                          : widest_element(reinterpret_cast<uintptr_t>(updates) | reinterpret_cast<uintptr_t>(to) |
                                           static_cast<uint64_t>(inner) * element_size);
  const int64_t width = inner * static_cast<int64_t>(element_size) / static_cast<int64_t>(wide);
  with_storage(wide, [&]<class T>() {
    for_each_index(device, places.rows * width,
                   ReplaceElement<T>{sorted.runs(), width, static_cast<const T*>(updates), one, static_cast<T*>(to)});
  });
}

}  // namespace panto::cuda
