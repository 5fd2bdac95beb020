// ReverseSequence.
#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/array/pick.cuh"
#include "panto/device/cuda/kernel.h"

namespace panto {
namespace {

template <class Index>
struct InReversed {
  using Int = std::make_signed_t<Index>;
  cuda::Divisor<Index> step, size, example, examples;
  cuda::IndexList lengths;

  // A length out of range reverses nothing; it has been reported.
  __device__ int64_t operator()(int64_t i) const {
    const Index lines = step.quotient(static_cast<Index>(i)), numbers = example.quotient(static_cast<Index>(i));
    const Index at = lines - size.quotient(lines) * size.value();
    const int64_t length =
        cuda::index_at(lengths, static_cast<int64_t>(numbers - examples.quotient(numbers) * examples.value()));
    const auto s = static_cast<int64_t>(at);
    if (s >= length || length > static_cast<int64_t>(size.value())) return i;
    return i + (length - 1 - 2 * s) * static_cast<int64_t>(step.value());
  }
};

struct RunReverseSequence {
  template <class T>
  static void run(KernelContext& c) {
    const ReversedDims dims(c);
    const cuda::IndexList lengths = cuda::indices_of(c, 1);
    cuda::CudaDevice& device = cuda::device_of(c);
    cuda::check_indices(device, lengths, 0, dims.size + 1);
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    cuda::with_index(n, [&]<class Index>() {
      using By = cuda::Divisor<Index>;
      const InReversed<Index> from{By(dims.step), By(dims.size), By(dims.example), By(dims.examples), lengths};
      cuda::pick<T>(device, n, from, c.data<T>(0), nullptr, c.out_data<T>(0));
    });
  }
};

const CudaKernel reverse_sequence_kernel("ReverseSequence", types::plain{}, RunReverseSequence{});

}  // namespace
}  // namespace panto
