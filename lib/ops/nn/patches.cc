// Patches of images and volumes, and grayscale morphology (largest sums over windows).
#include <limits>
#include <string>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/nn/window.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

std::vector<int64_t> list_of(std::span<const int64_t> values) { return {values.begin(), values.end()}; }

int64_t dim_of(const PartialShape& shape, int k) { return shape.known_rank() ? shape.dim(k) : kUnknownDim; }

int64_t patch(int64_t elements, int64_t channels) {
  return channels < 0 ? kUnknownDim : checked_mul(elements, channels, "patch");
}

void image_patches_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  const Windows w = image_patches_of(c, c.shape(0));
  const int64_t elements = checked_mul(w.height.size, w.width.size, "patch");
  c.output({dim_of(c.shape(0), 0), w.height.output, w.width.output, patch(elements, dim_of(c.shape(0), 3))});
}

void volume_patches_shape(ShapeContext& c) {
  c.expect_rank(0, 5);
  const VolumeWindows w = volume_patches_of(c, c.shape(0));
  const int64_t elements = checked_mul(checked_mul(w.depth.size, w.height.size, "patch"), w.width.size, "patch");
  c.output(
      {dim_of(c.shape(0), 0), w.depth.output, w.height.output, w.width.output, patch(elements, dim_of(c.shape(0), 4))});
}

// The gradient of extracting patches. Positions are numbered from 1; `patches(numbers)` then tells the position of each
// element of a patch, where 0 is padding. `rank`: of the images.
template <class Patches>
Tensor put_back(const Tensor& dy, const Tensor& sizes, int64_t rank, const Patches& patches) {
  const Tensor dims = cast(sizes, kInt64);
  const Tensor batch = slice(dims, {0}, {1}), places = slice(dims, {1}, {rank - 2}),
               channels = slice(dims, {rank - 1}, {1});
  const Tensor count = reduce_prod(places), one = constant_integers({1});
  const Tensor numbers =
      reshape(range(cast(1, kInt64), count + cast(1, kInt64), cast(1, kInt64)), concat({one, places, one}, 0));
  const Tensor from = reshape(patches(numbers), {-1}) - cast(1, kInt64);
  const Tensor elements = reshape(dy, concat({batch, shape(from, {.out_type = kInt64}), channels}, 0));
  const Tensor sums = unsorted_segment_sum(transpose(elements, {1, 0, 2}), from, count);
  return reshape(transpose(sums, {1, 0, 2}), dims);
}

// ---- Morphology -----------------------------------------------------------------------------------------------------

void dilation_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  c.expect_rank(1, 3);
  const Windows w = dilation_of(c, c.shape(0), c.shape(1));
  const int64_t channels = dim_of(c.shape(0), 3);
  const PartialShape result{dim_of(c.shape(0), 0), w.height.output, w.width.output,
                            channels >= 0 ? channels : dim_of(c.shape(1), 2)};
  if (c.num_inputs() == 2) return c.output(result);
  c.expect_rank(2, 4);
  if (!result.compatible_with(c.shape(2))) {
    invalid("out_backprop: expected shape {}, got {}", result.to_string(), c.shape(2).to_string());
  }
}

template <int kInput>
void dilation_backprop_shape(ShapeContext& c) {
  dilation_shape(c);
  c.output(c.shape(kInput).known_rank() ? c.shape(kInput) : PartialShape::of_rank(kInput == 0 ? 4 : 3));
}

// If the filter is the same for all examples, a batch is just more images.
void dilation_batch(BatchContext& c) {
  if (c.batched(1)) return c.loop();
  const int64_t images = c.shape(0).known_rank() ? c.shape(0).dim(0) : kUnknownDim;
  std::vector<Tensor> inputs = {merge_front(c.front(0)), c.in(1)};
  if (c.num_inputs() == 3) inputs.push_back(merge_front(c.front(2)));
  c.set_out(0, split_front(c.again(inputs)[0], c.size(), images));
}

struct Dilation {
  std::vector<int64_t> strides, rates;
  std::string padding;
  template <class Context>
  explicit Dilation(const Context& c)
      : strides(list_of(c.integers("strides"))), rates(list_of(c.integers("rates"))), padding(c.text("padding")) {}
};

// `hot` marks the position of each window's largest sum by ones: [batch, height, width, elements, channels]. Other data
// of windows has the same layout.
struct Winners : Dilation {
  int64_t height, width;  // of a window
  Tensor hot;

  template <class Context>
  Winners(const Context& c, const Tensor& x, const Tensor& filter)
      : Dilation(c), height(dim_of(filter.partial_shape(), 0)), width(dim_of(filter.partial_shape(), 1)) {
    if (height < 0 || width < 0) {
      failf(Code::kUnimplemented, "derivative of {}: expected a filter of known height and width, got {}",
            c.op().name(), filter.partial_shape().to_string());
    }
    const Tensor inside = cast(windows(ones_like(x)), kBool);
    const Tensor sums =
        select(inside, windows(x) + elements(filter), cast(-std::numeric_limits<float>::infinity(), x.dtype()));
    const Tensor one = cast(1, x.dtype());
    hot = one_hot(argmax(sums, 3), height * width, one, one - one, {.axis = 3});
  }
  Tensor windows(const Tensor& x) const {
    const Tensor patches = extract_image_patches(x, {1, height, width, 1}, strides, rates, padding);
    const Tensor places = slice(shape(patches, {.out_type = kInt64}), {0}, {3});
    return reshape(
        patches,
        concat({places, constant_integers({height * width}), slice(shape(x, {.out_type = kInt64}), {3}, {1})}, 0));
  }
  Tensor elements(const Tensor& filter) const {
    return reshape(
        filter, concat({constant_integers({height * width}), slice(shape(filter, {.out_type = kInt64}), {2}, {1})}, 0));
  }
  Tensor choose(const Tensor& x) const { return sum(hot * windows(x), {3}); }
  Tensor choose_elements(const Tensor& filter) const { return sum(hot * elements(filter), {3}); }
};

}  // namespace

const Op& kExtractImagePatches = define_op(
    "ExtractImagePatches(images: T; ksizes: list(int) >= 4, strides: list(int) >= 4, rates: list(int) >= 4,"
    " T: real|complex|bool, padding: {\"SAME\", \"VALID\"}) -> (patches: T)",
    {.doc = "The windows of `ksizes` over the images [batch, height, width, channels], whose elements are `rates` "
            "apart, one behind the other in the last dimension: row by row, all channels of an element together. "
            "What is padding is 0.",
     .shape = image_patches_shape,
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           g.set(0, put_back(g.dy(), g.shape(0), 4, [&](const Tensor& numbers) {
                   return extract_image_patches(numbers, list_of(g.integers("ksizes")), list_of(g.integers("strides")),
                                                list_of(g.integers("rates")), std::string(g.text("padding")));
                 }));
         },
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kExtractVolumePatches = define_op(
    "ExtractVolumePatches(input: T; ksizes: list(int) >= 5, strides: list(int) >= 5, T: real,"
    " padding: {\"SAME\", \"VALID\"}) -> (patches: T)",
    {.doc = "The windows of `ksizes` over the volumes [batch, depth, height, width, channels], one behind the other in "
            "the last dimension: plane by plane and row by row, all channels of an element together. What is padding "
            "is 0.",
     .shape = volume_patches_shape,
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           g.set(0, put_back(g.dy(), g.shape(0), 5, [&](const Tensor& numbers) {
                   return extract_volume_patches(numbers, list_of(g.integers("ksizes")), list_of(g.integers("strides")),
                                                 std::string(g.text("padding")));
                 }));
         },
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kDilation2D = define_op(
    "Dilation2D(input: T, filter: T; T: real, strides: list(int) >= 4, rates: list(int) >= 4,"
    " padding: {\"SAME\", \"VALID\"}) -> (output: T)",
    {.doc =
         "Grayscale dilation of the images `input` [batch, height, width, channels]: for each window, whose elements "
         "are `rates` apart, the largest sum of an element and that of `filter` [height, width, channels] over it. "
         "NaN and padding do not count; where there is nothing else the result is the type's lowest finite number.",
     .cpp = "dilation2d",
     .shape = dilation_shape,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const Dilation d(g);
           if (g.needs(0)) g.set(0, dilation2d_backprop_input(g.in(0), g.in(1), g.dy(), d.strides, d.rates, d.padding));
           if (g.needs(1)) {
             g.set(1, dilation2d_backprop_filter(g.in(0), g.in(1), g.dy(), d.strides, d.rates, d.padding));
           }
         },
     .flops = [](const CostContext& c) { return convolution_flops(c.out_numel(0), c.numel(1), c.dim(1, 2)); },
     .batch = dilation_batch,
     .jvp =
         [](JvpContext& c) {
           const Winners w(c, c.in(0), c.in(1));
           Tensor t;
           if (c.has_tangent(0)) t = w.choose(c.tangent(0));
           if (c.has_tangent(1)) {
             const Tensor more = w.choose_elements(c.tangent(1));
             t = t.defined() ? t + more : more;
           }
           if (t.defined()) c.set(0, t);
         }});

const Op& kDilation2DBackpropInput = define_op(
    "Dilation2DBackpropInput(input: T, filter: T, out_backprop: T; T: real, strides: list(int) >= 4,"
    " rates: list(int) >= 4, padding: {\"SAME\", \"VALID\"}) -> (in_backprop: T)",
    {.doc = "The gradient of Dilation2D with respect to its input: each element of `out_backprop` is added where the "
            "largest sum of its window is, the first one of several.",
     .cpp = "dilation2d_backprop_input",
     .shape = dilation_backprop_shape<0>,
     .no_gradient = "TensorFlow has none",
     .flops = [](const CostContext& c) { return convolution_flops(c.numel(2), c.numel(1), c.dim(1, 2)); },
     .batch = dilation_batch});

const Op& kDilation2DBackpropFilter = define_op(
    "Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T; T: real, strides: list(int) >= 4,"
    " rates: list(int) >= 4, padding: {\"SAME\", \"VALID\"}) -> (filter_backprop: T)",
    {.doc = "The gradient of Dilation2D with respect to its filter: each element of `out_backprop` is added to the "
            "filter's element whose sum is the largest of its window, the first one of several.",
     .cpp = "dilation2d_backprop_filter",
     .shape = dilation_backprop_shape<1>,
     .no_gradient = "TensorFlow has none",
     .flops = [](const CostContext& c) { return convolution_flops(c.numel(2), c.numel(1), c.dim(1, 2)); },
     .batch = batching::loop});

}  // namespace panto
