#include "panto/nn/layers/convolution/pooling.h"

#include "panto/lib/base/checked.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/convolution/spatial.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

template <int Rank>
Extents<Rank> pool_stride(std::string_view kind, const Extents<Rank>& window, const PoolOptionsOf<Rank>& options) {
  const std::string layer = detail::spatial_layer<Rank>(kind);
  detail::expect_positive(layer, "window", window);
  if (options.padding == Padding::kCausal) invalid("{}: expected padding kValid or kSame, got kCausal", layer);
  if (options.stride == Extents<Rank>(0)) return window;
  if (!detail::positive(options.stride)) {
    invalid("{}: expected a positive stride, or 0, got {}", layer, detail::text(options.stride));
  }
  return options.stride;
}

// Applies pool_images, or for volumes pool_volumes, to x.
template <int Rank, class Images, class Volumes>
Tensor pooled(const Tensor& x, const Extents<Rank>& window, const Extents<Rank>& stride, Padding padding,
              const Images& pool_images, const Volumes& pool_volumes) {
  const std::vector<int64_t> ksize = detail::for_op(window), strides = detail::for_op(stride);
  if constexpr (Rank == 3) {
    return pool_volumes(x, ksize, strides, detail::op_text(padding));
  } else {
    return detail::without_row<Rank>(
        pool_images(detail::with_row<Rank>(x, 1), ksize, strides, detail::op_text(padding)));
  }
}

template <int Rank>
ReduceOptions all_spatial(bool keep_dims) {
  ReduceOptions options{.keep_dims = keep_dims};
  for (int k = 1; k <= Rank; ++k) options.axis.push_back(k);
  return options;
}

// Applies reduce(t, dimension) to each of `parts` parts of x along `dim`.
template <class Reduce>
Tensor of_parts(const Tensor& x, int dim, int64_t parts, const Reduce& reduce) {
  const int64_t size = x.partial_shape().dim(dim);
  if (size % parts == 0) {
    std::vector<int64_t> dims;
    for (int k = 0; k < x.partial_shape().rank(); ++k) {
      if (k == dim) {
        dims.push_back(parts);
        dims.push_back(size / parts);
      } else {
        dims.push_back(~int64_t{k});
      }
    }
    return reduce(detail::reshape_as(x, x, dims), dim + 1);
  }
  std::vector<Tensor> all;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = checked_mul(i, size) / parts, end = ceil_div(checked_mul(i + 1, size), parts);
    std::vector<int64_t> first(static_cast<size_t>(x.partial_shape().rank()), 0);
    std::vector<int64_t> sizes(first.size(), -1);
    first[static_cast<size_t>(dim)] = begin;
    sizes[static_cast<size_t>(dim)] = end - begin;
    all.push_back(reduce(slice(x, first, sizes), dim));
  }
  return pack(all, {.axis = dim});
}

template <int Rank, class Reduce>
Tensor adaptively(std::string_view kind, const Tensor& x, const Extents<Rank>& parts, const Reduce& reduce) {
  detail::expect_spatial<Rank>(kind, x);
  const PartialShape& shape = x.partial_shape();
  Tensor y = x;
  for (int i = 0; i < Rank; ++i) {
    if (!shape.known_rank() || shape.dim(i + 1) < 0) {
      failf(Code::kUnimplemented, "{}: expected sizes that the trace knows, got an input of shape {}",
            detail::spatial_layer<Rank>(kind), shape.to_string());
    }
    if (shape.dim(i + 1) == 0) {
      invalid("{}: expected at least one element in each dimension, got an input of shape {}",
              detail::spatial_layer<Rank>(kind), shape.to_string());
    }
    y = of_parts(y, i + 1, parts[i], reduce);
  }
  return y;
}

template <int Rank>
Extents<Rank> positive_parts(std::string_view kind, const Extents<Rank>& parts) {
  const std::string layer = detail::spatial_layer<Rank>(kind);
  detail::expect_positive(layer, "number of parts", parts);
  for (int i = 0; i < Rank; ++i) {
    if (parts[i] > 65536) invalid("{}: expected at most 65536 parts, got {}", layer, detail::text(parts));
  }
  return parts;
}

constexpr std::string_view kMaxName = "MaxPool", kAverageName = "AveragePool", kGlobalMaxName = "GlobalMaxPool",
                           kGlobalAverageName = "GlobalAveragePool", kAdaptiveMaxName = "AdaptiveMaxPool",
                           kAdaptiveAverageName = "AdaptiveAveragePool";

}  // namespace

template <int Rank>
MaxPool<Rank>::MaxPool(Extents<Rank> window, PoolOptionsOf<Rank> options)
    : window_(window), stride_(pool_stride(kMaxName, window, options)), padding_(options.padding) {}

template <int Rank>
Tensor MaxPool<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>(kMaxName, x);
  return pooled(
      x, window_, stride_, padding_, [](const Tensor& t, const auto&... more) { return max_pool(t, more...); },
      [](const Tensor& t, const auto&... more) { return max_pool_3d(t, more...); });
}

template <int Rank>
std::string MaxPool<Rank>::to_string() const {
  return fmt::format("MaxPool{}D({})", Rank, detail::text(window_));
}

template <int Rank>
AveragePool<Rank>::AveragePool(Extents<Rank> window, PoolOptionsOf<Rank> options)
    : window_(window), stride_(pool_stride(kAverageName, window, options)), padding_(options.padding) {}

template <int Rank>
Tensor AveragePool<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>(kAverageName, x);
  return pooled(
      x, window_, stride_, padding_, [](const Tensor& t, const auto&... more) { return avg_pool(t, more...); },
      [](const Tensor& t, const auto&... more) { return avg_pool_3d(t, more...); });
}

template <int Rank>
std::string AveragePool<Rank>::to_string() const {
  return fmt::format("AveragePool{}D({})", Rank, detail::text(window_));
}

template <int Rank>
Tensor GlobalMaxPool<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>(kGlobalMaxName, x);
  return max(x, all_spatial<Rank>(options_.keep_dims));
}

template <int Rank>
std::string GlobalMaxPool<Rank>::to_string() const {
  return detail::spatial_layer<Rank>(kGlobalMaxName) + "()";
}

template <int Rank>
Tensor GlobalAveragePool<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>(kGlobalAverageName, x);
  return mean(x, all_spatial<Rank>(options_.keep_dims));
}

template <int Rank>
std::string GlobalAveragePool<Rank>::to_string() const {
  return detail::spatial_layer<Rank>(kGlobalAverageName) + "()";
}

template <int Rank>
AdaptiveMaxPool<Rank>::AdaptiveMaxPool(Extents<Rank> parts) : parts_(positive_parts(kAdaptiveMaxName, parts)) {}

template <int Rank>
Tensor AdaptiveMaxPool<Rank>::forward(const Tensor& x) const {
  return adaptively(kAdaptiveMaxName, x, parts_, [](const Tensor& t, int64_t dim) { return max(t, dim); });
}

template <int Rank>
std::string AdaptiveMaxPool<Rank>::to_string() const {
  return fmt::format("AdaptiveMaxPool{}D({})", Rank, detail::text(parts_));
}

template <int Rank>
AdaptiveAveragePool<Rank>::AdaptiveAveragePool(Extents<Rank> parts)
    : parts_(positive_parts(kAdaptiveAverageName, parts)) {}

template <int Rank>
Tensor AdaptiveAveragePool<Rank>::forward(const Tensor& x) const {
  return adaptively(kAdaptiveAverageName, x, parts_, [](const Tensor& t, int64_t dim) { return mean(t, dim); });
}

template <int Rank>
std::string AdaptiveAveragePool<Rank>::to_string() const {
  return fmt::format("AdaptiveAveragePool{}D({})", Rank, detail::text(parts_));
}

template class MaxPool<1>;
template class MaxPool<2>;
template class MaxPool<3>;
template class AveragePool<1>;
template class AveragePool<2>;
template class AveragePool<3>;
template class GlobalMaxPool<1>;
template class GlobalMaxPool<2>;
template class GlobalMaxPool<3>;
template class GlobalAveragePool<1>;
template class GlobalAveragePool<2>;
template class GlobalAveragePool<3>;
template class AdaptiveMaxPool<1>;
template class AdaptiveMaxPool<2>;
template class AdaptiveMaxPool<3>;
template class AdaptiveAveragePool<1>;
template class AdaptiveAveragePool<2>;
template class AdaptiveAveragePool<3>;

}  // namespace panto
