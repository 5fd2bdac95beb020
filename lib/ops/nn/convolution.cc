// Convolutions of images, grouped or depthwise, and their gradients. Each of these ops is linear in two of input,
// filter and output.
#include <string>
#include <vector>

#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/nn/window.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

template <class T>
std::vector<T> list_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

// The attributes of a call, for calling another of the three ops.
struct Attributes {
  std::vector<int64_t> strides, explicit_paddings, dilations;
  std::string padding, data_format;

  template <class Context>
  explicit Attributes(const Context& g)
      : strides(list_of(g.integers("strides"))),
        explicit_paddings(list_of(g.integers("explicit_paddings"))),
        dilations(list_of(g.integers("dilations"))),
        padding(g.text("padding")),
        data_format(g.text("data_format")) {}

  // The options of one of the ops.
  template <class Options>
  Options options() const {
    return {.explicit_paddings = explicit_paddings, .data_format = data_format, .dilations = dilations};
  }
};

// Conv2D and its gradients, with the attributes of one of them.
struct Grouped : Attributes {
  using Attributes::Attributes;
  static constexpr FilterKind kFilters = FilterKind::kOfGroups;
  static constexpr int kFilterAxis = 3;  // the filter dimension along which filters of several examples are joined
  Tensor convolve(const Tensor& input, const Tensor& filter) const {
    return conv2d(input, filter, strides, padding, options<Conv2DAttrs>());
  }
  Tensor by_input(const Tensor& input_sizes, const Tensor& filter, const Tensor& dy) const {
    return conv2d_backprop_input(input_sizes, filter, dy, strides, padding, options<Conv2DBackpropInputAttrs>());
  }
  Tensor by_filter(const Tensor& input, const Tensor& filter_sizes, const Tensor& dy) const {
    return conv2d_backprop_filter(input, filter_sizes, dy, strides, padding, options<Conv2DBackpropFilterAttrs>());
  }
};

struct Depthwise : Attributes {
  using Attributes::Attributes;
  static constexpr FilterKind kFilters = FilterKind::kDepthwise;
  static constexpr int kFilterAxis = 2;
  Tensor convolve(const Tensor& input, const Tensor& filter) const {
    return depthwise_conv2d(input, filter, strides, padding, options<DepthwiseConv2dNativeAttrs>());
  }
  Tensor by_input(const Tensor& input_sizes, const Tensor& filter, const Tensor& dy) const {
    return depthwise_conv2d_backprop_input(input_sizes, filter, dy, strides, padding,
                                           options<DepthwiseConv2dNativeBackpropInputAttrs>());
  }
  Tensor by_filter(const Tensor& input, const Tensor& filter_sizes, const Tensor& dy) const {
    return depthwise_conv2d_backprop_filter(input, filter_sizes, dy, strides, padding,
                                            options<DepthwiseConv2dNativeBackpropFilterAttrs>());
  }
};

void expect_images(const ShapeContext& c, int i) { c.expect_rank(i, 4); }

template <class Ops>
void conv_shape(ShapeContext& c) {
  expect_images(c, 0);
  expect_images(c, 1);
  c.output(convolution_of(c, c.shape(0), c.shape(1), Ops::kFilters).output());
}

// The shape in input i, of rank 4.
PartialShape sizes_from(const ShapeContext& c, int i, const char* name) {
  const int64_t count = c.vector(i);
  if (count >= 0 && count != 4) c.invalid(std::string(name) + ": expected 4 numbers, got " + std::to_string(count));
  return c.shape_from(i);
}

// out_backprop, input 2, must have the shape of this convolution's output.
void expect_output(const ShapeContext& c, const Convolution& convolution) {
  expect_images(c, 2);
  const PartialShape expected = convolution.output();
  if (!expected.compatible_with(c.shape(2))) {
    c.invalid("out_backprop: expected shape " + expected.to_string() + ", got " + c.shape(2).to_string());
  }
}

template <class Ops>
void backprop_input_shape(ShapeContext& c) {
  expect_images(c, 1);
  const PartialShape sizes = sizes_from(c, 0, "input_sizes");
  const Convolution convolution = convolution_of(c, sizes, c.shape(1), Ops::kFilters);
  expect_output(c, convolution);
  const PartialShape& dy = c.shape(2);
  Convolution known = convolution;
  if (known.batch < 0 && dy.known_rank()) known.batch = dy.dim(0);
  c.output(known.input());
}

template <class Ops>
void backprop_filter_shape(ShapeContext& c) {
  expect_images(c, 0);
  const PartialShape sizes = sizes_from(c, 1, "filter_sizes");
  const Convolution convolution = convolution_of(c, c.shape(0), sizes, Ops::kFilters);
  expect_output(c, convolution);
  c.output(sizes.known_rank() ? sizes : PartialShape::of_rank(4));
}

// ---- Inside vmap ----------------------------------------------------------------------------------------------------
// If the filter is the same for all examples, a batch is just more images. If not, the examples' channels are joined,
// and each example becomes a group.

class ChannelsOfBatch {
 public:
  ChannelsOfBatch(const BatchContext& c, int filter_axis)
      : axis_(image_axes(c.text("data_format")).channels), filter_axis_(filter_axis), size_(c.size()) {}

  // [b, n, h, w, c] as [n, h, w, b c].
  Tensor joined_images(const Tensor& images) const { return joined(images, axis_); }
  Tensor parted_images(const Tensor& images) const { return parted(images, axis_); }
  // [b, h, w, c, o] as [h, w, c, b o], or depthwise [b, h, w, c, m] as [h, w, b c, m].
  Tensor joined_filters(const Tensor& filters) const { return joined(filters, filter_axis_); }
  Tensor parted_filters(const Tensor& filters) const { return parted(filters, filter_axis_); }
  int64_t axis() const { return axis_; }

 private:
  Tensor joined(const Tensor& t, int axis) const {
    std::vector<int64_t> perm;
    std::vector<int64_t> dims;
    for (int k = 0; k < 4; ++k) {
      if (k == axis) perm.push_back(0);
      perm.push_back(k + 1);
      dims.push_back(t.partial_shape().dim(k + 1) * (k == axis ? size_ : 1));
    }
    return reshape(transpose(t, perm), dims);
  }
  Tensor parted(const Tensor& t, int axis) const {
    std::vector<int64_t> perm = {axis};
    std::vector<int64_t> dims;
    for (int k = 0; k < 4; ++k) {
      const int64_t d = t.partial_shape().dim(k);
      if (k == axis) dims.push_back(size_);
      dims.push_back(k == axis ? d / size_ : d);
      perm.push_back(k < axis ? k : k + 1);
    }
    return transpose(reshape(t, dims), perm);
  }

  int axis_, filter_axis_;
  int64_t size_;
};

bool all_known(const BatchContext& c, int a, int b) {
  return c.size() > 0 && c.shape(a).fully_known() && c.shape(b).fully_known();
}

Tensor host_sizes(const std::vector<int64_t>& dims) { return cast(constant_integers(dims), kInt32); }

template <class Ops>
void conv_batch(BatchContext& c) {
  const Ops a(c);
  if (!c.batched(1)) {
    const int64_t images = c.shape(0).dim(0);
    return c.set_out(0, split_front(a.convolve(merge_front(c.in(0)), c.in(1)), c.size(), images));
  }
  if (!all_known(c, 0, 1)) return c.loop();
  const ChannelsOfBatch channels(c, Ops::kFilterAxis);
  const bool one_group =
      Ops::kFilters == FilterKind::kOfGroups && c.shape(0).dim(static_cast<int>(channels.axis())) == c.shape(1).dim(2);
  const Tensor images = !c.batched(0) && one_group ? c.in(0) : channels.joined_images(c.front(0));
  c.set_out(0, channels.parted_images(a.convolve(images, channels.joined_filters(c.in(1)))));
}

template <class Ops>
void backprop_input_batch(BatchContext& c) {
  auto sizes = all_integers(c.in(0));
  if (c.batched(0) || !sizes || !all_known(c, 1, 2)) return c.loop();
  const Ops a(c);
  if (!c.batched(1)) {
    const int64_t images = (*sizes)[0];
    (*sizes)[0] *= c.size();
    const Tensor dx = a.by_input(host_sizes(*sizes), c.in(1), merge_front(c.in(2)));
    return c.set_out(0, split_front(dx, c.size(), images));
  }
  const ChannelsOfBatch channels(c, Ops::kFilterAxis);
  (*sizes)[static_cast<size_t>(channels.axis())] *= c.size();
  const Tensor dx =
      a.by_input(host_sizes(*sizes), channels.joined_filters(c.in(1)), channels.joined_images(c.front(2)));
  c.set_out(0, channels.parted_images(dx));
}

template <class Ops>
void backprop_filter_batch(BatchContext& c) {
  auto sizes = all_integers(c.in(1));
  if (c.batched(1) || !sizes || !all_known(c, 0, 2)) return c.loop();
  const Ops a(c);
  const ChannelsOfBatch channels(c, Ops::kFilterAxis);
  const bool one_group =
      Ops::kFilters == FilterKind::kOfGroups && c.shape(0).dim(static_cast<int>(channels.axis())) == (*sizes)[2];
  (*sizes)[Ops::kFilterAxis] *= c.size();
  const Tensor images = !c.batched(0) && one_group ? c.in(0) : channels.joined_images(c.front(0));
  c.set_out(0, channels.parted_filters(a.by_filter(images, host_sizes(*sizes), channels.joined_images(c.front(2)))));
}

template <class Ops>
void conv_gradient(GradContext& g) {
  const Ops a(g);
  if (g.needs(0)) g.set(0, a.by_input(g.shape(0), g.in(1), g.dy()));
  if (g.needs(1)) g.set(1, a.by_filter(g.in(0), g.shape(1), g.dy()));
}

template <class Ops>
void backprop_input_gradient(GradContext& g) {
  const Ops a(g);
  if (g.needs(1)) g.set(1, a.by_filter(g.dy(), g.shape(1), g.in(2)));
  if (g.needs(2)) g.set(2, a.convolve(g.dy(), g.in(1)));
}

template <class Ops>
void backprop_filter_gradient(GradContext& g) {
  const Ops a(g);
  if (g.needs(0)) g.set(0, a.by_input(g.shape(0), g.dy(), g.in(2)));
  if (g.needs(2)) g.set(2, a.convolve(g.in(0), g.dy()));
}

}  // namespace

const Op& kConv2D = define_op(
    "Conv2D(input: T, filter: T; T: float16|bfloat16|float32|float64|int32, strides: list(int),"
    " use_cudnn_on_gpu: bool = true, padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}, explicit_paddings: list(int) = [],"
    " data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", dilations: list(int) = [1, 1, 1, 1]) -> (output: T)",
    {.doc =
         "Each output element is the sum of products of `filter` [height, width, channels, output channels] and the "
         "part of the images `input` under it: [batch, height, width, channels], or [batch, channels, height, width] "
         "with `data_format` NCHW. `strides` and `dilations` have a number for each dimension of `input`, "
         "`explicit_paddings` two. A filter with a fraction of the input's channels makes groups: output channels of "
         "the n-th group see the n-th part of the input's.",
     .cpp = "conv2d",
     .traits = {Trait::kContraction},
     .shape = conv_shape<Grouped>,
     .saves = {in(0), in(1)},
     .gradient = conv_gradient<Grouped>,
     .flops = [](const CostContext& c) { return convolution_flops(c.out_numel(0), c.numel(1), c.dim(1, 3)); },
     .batch = conv_batch<Grouped>,
     .jvp = tangents::multilinear});

const Op& kConv2DBackpropInput = define_op(
    "Conv2DBackpropInput(input_sizes: int32 @host, filter: T, out_backprop: T;"
    " T: float16|bfloat16|float32|float64|int32, strides: list(int), use_cudnn_on_gpu: bool = true,"
    " padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}, explicit_paddings: list(int) = [],"
    " data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", dilations: list(int) = [1, 1, 1, 1]) -> (output: T)",
    {.doc = "The gradient of Conv2D with respect to its input, whose shape is `input_sizes`: a transposed convolution.",
     .cpp = "conv2d_backprop_input",
     .traits = {Trait::kContraction},
     .shape = backprop_input_shape<Grouped>,
     .saves = {in(1), in(2)},
     .gradient = backprop_input_gradient<Grouped>,
     .flops = [](const CostContext& c) { return convolution_flops(c.numel(2), c.numel(1), c.dim(1, 3)); },
     .batch = backprop_input_batch<Grouped>,
     .jvp = tangents::multilinear});

const Op& kConv2DBackpropFilter = define_op(
    "Conv2DBackpropFilter(input: T, filter_sizes: int32 @host, out_backprop: T;"
    " T: float16|bfloat16|float32|float64, strides: list(int), use_cudnn_on_gpu: bool = true,"
    " padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}, explicit_paddings: list(int) = [],"
    " data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", dilations: list(int) = [1, 1, 1, 1]) -> (output: T)",
    {.doc = "The gradient of Conv2D with respect to its filter, whose shape is `filter_sizes`.",
     .cpp = "conv2d_backprop_filter",
     .traits = {Trait::kContraction},
     .shape = backprop_filter_shape<Grouped>,
     .saves = {in(0), in(2)},
     .gradient = backprop_filter_gradient<Grouped>,
     .flops = [](const CostContext& c) { return convolution_flops(c.numel(2), c.out_numel(0), c.dim(2, 3)); },
     .batch = backprop_filter_batch<Grouped>,
     .jvp = tangents::multilinear});

const Op& kDepthwiseConv2dNative = define_op(
    "DepthwiseConv2dNative(input: T, filter: T; T: floating, strides: list(int), padding: {\"SAME\", \"VALID\", "
    "\"EXPLICIT\"},"
    " explicit_paddings: list(int) = [], data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\","
    " dilations: list(int) = [1, 1, 1, 1]) -> (output: T)",
    {.doc = "A convolution of each channel by itself: output channel `c * multiplier + m` is that of channel c of the "
            "images "
            "`input` [batch, height, width, channels] and of filter[:, :, c, m], where `filter` is [height, width, "
            "channels, "
            "multiplier]. Attributes are those of Conv2D.",
     .cpp = "depthwise_conv2d",
     .traits = {Trait::kContraction},
     .shape = conv_shape<Depthwise>,
     .saves = {in(0), in(1)},
     .gradient = conv_gradient<Depthwise>,
     .flops = [](const CostContext& c) { return depthwise_flops(c.out_numel(0), c.dim(1, 0), c.dim(1, 1)); },
     .batch = conv_batch<Depthwise>,
     .jvp = tangents::multilinear});

const Op& kDepthwiseConv2dNativeBackpropInput = define_op(
    "DepthwiseConv2dNativeBackpropInput(input_sizes: int32 @host, filter: T, out_backprop: T; T: floating,"
    " strides: list(int), padding: {\"SAME\", \"VALID\", \"EXPLICIT\"},"
    " explicit_paddings: list(int) = [], data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\","
    " dilations: list(int) = [1, 1, 1, 1]) -> (output: T)",
    {.doc = "The gradient of DepthwiseConv2dNative with respect to its input, whose shape is `input_sizes`.",
     .cpp = "depthwise_conv2d_backprop_input",
     .traits = {Trait::kContraction},
     .shape = backprop_input_shape<Depthwise>,
     .saves = {in(1), in(2)},
     .gradient = backprop_input_gradient<Depthwise>,
     .flops = [](const CostContext& c) { return depthwise_flops(c.numel(2), c.dim(1, 0), c.dim(1, 1)); },
     .batch = backprop_input_batch<Depthwise>,
     .jvp = tangents::multilinear});

const Op& kDepthwiseConv2dNativeBackpropFilter = define_op(
    "DepthwiseConv2dNativeBackpropFilter(input: T, filter_sizes: int32 @host, out_backprop: T; T: floating,"
    " strides: list(int), padding: {\"SAME\", \"VALID\", \"EXPLICIT\"},"
    " explicit_paddings: list(int) = [], data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\","
    " dilations: list(int) = [1, 1, 1, 1]) -> (output: T)",
    {.doc = "The gradient of DepthwiseConv2dNative with respect to its filter, whose shape is `filter_sizes`.",
     .cpp = "depthwise_conv2d_backprop_filter",
     .traits = {Trait::kContraction},
     .shape = backprop_filter_shape<Depthwise>,
     .saves = {in(0), in(2)},
     .gradient = backprop_filter_gradient<Depthwise>,
     .flops = [](const CostContext& c) { return convolution_flops(c.numel(2), c.out_numel(0), c.dim(2, 3)); },
     .batch = backprop_filter_batch<Depthwise>,
     .jvp = tangents::multilinear});

}  // namespace panto
