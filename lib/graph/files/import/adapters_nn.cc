#include "panto/lib/graph/files/import/adapters_nn.h"

#include <limits>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/image.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto::adapters {

namespace {

// The window attributes of a convolution's gradient. 3D ones have neither explicit paddings nor a data format.
template <class Attrs>
Attrs conv_attrs(const AdapterCall& c) {
  Attrs attrs;
  attrs.dilations = c.attr<Ints>("dilations");
  if constexpr (requires { attrs.explicit_paddings; }) {
    attrs.explicit_paddings = c.attr<Ints>("explicit_paddings");
    attrs.data_format = c.attr<std::string>("data_format");
  }
  return attrs;
}

// Dimensions [first, first + count) of a shape.
Tensor part(const Tensor& dims, int64_t first, int64_t count) { return slice(dims, {first}, {count}); }

}  // namespace

Tensors max_pool_v2(const AdapterCall& c) {
  MaxPoolAttrs attrs;
  attrs.data_format = c.attr<std::string>("data_format");
  const Ints ksize = c.constant(1), strides = c.constant(2);
  return {max_pool(c.in(0), ksize, strides, c.attr<std::string>("padding"), attrs)};
}

Tensors max_pool_grad_v2(const AdapterCall& c) {
  MaxPoolGradAttrs attrs;
  attrs.data_format = c.attr<std::string>("data_format");
  const Ints ksize = c.constant(3), strides = c.constant(4);
  return {max_pool_grad(c.in(0), c.in(1), c.in(2), ksize, strides, c.attr<std::string>("padding"), attrs)};
}

Tensors max_pool_grad_grad_v2(const AdapterCall& c) {
  MaxPoolGradGradAttrs attrs;
  attrs.data_format = c.attr<std::string>("data_format");
  const Ints ksize = c.constant(3), strides = c.constant(4);
  return {max_pool_grad_grad(c.in(0), c.in(1), c.in(2), ksize, strides, c.attr<std::string>("padding"), attrs)};
}

// Gradients of convolutions that get the tensor itself, while the new ops take its shape.
Tensors conv2d_by_input(const AdapterCall& c) {
  return {conv2d_backprop_input(shape(c.in(0)), c.in(1), c.in(2), c.attr<Ints>("strides"),
                                c.attr<std::string>("padding"), conv_attrs<Conv2DBackpropInputAttrs>(c))};
}
Tensors conv2d_by_filter(const AdapterCall& c) {
  return {conv2d_backprop_filter(c.in(0), shape(c.in(1)), c.in(2), c.attr<Ints>("strides"),
                                 c.attr<std::string>("padding"), conv_attrs<Conv2DBackpropFilterAttrs>(c))};
}
Tensors conv3d_by_input(const AdapterCall& c) {
  return {conv3d_backprop_input(shape(c.in(0)), c.in(1), c.in(2), c.attr<Ints>("strides"),
                                c.attr<std::string>("padding"), conv_attrs<Conv3DBackpropInputAttrs>(c))};
}
Tensors conv3d_by_filter(const AdapterCall& c) {
  return {conv3d_backprop_filter(c.in(0), shape(c.in(1)), c.in(2), c.attr<Ints>("strides"),
                                 c.attr<std::string>("padding"), conv_attrs<Conv3DBackpropFilterAttrs>(c))};
}

// Without a score threshold: all scores above the lowest number count.
Tensor suppressed(const AdapterCall& c, const Tensor& overlap) {
  return non_max_suppression(c.in(0), c.in(1), c.in(2), overlap,
                             cast(std::numeric_limits<float>::lowest(), overlap.dtype()));
}

// The third reserve output is used on GPUs only.
Tensors batch_norm_grad(const AdapterCall& c) {
  FusedBatchNormGradAttrs attrs;
  attrs.epsilon = c.attr<float>("epsilon");
  attrs.data_format = c.attr<std::string>("data_format");
  attrs.is_training = c.attr<bool>("is_training");
  const Tensor none = allocate_tensor(cpu_device(), kFloat32, Shape{0});
  auto out = fused_batch_norm_grad(c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), none, attrs);
  return {out.x_backprop, out.scale_backprop, out.offset_backprop, out.reserve_space_4, out.reserve_space_5};
}

Tensors global_normalization(const AdapterCall& c) {
  Tensor scale = rsqrt(c.in(2) + c.attr<float>("variance_epsilon"));
  if (c.attr<bool>("scale_after_normalization")) scale = scale * c.in(4);
  return {c.in(0) * scale + (c.in(3) - c.in(1) * scale)};
}

Tensors global_normalization_grad(const AdapterCall& c) {
  const Tensor &t = c.in(0), &m = c.in(1), &gamma = c.in(3), &dy = c.in(4);
  const Tensor variance = c.in(2) + c.attr<float>("variance_epsilon"), scale = rsqrt(variance);
  const bool scaled = c.attr<bool>("scale_after_normalization");
  const Ints images{0, 1, 2};
  const Tensor db = sum(dy, images), spread = sum(dy * (t - m), images), factor = scaled ? scale * gamma : scale;
  return {dy * factor, -db * factor, spread * (-0.5 * factor / variance), db, scaled ? spread * scale : zeros_like(db)};
}

// There may be any number of batch dimensions, also none.
Tensors conv_of_any_rank(const AdapterCall& c) {
  const Tensor &input = c.in(0), &filter = c.in(1);
  const auto groups = c.attr<int64_t>("groups"), batch = c.attr<int64_t>("batch_dims");
  if (groups != 1) failf(Code::kUnimplemented, "groups: expected 1, got {}", groups);
  const int rank = input.partial_shape().rank();
  if (rank < 0) fail(Code::kUnimplemented, "input: expected a known rank, got an unknown one");
  if (batch < 0 || batch >= rank) invalid("batch_dims: expected 0 to {}, got {}", rank - 1, batch);
  const int64_t space = rank - 1 - batch;
  if (space != 2 && space != 3) invalid("input: expected 2 or 3 dimensions of space, got {}", space);
  const auto &padding = c.attr<std::string>("padding"), &format = c.attr<std::string>("data_format");
  if (space == 3 && padding == "EXPLICIT") {
    fail(Code::kUnimplemented, "padding: expected SAME or VALID of volumes, got EXPLICIT");
  }
  const bool first = format == "CHANNELS_FIRST";
  Ints dilations = c.attr<Ints>("dilations");
  if (dilations.empty()) dilations.assign(static_cast<size_t>(space) + 2, 1);
  const Tensor dims = shape(input);
  const Tensor images = batch == 1 ? input : reshape(input, concat({tensor({-1}), part(dims, batch, space + 1)}, 0));
  const auto& strides = c.attr<Ints>("strides");
  const Tensor out = space == 2 ? conv2d(images, filter, strides, padding,
                                         {.explicit_paddings = c.attr<Ints>("explicit_paddings"),
                                          .data_format = first ? "NCHW" : "NHWC",
                                          .dilations = dilations})
                                : conv3d(images, filter, strides, padding,
                                         {.data_format = first ? "NCDHW" : "NDHWC", .dilations = dilations});
  if (batch == 1) return {out};
  return {reshape(out, concat({part(dims, 0, batch), part(shape(out), 1, space + 1)}, 0))};
}

namespace {
Tensors mirrored_conv2d(const AdapterCall& c, const Tensor& images, const Tensor& paddings, const Tensor& filter) {
  return {conv2d(mirror_pad(images, paddings, c.attr<std::string>("mode")), filter, c.attr<Ints>("strides"),
                 c.attr<std::string>("padding"))};
}
}  // namespace

Tensors padded_conv2d(const AdapterCall& c) { return mirrored_conv2d(c, c.in(0), c.in(1), c.in(2)); }

Tensors resized_conv2d(const AdapterCall& c) {
  const Tensor resized = resize_bilinear(c.in(0), c.in(1), {.align_corners = c.attr<bool>("resize_align_corners")});
  return mirrored_conv2d(c, cast(resized, c.in(0).dtype()), c.in(2), c.in(3));
}

}  // namespace panto::adapters
