// Kernels of ArgMax and ArgMin.
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/axes.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

template <class Order, class T>
struct BestOf {
  using Value = Compute<T>;
  struct Best {
    Value value;
    int64_t at;
  };
  using Element = T;
  using Lane = Best;
  using Total = Best;
  __device__ static Best lane() { return {Order::template worst<Value>(), 0}; }
  __device__ static Best total() { return lane(); }
  __device__ static Best add(const Best& a, T x, int64_t i) {
    const auto value = convert<Value>(x);
    return Order::better(value, a.value) ? Best{value, i} : a;
  }
  // Of equal values the first wins. The initial value has position 0, which is the result if no element is better.
  __device__ static Best join(const Best& a, const Best& b) {
    if (Order::better(a.value, b.value)) return a;
    if (Order::better(b.value, a.value)) return b;
    return a.at <= b.at ? a : b;
  }
  __device__ static Best fold(const Best& a, const Best& b) { return join(a, b); }
  __device__ static Best merge(const Best& a, const Best& b) { return join(a, b); }
};

struct StorePosition {
  void* out;
  size_t bytes;  // of an element
  template <class Best>
  __device__ void operator()(int64_t i, const Best& best, int64_t) const {
    switch (bytes) {
      case 2: static_cast<uint16_t*>(out)[i] = static_cast<uint16_t>(best.at); break;
      case 4: static_cast<int32_t*>(out)[i] = static_cast<int32_t>(best.at); break;
      default: static_cast<int64_t*>(out)[i] = best.at; break;
    }
  }
};

template <class Order>
struct ArgBest {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const int64_t axis = axis_at(c, 1, 0, c.shape(0).rank());
    const DType type = c.out(0).dtype();
    // Checked here because the shape function of a prepared call may not know the axis.
    expect_positions(c.shape(0)[static_cast<int>(axis)], type);
    AxisFlags axes;
    axes.set(static_cast<size_t>(axis));
    cuda::reduce<BestOf<Order, T>>(cuda::device_of(c), ReduceShape(c.shape(0), axes), cuda::Elements<T>{c.data<T>(0)},
                                   StorePosition{c.out_data<void>(0), dtype_size(type)});
  }
};
const CudaKernel argmax_kernel("ArgMax", types::of<"ArgMax">{}, ArgBest<Greater>{});
const CudaKernel argmin_kernel("ArgMin", types::of<"ArgMin">{}, ArgBest<Less>{});

}  // namespace
}  // namespace panto
