#include "panto/device/cuda/array/strided_copy.h"

#include <algorithm>
#include <cstdlib>

#include "panto/device/cuda/storage.cuh"

namespace panto::cuda {
namespace {

// ---- What is to be copied ------------------------------------------------------------------------------------------

// As StridedDims, but can be changed to larger elements.
struct Layout {
  int rank = 0;
  size_t element;
  const std::byte* in;
  std::byte* out;
  StridedDims::Dim dim[kMostDims<uint64_t>];

  Layout(const StridedDims& dims, size_t element_size, const void* from, void* to)
      : rank(dims.rank()),
        element(element_size),
        in(static_cast<const std::byte*>(from)),
        out(static_cast<std::byte*>(to)) {
    for (int d = 0; d < rank; ++d) dim[d] = dims.dim(d);
  }

  int64_t count() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= dim[d].size;
    return n;
  }
  // Turns contiguous rows into rows of fewer, larger elements, as large as addresses, strides and `lengths` (in bytes,
  // or-ed together) allow. Returns the factor.
  int64_t widen(uint64_t lengths = 0) {
    if (rank == 0 || dim[0].in != 1 || dim[0].out != 1) return 1;
    uint64_t bytes = lengths | static_cast<uint64_t>(dim[0].size) * element | reinterpret_cast<uintptr_t>(in) |
                     reinterpret_cast<uintptr_t>(out);
    for (int d = 1; d < rank; ++d) bytes |= static_cast<uint64_t>(dim[d].in | dim[d].out) * element;
    const size_t wide = widest_element(bytes);
    if (wide <= element) return 1;
    const auto times = static_cast<int64_t>(wide / element);
    dim[0].size /= times;
    for (int d = 1; d < rank; ++d) {
      dim[d].in /= times;
      dim[d].out /= times;
    }
    element = wide;
    if (dim[0].size == 1) remove(0);
    return times;
  }
  void remove(int d) {
    std::copy(dim + d + 1, dim + rank, dim + d);
    --rank;
  }
  // Returns true if every offset and count fits into 31 bits.
  bool is_small() const {
    int64_t in_span = 0, out_span = 0;
    for (int d = 0; d < rank; ++d) {
      in_span += (dim[d].size - 1) * std::abs(dim[d].in);
      out_span += (dim[d].size - 1) * std::abs(dim[d].out);
    }
    return std::max({in_span, out_span, count()}) < kIndex32;
  }
  // Returns true if the output is one contiguous block.
  bool writes_one_block() const {
    int64_t step = 1;
    for (int d = 0; d < rank; ++d) {
      if (dim[d].out != step) return false;
      step *= dim[d].size;
    }
    return true;
  }
};

// The form passed to kernels: maps element i, in the order of the dimensions, to offsets. Offsets wrap, so that strides
// may be negative.
template <class Index>
struct Walk {
  int rank;
  Divisor<Index> size[kMostDims<Index>];
  Index in[kMostDims<Index>], out[kMostDims<Index>];

  explicit Walk(const Layout& layout) : rank(layout.rank) {
    for (int d = 0; d < rank; ++d) {
      size[d] = Divisor<Index>(layout.dim[d].size);
      in[d] = static_cast<Index>(layout.dim[d].in);
      out[d] = static_cast<Index>(layout.dim[d].out);
    }
  }
  struct Place {
    Index in = 0, out = 0;
  };
  __device__ Place place(Index i) const {
    Place p;
    for (int d = 0; d < rank; ++d) {
      const Index next = size[d].quotient(i);
      const Index index = i - next * size[d].value();
      p.in += index * in[d];
      p.out += index * out[d];
      i = next;
    }
    return p;
  }
};

template <class Index>
using Offset = std::make_signed_t<Index>;

// ---- One element after the other -----------------------------------------------------------------------------------

// Returns x, or a To that consists of copies of x.
template <class To, class From>
__device__ To spread(From x) {
  if constexpr (sizeof(To) == sizeof(From)) {
    return x;
  } else {
    To result;
    for (size_t i = 0; i < sizeof(To) / sizeof(From); ++i) reinterpret_cast<From*>(&result)[i] = x;
    return result;
  }
}

template <class From, class To, bool kOneBlock, class Index>
__global__ void __launch_bounds__(kThreads)
    copy_elements(Index n, const __grid_constant__ Walk<Index> walk, const From* in, To* out) {
  const Index first = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  From values[kEach];
  Index to[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const Index i = first + static_cast<Index>(k * kThreads);
    if (i >= n) continue;
    const auto place = walk.place(i);
    values[k] = in[static_cast<Offset<Index>>(place.in)];
    to[k] = kOneBlock ? i : place.out;
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const Index i = first + static_cast<Index>(k * kThreads);
    if (i < n) out[static_cast<Offset<Index>>(to[k])] = spread<To>(values[k]);
  }
}

template <class From, class To, class Index>
void launch_elements(const Layout& layout, cudaStream_t stream) {
  const int64_t n = layout.count();
  const Walk<Index> walk(layout);
  const auto* in = reinterpret_cast<const From*>(layout.in);
  auto* out = reinterpret_cast<To*>(layout.out);
  if (layout.writes_one_block()) {
    copy_elements<From, To, true><<<blocks_for(n, kBlock), kThreads, 0, stream>>>(static_cast<Index>(n), walk, in, out);
  } else {
    copy_elements<From, To, false>
        <<<blocks_for(n, kBlock), kThreads, 0, stream>>>(static_cast<Index>(n), walk, in, out);
  }
}

// Broadcasts one element along each row, 16 bytes at a time. Returns false if the rows do not allow it.
template <class From>
bool run_spread(Layout layout, cudaStream_t stream) {
  if constexpr (sizeof(From) < 16) {
    constexpr int64_t kTimes = 16 / sizeof(From);
    if (layout.rank == 0 || layout.dim[0].in != 0 || layout.dim[0].out != 1 || layout.dim[0].size % kTimes != 0 ||
        reinterpret_cast<uintptr_t>(layout.out) % 16 != 0 || !layout.is_small()) {
      return false;
    }
    for (int d = 1; d < layout.rank; ++d) {
      if (layout.dim[d].out % kTimes != 0) return false;
    }
    layout.dim[0].size /= kTimes;
    for (int d = 1; d < layout.rank; ++d) layout.dim[d].out /= kTimes;
    launch_elements<From, uint4, uint32_t>(layout, stream);
    return true;
  } else {
    return false;
  }
}

// ---- Transposition -------------------------------------------------------------------------------------------------

// Input and output are contiguous along different dimensions. Squares of the two dimensions go through shared memory,
// so that both reads and writes are coalesced.
template <class T>
inline constexpr int kSide = sizeof(T) < 4 ? 64 : 32;
// Padded so that a square's column is spread over all banks.
template <class T>
inline constexpr int kPitch = kSide<T> + (sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1);
constexpr int kLanes = 32;

// The output is contiguous along `row`, the input along `column`.
template <class Index>
struct Squares {
  Index row_size, row_in, column_size, column_out;
  Divisor<Index> down, across;  // number of squares along `row` and along `column`
};

template <class T, class Index>
__global__ void __launch_bounds__(kThreads)
    transpose_squares(const Squares<Index> s, const __grid_constant__ Walk<Index> rest, const T* in, T* out) {
  __shared__ T square[kSide<T> * kPitch<T>];
  const Index block = blockIdx.x;
  const Index strip = s.across.quotient(block);
  const Index other = s.down.quotient(strip);
  const Index column = (block - strip * s.across.value()) * kSide<T>;
  const Index row = (strip - other * s.down.value()) * kSide<T>;
  const auto place = rest.place(other);
  const int lane = threadIdx.x % kLanes;
  const int line = threadIdx.x / kLanes;

  in += static_cast<Offset<Index>>(place.in);
#pragma unroll
  for (int r = line; r < kSide<T>; r += kThreads / kLanes) {
#pragma unroll
    for (int c = lane; c < kSide<T>; c += kLanes) {
      if (row + r < s.row_size && column + c < s.column_size) {
        square[r * kPitch<T> + c] = in[static_cast<Offset<Index>>((row + r) * s.row_in + column + c)];
      }
    }
  }
  __syncthreads();
  out += static_cast<Offset<Index>>(place.out);
#pragma unroll
  for (int c = line; c < kSide<T>; c += kThreads / kLanes) {
#pragma unroll
    for (int r = lane; r < kSide<T>; r += kLanes) {
      if (row + r < s.row_size && column + c < s.column_size) {
        out[static_cast<Offset<Index>>((column + c) * s.column_out + row + r)] = square[r * kPitch<T> + c];
      }
    }
  }
}

template <class T, class Index>
void run_squares(const Layout& layout, int across, cudaStream_t stream) {
  const StridedDims::Dim row = layout.dim[0];
  const StridedDims::Dim column = layout.dim[across];
  Layout others = layout;
  others.remove(across);
  others.remove(0);
  Squares<Index> s;
  s.row_size = static_cast<Index>(row.size);
  s.row_in = static_cast<Index>(row.in);
  s.column_size = static_cast<Index>(column.size);
  s.column_out = static_cast<Index>(column.out);
  const int64_t down = ceil_div(row.size, kSide<T>);
  const int64_t wide = ceil_div(column.size, kSide<T>);
  s.down = Divisor<Index>(down);
  s.across = Divisor<Index>(wide);
  transpose_squares<T, Index><<<blocks_for(down * wide * others.count(), 1), kThreads, 0, stream>>>(
      s, Walk<Index>(others), reinterpret_cast<const T*>(layout.in), reinterpret_cast<T*>(layout.out));
}

// Returns the dimension along which the input is contiguous if the output is contiguous along dimension 0 and the input
// is not; else 0.
int transposed_dim(const Layout& layout) {
  if (layout.rank < 2 || layout.dim[0].out != 1 || layout.dim[0].in == 1 || layout.dim[0].in == 0) return 0;
  for (int d = 1; d < layout.rank; ++d) {
    if (layout.dim[d].in == 1) return d;
  }
  return 0;
}

template <class T, class Index>
void run(const Layout& layout, cudaStream_t stream) {
  // With fewer elements most of a square would be empty, and caches then make up for scattered reads.
  constexpr int64_t kLeast = 8;
  const int across = transposed_dim(layout);
  if (across > 0 && layout.dim[0].size >= kLeast && layout.dim[across].size >= kLeast) {
    return run_squares<T, Index>(layout, across, stream);
  }
  launch_elements<T, T, Index>(layout, stream);
}

// ---- Among zeros or other equal elements ---------------------------------------------------------------------------

// Maps an output element to the input element that is written there, if any. Dimensions are outermost first.
template <class Index>
struct Inverse {
  int rank;
  Index first;
  Divisor<Index> step[kMostDims<Index>];
  Index size[kMostDims<Index>], in[kMostDims<Index>];

  Inverse(const Layout& layout, int64_t begin) : rank(layout.rank), first(static_cast<Index>(begin)) {
    for (int d = 0; d < rank; ++d) {
      const StridedDims::Dim& from = layout.dim[rank - 1 - d];
      step[d] = Divisor<Index>(from.out);
      size[d] = static_cast<Index>(from.size);
      in[d] = static_cast<Index>(from.in);
    }
  }
  // Returns false if no input element is written there.
  __device__ bool find(Index i, Index& offset) const {
    bool found = i >= first;
    Index rest = i - first;
    offset = 0;
    for (int d = 0; d < rank; ++d) {
      const Index index = step[d].quotient(rest);
      found = found && index < size[d];
      rest -= index * step[d].value();
      offset += index * in[d];
    }
    return found && rest == 0;
  }
};

template <class T, class Index>
__global__ void __launch_bounds__(kThreads)
    place_elements(Index n, const __grid_constant__ Inverse<Index> inverse, const T* in, const T* rest, T* out) {
  const T other = rest != nullptr ? *rest : T{};
  const Index begin = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x;
  T values[kEach];
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const Index i = begin + static_cast<Index>(k * kThreads);
    values[k] = other;
    Index offset;
    if (i < n && inverse.find(i, offset)) values[k] = in[static_cast<Offset<Index>>(offset)];
  }
#pragma unroll
  for (int k = 0; k < kEach; ++k) {
    const Index i = begin + static_cast<Index>(k * kThreads);
    if (i < n) out[i] = values[k];
  }
}

template <class T, class Index>
void launch_place(const Layout& layout, int64_t n, int64_t first, const void* rest, cudaStream_t stream) {
  place_elements<<<blocks_for(n, kBlock), kThreads, 0, stream>>>(
      static_cast<Index>(n), Inverse<Index>(layout, first), reinterpret_cast<const T*>(layout.in),
      static_cast<const T*>(rest), reinterpret_cast<T*>(layout.out));
}

// ---- Rows ----------------------------------------------------------------------------------------------------------

constexpr int kMaxParts = 64;
template <class Index>
struct RowParts {
  void* data[kMaxParts];
  Divisor<Index> size[kMaxParts];
  Index begin[kMaxParts];  // offset in the row
};

template <class T, Rows kWhat, class Index>
__global__ void __launch_bounds__(kThreads)
    move_parts(Index rows, Index row, const __grid_constant__ RowParts<Index> parts, T* matrix) {
  const int part = blockIdx.y;
  auto* data = static_cast<T*>(parts.data[part]);
  const Divisor<Index> size = parts.size[part];
  const Index begin = parts.begin[part];
  const Index n = rows * size.value();
  for (Index first = static_cast<Index>(blockIdx.x) * kBlock + threadIdx.x; first < n; first += gridDim.x * kBlock) {
    T values[kEach];
    Index at[kEach];
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const Index i = first + static_cast<Index>(k * kThreads);
      if (i >= n) continue;
      const Index r = size.quotient(i);
      at[k] = r * row + begin + (i - r * size.value());
      values[k] = kWhat == Rows::kJoin ? data[i] : matrix[at[k]];
    }
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const Index i = first + static_cast<Index>(k * kThreads);
      if (i < n) (kWhat == Rows::kJoin ? matrix[at[k]] : data[i]) = values[k];
    }
  }
}

// Sizes in elements of T.
template <class T, class Index>
void run_rows(CudaDevice& device, Rows what, int64_t rows, int64_t row, void* matrix, std::span<const RowPart> parts,
              int64_t times, cudaStream_t stream) {
  int64_t begin = 0;
  for (size_t next = 0; next < parts.size();) {
    RowParts<Index> some;
    unsigned count = 0;
    int64_t longest = 0;
    for (; next < parts.size() && count < kMaxParts; ++next) {
      const int64_t size = parts[next].size / times;
      if (size == 0) continue;
      some.data[count] = parts[next].data;
      some.size[count] = Divisor<Index>(size);
      some.begin[count] = static_cast<Index>(begin);
      ++count;
      begin += size;
      longest = std::max(longest, size);
    }
    if (count == 0) return;
    const dim3 grid(static_cast<unsigned>(
                        std::min<int64_t>(ceil_div(rows * longest, kBlock), int64_t{64} * device.multiprocessors())),
                    count);
    auto* to = static_cast<T*>(matrix);
    const auto n = static_cast<Index>(rows);
    const auto width = static_cast<Index>(row);
    if (what == Rows::kJoin) {
      move_parts<T, Rows::kJoin><<<grid, kThreads, 0, stream>>>(n, width, some, to);
    } else {
      move_parts<T, Rows::kSplit><<<grid, kThreads, 0, stream>>>(n, width, some, to);
    }
    check(cudaGetLastError(), "starting a kernel");
  }
}

}  // namespace

void strided_copy(CudaDevice& device, const StridedDims& dims, size_t element_size, const void* in, void* out) {
  if (dims.count() == 0) return;
  const DeviceUse stream = device.use();
  const StridedDims::Dim* row = dims.rank() == 1 ? &dims.dim(0) : nullptr;
  if (dims.rank() == 0 || (row != nullptr && row->in == 1 && row->out == 1)) {
    return check(
        cudaMemcpyAsync(out, in, static_cast<size_t>(dims.count()) * element_size, cudaMemcpyDeviceToDevice, stream),
        "copying on the device");
  }
  Layout layout(dims, element_size, in, out);
  layout.widen();
  with_storage(layout.element, [&]<class T>() {
    if (run_spread<T>(layout, stream)) return;
    layout.is_small() ? run<T, uint32_t>(layout, stream) : run<T, uint64_t>(layout, stream);
  });
  check(cudaGetLastError(), "starting a kernel");
}

void strided_place(CudaDevice& device, const StridedDims& dims, size_t element_size, const void* in, void* out,
                   int64_t count, int64_t first, const void* rest) {
  if (count == 0) return;
  if (dims.count() == count) {
    return strided_copy(device, dims, element_size, in,
                        static_cast<std::byte*>(out) + first * static_cast<int64_t>(element_size));
  }
  const DeviceUse stream = device.use();
  if (dims.count() == 0 && rest == nullptr) {
    return check(cudaMemsetAsync(out, 0, static_cast<size_t>(count) * element_size, stream), "filling with zeros");
  }
  // Nothing is copied by one element that would be written behind the end.
  Layout layout(dims.count() == 0 ? StridedDims() : dims, element_size, in, out);
  if (dims.count() == 0) first = count;
  // Flips negative output strides, so that writing begins at the lowest address of `out`.
  int64_t from = 0;
  for (int d = 0; d < layout.rank; ++d) {
    StridedDims::Dim& dim = layout.dim[d];
    if (dim.out > 0) continue;
    first += (dim.size - 1) * dim.out;
    from += (dim.size - 1) * dim.in;
    dim.in = -dim.in;
    dim.out = -dim.out;
  }
  layout.in += from * static_cast<int64_t>(element_size);
  // Larger elements would not be copies of *rest.
  const int64_t times = rest == nullptr ? layout.widen(static_cast<uint64_t>(count | first) * element_size) : 1;
  count /= times;
  first /= times;
  with_storage(layout.element, [&]<class T>() {
    if (layout.is_small() && count < kIndex32 - kBlock) {
      launch_place<T, uint32_t>(layout, count, first, rest, stream);
    } else {
      launch_place<T, uint64_t>(layout, count, first, rest, stream);
    }
  });
  check(cudaGetLastError(), "starting a kernel");
}

void move_rows(CudaDevice& device, Rows what, int64_t rows, int64_t row, size_t element_size, void* matrix,
               std::span<const RowPart> parts) {
  if (rows == 0 || row == 0) return;
  const DeviceUse stream = device.use();
  uint64_t bytes = reinterpret_cast<uintptr_t>(matrix) | static_cast<uint64_t>(row) * element_size;
  for (const RowPart& part : parts) {
    if (part.size == 0) continue;
    bytes |= reinterpret_cast<uintptr_t>(part.data) | static_cast<uint64_t>(part.size) * element_size;
  }
  const size_t wide = widest_element(bytes);
  const auto times = static_cast<int64_t>(wide / element_size);
  with_storage(wide, [&]<class T>() {
    // A thread's index may exceed the end by a whole grid.
    if (rows * row < kIndex32 / 2) {
      run_rows<T, uint32_t>(device, what, rows, row / times, matrix, parts, times, stream);
    } else {
      run_rows<T, uint64_t>(device, what, rows, row / times, matrix, parts, times, stream);
    }
  });
}

}  // namespace panto::cuda
