// Kernels of biases, softmax and the losses made of it.
#include <string>

#include "panto/device/cuda/elementwise/in_wider.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/nn/channels.cuh"
#include "panto/device/cuda/reduce/rows.cuh"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

using cuda::CudaDevice;

// ---- BiasAdd --------------------------------------------------------------------------------------------------------

template <class T>
struct AddBias {
  const T* x;
  const T* bias;
  T* y;  // may be x
  template <int kUnit>
  __device__ void operator()(std::integral_constant<int, kUnit>, int64_t i, int64_t channel, int step) const {
    auto pack = cuda::load_pack<kUnit>(x + i);
#pragma unroll
    for (int j = 0; j < kUnit; ++j) pack.v[j] = k::add(pack.v[j], bias[channel + j * step]);
    cuda::store_pack(y + i, pack);
  }
};

struct BiasAddKernel {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Shape& shape = c.shape(0);
    const Channels l(shape, c.text("data_format") == "NCHW" ? 1 : shape.rank() - 1);
    if (c.numel(1) != l.channels) {
      fail(Code::kInvalidArgument,
           "bias: expected " + std::to_string(l.channels) + " elements, got " + std::to_string(c.numel(1)));
    }
    const AddBias<T> body{c.data<T>(0), c.data<T>(1), c.out_data<T>(0)};
    cuda::over_channels<cuda::kUnit<T>>(cuda::device_of(c), l, cuda::aligned(body.x) && cuda::aligned(body.y), body);
  }
};
const CudaKernel bias_add_kernel("BiasAdd", TypeList<float, double, int32_t, int64_t, Half, BFloat16>{},
                                 CudaInWider<BiasAddKernel>{});

// ---- Softmax --------------------------------------------------------------------------------------------------------

template <class T>
struct SoftmaxRow {
  T* out;
  bool vectors;
  template <class Row>
  __device__ void operator()(const Row& row) const {
    const T shift = row.largest();
    const T factor = 1 / row.sum([=](int64_t, T x) { return k::exp(x - shift); });
    row.write(out, vectors, [=](int64_t, T x) { return k::exp(x - shift) * factor; });
  }
};

template <class T>
struct LogSoftmaxRow {
  T* out;
  bool vectors;
  template <class Row>
  __device__ void operator()(const Row& row) const {
    const T shift = row.largest();
    const T log_sum = k::log(row.sum([=](int64_t, T x) { return k::exp(x - shift); }));
    row.write(out, vectors, [=](int64_t, T x) { return (x - shift) - log_sum; });
  }
};

template <template <class> class Body>
struct ByRows {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const int64_t size = c.shape(0)[-1];
    T* out = c.out_data<T>(0);
    cuda::run_rows<T>(cuda::device_of(c), c.out_numel(0) / size, size, cuda::RowInput<T>(c.data<T>(0), size, size),
                      Body<T>{out, cuda::whole_units(out, size)});
  }
};
const CudaKernel softmax_kernel("Softmax", types::of<"Softmax">{}, CudaInWider<ByRows<SoftmaxRow>>{});
const CudaKernel log_softmax_kernel("LogSoftmax", types::of<"LogSoftmax">{}, CudaInWider<ByRows<LogSoftmaxRow>>{});

// ---- Cross entropy --------------------------------------------------------------------------------------------------

// Returns the rows of an input that is broadcast to a matrix with `columns` columns.
template <class T>
cuda::RowInput<T> broadcast_rows(const T* data, const Shape& shape, int64_t columns) {
  const int rank = shape.rank();
  const int64_t width = rank >= 1 ? shape[-1] : 1;
  const int64_t height = rank >= 2 ? shape[-2] : 1;
  return cuda::RowInput<T>(data, height == 1 ? 0 : width, columns, width == columns);
}

template <class T>
struct CrossEntropyRow {
  cuda::RowInput<T> labels;
  T* loss;
  T* backprop;
  bool vectors;
  template <class Row>
  __device__ void operator()(const Row& row) const {
    const T shift = row.largest();
    const T sum = row.sum([=](int64_t, T x) { return k::exp(x - shift); });
    const T log_sum = k::log(sum);
    const T total = row.sum([&](int64_t i, T x) { return labels.at(row.number, i) * (log_sum - (x - shift)); });
    if (row.first()) loss[row.number] = total;
    const T factor = 1 / sum;
    row.write(backprop, vectors, [&](int64_t i, T x) { return k::exp(x - shift) * factor - labels.at(row.number, i); });
  }
};

struct CrossEntropyKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.out_shape(1);
    const int64_t rows = shape[0];
    const int64_t size = shape[1];
    if (rows == 0) return;
    CudaDevice& device = cuda::device_of(c);
    T* backprop = c.out_data<T>(1);
    if (size == 0) {
      cuda::check(cudaMemsetAsync(c.out_data<T>(0), 0, static_cast<size_t>(rows) * sizeof(T), device.use()),
                  "filling with zeros");
      return;
    }
    cuda::run_rows<T>(device, rows, size, broadcast_rows(c.data<T>(0), c.shape(0), size),
                      CrossEntropyRow<T>{broadcast_rows(c.data<T>(1), c.shape(1), size), c.out_data<T>(0), backprop,
                                         cuda::whole_units(backprop, size)});
  }
};
const CudaKernel cross_entropy_kernel("SoftmaxCrossEntropyWithLogits", types::of<"SoftmaxCrossEntropyWithLogits">{},
                                      CudaInWider<CrossEntropyKernel>{});

// A row whose label is out of range is not written.
template <class T>
struct SparseCrossEntropyRow {
  const void* labels;
  bool wide;  // labels have 64 bits
  T* loss;
  T* backprop;
  bool vectors;
  Fault* fault;
  template <class Row>
  __device__ void operator()(const Row& row) const {
    int64_t label = 0;
    if (row.size > 0) {
      label = wide ? static_cast<const int64_t*>(labels)[row.number] : static_cast<const int32_t*>(labels)[row.number];
    }
    const T shift = row.largest();
    const T sum = row.sum([=](int64_t, T x) { return k::exp(x - shift); });
    if (row.size > 0 && (label < 0 || label >= row.size)) {
      *static_cast<volatile Fault*>(fault) = Fault::kLabelOutOfRange;
      return;
    }
    row.for_each([&](int64_t i, T x) {
      if (i == label) loss[row.number] = k::log(sum) - (x - shift);
    });
    const T factor = 1 / sum;
    row.write(backprop, vectors,
              [=](int64_t i, T x) { return k::exp(x - shift) * factor - (i == label ? T{1} : T{0}); });
  }
};

struct SparseCrossEntropyKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.out_shape(1);
    const int64_t rows = shape[0];
    const int64_t size = shape[1];
    if (size == 0) fail(Code::kInvalidArgument, "classes: expected at least 1, got 0");
    CudaDevice& device = cuda::device_of(c);
    T* backprop = c.out_data<T>(1);
    cuda::run_rows<T>(device, rows, size, cuda::RowInput<T>(c.data<T>(0), size, size),
                      SparseCrossEntropyRow<T>{c.data<void>(1), c.in(1).dtype() == kInt64, c.out_data<T>(0), backprop,
                                               cuda::whole_units(backprop, size), device.fault()});
  }
};
const CudaKernel sparse_cross_entropy_kernel("SparseSoftmaxCrossEntropyWithLogits",
                                             types::of<"SparseSoftmaxCrossEntropyWithLogits">{},
                                             CudaInWider<SparseCrossEntropyKernel>{});

// ---- L2Loss ---------------------------------------------------------------------------------------------------------

template <class T>
struct StoreHalf {
  T* out;
  __device__ void operator()(int64_t, const typename SumOf<T>::Total& total, int64_t) const {
    *out = static_cast<T>(SumOf<T>::value(total) / 2);
  }
};

struct L2LossKernel {
  template <class T>
  static void run(KernelContext& c) {
    AxisFlags all;
    all.set();
    cuda::reduce<SquareSumOf<T>>(cuda::device_of(c), ReduceShape(c.shape(0), all), cuda::Elements<T>{c.data<T>(0)},
                                 StoreHalf<T>{c.out_data<T>(0)});
  }
};
const CudaKernel l2_loss_kernel("L2Loss", types::of<"L2Loss">{}, CudaInWider<L2LossKernel>{});

}  // namespace
}  // namespace panto
