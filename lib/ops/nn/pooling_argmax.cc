// Max pooling that also returns the positions of the largest elements.
#include "panto/lib/ops/nn/pool_rules.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

void argmax_shape(ShapeContext& c) {
  pools::pool_shape<4>(c);
  c.output(1, pools::pooled<4>(c, c.shape(0)));
}

// Inputs: input, grad, argmax. For MaxPoolGradGradWithArgmax grad has the shape of the input.
template <bool kOfGrad>
void with_argmax_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  const PartialShape pooled = pools::pooled<4>(c, c.shape(0));
  pools::expect_pooled<4>(c, 1, "grad", kOfGrad ? c.shape(0) : pooled);
  pools::expect_pooled<4>(c, 2, "argmax", pooled);
  if (kOfGrad) return c.output(pooled);
  c.output(c.shape(0).known_rank() ? c.shape(0) : PartialShape::of_rank(4));
}

// If positions include the batch index, examples are not independent.
void rows_of_images(BatchContext& c) { c.flag("include_batch_in_index") ? c.loop() : batching::rows(c); }

}  // namespace

const Op& kMaxPoolWithArgmax = define_op(
    "MaxPoolWithArgmax(input: T; ksize: list(int) >= 4, strides: list(int) >= 4, Targmax: index = int64,"
    " padding: {\"SAME\", \"VALID\"}, include_batch_in_index: bool = false, T: real)"
    " -> (output: T, argmax: Targmax)",
    {.doc =
         "MaxPool of images [batch, height, width, channels], and for each element of the result where in the images "
         "it is, the first one of several: (y * width + x) * channels + channel; with `include_batch_in_index` "
         "(image * height + y) * width and so on. Of NaN it is the largest only where it is a window's first.",
     .primary = "T",
     .shape = argmax_shape,
     .saves = {in(0), out(1)},
     .gradient =
         [](GradContext& g) {
           if (!g.has_dy(0)) return;
           const PoolAttributes a(g);
           g.set(0, max_pool_grad_with_argmax(g.in(0), g.dy(), g.out(1), a.ksize, a.strides, a.padding,
                                              {.include_batch_in_index = g.flag("include_batch_in_index")}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = rows_of_images,
     .jvp =
         [](JvpContext& c) {
           const PoolAttributes a(c);
           c.set(0, max_pool_grad_grad_with_argmax(c.in(0), c.tangent(0), c.out(1), a.ksize, a.strides, a.padding,
                                                   {.include_batch_in_index = c.flag("include_batch_in_index")}));
         }});

const Op& kMaxPoolGradWithArgmax = define_op(
    "MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax; ksize: list(int) >= 4, strides: list(int) >= 4,"
    " padding: {\"SAME\", \"VALID\"}, include_batch_in_index: bool = false, Targmax: index, T: real) -> (output: T)",
    {.doc =
         "The gradient of MaxPoolWithArgmax: each element of `grad` is added to the element of an image of zeros that "
         "`argmax` tells. Only the shape of `input` counts.",
     .primary = "T",
     .shape = with_argmax_shape<false>,
     .saves = {in(0), in(2)},
     .gradient =
         [](GradContext& g) {
           if (!g.needs(1)) return;
           const PoolAttributes a(g);
           g.set(1, max_pool_grad_grad_with_argmax(g.in(0), g.dy(), g.in(2), a.ksize, a.strides, a.padding,
                                                   {.include_batch_in_index = g.flag("include_batch_in_index")}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = rows_of_images,
     .jvp = tangents::linear_in<1>});

const Op& kMaxPoolGradGradWithArgmax = define_op(
    "MaxPoolGradGradWithArgmax(input: T, grad: T, argmax: Targmax; ksize: list(int) >= 4, strides: list(int) >= 4,"
    " padding: {\"SAME\", \"VALID\"}, include_batch_in_index: bool = false, Targmax: index, T: real) -> (output: T)",
    {.doc = "The gradient of MaxPoolGradWithArgmax with respect to its `grad`: the elements of `grad`, which has the "
            "shape of `input`, that `argmax` tells.",
     .primary = "T",
     .shape = with_argmax_shape<true>,
     .saves = {in(0), in(2)},
     .gradient =
         [](GradContext& g) {
           if (!g.needs(1)) return;
           const PoolAttributes a(g);
           g.set(1, max_pool_grad_with_argmax(g.in(0), g.dy(), g.in(2), a.ksize, a.strides, a.padding,
                                              {.include_batch_in_index = g.flag("include_batch_in_index")}));
         },
     .flops = [](const CostContext& c) { return c.numel(0); },
     .batch = rows_of_images,
     .jvp = tangents::linear_in<1>});

}  // namespace panto
