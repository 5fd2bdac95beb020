#include "panto/nn/layers/convolution/convolution.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/nn/layers/convolution/spatial.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace detail {
namespace {

// Adds zeros before the sequence, so that each window ends at the step of its output.
Tensor causally_padded(const Tensor& x, int64_t zeros) {
  if (zeros == 0) return x;
  const std::vector<int64_t> amounts = {0, 0, zeros, 0, 0, 0};
  return pad(x, tensor(std::span<const int64_t>(amounts), PartialShape{3, 2}));
}

Tensor convolve_volumes(const Tensor& x, const Tensor& kernel, const Windows<3>& w) {
  return conv3d(x, kernel, for_op(w.stride), op_text(w.padding), {.dilations = for_op(w.dilation)});
}

}  // namespace

template <int Rank>
Tensor convolve(const Tensor& x, const Tensor& kernel, const Windows<Rank>& w) {
  if constexpr (Rank == 3) {
    if (w.groups == 1) return convolve_volumes(x, kernel, w);
    // The op has no groups.
    const std::vector<Tensor> inputs = split(4, x, w.groups), kernels = split(4, kernel, w.groups);
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < inputs.size(); ++i) outputs.push_back(convolve_volumes(inputs[i], kernels[i], w));
    return concat(outputs, 4);
  } else {
    const bool causal = w.padding == Padding::kCausal;
    const Tensor padded =
        causal ? causally_padded(x, checked_mul(kernel.partial_shape().dim(0) - 1, w.dilation[0])) : x;
    return without_row<Rank>(conv2d(with_row<Rank>(padded, 1), with_row<Rank>(kernel, 0), for_op(w.stride),
                                    op_text(w.padding), {.dilations = for_op(w.dilation)}));
  }
}
template Tensor convolve<1>(const Tensor&, const Tensor&, const Windows<1>&);
template Tensor convolve<2>(const Tensor&, const Tensor&, const Windows<2>&);
template Tensor convolve<3>(const Tensor&, const Tensor&, const Windows<3>&);

template <int Rank>
Tensor convolve_depthwise(const Tensor& x, const Tensor& kernel, const Windows<Rank>& w) {
  const bool causal = w.padding == Padding::kCausal;
  const Tensor padded = causal ? causally_padded(x, checked_mul(kernel.partial_shape().dim(0) - 1, w.dilation[0])) : x;
  // The op needs equal strides along both dimensions; for a single row the row stride does not matter.
  std::vector<int64_t> strides = for_op(w.stride), dilations = for_op(w.dilation);
  if (Rank == 1) strides[1] = strides[2];
  return without_row<Rank>(depthwise_conv2d(with_row<Rank>(padded, 1), with_row<Rank>(kernel, 0), strides,
                                            op_text(w.padding), {.dilations = dilations}));
}
int64_t reach_of(int64_t window, int64_t dilation) { return checked_add(checked_mul(window - 1, dilation), 1); }

int64_t beyond_stride(int64_t window, int64_t stride, int64_t dilation, Padding padding) {
  return padding == Padding::kSame ? 0 : std::max(reach_of(window, dilation) - stride, int64_t{0});
}

namespace {

// The output's shape as the op takes it: int32[4], or int32[5] for volumes.
template <int Rank>
Tensor output_sizes(const Tensor& x, int64_t filters, const Extents<Rank>& stride, const Extents<Rank>& beyond) {
  const PartialShape& shape = x.partial_shape();
  const bool ranked = shape.known_rank();
  Tensor sizes;
  const auto size = [&](int k) {
    if (!sizes.defined()) sizes = panto::shape(x);
    return sizes[k];
  };
  const auto number = [](int64_t n) { return tensor(checked_cast<int32_t>(n, "size")); };
  std::vector<Tensor> each = {ranked && shape.dim(0) >= 0 ? number(shape.dim(0)) : size(0)};
  if (Rank == 1) each.push_back(number(1));
  for (int i = 0; i < Rank; ++i) {
    const int64_t d = ranked ? shape.dim(i + 1) : -1;
    each.push_back(d >= 0 ? number(std::max(checked_add(checked_mul(d, stride[i]), beyond[i]), int64_t{0}))
                          : size(i + 1) * stride[i] + beyond[i]);
  }
  each.push_back(number(filters));
  return pack(each);
}

}  // namespace

template <int Rank>
Tensor convolve_transposed(const Tensor& x, const Tensor& kernel, const Windows<Rank>& w, const Extents<Rank>& beyond) {
  const std::vector<int64_t> strides = for_op(w.stride), dilations = for_op(w.dilation);
  const char* padding = op_text(w.padding);
  const Tensor sizes = output_sizes<Rank>(x, kernel.partial_shape().dim(Rank), w.stride, beyond);
  if constexpr (Rank == 3) {
    return conv3d_backprop_input(sizes, kernel, x, strides, padding, {.dilations = dilations});
  } else {
    return without_row<Rank>(conv2d_backprop_input(sizes, with_row<Rank>(kernel, 0), with_row<Rank>(x, 1), strides,
                                                   padding, {.dilations = dilations}));
  }
}
template Tensor convolve_transposed<1>(const Tensor&, const Tensor&, const Windows<1>&, const Extents<1>&);
template Tensor convolve_transposed<2>(const Tensor&, const Tensor&, const Windows<2>&, const Extents<2>&);
template Tensor convolve_transposed<3>(const Tensor&, const Tensor&, const Windows<3>&, const Extents<3>&);

template Tensor convolve_depthwise<1>(const Tensor&, const Tensor&, const Windows<1>&);
template Tensor convolve_depthwise<2>(const Tensor&, const Tensor&, const Windows<2>&);

}  // namespace detail

namespace {

template <int Rank>
void expect_options(std::string_view layer, std::initializer_list<int64_t> sizes, const Extents<Rank>& window,
                    const detail::Windows<Rank>& windows, bool may_be_causal) {
  if (std::ranges::any_of(sizes, [](int64_t n) { return n < 1; })) {
    std::string text;
    for (const int64_t n : sizes) text += (text.empty() ? "" : " and ") + fmt::format("{}", n);
    invalid("{}: expected positive sizes, got {}", layer, text);
  }
  detail::expect_positive(layer, "window", window);
  detail::expect_positive(layer, "stride", windows.stride);
  detail::expect_positive(layer, "dilation", windows.dilation);
  if (windows.padding == Padding::kCausal && !may_be_causal) {
    invalid("{}: expected padding kValid or kSame, got kCausal", layer);
  }
}

template <class Options>
Variable made_bias(int64_t channels, const Options& options) {
  return Variable(options.bias_initializer({channels}, options.dtype), options.name + "/bias");
}

Tensor with_bias(Tensor y, const Variable& bias, const Activation& activation) {
  if (bias.defined()) y = bias_add(std::move(y), bias);
  return activation ? activation(y) : y;
}

}  // namespace

// ---- Conv -----------------------------------------------------------------------------------------------------------

template <int Rank>
Conv<Rank>::Conv(int64_t inputs, int64_t filters, Extents<Rank> window)
    : Conv(inputs, filters, window, ConvOptions<Rank>()) {}

template <int Rank>
Conv<Rank>::Conv(int64_t inputs, int64_t filters, Extents<Rank> window, ConvOptions<Rank> options)
    : inputs_(inputs),
      filters_(filters),
      window_(window),
      stride_(options.stride),
      dilation_(options.dilation),
      padding_(options.padding),
      activation_(std::move(options.activation)) {
  const std::string layer = detail::spatial_layer<Rank>("Conv");
  expect_options<Rank>(layer, {inputs, filters}, window, {stride_, padding_, dilation_}, Rank == 1);
  const int64_t groups = options.groups;
  if (groups < 1 || inputs % groups != 0 || filters % groups != 0) {
    invalid("{}: expected a number of groups that divides {} and {}, got {}", layer, inputs, filters, groups);
  }
  const Shape shape = detail::kernel_shape(window, inputs / groups, filters);
  kernel_ = Variable(options.kernel_initializer(shape, options.dtype), options.name + "/kernel");
  if (options.use_bias) bias_ = made_bias(filters, options);
  regularize(kernel_, options.kernel_regularizer);
  constrain(kernel_, options.kernel_constraint);
  regularize(bias_, options.bias_regularizer);
  constrain(bias_, options.bias_constraint);
  set_activity_regularizer(options.activity_regularizer);
}

template <int Rank>
Tensor Conv<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>("Conv", x, inputs_);
  const int64_t groups = inputs_ / kernel_.shape().dim(Rank);
  return with_bias(detail::convolve<Rank>(x, kernel_.value(), {stride_, padding_, dilation_, groups}), bias_,
                   activation_);
}

template <int Rank>
std::string Conv<Rank>::to_string() const {
  return fmt::format("Conv{}D({}, {}, {})", Rank, inputs_, filters_, detail::text(window_));
}

template class Conv<1>;
template class Conv<2>;
template class Conv<3>;

// ---- ConvTranspose --------------------------------------------------------------------------------------------------

template <int Rank>
ConvTranspose<Rank>::ConvTranspose(int64_t inputs, int64_t filters, Extents<Rank> window)
    : ConvTranspose(inputs, filters, window, ConvTransposeOptions<Rank>()) {}

template <int Rank>
ConvTranspose<Rank>::ConvTranspose(int64_t inputs, int64_t filters, Extents<Rank> window,
                                   ConvTransposeOptions<Rank> options)
    : inputs_(inputs),
      filters_(filters),
      window_(window),
      stride_(options.stride),
      dilation_(options.dilation),
      padding_(options.padding),
      activation_(std::move(options.activation)) {
  const std::string layer = detail::spatial_layer<Rank>("Conv", "Transpose");
  expect_options<Rank>(layer, {inputs, filters}, window, {stride_, padding_, dilation_}, false);
  std::array<int64_t, Rank> beyond;
  for (int i = 0; i < Rank; ++i) {
    int64_t& b = beyond[static_cast<size_t>(i)];
    if (!options.output_padding) {
      b = detail::beyond_stride(window[i], stride_[i], dilation_[i], padding_);
      continue;
    }
    const int64_t reach = detail::reach_of(window[i], dilation_[i]);
    const bool same = padding_ == Padding::kSame;
    const int64_t more = (*options.output_padding)[i];
    if (more < 0 || more >= stride_[i]) {
      invalid("{}: expected an output padding of at least 0 and below the stride of {}, got {}", layer,
              detail::text(stride_), detail::text(*options.output_padding));
    }
    b = checked_add((same ? reach % 2 : reach) - stride_[i], more);
  }
  beyond_ = std::apply([](auto... sizes) { return Extents<Rank>(sizes...); }, beyond);
  const Shape shape = detail::kernel_shape(window, filters, inputs);
  kernel_ = Variable(options.kernel_initializer(shape, options.dtype), options.name + "/kernel");
  if (options.use_bias) bias_ = made_bias(filters, options);
  regularize(kernel_, options.kernel_regularizer);
  constrain(kernel_, options.kernel_constraint);
  regularize(bias_, options.bias_regularizer);
  constrain(bias_, options.bias_constraint);
  set_activity_regularizer(options.activity_regularizer);
}

template <int Rank>
Tensor ConvTranspose<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>("Conv", x, inputs_, "Transpose");
  Tensor y = detail::convolve_transposed<Rank>(x, kernel_.value(), {stride_, padding_, dilation_}, beyond_);
  return with_bias(std::move(y), bias_, activation_);
}

template <int Rank>
std::string ConvTranspose<Rank>::to_string() const {
  return fmt::format("Conv{}DTranspose({}, {}, {})", Rank, inputs_, filters_, detail::text(window_));
}

template class ConvTranspose<1>;
template class ConvTranspose<2>;
template class ConvTranspose<3>;

// ---- DepthwiseConv --------------------------------------------------------------------------------------------------

template <int Rank>
DepthwiseConv<Rank>::DepthwiseConv(int64_t inputs, Extents<Rank> window)
    : DepthwiseConv(inputs, window, DepthwiseConvOptions<Rank>()) {}

template <int Rank>
DepthwiseConv<Rank>::DepthwiseConv(int64_t inputs, Extents<Rank> window, DepthwiseConvOptions<Rank> options)
    : inputs_(inputs),
      window_(window),
      stride_(options.stride),
      dilation_(options.dilation),
      padding_(options.padding),
      activation_(std::move(options.activation)) {
  expect_options<Rank>(detail::spatial_layer<Rank>("DepthwiseConv"), {inputs, options.depth_multiplier}, window,
                       {stride_, padding_, dilation_}, Rank == 1);
  const Shape shape = detail::kernel_shape(window, inputs, options.depth_multiplier);
  kernel_ = Variable(options.depthwise_initializer(shape, options.dtype), options.name + "/kernel");
  if (options.use_bias) bias_ = made_bias(checked_mul(inputs, options.depth_multiplier), options);
  regularize(kernel_, options.depthwise_regularizer);
  constrain(kernel_, options.depthwise_constraint);
  regularize(bias_, options.bias_regularizer);
  constrain(bias_, options.bias_constraint);
  set_activity_regularizer(options.activity_regularizer);
}

template <int Rank>
Tensor DepthwiseConv<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>("DepthwiseConv", x, inputs_);
  return with_bias(detail::convolve_depthwise<Rank>(x, kernel_.value(), {stride_, padding_, dilation_}), bias_,
                   activation_);
}

template <int Rank>
std::string DepthwiseConv<Rank>::to_string() const {
  return fmt::format("DepthwiseConv{}D({}, {})", Rank, inputs_, detail::text(window_));
}

template class DepthwiseConv<1>;
template class DepthwiseConv<2>;

// ---- SeparableConv --------------------------------------------------------------------------------------------------

template <int Rank>
SeparableConv<Rank>::SeparableConv(int64_t inputs, int64_t filters, Extents<Rank> window)
    : SeparableConv(inputs, filters, window, SeparableConvOptions<Rank>()) {}

template <int Rank>
SeparableConv<Rank>::SeparableConv(int64_t inputs, int64_t filters, Extents<Rank> window,
                                   SeparableConvOptions<Rank> options)
    : inputs_(inputs),
      filters_(filters),
      window_(window),
      stride_(options.stride),
      dilation_(options.dilation),
      padding_(options.padding),
      activation_(std::move(options.activation)) {
  const int64_t multiplier = options.depth_multiplier;
  expect_options<Rank>(detail::spatial_layer<Rank>("SeparableConv"), {inputs, filters, multiplier}, window,
                       {stride_, padding_, dilation_}, Rank == 1);
  depthwise_kernel_ =
      Variable(options.depthwise_initializer(detail::kernel_shape(window, inputs, multiplier), options.dtype),
               options.name + "/depthwise_kernel");
  pointwise_kernel_ =
      Variable(options.pointwise_initializer(detail::kernel_shape<Rank>(1, checked_mul(inputs, multiplier), filters),
                                             options.dtype),
               options.name + "/pointwise_kernel");
  if (options.use_bias) bias_ = made_bias(filters, options);
  regularize(depthwise_kernel_, options.depthwise_regularizer);
  regularize(pointwise_kernel_, options.pointwise_regularizer);
  constrain(depthwise_kernel_, options.depthwise_constraint);
  constrain(pointwise_kernel_, options.pointwise_constraint);
  regularize(bias_, options.bias_regularizer);
  constrain(bias_, options.bias_constraint);
  set_activity_regularizer(options.activity_regularizer);
}

template <int Rank>
Tensor SeparableConv<Rank>::forward(const Tensor& x) const {
  detail::expect_spatial<Rank>("SeparableConv", x, inputs_);
  const Tensor each = detail::convolve_depthwise<Rank>(x, depthwise_kernel_.value(), {stride_, padding_, dilation_});
  return with_bias(detail::convolve<Rank>(each, pointwise_kernel_.value(), {}), bias_, activation_);
}

template <int Rank>
std::string SeparableConv<Rank>::to_string() const {
  return fmt::format("SeparableConv{}D({}, {}, {})", Rank, inputs_, filters_, detail::text(window_));
}

template class SeparableConv<1>;
template class SeparableConv<2>;

}  // namespace panto
