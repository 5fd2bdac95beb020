// Convolutions of volumes and their gradients. Each of these ops is linear in two of input, filter and output.
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
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

// The attributes of a call, for calling another of the three ops.
struct Attributes {
  std::vector<int64_t> strides, dilations;
  std::string padding, data_format;

  template <class Context>
  explicit Attributes(const Context& g)
      : strides(g.integers("strides").begin(), g.integers("strides").end()),
        dilations(g.integers("dilations").begin(), g.integers("dilations").end()),
        padding(g.text("padding")),
        data_format(g.text("data_format")) {}

  Tensor convolve(const Tensor& input, const Tensor& filter) const {
    return conv3d(input, filter, strides, padding, {.data_format = data_format, .dilations = dilations});
  }
  Tensor by_input(const Tensor& input_sizes, const Tensor& filter, const Tensor& dy) const {
    return conv3d_backprop_input(input_sizes, filter, dy, strides, padding,
                                 {.data_format = data_format, .dilations = dilations});
  }
  Tensor by_filter(const Tensor& input, const Tensor& filter_sizes, const Tensor& dy) const {
    return conv3d_backprop_filter(input, filter_sizes, dy, strides, padding,
                                  {.data_format = data_format, .dilations = dilations});
  }
};

void conv_shape(ShapeContext& c) {
  c.expect_rank(0, 5);
  c.expect_rank(1, 5);
  c.output(volume_convolution_of(c, c.shape(0), c.shape(1)).output());
}

// The shape in input i, of rank 5.
PartialShape sizes_from(const ShapeContext& c, int i, const char* name) {
  const int64_t count = c.vector(i);
  if (count >= 0 && count != 5) invalid("{}: expected 5 numbers, got {}", name, count);
  return c.shape_from(i);
}

// out_backprop, input 2, must have the shape of this convolution's output.
void expect_output(const ShapeContext& c, const VolumeConvolution& convolution) {
  c.expect_rank(2, 5);
  const PartialShape expected = convolution.output();
  if (!expected.compatible_with(c.shape(2))) {
    invalid("out_backprop: expected shape {}, got {}", expected.to_string(), c.shape(2).to_string());
  }
}

void backprop_input_shape(ShapeContext& c) {
  c.expect_rank(1, 5);
  VolumeConvolution convolution = volume_convolution_of(c, sizes_from(c, 0, "input_sizes"), c.shape(1));
  expect_output(c, convolution);
  const PartialShape& dy = c.shape(2);
  if (convolution.batch < 0 && dy.known_rank()) convolution.batch = dy.dim(0);
  c.output(convolution.input());
}

void backprop_filter_shape(ShapeContext& c) {
  c.expect_rank(0, 5);
  const PartialShape sizes = sizes_from(c, 1, "filter_sizes");
  expect_output(c, volume_convolution_of(c, c.shape(0), sizes));
  c.output(sizes.known_rank() ? sizes : PartialShape::of_rank(5));
}

// If the filter is the same for all examples, a batch is just more volumes.
void conv_batch(BatchContext& c) {
  if (c.batched(1)) return c.loop();
  const int64_t volumes = c.shape(0).dim(0);
  c.set_out(0, split_front(c.again({merge_front(c.in(0)), c.in(1)})[0], c.size(), volumes));
}

void backprop_input_batch(BatchContext& c) {
  auto sizes = all_integers(c.in(0));
  if (c.batched(0) || c.batched(1) || !sizes || c.size() < 0) return c.loop();
  const int64_t volumes = (*sizes)[0];
  (*sizes)[0] *= c.size();
  const Tensor all = cast(constant_integers(*sizes), c.in(0).dtype());
  c.set_out(0, split_front(c.again({all, c.in(1), merge_front(c.in(2))})[0], c.size(), volumes));
}

}  // namespace

const Op& kConv3D = define_op(
    "Conv3D(input: T, filter: T; T: floating, strides: list(int) >= 5, padding: {\"SAME\", \"VALID\"},"
    " data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\", dilations: list(int) = [1, 1, 1, 1, 1]) -> (output: T)",
    {.doc = "Each output element is the sum of products of `filter` [depth, height, width, channels, output channels] "
            "and the part of the volumes `input` under it: [batch, depth, height, width, channels], or [batch, "
            "channels, depth, height, width] with `data_format` NCDHW. `strides` and `dilations` have a number for "
            "each dimension of `input`.",
     .cpp = "conv3d",
     .traits = {Trait::kContraction},
     .shape = conv_shape,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const Attributes a(g);
           if (g.needs(0)) g.set(0, a.by_input(g.shape(0), g.in(1), g.dy()));
           if (g.needs(1)) g.set(1, a.by_filter(g.in(0), g.shape(1), g.dy()));
         },
     .flops = [](const CostContext& c) { return convolution_flops(c.out_numel(0), c.numel(1), c.dim(1, 4)); },
     .batch = conv_batch,
     .jvp = tangents::multilinear});

const Op& kConv3DBackpropInputV2 = define_op(
    "Conv3DBackpropInputV2(input_sizes: Tshape @host, filter: T, out_backprop: T; T: floating,"
    " strides: list(int) >= 5, padding: {\"SAME\", \"VALID\"}, data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\","
    " dilations: list(int) = [1, 1, 1, 1, 1], Tshape: index = int32) -> (output: T)",
    {.doc = "The gradient of Conv3D with respect to its input, whose shape is `input_sizes`: a transposed convolution.",
     .cpp = "conv3d_backprop_input",
     .traits = {Trait::kContraction},
     .primary = "T",
     .shape = backprop_input_shape,
     .saves = {in(1), in(2)},
     .gradient =
         [](GradContext& g) {
           const Attributes a(g);
           if (g.needs(1)) g.set(1, a.by_filter(g.dy(), g.shape(1), g.in(2)));
           if (g.needs(2)) g.set(2, a.convolve(g.dy(), g.in(1)));
         },
     .flops = [](const CostContext& c) { return convolution_flops(c.numel(2), c.numel(1), c.dim(1, 4)); },
     .batch = backprop_input_batch,
     .jvp = tangents::multilinear});

const Op& kConv3DBackpropFilterV2 = define_op(
    "Conv3DBackpropFilterV2(input: T, filter_sizes: int32 @host, out_backprop: T; T: floating,"
    " strides: list(int) >= 5, padding: {\"SAME\", \"VALID\"}, data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\","
    " dilations: list(int) = [1, 1, 1, 1, 1]) -> (output: T)",
    {.doc = "The gradient of Conv3D with respect to its filter, whose shape is `filter_sizes`.",
     .cpp = "conv3d_backprop_filter",
     .traits = {Trait::kContraction},
     .shape = backprop_filter_shape,
     .saves = {in(0), in(2)},
     .gradient =
         [](GradContext& g) {
           const Attributes a(g);
           if (g.needs(0)) g.set(0, a.by_input(g.shape(0), g.dy(), g.in(2)));
           if (g.needs(2)) g.set(2, a.convolve(g.in(0), g.dy()));
         },
     .flops = [](const CostContext& c) { return convolution_flops(c.numel(2), c.out_numel(0), c.dim(2, 4)); },
     .batch = batching::loop,
     .jvp = tangents::multilinear});

}  // namespace panto
