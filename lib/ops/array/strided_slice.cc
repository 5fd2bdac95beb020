#include "panto/lib/ops/array/strided_slice.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

constexpr int kMostIndices = 31;  // the masks have a bit for each

// How input dimensions map to index vectors and result dimensions.
constexpr int kWholeAxis = -1;
constexpr int kNewAxis = -1;

struct Layout {
  SmallVector<int, 6> index_of;  // by input dimension: position in the index vectors, or kWholeAxis
  SmallVector<int, 6> source;    // by result dimension: input dimension, or kNewAxis
};

bool bit(int64_t mask, int i) { return ((mask >> i) & 1) != 0; }

Layout lay_out(int count, int rank, const SliceMasks& masks) {
  int ellipsis = -1;
  int taken = 0;  // input dimensions that have been indexed
  for (int i = 0; i < count; ++i) {
    if (bit(masks.ellipsis, i)) {
      if (ellipsis >= 0) invalid("ellipsis_mask: expected at most one, got them at {} and {}", ellipsis, i);
      ellipsis = i;
    } else if (!bit(masks.new_axis, i)) {
      ++taken;
    }
  }
  if (taken > rank) invalid("indices: expected at most {}, one for each dimension, got {}", rank, taken);
  Layout layout;
  int axis = 0;
  const auto take_whole = [&](int n) {
    for (; n > 0; --n) {
      layout.index_of.push_back(kWholeAxis);
      layout.source.push_back(axis++);
    }
  };
  for (int i = 0; i < count; ++i) {
    if (i == ellipsis) {
      take_whole(rank - taken);
    } else if (bit(masks.new_axis, i)) {
      layout.source.push_back(kNewAxis);
    } else {
      layout.index_of.push_back(i);
      if (!bit(masks.shrink_axis, i)) layout.source.push_back(axis);
      ++axis;
    }
  }
  take_whole(rank - axis);
  return layout;
}

// Converts a begin or end, which may be negative, to a position in [low, high].
int64_t clamped(int64_t position, int64_t dim, int64_t low, int64_t high) {
  return std::clamp(position < 0 ? dim + position : position, low, high);
}

StridedSlice::Axis shrunk_axis(int64_t dim, int axis, std::optional<int64_t> begin, int64_t stride) {
  if (stride < 0) invalid("stride of a shrunk axis: expected 1, got {}", stride);
  StridedSlice::Axis result{.begin = 0, .stride = 1, .size = 1, .exact = false};
  if (dim < 0 || !begin) return result;
  result.begin = *begin < 0 ? dim + *begin : *begin;
  if (result.begin < 0 || result.begin >= dim) {
    invalid("index of dimension {}: expected one in [{}, {}), got {}", axis, -dim, dim, *begin);
  }
  result.exact = true;
  return result;
}

}  // namespace

StridedSlice plan_strided_slice(const PartialShape& input, const KnownIntegers& begin, const KnownIntegers& end,
                                const KnownIntegers& strides, const SliceMasks& masks) {
  if (end.count() != begin.count() || strides.count() != begin.count()) {
    invalid("lengths of begin, end and strides: expected equal ones, got {}, {} and {}", begin.count(), end.count(),
            strides.count());
  }
  if (begin.count() > kMostIndices) invalid("indices: expected at most {}, got {}", kMostIndices, begin.count());
  const int rank = input.rank();
  const Layout layout = lay_out(static_cast<int>(begin.count()), rank, masks);

  StridedSlice slice;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t dim = input.dim(axis);
    const int i = layout.index_of[static_cast<size_t>(axis)];
    if (i == kWholeAxis) {
      slice.axes.push_back({.begin = 0, .stride = 1, .size = dim, .exact = dim >= 0});
      continue;
    }
    const std::optional<int64_t> stride = strides.get(i);
    if (stride == 0) invalid("strides[{}]: expected a number other than 0, got 0", i);
    if (bit(masks.shrink_axis, i)) {
      slice.axes.push_back(shrunk_axis(dim, axis, begin.get(i), stride.value_or(1)));
      continue;
    }
    const bool from_start = bit(masks.begin, i);
    const bool to_end = bit(masks.end, i);
    if (dim < 0 || !stride || !(from_start || begin.known(i)) || !(to_end || end.known(i))) {
      slice.axes.push_back({});
      continue;
    }
    const int64_t low = *stride > 0 ? 0 : -1;
    const int64_t high = *stride > 0 ? dim : dim - 1;
    const int64_t first = from_start ? (*stride > 0 ? low : high) : clamped(begin[i], dim, low, high);
    const int64_t last = to_end ? (*stride > 0 ? high : low) : clamped(end[i], dim, low, high);
    const int64_t length = last - first;
    const bool empty = length == 0 || (length < 0) != (*stride < 0);
    const int64_t size = empty ? 0 : length / *stride + (length % *stride != 0 ? 1 : 0);
    slice.axes.push_back({.begin = first, .stride = *stride, .size = size, .exact = true});
  }

  SmallVector<int64_t, 8> dims;
  for (int source : layout.source)
    dims.push_back(source == kNewAxis ? 1 : slice.axes[static_cast<size_t>(source)].size);
  slice.shape = PartialShape(std::span<const int64_t>(dims.data(), dims.size()));
  return slice;
}

void expect_slice(const StridedSlice& slice, const PartialShape& value) {
  if (!value.known_rank() || !slice.shape.fully_known() || slice.shape.numel() == 0) return;
  const int shift = value.rank() - slice.shape.rank();
  bool fits = true;
  for (int i = 0; i < value.rank(); ++i) {
    const int64_t have = value.dim(i), want = i < shift ? 1 : slice.shape.dim(i - shift);
    fits = fits && (have < 0 || have == 1 || want < 0 || have == want);
  }
  if (!fits) {
    invalid("value: expected one that broadcasts to the shape of the slice, {}, got {}", slice.shape.to_string(),
            value.to_string());
  }
}

}  // namespace panto
