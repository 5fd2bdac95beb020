// Row kernels that work piece by piece: each piece stays in the first-level cache until it is finished.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "panto/device/cpu/elementwise/as_floats.h"
#include "panto/device/cpu/elementwise/cast.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/reduce/reduce.h"
#include "panto/device/cpu/stream.h"
#include "panto/device/math/convert.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/step/cancel.h"

namespace panto::cpu {

inline constexpr int64_t kPiece = 512;  // elements
template <class T>
inline constexpr int64_t kStreamed = kStreamPiece / static_cast<int64_t>(sizeof(T));

// Elements of a row between two checks for cancellation.
inline constexpr int64_t kStoppable = 1 << 20;

// Call between pieces of a row.
[[gnu::always_inline]] inline void stop_within_row(int64_t element) {
  if (element != 0 && element % kStoppable == 0) [[unlikely]]
    throw_if_cancelled();
}

// Calls body(begin, end) for pieces of [begin, end), and prefetches the same elements of `next`, the following row
// (null: no prefetch). Pieces are short, since memory takes few requests at once, but much longer than an inner loop
// (device/cpu/elementwise/inner_loop.h) needs to start.
template <class T, class F>
[[gnu::always_inline]] inline void with_next_row(const T* next, int64_t begin, int64_t end, const F& body) {
  if (next == nullptr) return body(begin, end);
  constexpr int64_t kAtOnce = 2 * kStreamed<T>;
  for (; begin < end; begin += kAtOnce) {
    const int64_t last = std::min(begin + kAtOnce, end);
    prefetch<2>(next + begin, last - begin);
    body(begin, last);
  }
}

// Writes y[0, n) = last(z, operand), where fill(begin, size, z) computes a piece of z. `y` may be what `fill` reads,
// element for element. `last`: an inner loop with two inputs. `moves`: whether `operand` has n elements rather than
// one. `stream`: write past the caches; the caller must call stream_fence().
template <class T, class F>
[[gnu::always_inline]] inline void write_pieces(int64_t n, T* y, bool stream, InnerLoopFn last, const T* operand,
                                                bool moves, const F& fill) {
  alignas(64) T piece[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    stop_within_row(i);
    const int64_t size = std::min(kPiece, n - i);
    T* z = stream ? piece : y + i;
    fill(i, size, z);
    const void* const in[] = {z, moves ? operand + i : operand};
    last((moves ? 0b11u : 0b01u) | (stream ? kNontemporal : 0), y + i, size, in);
  }
}

// Reduces n elements, cut into the same parts as by reduce(). reduce_part(begin, end) reduces one part.
template <class R, class F>
[[gnu::always_inline]] inline typename R::Total reduce_parts(int64_t n, const F& reduce_part) {
  typename R::Total result = reduce_part(int64_t{0}, std::min(n, kPart));
  for (int64_t part = kPart; part < n; part += kPart) {
    throw_if_cancelled();
    result = R::merge(result, reduce_part(part, std::min(n, part + kPart)));
  }
  return result;
}

// Reduces a row to the same bits as reduce().
template <class R>
[[gnu::always_inline]] inline typename R::Total reduce_row(const typename R::Element* x, int64_t n) {
  return reduce_parts<R>(n,
                         [&](int64_t begin, int64_t end) { return reduce_run<R>(x + begin, end - begin, R::total()); });
}

// The same for n elements that fill(begin, size, block) computes block by block.
template <class R, class F>
[[gnu::always_inline]] inline typename R::Total reduce_blocks(int64_t n, const F& fill) {
  typename R::Element block[kBlock];
  return reduce_parts<R>(n, [&](int64_t begin, int64_t end) {
    typename R::Total total = R::total();
    for (int64_t i = begin; i < end; i += kBlock) {
      const int64_t size = std::min(kBlock, end - i);
      fill(i, size, block);
      total = reduce_run<R>(block, size, total);
    }
    return total;
  });
}

template <class T, class Row>
[[gnu::noinline]] void treat_rows(const T* x, int64_t n, int64_t rows, T* y, bool stream, const Row& row) {
  multiversioned([&] {
    for (int64_t r = 0; r < rows; ++r) row(x + r * n, n, y + r * n, stream);
  });
}

// The most elements that are converted to float at once, in the caches, for rows of 16-bit types.
inline constexpr int64_t kWidened = 16 * 1024;

// treat_rows in float for 16-bit T; each result is rounded once. Precondition: n <= kWidened.
template <class T, class Row>
void treat_widened_rows(const T* x, int64_t n, int64_t rows, T* y, bool stream, const Row& row) {
  static const InnerLoopFn widen = cast_inner_loop(kFloat32, dtype_of<T>);
  static const InnerLoopFn round = cast_inner_loop(dtype_of<T>, kFloat32);
  alignas(64) float wide[kWidened];
  const int64_t together = std::max<int64_t>(1, kBlock / n);
  for (int64_t r = 0; r < rows; r += together) {
    const int64_t count = std::min(together, rows - r);
    const void* const from[] = {x + r * n};
    widen(1, wide, count * n, from);
    treat_rows(wide, n, count, wide, false, row);
    const void* const made[] = {wide};
    round(stream ? 1 | kNontemporal : 1, y + r * n, count * n, made);
  }
}

// Calls row(x, n, y, stream) for each row of input 0 and of output 0, which have the same shape. Rows of 16-bit
// elements are converted to float; then `x` is `y`. `work`: cost of an element, in bytes that could be moved meanwhile.
template <class T, class Row>
void by_rows(KernelContext& c, int64_t work, const Row& row) {
  const int64_t total = c.numel(0);
  if (total == 0) return;
  const int64_t n = c.shape(0)[-1];
  const auto share = [&](const auto& treat) {
    parallel_ranges(total / n, total * work, treat, std::max<int64_t>(1, 64 / n));
  };
  const T* x = c.data<T>(0);
  T* y = c.out_data<T>(0);
  if constexpr (is_half_type<T>) {
    if (n > kWidened) {
      const AsFloats<T> wide(x, total, c.device());
      share([&](int64_t begin, int64_t end) {
        treat_rows<float>(wide.data() + begin * n, n, end - begin, wide.data() + begin * n, false, row);
      });
      return wide.write(y);
    }
  }
  const bool stream = should_stream(2 * total * static_cast<int64_t>(sizeof(T)));
  share([&](int64_t begin, int64_t end) {
    if constexpr (is_half_type<T>) {
      treat_widened_rows(x + begin * n, n, end - begin, y + begin * n, stream, row);
    } else {
      treat_rows(x + begin * n, n, end - begin, y + begin * n, stream, row);
    }
    if (stream) stream_fence();
  });
}

}  // namespace panto::cpu
