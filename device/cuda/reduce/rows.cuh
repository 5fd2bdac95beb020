// Kernels that work on one row at a time: softmax, cross entropy, layer norm.
//
// A team of threads handles a row. Rows that fit are read once and stay in registers; longer ones are read again for
// each pass. How a row is split, and thus the order in which it is summed, depends on its length only.
//
//   struct SoftmaxRow { // what to do with a row; holds the pointers
//     template <class Row>
//     __device__ void operator()(const Row& row) const;      // row.number, row.size, row.for_each(f), row.sum(f), ...
//   };
//   run_rows<T>(device, rows, size, input, SoftmaxRow{...});
#pragma once

#include "panto/device/cuda/reduce/reduce.cuh"

namespace panto::cuda {

// The largest number. Skips NaN: a NaN reaches the result through the sum of the exponentials.
template <class T>
struct LargestNumber : MaxOf<T> {
  PANTO_FN static T merge(T a, T x) { return a < x ? x : a; }
};

// Rows in memory.
template <class T>
struct RowInput {
  const T* data;
  int64_t stride;     // between rows; 0 if all rows are the same
  bool moves = true;  // elements of a row are contiguous; if false, all are the first element
  bool vectors = false;

  RowInput(const T* data, int64_t stride, int64_t size, bool moves = true)
      : data(data),
        stride(stride),
        moves(moves),
        vectors(moves && stride % kUnit<T> == 0 && size % kUnit<T> == 0 && aligned(data)) {}
  __device__ T at(int64_t row, int64_t i) const { return data[row * stride + (moves ? i : 0)]; }
};

// A row has kTeam threads, or `width` threads of a warp. Each one holds kUnits units of kUnit elements in registers; 0
// for none.
template <class T, int kTeam, int kUnits>
class Row {
 public:
  static constexpr int kUnit = cuda::kUnit<T>;
  int64_t number;
  int64_t size;

  // `works`: false if there is no such row; the threads then only take part in shuffles.
  __device__ Row(const RowInput<T>& in, int64_t number, int64_t size, int width, bool works, double* shared)
      : number(number), size(works ? size : 0), in_(in), width_(width), shared_(shared) {
    member_ = static_cast<int>(threadIdx.x) & (width - 1);
    if constexpr (kUnits > 0) {
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        const int64_t i = position(u);
        if (i < this->size) load(i, kept_[u]);
      }
    }
  }

  // Calls f(i, element i) for the elements of this thread.
  template <class F>
  __device__ void for_each(const F& f) const {
    for_units([&](int64_t i, const T(&x)[kUnit], int n) {
#pragma unroll
      for (int j = 0; j < kUnit; ++j) {
        if (j < n) f(i + j, x[j]);
      }
    });
  }

  // Sets to[i] = f(i, element i, beside[i]...). `to` has rows like this one; `beside` is the same for all rows.
  // `vectors`: `to` and `beside` are aligned for whole units.
  template <class F, class... Beside>
  __device__ void write(T* to, bool vectors, const F& f, const Beside*... beside) const {
    T* first = to + number * size;
    for_units([&](int64_t i, const T(&x)[kUnit], int n) {
      if (vectors) return write_unit(first, f, i, x, *reinterpret_cast<const Pack<Beside, kUnit>*>(beside + i)...);
#pragma unroll
      for (int j = 0; j < kUnit; ++j) {
        if (j < n) first[i + j] = f(i + j, x[j], beside[i + j]...);
      }
    });
  }

  __device__ T largest() const {
    T best = LargestNumber<T>::lane();
    for_each([&](int64_t, T x) { best = LargestNumber<T>::merge(best, x); });
    return all<LargestNumber<T>>(best);
  }
  // Returns the sum of f(i, element i), divided by the row's size if R is a mean.
  template <class R = SumOf<T>, class F>
  __device__ T sum(const F& f) const {
    typename R::Total total = R::total();
    for_units([&](int64_t i, const T(&x)[kUnit], int n) {
      T unit{0};
#pragma unroll
      for (int j = 0; j < kUnit; ++j) {
        if (j < n) unit += f(i + j, x[j]);
      }
      total = R::fold(total, unit);
    });
    return R::finish(all<R>(total), size);
  }
  // True for exactly one thread of the team.
  __device__ bool first() const { return member_ == 0 && size > 0; }

 private:
  __device__ int64_t position(int64_t u) const { return (u * width_ + member_) * kUnit; }
  __device__ void load(int64_t i, T (&x)[kUnit]) const {
    const T* from = in_.data + number * in_.stride + i;
    if (in_.vectors) {
      const auto unit = *reinterpret_cast<const Pack<T, kUnit>*>(from);
#pragma unroll
      for (int j = 0; j < kUnit; ++j) x[j] = unit.v[j];
      return;
    }
#pragma unroll
    for (int j = 0; j < kUnit; ++j) {
      if (i + j < size) x[j] = in_.at(number, i + j);
    }
  }
  template <class F, class... Beside>
  __device__ static void write_unit(T* first, const F& f, int64_t i, const T (&x)[kUnit],
                                    const Pack<Beside, kUnit>&... beside) {
    Pack<T, kUnit> unit;
#pragma unroll
    for (int j = 0; j < kUnit; ++j) unit.v[j] = f(i + j, x[j], beside.v[j]...);
    *reinterpret_cast<Pack<T, kUnit>*>(first + i) = unit;
  }
  // Calls f(position of a unit, its elements, their number) for this thread's units.
  template <class F>
  __device__ void for_units(const F& f) const {
    if constexpr (kUnits > 0) {
#pragma unroll
      for (int u = 0; u < kUnits; ++u) {
        const int64_t i = position(u);
        if (i < size) f(i, kept_[u], static_cast<int>(min(int64_t{kUnit}, size - i)));
      }
    } else {
      for (int64_t u = 0; position(u) < size; ++u) {
        const int64_t i = position(u);
        T x[kUnit];
        load(i, x);
        f(i, x, static_cast<int>(min(int64_t{kUnit}, size - i)));
      }
    }
  }
  // Merges the team's values and returns the result to all of its threads.
  template <class R, class Total>
  __device__ Total all(Total total) const {
    for (int distance = min(width_, 32) / 2; distance > 0; distance /= 2) {
      total = R::merge(total, shuffle_down(total, static_cast<unsigned>(distance)));
    }
    if constexpr (kTeam > 32) {
      static_assert(sizeof(Total) <= 2 * sizeof(double));
      auto* shared = reinterpret_cast<Total*>(shared_);
      __syncthreads();  // other threads may still read the last result
      if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = total;
      __syncthreads();
      total = shared[0];
      for (int w = 1; w < kTeam / 32; ++w) total = R::merge(total, shared[w]);
      return total;
    } else {
      return shuffle_from(total, static_cast<int>(threadIdx.x) % 32 & ~(width_ - 1));
    }
  }

  const RowInput<T>& in_;
  int width_, member_;
  double* shared_;
  T kept_[kUnits > 0 ? kUnits : 1][kUnit];
};

// kTeam 32 means teams of `width` threads of a warp.
template <class T, int kTeam, int kUnits, class Body>
__global__ void __launch_bounds__(kTeam == 32 ? kReduceThreads : kTeam)
    run_row(int64_t rows, int64_t size, int width, RowInput<T> in, Body body) {
  __shared__ double shared[2 * 32];
  const int64_t teams = static_cast<int64_t>(blockDim.x) / width;
  for (int64_t first = blockIdx.x * teams; first < rows; first += gridDim.x * teams) {
    const int64_t row = first + threadIdx.x / width;
    const Row<T, kTeam, kUnits> team(in, row, size, width, row < rows, shared);
    body(team);
  }
}

// Returns true if rows of `size` elements that begin at `data` can be written in whole units.
template <class T>
bool whole_units(const T* data, int64_t size) {
  return size % kUnit<T> == 0 && aligned(data);
}

// Precondition: size > 0.
template <class T, class Body>
void run_rows(CudaDevice& device, int64_t rows, int64_t size, const RowInput<T>& in, const Body& body) {
  if (rows == 0) return;
  const DeviceUse stream = device.use();
  const int64_t units = ceil_div(size, kUnit<T>);
  const auto in_warps = [&]<int kUnits>(std::integral_constant<int, kUnits>) {
    const int width = power_of_two_up_to(ceil_div(units, kUnits), 32);
    run_row<T, 32, kUnits><<<blocks_for(ceil_div(rows, kReduceThreads / width)), kReduceThreads, 0, stream>>>(
        rows, size, width, in, body);
  };
  const auto in_blocks = [&]<int kTeam, int kUnits>(std::integral_constant<int, kTeam>,
                                                    std::integral_constant<int, kUnits>) {
    run_row<T, kTeam, kUnits><<<blocks_for(rows), kTeam, 0, stream>>>(rows, size, kTeam, in, body);
  };
  using std::integral_constant;
  if (units <= 32) {
    in_warps(integral_constant<int, 1>{});
  } else if (units <= 128) {
    in_warps(integral_constant<int, 4>{});
  } else if (units <= 256) {
    in_blocks(integral_constant<int, 256>{}, integral_constant<int, 1>{});
  } else if (units <= 1024) {
    in_blocks(integral_constant<int, 256>{}, integral_constant<int, 4>{});
  } else if (units <= 2048) {
    in_blocks(integral_constant<int, 512>{}, integral_constant<int, 4>{});
  } else if (units <= 4096) {
    in_blocks(integral_constant<int, 1024>{}, integral_constant<int, 4>{});
  } else {
    in_blocks(integral_constant<int, 1024>{}, integral_constant<int, 0>{});
  }
  check(cudaGetLastError(), "starting a kernel");
}

}  // namespace panto::cuda
