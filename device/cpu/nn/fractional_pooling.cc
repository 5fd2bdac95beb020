// Kernels of fractional pools. The starts of windows are drawn as by TensorFlow
// (tensorflow/core/kernels/fractional_pool_common.cc), from the same words of the stream.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/random/philox_blocks.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/device/random_stream.h"
#include "panto/device/scratch.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

// ---- Starts of windows -------

// The start of each window among `size` elements, and `size` at the end.
using Bounds = std::vector<int64_t>;

// Windows begin at even steps from a random place before the first element, which is chosen so that each window has
// size / windows elements or one more.
Bounds spread(int64_t size, int64_t windows, const philox::Stream& stream) {
  const double step = static_cast<double>(size) / static_cast<double>(windows);
  const int64_t least = size / windows;
  const double at_first = static_cast<double>(least + 2) / step - 1;
  const double at_last = static_cast<double>(size + 1 - least) / step - static_cast<double>(windows - 1);
  philox::WordsInOrder words(stream);
  const uint32_t high = words.next(), low = words.next();
  const double place = philox::uniform_double(high, low) * std::min(at_first, at_last);
  Bounds bounds{0};
  for (int64_t i = 1; i < windows; ++i) {
    // clamp() ensures that each window has an element in spite of rounding.
    const auto begin = static_cast<int64_t>(std::ceil(step * (static_cast<double>(i) + place))) - 1;
    bounds.push_back(std::clamp(begin, bounds.back() + 1, size - windows + i));
  }
  bounds.push_back(size);
  return bounds;
}

// Windows of the two sizes in random order.
Bounds shuffled(int64_t size, int64_t windows, const philox::Stream& stream) {
  std::vector<int64_t> sizes(static_cast<size_t>(windows), size / windows);
  for (int64_t i = 0; i < size % windows; ++i) ++sizes[static_cast<size_t>(i)];
  philox::WordsInOrder words(stream);
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    std::swap(sizes[i], sizes[i + words.next() % static_cast<uint32_t>(sizes.size() - i)]);
  }
  Bounds bounds{0};
  for (const int64_t s : sizes) bounds.push_back(bounds.back() + s);
  return bounds;
}

struct Grid {
  Bounds rows, columns;
};
// take(blocks): returns the stream where the next `blocks` blocks begin.
template <class Take>
Grid draw(const KernelContext& c, const Take& take) {
  const auto along = [&](int axis) {
    const int64_t size = c.shape(0).dim(axis), windows = c.out_shape(0).dim(axis);
    if (c.flag("pseudo_random")) return spread(size, windows, take(1));
    return shuffled(size, windows, take(static_cast<uint64_t>(windows + 3) / 4));
  };
  Bounds rows = along(1);
  return {std::move(rows), along(2)};
}

// The state of a node. A deterministic node draws once and keeps the grid.
class PoolNode final : public NodeGenerator {
 public:
  using NodeGenerator::NodeGenerator;
  Grid grid(const KernelContext& c) {
    const auto blocks = [&](uint64_t n) { return take(c, n); };
    if (!c.flag("deterministic")) return draw(c, blocks);
    const std::lock_guard lock(mutex_);
    if (!kept_) kept_ = draw(c, blocks);
    const bool fits =
        kept_->rows.size() == static_cast<size_t>(c.out_numel(1)) && kept_->rows.back() == c.shape(0).dim(1) &&
        kept_->columns.size() == static_cast<size_t>(c.out_numel(2)) && kept_->columns.back() == c.shape(0).dim(2);
    if (!fits) {
      invalid("value: expected images of {} by {}, as at first, got {} by {}", kept_->rows.back(),
              kept_->columns.back(), c.shape(0).dim(1), c.shape(0).dim(2));
    }
    return *kept_;
  }

 private:
  std::mutex mutex_;
  std::optional<Grid> kept_;
};

// For calls without a node: both draws take consecutive blocks of one stream.
Grid grid_of(KernelContext& c) {
  if (auto* node = c.state<PoolNode>()) return node->grid(c);
  uint64_t all = 0;
  for (const int axis : {1, 2}) {
    all += c.flag("pseudo_random") ? 1 : static_cast<uint64_t>(c.out_shape(0).dim(axis) + 3) / 4;
  }
  philox::Stream stream = next_stream(c, all);
  return draw(c, [&](uint64_t n) {
    const philox::Stream here = stream;
    stream = stream.advanced(n);
    return here;
  });
}

// ---- Windows -------

// The dimensions of images [batch, height, width, channels].
struct Images {
  int64_t batch, height, width, channels;
  explicit Images(const Shape& s) : batch(s.dim(0)), height(s.dim(1)), width(s.dim(2)), channels(s.dim(3)) {}
};

// A window over an image. Positions are flat indices of first channels.
struct Window {
  int64_t out;  // of its result
  int64_t in;   // of its first element
  int64_t rows, columns, row_step, channels;

  int64_t count() const { return rows * columns; }
  // Calls f(flat index of the first channel) for each element of the window.
  template <class F>
  void for_each(const F& f) const {
    for (int64_t y = 0; y < rows; ++y) {
      for (int64_t x = 0; x < columns; ++x) f(in + y * row_step + x * channels);
    }
  }
};

template <class F>
void for_each_window(const Images& images, std::span<const int64_t> rows, std::span<const int64_t> columns,
                     bool overlapping, const F& f) {
  const auto length = [&](std::span<const int64_t> bounds, size_t i, int64_t size) {
    return std::min(bounds[i + 1] + (overlapping ? 1 : 0), size) - bounds[i];
  };
  const int64_t step = images.width * images.channels;
  int64_t out = 0;
  for (int64_t b = 0; b < images.batch; ++b) {
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      for (size_t j = 0; j + 1 < columns.size(); ++j, out += images.channels) {
        f(Window{.out = out,
                 .in = (b * images.height + rows[i]) * step + columns[j] * images.channels,
                 .rows = length(rows, i, images.height),
                 .columns = length(columns, j, images.width),
                 .row_step = step,
                 .channels = images.channels});
      }
    }
  }
}

template <bool kMax>
struct Pool {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    return std::make_shared<PoolNode>(c);
  }
  template <class T>
  static void run(KernelContext& c) {
    const Grid grid = grid_of(c);
    std::ranges::copy(grid.rows, c.out_data<int64_t>(1));
    std::ranges::copy(grid.columns, c.out_data<int64_t>(2));
    const Images images(c.shape(0));
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    std::fill_n(y, c.out_numel(0), kMax ? std::numeric_limits<T>::lowest() : T{});
    for_each_window(images, grid.rows, grid.columns, c.flag("overlapping"), [&](const Window& w) {
      T* to = y + w.out;
      w.for_each([&](int64_t in) {
        for (int64_t k = 0; k < w.channels; ++k) to[k] = kMax ? std::max(to[k], x[in + k]) : k::add(to[k], x[in + k]);
      });
      if (kMax) return;
      for (int64_t k = 0; k < w.channels; ++k) to[k] /= static_cast<T>(w.count());
    });
  }
};

// Reads bounds from an input and checks that each window has at least one element.
std::span<const int64_t> given_bounds(const KernelContext& c, int input, int64_t size, const char* what) {
  const std::span<const int64_t> bounds(c.data<int64_t>(input), static_cast<size_t>(c.numel(input)));
  for (size_t i = 0; i < bounds.size(); ++i) {
    const int64_t least = i == 0 ? 0 : bounds[i - 1] + 1;
    if (bounds[i] < least || bounds[i] > size) {
      invalid("{}[{}]: expected {} to {}, got {}", what, i, least, size, bounds[i]);
    }
  }
  return bounds;
}

struct MaxPoolGrad {
  template <class T>
  static void run(KernelContext& c) {
    const Images images(c.shape(0));
    const auto rows = given_bounds(c, 3, images.height, "row_pooling_sequence");
    const auto columns = given_bounds(c, 4, images.width, "col_pooling_sequence");
    const T *x = c.data<T>(0), *dy = c.data<T>(2);
    T* dx = c.out_data<T>(0);
    std::fill_n(dx, c.out_numel(0), T{});
    const Scratch<int64_t> places(c.device(), c.numel(2));
    std::fill_n(places.data(), c.numel(2), int64_t{-1});
    for_each_window(images, rows, columns, c.flag("overlapping"), [&](const Window& w) {
      w.for_each([&](int64_t in) {
        for (int64_t k = 0; k < w.channels; ++k) {
          int64_t& place = places.data()[w.out + k];
          if (place < 0 || x[place] < x[in + k]) place = in + k;
        }
      });
    });
    for (int64_t i = 0; i < c.numel(2); ++i) {
      T& to = dx[places.data()[i]];
      to = k::add(to, dy[i]);
    }
  }
};

struct AvgPoolGrad {
  template <class T>
  static void run(KernelContext& c) {
    const Images images(c.out_shape(0));
    const auto rows = given_bounds(c, 2, images.height, "row_pooling_sequence");
    const auto columns = given_bounds(c, 3, images.width, "col_pooling_sequence");
    const T* dy = c.data<T>(1);
    // TensorFlow sums in float64, whatever the type.
    const Scratch<double> sums(c.device(), c.out_numel(0));
    std::fill_n(sums.data(), c.out_numel(0), 0.0);
    for_each_window(images, rows, columns, c.flag("overlapping"), [&](const Window& w) {
      w.for_each([&](int64_t in) {
        for (int64_t k = 0; k < w.channels; ++k) {
          sums.data()[in + k] += static_cast<double>(dy[w.out + k]) / static_cast<double>(w.count());
        }
      });
    });
    T* dx = c.out_data<T>(0);
    for (int64_t i = 0; i < c.out_numel(0); ++i) dx[i] = convert<T>(sums.data()[i]);
  }
};

const CpuKernel max_pool("FractionalMaxPool", types::of<"FractionalMaxPool">{}, Pool<true>{});
const CpuKernel avg_pool("FractionalAvgPool", types::of<"FractionalAvgPool">{}, Pool<false>{});
const CpuKernel max_pool_grad("FractionalMaxPoolGrad", types::of<"FractionalMaxPoolGrad">{}, MaxPoolGrad{});
const CpuKernel avg_pool_grad("FractionalAvgPoolGrad", types::of<"FractionalAvgPoolGrad">{}, AvgPoolGrad{});

}  // namespace
}  // namespace panto
