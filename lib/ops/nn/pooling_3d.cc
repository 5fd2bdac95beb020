// Max and average pooling over volumes, like those over images (pooling.cc) with one more dimension.
#include <string>

#include "panto/lib/ops/nn/pool_rules.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// Casts to a common type, as MaxPool3DGradGrad takes only one.
Tensor gradient_by_grad(const GradContext& g) {
  const PoolAttributes a(g);
  const DType type = g.dy().dtype(), common = g.in(0).dtype() == type ? type : kFloat32;
  return cast(max_pool_3d_grad_grad(cast(g.in(0), common), cast(g.in(1), common), cast(g.dy(), common), a.ksize,
                                    a.strides, a.padding, {.data_format = a.data_format}),
              type);
}

}  // namespace

const Op& kMaxPool3D = define_op(
    "MaxPool3D(input: T; ksize: list(int) >= 5, strides: list(int) >= 5, padding: {\"SAME\", \"VALID\"},"
    " data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\", T: float16|bfloat16|float32) -> (output: T)",
    {.doc = "The largest element of each window of `ksize` over the depth, height and width of the volumes `input` "
            "[batch, depth, height, width, channels], or [batch, channels, depth, height, width] with `data_format` "
            "NCDHW; NaN if there is one. Padding does not count.",
     .cpp = "max_pool_3d",
     .shape = pools::pool_shape<5>,
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           const PoolAttributes a(g);
           g.set(0, max_pool_3d_grad(g.in(0), g.out(0), g.dy(), a.ksize, a.strides, a.padding,
                                     {.data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows,
     .jvp =
         [](JvpContext& c) {
           c.set(0,
                 max_pool_3d_grad_grad(c.in(0), c.out(), c.tangent(0), PoolAttributes::list_of(c.integers("ksize")),
                                       PoolAttributes::list_of(c.integers("strides")), std::string(c.text("padding")),
                                       {.data_format = std::string(c.text("data_format"))}));
         }});

const Op& kMaxPool3DGrad = define_op(
    "MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T; ksize: list(int) >= 5, strides: list(int) >= 5,"
    " padding: {\"SAME\", \"VALID\"}, data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\","
    " T: float16|bfloat16|float32 = float32, TInput: float16|bfloat16|float32 = float32) -> (output: T)",
    {.doc = "The gradient of MaxPool3D: each element of `grad` is added where the largest element of its window is, "
            "the first one of several. `orig_output` is MaxPool3D(orig_input).",
     .cpp = "max_pool_3d_grad",
     .primary = "T",
     .shape = pools::max_grad_shape<5>,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(2)) g.set(2, gradient_by_grad(g));  // it is piecewise constant in the others
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows,
     .jvp = tangents::linear_in<2>});

const Op& kMaxPool3DGradGrad = define_op(
    "MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T; ksize: list(int) >= 5, strides: list(int) >= 5,"
    " padding: {\"SAME\", \"VALID\"}, data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\", T: real) -> (output: T)",
    {.doc = "The gradient of MaxPool3DGrad with respect to its `grad`: for each window the element of `grad`, which "
            "has the shape of `orig_input`, where the largest element of the window is.",
     .cpp = "max_pool_3d_grad_grad",
     .shape = pools::max_grad_grad_shape<5>,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           if (!g.needs(2)) return;
           if (!(DTypeSet{kFloat16, kBFloat16, kFloat32}).contains(g.in(0).dtype())) {
             failf(Code::kUnimplemented,
                   "gradient of MaxPool3DGradGrad: expected a type that MaxPool3DGrad has, got {}",
                   dtype_name(g.in(0).dtype()));
           }
           const PoolAttributes a(g);
           g.set(2, max_pool_3d_grad(g.in(0), g.in(1), g.dy(), a.ksize, a.strides, a.padding,
                                     {.data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows,
     .jvp = tangents::linear_in<2>});

const Op& kAvgPool3D = define_op(
    "AvgPool3D(input: T; ksize: list(int) >= 5, strides: list(int) >= 5, padding: {\"SAME\", \"VALID\"},"
    " data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\", T: floating) -> (output: T)",
    {.doc = "The mean of each window of `ksize` over the depth, height and width of the volumes `input` [batch, depth, "
            "height, width, channels], or [batch, channels, depth, height, width] with `data_format` NCDHW. Padding "
            "is not counted.",
     .cpp = "avg_pool_3d",
     .shape = pools::pool_shape<5>,
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           const PoolAttributes a(g);
           g.set(0,
                 avg_pool_3d_grad(g.shape(0), g.dy(), a.ksize, a.strides, a.padding, {.data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kAvgPool3DGrad = define_op(
    "AvgPool3DGrad(orig_input_shape: int32 @host, grad: T; ksize: list(int) >= 5, strides: list(int) >= 5,"
    " padding: {\"SAME\", \"VALID\"}, data_format: {\"NDHWC\", \"NCDHW\"} = \"NDHWC\", T: floating) -> (output: T)",
    {.doc = "The gradient of AvgPool3D: each element of `grad` is shared equally by the elements of its window.",
     .cpp = "avg_pool_3d_grad",
     .shape = pools::avg_grad_shape<5>,
     .gradient =
         [](GradContext& g) {
           const PoolAttributes a(g);
           g.set(1, avg_pool_3d(g.dy(), a.ksize, a.strides, a.padding, {.data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.out_numel(0); },
     .batch = pools::avg_grad_batch,
     .jvp = tangents::linear});

}  // namespace panto
