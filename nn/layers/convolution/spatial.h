// Helpers shared by convolutions and pools of sequences, images and volumes. Internal.
//
// The ops know images and volumes: a sequence is an image of one row here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/layers/convolution/convolution.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/ops/array.h"

namespace panto::detail {

// The dimensions of an input as messages write them, without the channels.
template <int Rank>
constexpr std::string_view spatial_names() {
  return Rank == 1 ? "batch, steps" : Rank == 2 ? "batch, height, width" : "batch, depth, height, width";
}

// "Conv2D", "Conv2DTranspose".
template <int Rank>
std::string spatial_layer(std::string_view kind, std::string_view after = "") {
  return fmt::format("{}{}D{}", whole(kind), Rank, whole(after));
}

// Throws InvalidArgument if the layer cannot take x; the layer's name is formatted only then.
template <int Rank>
void expect_spatial(std::string_view kind, const Tensor& x, int64_t channels = -1, std::string_view after = "") {
  if (has_channels(x, Rank + 2, channels)) return;
  expect_channels(spatial_layer<Rank>(kind, after), x, Rank + 2, spatial_names<Rank>(), channels);
}

template <int Rank>
std::string text(const Extents<Rank>& e) {
  std::string list;
  bool same = true;
  for (int i = 0; i < Rank; ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ", ", e[i]);
    same = same && e[i] == e[0];
  }
  return same ? fmt::format("{}", e[0]) : "{" + list + "}";
}

template <int Rank>
bool positive(const Extents<Rank>& e) {
  for (int i = 0; i < Rank; ++i) {
    if (e[i] < 1) return false;
  }
  return true;
}

template <int Rank>
void expect_positive(std::string_view layer, std::string_view what, const Extents<Rank>& e) {
  if (!positive(e)) invalid("{}: expected a positive {}, got {}", layer, what, text(e));
}

// As the ops take it: one number for each dimension of the input.
template <int Rank>
std::vector<int64_t> for_op(const Extents<Rank>& e) {
  std::vector<int64_t> all(Rank == 1 ? 2 : 1, 1);
  for (int i = 0; i < Rank; ++i) all.push_back(e[i]);
  all.push_back(1);
  return all;
}

inline const char* op_text(Padding padding) { return padding == Padding::kSame ? "SAME" : "VALID"; }

// Makes a sequence an image of one row; others stay as they are. `axis`: where to insert the row's dimension.
template <int Rank>
Tensor with_row(const Tensor& x, int axis) {
  if constexpr (Rank == 1) return expand_dims(x, axis);
  return x;
}
template <int Rank>
Tensor without_row(Tensor x) {
  if constexpr (Rank == 1) return squeeze(x, {.squeeze_dims = {1}});
  return x;
}

// [window..., before_last, last].
template <int Rank>
Shape kernel_shape(const Extents<Rank>& window, int64_t before_last, int64_t last) {
  std::vector<int64_t> dims;
  for (int i = 0; i < Rank; ++i) dims.push_back(window[i]);
  dims.push_back(before_last);
  dims.push_back(last);
  return Shape(dims);
}

template <int Rank>
struct Windows {
  Extents<Rank> stride = 1;
  Padding padding = Padding::kValid;
  Extents<Rank> dilation = 1;
  int64_t groups = 1;  // of channels: a trace may not know x's channels, so the kernel alone does not give the number
};

// A convolution without a bias. For sequences and images the op finds the groups itself.
template <int Rank>
Tensor convolve(const Tensor& x, const Tensor& kernel, const Windows<Rank>& windows);
// Convolves each channel separately: the kernel's last dimension is the outputs per channel. For sequences and images.
template <int Rank>
Tensor convolve_depthwise(const Tensor& x, const Tensor& kernel, const Windows<Rank>& windows);

// The extent of a dilated window.
int64_t reach_of(int64_t window, int64_t dilation);
// The extent of a transposed convolution's output beyond `stride` per input, if no output padding is given.
int64_t beyond_stride(int64_t window, int64_t stride, int64_t dilation, Padding padding);
// The transpose of a convolution without a bias: kernel [window..., filters, inputs]; the output's sizes are stride *
// size + beyond.
template <int Rank>
Tensor convolve_transposed(const Tensor& x, const Tensor& kernel, const Windows<Rank>& windows,
                           const Extents<Rank>& beyond);

}  // namespace panto::detail
