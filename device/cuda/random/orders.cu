// Random orders. That of RandomShuffle is a chain of exchanges, which the host makes; the GPU moves the slices.
#include <memory>
#include <vector>

#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/each.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/random/simon.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/device/random_stream.h"
#include "panto/device/scratch.h"

namespace panto {
namespace {

// Moves slices along the first dimension; next() is the stream for a number of blocks.
template <class T, class Next>
void shuffle(KernelContext& c, const Next& next) {
  cuda::CudaDevice& device = cuda::device_of(c);
  const int64_t rows = c.shape(0).rank() > 0 ? c.shape(0).dim(0) : 1, n = c.numel(0);
  if (n == 0) return;
  if (rows <= 1 || n == 1)
    return device.copy_within(c.out_data<T>(0), c.data<T>(0), static_cast<size_t>(n) * sizeof(T));
  const std::vector<int64_t> order = random_order(next(blocks_of_order(rows)), rows);
  const Scratch<int64_t> there(device, rows);
  device.copy_from_host(there.data(), order.data(), order.size() * sizeof(int64_t));
  cuda::gather(device, {.batch = 1, .outer = 1, .limit = rows, .inner = n / rows, .each = rows}, sizeof(T),
               c.data<T>(0), {there.data(), kInt64, rows}, c.out_data<T>(0));
}

struct Shuffle {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return prepare_generator(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    shuffle<T>(c, [&](uint64_t blocks) { return next_stream(c, blocks); });
  }
};
struct StatelessShuffle {
  template <class T>
  static void run(KernelContext& c) {
    const philox::Stream stream = given_stream(c);  // checks the stream even if nothing is to be shuffled
    shuffle<T>(c, [&](uint64_t) { return stream; });
  }
};

// An index or a largest index out of range is reported as a fault and gives 0.
template <class T>
struct ShuffleIndex {
  const T* index;
  const T* most;
  cuda::IndexList keys;  // three numbers each, of which the low 32 bits count
  bool each_index, each_most, each_key;
  int64_t rounds;
  T* out;
  Fault* fault;
  __device__ void operator()(int64_t i) const {
    const T last = most[each_most ? i : 0], at = index[each_index ? i : 0];
    out[i] = 0;
    if (k::is_negative(last) || k::is_negative(at) || at > last) return cuda::note(fault, Fault::kIndexOutOfRange);
    SimonKey key;
    for (int k = 0; k < 3; ++k) key.words[k] = static_cast<uint32_t>(cuda::index_at(keys, (each_key ? 3 * i : 0) + k));
    out[i] = static_cast<T>(shuffled_index(static_cast<uint64_t>(at), key, static_cast<uint64_t>(last), rounds));
  }
};

struct IndexShuffle {
  template <class T>
  static void run(KernelContext& c) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const DType seed = c.in(1).dtype();
    const cuda::IndexList keys{c.data<void>(1), seed == kInt32 || seed == kUint32 ? kInt32 : kInt64, c.numel(1)};
    cuda::for_each_index(device, c.out_numel(0),
                         ShuffleIndex<T>{c.data<T>(0), c.data<T>(2), keys, c.shape(0).rank() > 0, c.shape(2).rank() > 0,
                                         c.shape(1).rank() > 1, c.integer("rounds"), c.out_data<T>(0), device.fault()});
  }
};

const CudaKernel shuffle_kernel("RandomShuffle", types::plain{}, Shuffle{});
const CudaKernel stateless_shuffle_kernel("StatelessShuffle", types::plain{}, StatelessShuffle{});
const CudaKernel index_shuffle_kernel("RandomIndexShuffle", TypeList<int32_t, int64_t, uint32_t, uint64_t>{},
                                      IndexShuffle{});

}  // namespace
}  // namespace panto
