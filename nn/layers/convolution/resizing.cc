#include "panto/nn/layers/convolution/resizing.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/convolution/spatial.h"
#include "panto/ops/array.h"
#include "panto/ops/image.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

template <int Rank>
std::string text(const Margins<Rank>& margins) {
  std::string list;
  for (int i = 0; i < Rank; ++i) {
    list += fmt::format("{}{{{}, {}}}", i == 0 ? "" : ", ", margins[i].before, margins[i].after);
  }
  return Rank == 1 ? list : "{" + list + "}";
}

template <int Rank>
Margins<Rank> not_negative(std::string_view kind, const Margins<Rank>& margins) {
  for (int i = 0; i < Rank; ++i) {
    if (margins[i].before < 0 || margins[i].after < 0) {
      invalid("{}: expected margins of at least 0, got {}", detail::spatial_layer<Rank>(kind), text(margins));
    }
  }
  return margins;
}

Tensor resized(const Tensor& x, const Tensor& size, Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::kBilinear: return resize_bilinear(x, size, {.half_pixel_centers = true});
    case Interpolation::kBicubic: return resize_bicubic(x, size, {.half_pixel_centers = true});
    case Interpolation::kNearest: break;
  }
  return resize_nearest_neighbor(x, size, {.half_pixel_centers = true});
}

const char* text(Interpolation interpolation) {
  return interpolation == Interpolation::kNearest    ? "nearest"
         : interpolation == Interpolation::kBilinear ? "bilinear"
                                                     : "bicubic";
}

// Repeats each element `times` times along `dim`.
Tensor repeated(const Tensor& x, int dim, int64_t times) {
  if (times == 1) return x;
  const PartialShape& shape = x.partial_shape();
  std::vector<int64_t> multiples(static_cast<size_t>(shape.rank()) + 1, 1);
  multiples[static_cast<size_t>(dim) + 1] = times;
  const Tensor apart = tile(expand_dims(x, dim + 1), multiples);
  // [.., size, times, ..] -> [.., size times, ..].
  const int64_t size = shape.dim(dim);
  std::vector<int64_t> dims;
  for (int k = 0; k < shape.rank(); ++k) dims.push_back(k == dim && size >= 0 ? checked_mul(size, times) : ~int64_t{k});
  if (size >= 0) return detail::reshape_as(apart, x, dims);
  std::vector<int64_t> factors(static_cast<size_t>(shape.rank()), 1);
  factors[static_cast<size_t>(dim)] = times;
  return reshape(apart, panto::shape(x, {.out_type = kInt64}) * factors);
}

}  // namespace

template <int Rank>
ZeroPadding<Rank>::ZeroPadding(Margins<Rank> margins) : margins_(not_negative<Rank>("ZeroPadding", margins)) {}

template <int Rank>
Tensor ZeroPadding<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>("ZeroPadding", x);
  std::vector<int64_t> amounts = {0, 0};
  for (int i = 0; i < Rank; ++i) {
    amounts.push_back(margins_[i].before);
    amounts.push_back(margins_[i].after);
  }
  amounts.insert(amounts.end(), {0, 0});
  return pad(x, tensor(std::span<const int64_t>(amounts), PartialShape{Rank + 2, 2}));
}

template <int Rank>
std::string ZeroPadding<Rank>::to_string() const {
  return fmt::format("ZeroPadding{}D({})", Rank, text(margins_));
}

template <int Rank>
Cropping<Rank>::Cropping(Margins<Rank> margins) : margins_(not_negative<Rank>("Cropping", margins)) {}

template <int Rank>
Tensor Cropping<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>("Cropping", x);
  const PartialShape& shape = x.partial_shape();
  std::vector<int64_t> begin(Rank + 2, 0), end(Rank + 2, 0), steps(Rank + 2, 1);
  int64_t to_the_end = 1 | int64_t{1} << (Rank + 1);
  for (int i = 0; i < Rank; ++i) {
    const Margin& m = margins_[i];
    if (shape.known_rank() && shape.dim(i + 1) >= 0 &&
        (m.before > shape.dim(i + 1) || m.after > shape.dim(i + 1) - m.before)) {
      invalid("Cropping{}D: expected an input that is larger than its margins {}, got {}", Rank, text(margins_),
              shape.to_string());
    }
    begin[static_cast<size_t>(i) + 1] = m.before;
    end[static_cast<size_t>(i) + 1] = -m.after;
    if (m.after == 0) to_the_end |= int64_t{1} << (i + 1);
  }
  return strided_slice(x, begin, end, steps, {.begin_mask = 1 | int64_t{1} << (Rank + 1), .end_mask = to_the_end});
}

template <int Rank>
std::string Cropping<Rank>::to_string() const {
  return fmt::format("Cropping{}D({})", Rank, text(margins_));
}

template <int Rank>
UpSampling<Rank>::UpSampling(Extents<Rank> factor, UpSamplingOptions options)
    : factor_(factor), interpolation_(options.interpolation) {
  detail::expect_positive(detail::spatial_layer<Rank>("UpSampling"), "factor", factor);
  if (Rank != 2 && interpolation_ != Interpolation::kNearest) {
    invalid("UpSampling{}D: expected interpolation kNearest, which is not of images only, got {}", Rank,
            text(interpolation_));
  }
}

template <int Rank>
Tensor UpSampling<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>("UpSampling", x);
  if (!x.partial_shape().known_rank()) detail::known_rank(detail::spatial_layer<Rank>("UpSampling"), x);
  if (Rank == 2 && interpolation_ != Interpolation::kNearest) {
    std::vector<Tensor> size;
    for (int i = 0; i < 2; ++i) {
      const int64_t d = x.partial_shape().dim(i + 1);
      size.push_back(d >= 0 ? tensor(checked_cast<int32_t>(checked_mul(d, factor_[i]), "size"))
                            : panto::shape(x)[i + 1] * factor_[i]);
    }
    return resized(x, pack(size), interpolation_);
  }
  Tensor y = x;
  for (int i = 0; i < Rank; ++i) y = repeated(y, i + 1, factor_[i]);
  return y;
}

template <int Rank>
std::string UpSampling<Rank>::to_string() const {
  return fmt::format("UpSampling{}D({}{}{})", Rank, detail::text(factor_),
                     interpolation_ == Interpolation::kNearest ? "" : ", ",
                     interpolation_ == Interpolation::kNearest ? "" : text(interpolation_));
}

template class ZeroPadding<1>;
template class ZeroPadding<2>;
template class ZeroPadding<3>;
template class Cropping<1>;
template class Cropping<2>;
template class Cropping<3>;
template class UpSampling<1>;
template class UpSampling<2>;
template class UpSampling<3>;

Resizing::Resizing(Extent size, UpSamplingOptions options) : size_(size), interpolation_(options.interpolation) {
  detail::expect_positive("Resizing", "size", size);
}

Tensor Resizing::forward(const Tensor& x) const {
  detail::expect_channels("Resizing", x, 4, detail::spatial_names<2>(), -1);
  return resized(x, tensor({checked_cast<int32_t>(size_[0], "size"), checked_cast<int32_t>(size_[1], "size")}),
                 interpolation_);
}

std::string Resizing::to_string() const {
  return fmt::format("Resizing({}, {})", detail::text(size_), text(interpolation_));
}

CenterCrop::CenterCrop(Extent size) : size_(size) { detail::expect_positive("CenterCrop", "size", size); }

Tensor CenterCrop::forward(const Tensor& x) const {
  detail::expect_channels("CenterCrop", x, 4, detail::spatial_names<2>(), -1);
  const PartialShape& shape = x.partial_shape();
  std::vector<int64_t> begin(4, 0), sizes(4, -1);
  for (int i = 0; i < 2; ++i) {
    const int64_t d = shape.known_rank() ? shape.dim(i + 1) : -1;
    if (d < 0) {
      failf(Code::kUnimplemented, "CenterCrop: expected sizes that the trace knows, got an input of shape {}",
            shape.to_string());
    }
    if (d < size_[i]) {
      invalid("CenterCrop: expected images of at least {}, got an input of shape {}", detail::text(size_),
              shape.to_string());
    }
    begin[static_cast<size_t>(i) + 1] = (d - size_[i]) / 2;
    sizes[static_cast<size_t>(i) + 1] = size_[i];
  }
  return slice(x, begin, sizes);
}

std::string CenterCrop::to_string() const { return fmt::format("CenterCrop({})", detail::text(size_)); }

}  // namespace panto
