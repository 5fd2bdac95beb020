// Segment sums. A stable sort orders the rows by segment. A first kernel adds up pieces of the sorted rows; a second
// one adds the pieces' sums of segments that span several pieces. The order of additions depends on shapes and ids
// only; there are no atomics.
#include <limits>

#include "panto/device/cuda/array/array_index.h"
#include "panto/device/cuda/array/index_list.cuh"
#include "panto/device/cuda/reduce/sorted_rows.h"
#include "panto/device/cuda/storage.cuh"
#include "panto/device/scratch.h"

namespace panto::cuda {
namespace {

// The sorted rows, in pieces.
struct Sorted {
  const uint32_t* keys;
  const uint32_t* rows;
  uint32_t count, piece, segments;
  int64_t columns;

  __host__ __device__ uint32_t pieces() const { return (count + piece - 1) / piece; }
  __device__ uint32_t begin(uint32_t p) const { return p * piece; }
  __device__ uint32_t end(uint32_t p) const { return min(count, (p + 1) * piece); }
  // True if the segment of the piece's first row has rows before the piece; or that of its last row, rows after it.
  __device__ bool enters(uint32_t p) const { return begin(p) > 0 && keys[begin(p) - 1] == keys[begin(p)]; }
  __device__ bool leaves(uint32_t p) const { return end(p) < count && keys[end(p)] == keys[end(p) - 1]; }
};

// The piece and the column of a thread.
struct Share {
  uint32_t piece;
  int64_t column;
};
__device__ Share share_of_thread(int64_t columns) {
  const int64_t column_blocks = (columns + blockDim.x - 1) / blockDim.x;
  const int64_t block = blockIdx.x;
  return {static_cast<uint32_t>(block / column_blocks * blockDim.y + threadIdx.y),
          block % column_blocks * blockDim.x + threadIdx.x};
}

// Writes the sums of segments within one piece. For the others, `heads` gets a piece's sum for a segment that began in
// an earlier piece, and `tails` its sum for a segment that begins here and continues.
template <class T>
__global__ void __launch_bounds__(kThreads) sum_pieces(const Sorted s, const T* data, T* out, T* heads, T* tails) {
  const auto [p, column] = share_of_thread(s.columns);
  if (p >= s.pieces() || column >= s.columns) return;
  const uint32_t begin = s.begin(p);
  const uint32_t end = s.end(p);
  bool entered = s.enters(p);
  uint32_t segment = s.keys[begin];
  T sum{0};
  for (uint32_t i = begin; i < end; i += kEach) {
    uint32_t keys[kEach];
    T values[kEach];
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) {
      keys[k] = i + k < end ? s.keys[i + k] : s.segments;
      if (keys[k] < s.segments) values[k] = data[int64_t{s.rows[i + k]} * s.columns + column];
    }
#pragma unroll
    for (uint32_t k = 0; k < kEach; ++k) {
      if (keys[k] >= s.segments) continue;
      if (keys[k] != segment) {
        (entered ? heads[p * s.columns + column] : out[segment * s.columns + column]) = sum;
        entered = false;
        segment = keys[k];
        sum = T{0};
      }
      sum = k::add(sum, values[k]);
    }
  }
  if (segment >= s.segments) return;  // no row here has a valid segment
  if (entered) {
    heads[p * s.columns + column] = sum;
  } else if (segment == s.keys[end - 1] && s.leaves(p)) {
    tails[p * s.columns + column] = sum;
  } else {
    out[segment * s.columns + column] = sum;
  }
}

// Sums a segment that begins in a piece and continues after it: the piece's tail and the following heads, several at a
// time.
template <class T>
__global__ void __launch_bounds__(kThreads) join_pieces(const Sorted s, const T* heads, const T* tails, T* out) {
  const int64_t column_blocks = (s.columns + blockDim.x - 1) / blockDim.x;
  const auto p = static_cast<uint32_t>(blockIdx.x / column_blocks);
  const int64_t column = blockIdx.x % column_blocks * blockDim.x + threadIdx.x;
  const uint32_t segment = s.keys[s.end(p) - 1];
  // The condition is the same for all threads of the block.
  if (segment >= s.segments || !s.leaves(p) || (segment == s.keys[s.begin(p)] && s.enters(p))) return;
  uint32_t low = s.end(p), high = s.count;  // keys[low] is the segment, keys[high] is not
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (s.keys[middle] == segment ? low : high) = middle;
  }
  const uint32_t last = low / s.piece;

  __shared__ T sums[kThreads];
  const unsigned at = threadIdx.y * blockDim.x + threadIdx.x;
  T sum{0};
  if (column < s.columns) {
    if (threadIdx.y == 0) sum = tails[p * s.columns + column];
    for (uint32_t q = p + 1 + threadIdx.y; q <= last; q += blockDim.y) {
      sum = k::add(sum, heads[q * s.columns + column]);
    }
  }
  sums[at] = sum;
  __syncthreads();
  for (unsigned half = blockDim.y / 2; half > 0; half /= 2) {
    if (threadIdx.y < half) sums[at] = k::add(sums[at], sums[at + half * blockDim.x]);
    __syncthreads();
  }
  if (threadIdx.y == 0 && column < s.columns) out[segment * s.columns + column] = sums[at];
}

// Returns the number of threads along the columns: a power of 2, not more than needed.
unsigned threads_for(int64_t columns, unsigned most) {
  unsigned threads = 1;
  while (threads < most && threads < columns) threads *= 2;
  return threads;
}

// Short pieces for few rows; longer ones once there are enough pieces.
uint32_t piece_size(int64_t rows) {
  uint32_t piece = 16;
  while (piece < 256 && rows / piece > 4096) piece *= 2;
  return piece;
}

}  // namespace

template <class T>
void sum_segments(CudaDevice& device, const T* data, const IndexList& ids, int64_t segments, T* out,
                  int64_t out_count) {
  const int64_t rows = ids.count;
  const DeviceUse stream = device.use();
  if (out_count > 0) {
    check(cudaMemsetAsync(out, 0, static_cast<size_t>(out_count) * sizeof(T), stream), "filling with zeros");
  }
  if (rows == 0) return;
  if (out_count == 0) return check_indices(device, ids, std::numeric_limits<int64_t>::min(), segments);

  const SortedRows order = sort_by_segment(device, ids, segments);
  const int64_t columns = out_count / segments;
  const Sorted sorted{
      order.keys(), order.rows(), static_cast<uint32_t>(rows), piece_size(rows), static_cast<uint32_t>(segments),
      columns};
  const int64_t pieces = sorted.pieces();
  const Scratch<T> parts(device, 2 * pieces * columns);
  T* heads = parts.data();
  T* tails = heads + pieces * columns;
  const unsigned wide = threads_for(columns, kThreads);
  const dim3 block(wide, kThreads / wide);
  sum_pieces<<<blocks_for(ceil_div(pieces, block.y) * ceil_div(columns, block.x), 1), block, 0, stream>>>(
      sorted, data, out, heads, tails);
  const unsigned narrow = threads_for(columns, 32);
  const dim3 joined(narrow, kThreads / narrow);
  join_pieces<<<blocks_for(pieces * ceil_div(columns, joined.x), 1), joined, 0, stream>>>(sorted, heads, tails, out);
  check(cudaGetLastError(), "starting a kernel");
}

template void sum_segments(CudaDevice&, const float*, const IndexList&, int64_t, float*, int64_t);
template void sum_segments(CudaDevice&, const double*, const IndexList&, int64_t, double*, int64_t);
template void sum_segments(CudaDevice&, const int8_t*, const IndexList&, int64_t, int8_t*, int64_t);
template void sum_segments(CudaDevice&, const int16_t*, const IndexList&, int64_t, int16_t*, int64_t);
template void sum_segments(CudaDevice&, const int32_t*, const IndexList&, int64_t, int32_t*, int64_t);
template void sum_segments(CudaDevice&, const int64_t*, const IndexList&, int64_t, int64_t*, int64_t);
template void sum_segments(CudaDevice&, const uint8_t*, const IndexList&, int64_t, uint8_t*, int64_t);
template void sum_segments(CudaDevice&, const uint16_t*, const IndexList&, int64_t, uint16_t*, int64_t);
template void sum_segments(CudaDevice&, const uint32_t*, const IndexList&, int64_t, uint32_t*, int64_t);
template void sum_segments(CudaDevice&, const uint64_t*, const IndexList&, int64_t, uint64_t*, int64_t);

}  // namespace panto::cuda
