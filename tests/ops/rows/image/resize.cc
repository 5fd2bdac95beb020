// Samples of resized images and of boxes cut out of them. References are written from the formulas, in float64; places
// are quotients that float32 holds, so that neither rounds to another pixel.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>

#include "panto/autograd/transforms/derivatives.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::resize_rows {
namespace {

// Pixels of the original and their weights.
using Mix = std::vector<std::pair<int64_t, double>>;

double scale(const Given& g, int64_t from, int64_t to) {
  return g.flag("align_corners") && to > 1 && from > 1 ? static_cast<double>(from - 1) / static_cast<double>(to - 1)
                                                       : static_cast<double>(from) / static_cast<double>(to);
}
double place(const Given& g, int64_t i, int64_t from, int64_t to) {
  const auto x = static_cast<double>(i);
  return g.flag("half_pixel_centers") ? (x + 0.5) * scale(g, from, to) - 0.5 : x * scale(g, from, to);
}
int64_t inside(double at, int64_t n) { return std::clamp<int64_t>(static_cast<int64_t>(at), 0, n - 1); }

Mix bilinear(const Given& g, int64_t i, int64_t from, int64_t to) {
  const double at = place(g, i, from, to), low = std::floor(at);
  return {{inside(low, from), 1 - (at - low)}, {inside(std::ceil(at), from), at - low}};
}
Mix nearest(const Given& g, int64_t i, int64_t from, int64_t to) {
  const double at = (static_cast<double>(i) + (g.flag("half_pixel_centers") ? 0.5 : 0)) * scale(g, from, to);
  return {{inside(g.flag("align_corners") ? std::round(at) : std::floor(at), from), 1}};
}
// Keys' kernel, at a distance rounded to a 1024th.
Mix bicubic(const Given& g, int64_t i, int64_t from, int64_t to) {
  const double at = place(g, i, from, to), low = std::floor(at), way = std::nearbyint((at - low) * 1024) / 1024;
  const bool keys = g.flag("half_pixel_centers");
  const double a = keys ? -0.5 : -0.75;
  Mix mix;
  double sum = 0;
  for (int64_t k = -1; k <= 2; ++k) {
    const double d = std::abs(static_cast<double>(k) - way), pixel = low + static_cast<double>(k);
    double w = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    if (keys && (pixel < 0 || pixel >= static_cast<double>(from))) w = 0;
    mix.emplace_back(inside(pixel, from), w);
    sum += w;
  }
  for (auto& [pixel, w] : mix) w = keys ? w / sum : w;
  return mix;
}
Mix area(const Given& g, int64_t i, int64_t from, int64_t to) {
  const double size = scale(g, from, to), begin = static_cast<double>(i) * size, end = begin + size;
  Mix mix;
  for (double k = std::floor(begin); k < end; ++k) {
    mix.emplace_back(inside(k, from), (std::min(k + 1, end) - std::max(k, begin)) / size);
  }
  return mix;
}

using Way = Mix (*)(const Given&, int64_t, int64_t, int64_t);

// f(index of the original, index of the resized image, weight).
template <class F>
void for_each_pixel(const Given& g, Way way, const Index& original, int64_t height, int64_t width, F f) {
  for_each_index({original[0], height, width, original[3]}, [&](const Index& o) {
    for (const auto& [y, wy] : way(g, o[1], original[1], height)) {
      for (const auto& [x, wx] : way(g, o[2], original[2], width)) f(Index{o[0], y, x, o[3]}, o, wy * wx);
    }
  });
}

double& element(Array& a, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < index.size(); ++k)
    flat = flat * static_cast<size_t>(a.dims[k]) + static_cast<size_t>(index[k]);
  return a.values[flat];
}

template <Way kWay>
std::vector<Array> resized(const Given& g) {
  const Array& x = g.in[0];
  const Index size = integers(g.in[1]);
  Array y = filled({x.dims[0], size[0], size[1], x.dims[3]}, 0);
  for_each_pixel(g, kWay, x.dims, size[0], size[1],
                 [&](const Index& from, const Index& to, double w) { element(y, to) += w * at(x, from); });
  return {y};
}
// `like`: an image, or height and width.
template <Way kWay>
std::vector<Array> gradient(const Given& g) {
  const Array& dy = g.in[0];
  Index dims = g.in[1].dims;
  if (dims.size() == 1) dims = {dy.dims[0], integer(g.in[1], 0), integer(g.in[1], 1), dy.dims[3]};
  Array dx = filled(dims, 0);
  for_each_pixel(g, kWay, dims, dy.dims[1], dy.dims[2],
                 [&](const Index& from, const Index& to, double w) { element(dx, from) += w * at(dy, to); });
  return {dx};
}

const Attrs kCorners = {{"align_corners", true}}, kCenters = {{"half_pixel_centers", true}};

Array size_of(double height, double width) { return list({height, width}).as(kInt32); }

struct Shapes {
  Index original, resized;
};
std::vector<Shapes> shapes() {
  return {{{1, 3, 4, 2}, {1, 6, 2, 2}}, {{2, 4, 2, 1}, {2, 2, 8, 1}}, {{1, 5, 3, 1}, {1, 1, 5, 1}},
          {{1, 2, 1, 3}, {1, 4, 3, 3}}, {{1, 3, 2, 1}, {1, 3, 2, 1}}, {{0, 2, 2, 1}, {0, 4, 3, 1}}};
}
std::vector<Sample> resize_samples(bool centers = true) {
  std::vector<Sample> samples;
  for (const Attrs& attrs : {Attrs{}, kCorners, kCenters}) {
    if (!centers && !attrs.empty() && attrs[0].name == "half_pixel_centers") continue;
    for (const Shapes& s : shapes()) {
      samples.push_back({.in = {draw(s.original, -50, 50),
                                size_of(static_cast<double>(s.resized[1]), static_cast<double>(s.resized[2]))},
                         .attrs = attrs});
    }
  }
  return samples;
}
// Gradients that are given the image, or its size.
std::vector<Sample> grad_samples(bool image) {
  std::vector<Sample> samples;
  for (const Attrs& attrs : {Attrs{}, kCorners, kCenters}) {
    for (const Shapes& s : shapes()) {
      const Array dy = draw(s.resized, -5, 5);
      const auto h = static_cast<double>(s.original[1]), w = static_cast<double>(s.original[2]);
      samples.push_back(
          {.in = {image ? dy.as(kFloat32) : dy, image ? draw(s.original) : size_of(h, w)}, .attrs = attrs});
    }
  }
  return samples;
}

// <f(x), weights> has the gradient that it has, being linear: of x itself the product is the same. And so has what the
// gradient is a function of.
void check_linear(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const auto dot = [](const Tensor& a, const Tensor& b) { return sum(cast(a, kFloat64) * cast(b, kFloat64)); };
  const Tensor y = f(x);
  const Tensor dx = grad([&](const Tensor& v) { return sum(square(cast(f(v), kFloat32))); })(x);
  const double all = 2 * dot(y, y).item<double>();
  BOOST_TEST(dot(x, dx).item<double>() == all, boost::test_tools::tolerance(1e-5));
  // The second derivative of a square is constant: the gradient of <dx, v> by x is that of <f(v), f(x)>, twice.
  const Tensor v = reverse(x, {1});
  const Tensor second =
      grad([&](const Tensor& u) { return sum(grad([&](const Tensor& w) { return sum(square(f(w))); })(u) * v); })(x);
  const Tensor expected = grad([&](const Tensor& u) { return 2 * sum(f(u) * f(v)); })(x);
  BOOST_TEST(difference(to_array(expected), second, {.units = 64, .floor = 10}) == "");
}
template <class Resize>
void check_all(const Resize& resize) {
  const Tensor x = to_tensor(draw({2, 3, 4, 2}), kFloat32);
  for (const bool corners : {false, true}) check_linear([&](const Tensor& v) { return resize(v, corners, false); }, x);
  check_linear([&](const Tensor& v) { return resize(v, false, true); }, x);
}
void bilinear_derivatives() {
  check_all([](const Tensor& v, bool corners, bool centers) {
    return resize_bilinear(v, {5, 7}, {.align_corners = corners, .half_pixel_centers = centers});
  });
}
void bicubic_derivatives() {
  check_all([](const Tensor& v, bool corners, bool centers) {
    return resize_bicubic(v, {5, 7}, {.align_corners = corners, .half_pixel_centers = centers});
  });
}

const Array kImage = draw({1, 2, 2, 1});

std::vector<ErrorSample> resize_errors(bool centers = true) {
  std::vector<ErrorSample> errors = {
      {.in = {draw({2, 2, 1}), size_of(2, 2)}, .text = "images: expected rank 4, got shape [2,2,1]"},
      {.in = {kImage, size_of(2, 0)}, .text = "size[1]: expected at least 1, got 0"},
      {.in = {kImage, list({2, 2, 1}).as(kInt32)}, .text = "size: expected a height and a width, got 3 numbers"},
      {.in = {draw({1, 0, 2, 1}), size_of(2, 2)},
       .text = "images: expected a height and width of at least 1, got shape [1,0,2,1]"}};
  if (centers) {
    errors.push_back({.in = {kImage, size_of(2, 2)},
                      .attrs = {{"align_corners", true}, {"half_pixel_centers", true}},
                      .text = "align_corners: expected false where half_pixel_centers is true, got true"});
  }
  return errors;
}
const std::vector<ErrorSample> kGradErrors = {{.in = {kImage.as(kFloat32), draw({2, 2, 2, 1})},
                                               .text = "number of images in grads and original_image: expected "}};

// ---- Boxes ----------------------------------------------------------------------------------------------------------

// f(index of the image, index of the crop, weight, derivatives of it by the four numbers of the box); with a number
// below 0 as the image where the crop is outside.
template <class F>
void for_each_crop(const Given& g, const Index& image, const Index& crop, const Array& boxes, const Array& numbers,
                   F f) {
  const bool rounds = g.text("method") == "nearest";
  for_each_index(crop, [&](const Index& o) {
    double at_place[2], by_first[2], by_second[2];
    bool outside = false;
    for (int k = 0; k < 2; ++k) {
      const double first = at(boxes, {o[0], k}), second = at(boxes, {o[0], k + 2});
      const auto last = static_cast<double>(image[static_cast<size_t>(k + 1)] - 1);
      const int64_t n = crop[static_cast<size_t>(k + 1)];
      const double way = n > 1 ? static_cast<double>(o[static_cast<size_t>(k + 1)]) / static_cast<double>(n - 1) : 0.5;
      at_place[k] = (first + (second - first) * way) * last;
      by_first[k] = (1 - way) * last;
      by_second[k] = way * last;
      outside = outside || at_place[k] < 0 || at_place[k] > last;
    }
    if (outside) return f(Index{-1, 0, 0, 0}, o, 0.0, std::vector<double>(4));
    const auto number = static_cast<int64_t>(numbers.values[static_cast<size_t>(o[0])]);
    if (rounds) {
      return f(Index{number, static_cast<int64_t>(std::round(at_place[0])),
                     static_cast<int64_t>(std::round(at_place[1])), o[3]},
               o, 1.0, std::vector<double>(4));
    }
    for (const bool down : {false, true}) {
      for (const bool right : {false, true}) {
        const double y = down ? std::ceil(at_place[0]) : std::floor(at_place[0]);
        const double x = right ? std::ceil(at_place[1]) : std::floor(at_place[1]);
        const double way_y = at_place[0] - std::floor(at_place[0]), way_x = at_place[1] - std::floor(at_place[1]);
        const double wy = down ? way_y : 1 - way_y, wx = right ? way_x : 1 - way_x;
        const double dy = down ? 1 : -1, dx = right ? 1 : -1;
        f(Index{number, static_cast<int64_t>(y), static_cast<int64_t>(x), o[3]}, o, wy * wx,
          std::vector<double>{dy * wx * by_first[0], dx * wy * by_first[1], dy * wx * by_second[0],
                              dx * wy * by_second[1]});
      }
    }
  });
}
std::vector<Array> cropped(const Given& g) {
  const Index size = integers(g.in[3]);
  Array y = filled({g.in[1].dims[0], size[0], size[1], g.in[0].dims[3]}, 0);
  for_each_crop(g, g.in[0].dims, y.dims, g.in[1], g.in[2],
                [&](const Index& from, const Index& to, double w, const auto&) {
                  element(y, to) += from[0] < 0 ? g.real("extrapolation_value") : w * at(g.in[0], from);
                });
  return {y};
}
std::vector<Array> crop_by_image(const Given& g) {
  Array dx = filled(integers(g.in[3]), 0);
  for_each_crop(g, dx.dims, g.in[0].dims, g.in[1], g.in[2],
                [&](const Index& from, const Index& to, double w, const auto&) {
                  if (from[0] >= 0) element(dx, from) += w * at(g.in[0], to);
                });
  return {dx};
}
std::vector<Array> crop_by_boxes(const Given& g) {
  Array d = filled(g.in[2].dims, 0);
  for_each_crop(g, g.in[1].dims, g.in[0].dims, g.in[2], g.in[3],
                [&](const Index& from, const Index& to, double, const std::vector<double>& by) {
                  for (int64_t k = 0; k < 4 && from[0] >= 0; ++k) {
                    element(d, {to[0], k}) += by[static_cast<size_t>(k)] * at(g.in[0], to) * at(g.in[1], from);
                  }
                });
  return {d};
}

// One inside, one upside down, one that reaches outside.
const Array kBoxes =
    array({3, 4}, {0.0625, 0.125, 0.8125, 0.6875, 0.9375, 0.0625, 0.3125, 0.5625, -0.25, 0.25, 0.75, 1.5}).as(kFloat32);
const Array kNumbers = list({1, 0, 1}).as(kInt32);
const Array kCropSize = size_of(3, 2), kOneByOne = size_of(1, 1);
const Attrs kNearest = {{"method", "nearest"}};

void crop_derivatives() {
  const Tensor boxes = to_tensor(kBoxes, kFloat32), numbers = to_tensor(kNumbers, kInt32);
  const auto f = [&](const Tensor& v) { return crop_and_resize(v, boxes, numbers, {3, 2}); };
  check_linear(f, to_tensor(draw({2, 4, 5, 2}), kFloat32));
}

std::vector<Sample> crop_grad_samples() {
  return {
      {.in = {draw({3, 3, 2, 2}).as(kFloat32), kBoxes, kNumbers, list({2, 4, 5, 2}).as(kInt32)}},
      {.in = {draw({3, 3, 2, 2}).as(kFloat32), kBoxes, kNumbers, list({2, 4, 5, 2}).as(kInt32)}, .attrs = kNearest}};
}

const Family family(
    "image", {
                 {"ResizeBilinear",
                  {.samples = resize_samples(),
                   .reference = resized<bilinear>,
                   .errors = resize_errors(),
                   .own = {{"derivatives", bilinear_derivatives}},
                   .units = 16,
                   .floor = 50,
                   .gradient = false}},
                 {"ResizeBilinearGrad",
                  {.samples = grad_samples(true),
                   .reference = gradient<bilinear>,
                   .errors = kGradErrors,
                   .types = dtypes::kFloating - DTypeSet{kFloat64},
                   .units = 32,
                   .floor = 8,
                   .gradient = false}},
                 // Places and weights are of float32.
                 {"ResizeBilinearGrad",
                  {.samples = grad_samples(true),
                   .reference = gradient<bilinear>,
                   .label = "float64",
                   .types = {kFloat64},
                   .units = 8e9,
                   .floor = 4,
                   .gradient = false}},
                 {"ResizeNearestNeighbor",
                  {.samples = resize_samples(), .reference = resized<nearest>, .errors = resize_errors()}},
                 {"ResizeNearestNeighborGrad",
                  {.samples = grad_samples(false), .reference = gradient<nearest>, .units = 8, .floor = 8}},
                 {"ResizeBicubic",
                  {.samples = resize_samples(),
                   .reference = resized<bicubic>,
                   .errors = resize_errors(),
                   .own = {{"derivatives", bicubic_derivatives}},
                   .units = 32,
                   .floor = 50,
                   .gradient = false}},
                 {"ResizeBicubicGrad",
                  {.samples = grad_samples(true),
                   .reference = gradient<bicubic>,
                   .errors = kGradErrors,
                   .types = dtypes::kFloating - DTypeSet{kFloat64},
                   .units = 64,
                   .floor = 8,
                   .gradient = false}},
                 // Places and weights are of float32.
                 {"ResizeBicubicGrad",
                  {.samples = grad_samples(true),
                   .reference = gradient<bicubic>,
                   .label = "float64",
                   .types = {kFloat64},
                   .units = 8e9,
                   .floor = 4,
                   .gradient = false}},
                 {"ResizeArea",
                  {.samples = resize_samples(false),
                   .reference = resized<area>,
                   .errors = resize_errors(false),
                   .units = 32,
                   .floor = 50}},
                 {"CropAndResize",
                  {.samples = {{.in = {draw({2, 4, 5, 2}, -20, 20), kBoxes, kNumbers, kCropSize},
                                .attrs = {{"extrapolation_value", 7.5}}},
                               {.in = {draw({2, 3, 2, 1}, -20, 20), kBoxes, kNumbers, kOneByOne}},
                               {.in = {draw({2, 4, 5, 2}, -20, 20), kBoxes, kNumbers, kCropSize}, .attrs = kNearest}},
                   .reference = cropped,
                   .errors = {{.in = {draw({2, 4, 5, 2}), kBoxes, list({1, 0, 2}).as(kInt32), kCropSize},
                               .code = Code::kOutOfRange,
                               .text = "box_ind[2]: expected at least 0 and less than the number of images 2, got 2"},
                              {.in = {draw({2, 4, 5, 2}), filled({3, 4}, NAN).as(kFloat32), kNumbers, kCropSize},
                               .text = "boxes[0, 0]: expected a finite number, got nan"},
                              {.in = {draw({2, 4, 5, 2}), kBoxes, kNumbers, size_of(0, 2)},
                               .text = "crop_size[0]: expected at least 1, got 0"},
                              {.in = {draw({2, 4, 5, 2}), filled({3, 3}, 0).as(kFloat32), kNumbers, kCropSize},
                               .text = "dimension 1 of boxes: expected 4, got 3"}},
                   .own = {{"derivatives", crop_derivatives}},
                   .units = 64,
                   .floor = 20,
                   .gradient = false}},
                 {"CropAndResizeGradImage",
                  {.samples = crop_grad_samples(),
                   .reference = crop_by_image,
                   .types = dtypes::kFloating - DTypeSet{kFloat64},
                   .units = 64,
                   .floor = 4,
                   .gradient = false}},
                 // Places and weights are of float32.
                 {"CropAndResizeGradImage",
                  {.samples = crop_grad_samples(),
                   .reference = crop_by_image,
                   .label = "float64",
                   .types = {kFloat64},
                   .units = 8e9,
                   .floor = 4,
                   .gradient = false}},
                 {"CropAndResizeGradBoxes",
                  {.samples = {{.in = {draw({3, 3, 2, 2}).as(kFloat32), draw({2, 4, 5, 2}, -9, 9), kBoxes, kNumbers}},
                               {.in = {draw({3, 1, 1, 2}).as(kFloat32), draw({2, 4, 5, 2}, -9, 9), kBoxes, kNumbers}}},
                   .reference = crop_by_boxes,
                   .units = 256,
                   .floor = 100}},
             });

}  // namespace
}  // namespace panto::test::resize_rows
