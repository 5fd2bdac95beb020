// Max and average pooling over images, and their gradients.
#include <cmath>
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/nn/pool_rules.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

using Attributes = PoolAttributes;

void max_pool_tangent(JvpContext& c) {
  const auto list = [&](AttrName name) {
    const auto values = c.integers(name);
    return std::vector<int64_t>(values.begin(), values.end());
  };
  Tensor x = c.in(0), t = c.tangent(0);
  std::string padding(c.text("padding"));
  if (padding == "EXPLICIT") {  // the op has no explicit padding: pad with -infinity, which is never the maximum
    const Tensor pads = reshape(constant_integers(list("explicit_paddings")), {-1, 2});
    x = select(pad(ones_like(x), pads) > 0, pad(x, pads), -INFINITY);
    t = pad(t, pads);
    padding = "VALID";
  }
  c.set(0, max_pool_grad_grad(x, c.out(), t, list("ksize"), list("strides"), padding,
                              {.data_format = std::string(c.text("data_format"))}));
}

}  // namespace

const Op& kMaxPool = define_op(
    "MaxPool(input: T; T: float16|bfloat16|float32|float64|int32|int64|uint8|int16|int8|uint16 = float32,"
    " ksize: list(int) >= 4, strides: list(int) >= 4, padding: {\"SAME\", \"VALID\", \"EXPLICIT\"},"
    " explicit_paddings: list(int) = [], data_format: {\"NHWC\", \"NCHW\", \"NCHW_VECT_C\"} = \"NHWC\")"
    " -> (output: T)",
    {.doc = "The largest element of each window of `ksize` over the height and width of the images `input`, NaN if "
            "there is one; padding does not count.",
     .shape = pools::pool_shape<4>,
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           const Attributes a(g);
           g.set(0, max_pool_grad(g.in(0), g.out(0), g.dy(), a.ksize, a.strides, a.padding,
                                  {.explicit_paddings = Attributes::list_of(g.integers("explicit_paddings")),
                                   .data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows,
     .jvp = max_pool_tangent});

const Op& kMaxPoolGrad = define_op(
    "MaxPoolGrad(orig_input: T, orig_output: T, grad: T; ksize: list(int) >= 4, strides: list(int) >= 4,"
    " padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}, explicit_paddings: list(int) = [],"
    " data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", T: real = float32) -> (output: T)",
    {.doc = "The gradient of MaxPool: each element of `grad` is added where the largest element of its window is, the "
            "first one of several. `orig_output` is MaxPool(orig_input).",
     .shape = pools::max_grad_shape<4>,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           if (!g.needs(2)) return;  // it is piecewise constant in the others
           if (g.text("padding") == "EXPLICIT") {
             // TensorFlow's op for this has no explicit paddings.
             fail(Code::kUnimplemented, "gradient of MaxPoolGrad: expected padding SAME or VALID, got EXPLICIT");
           }
           const Attributes a(g);
           g.set(2, max_pool_grad_grad(g.in(0), g.in(1), g.dy(), a.ksize, a.strides, a.padding,
                                       {.data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows,
     .jvp = tangents::linear_in<2>});

const Op& kMaxPoolGradGrad = define_op(
    "MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T; ksize: list(int) >= 4, strides: list(int) >= 4,"
    " padding: {\"SAME\", \"VALID\"}, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", T: real) -> (output: T)",
    {.doc = "The gradient of MaxPoolGrad with respect to its `grad`: for each window the element of `grad`, which has "
            "the shape of `orig_input`, where the largest element of the window is.",
     .shape = pools::max_grad_grad_shape<4>,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           if (!g.needs(2)) return;
           const Attributes a(g);
           g.set(2, max_pool_grad(g.in(0), g.in(1), g.dy(), a.ksize, a.strides, a.padding,
                                  {.data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows,
     .jvp = tangents::linear_in<2>});

const Op& kAvgPool = define_op(
    "AvgPool(value: T; ksize: list(int) >= 4, strides: list(int) >= 4, padding: {\"SAME\", \"VALID\"},"
    " data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", T: floating) -> (output: T)",
    {.doc = "The mean of each window of `ksize` over the height and width of the images `value`; padding is "
            "not counted.",
     .shape = pools::pool_shape<4>,
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           const Attributes a(g);
           g.set(0, avg_pool_grad(g.shape(0), g.dy(), a.ksize, a.strides, a.padding, {.data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kAvgPoolGrad = define_op(
    "AvgPoolGrad(orig_input_shape: int32 @host, grad: T; ksize: list(int) >= 4, strides: list(int) >= 4,"
    " padding: {\"SAME\", \"VALID\"}, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", T: floating) -> (output: T)",
    {.doc = "The gradient of AvgPool: each element of `grad` is shared equally by the elements of its window.",
     .shape = pools::avg_grad_shape<4>,
     .gradient =
         [](GradContext& g) {
           const Attributes a(g);
           g.set(1, avg_pool(g.dy(), a.ksize, a.strides, a.padding, {.data_format = a.data_format}));
         },
     .flops = [](const CostContext& c) { return c.out_numel(0); },
     .batch = pools::avg_grad_batch,
     .jvp = tangents::linear});

}  // namespace panto
