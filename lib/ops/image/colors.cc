// Colour conversions. The last dimension is red, green, blue or hue, saturation, value.
#include <vector>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/image.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// float16 and bfloat16 as float32, so that results are rounded once.
Tensor computed(const Tensor& x) { return x.dtype() == kFloat64 ? x : cast(x, kFloat32); }

// A tensor of one element as a scalar.
Tensor one_number(const Tensor& x) { return reshape(x, Shape{}); }

struct Colors {
  Tensor first, second, third;
  explicit Colors(const Tensor& x) {
    std::vector<Tensor> parts = unpack(x, 3, {.axis = -1});
    first = parts[0];
    second = parts[1];
    third = parts[2];
  }
};
Tensor joined(const Tensor& a, const Tensor& b, const Tensor& c, DType type) {
  return cast(pack({a, b, c}, {.axis = -1}), type);
}

// Hue from 0 to 1, and the largest and smallest part. Divisors that are not positive are replaced by 1; such quotients
// are unused, also in derivatives.
struct HueAndRange {
  Tensor hue, high, low, range;
  explicit HueAndRange(const Tensor& x) {
    const Colors c(x);
    const Tensor &r = c.first, &g = c.second, &b = c.third;
    high = maximum(maximum(r, g), b);
    low = minimum(minimum(r, g), b);
    range = high - low;
    const Tensor sixth = 1.0 / 6.0 / positive(range);
    const Tensor by_green = sixth * (b - r) + 2.0 / 6.0, by_blue = sixth * (r - g) + 4.0 / 6.0;
    const Tensor any = select(r == high, sixth * (g - b), select(g == high, by_green, by_blue));
    const Tensor some = select(range > 0, any, zeros_like(any));
    hue = select(some < 0, some + 1, some);
  }
  static Tensor positive(const Tensor& x) { return select(x > 0, x, ones_like(x)); }
  Tensor saturation() const { return select(high > 0, range / positive(high), zeros_like(high)); }
};

// The red, green and blue parts of a hue, from 0 to 1.
Colors parts_of_hue(const Tensor& hue) {
  const Tensor h = hue * 6;
  const auto between = [](const Tensor& x) { return minimum(maximum(x, zeros_like(x)), ones_like(x)); };
  return Colors(pack({between(abs(h - 3) - 1), between(2 - abs(h - 2)), between(2 - abs(h - 4))}, {.axis = -1}));
}

Tensor rgb_of(const Tensor& h, const Tensor& s, const Tensor& v, DType type) {
  const Colors parts = parts_of_hue(h);
  const Tensor rest = 1 - s;
  return joined((rest + s * parts.first) * v, (rest + s * parts.second) * v, (rest + s * parts.third) * v, type);
}

}  // namespace

const Op& kRGBToHSV = define_op(
    "RGBToHSV(images: T; T: floating = float32) -> (output: T)",
    {.doc = "Hue, saturation and value of colours [..., 3] whose red, green and blue are from 0 to 1. Hue is 0 where "
            "the three are the same, saturation 0 where the value is.",
     .cpp = "rgb_to_hsv",
     .body =
         [](CompositeContext& c) {
           const HueAndRange x(computed(c.in(0)));
           c.set_out(0, joined(x.hue, x.saturation(), x.high, c.in(0).dtype()));
         },
     .in_tensorflow = true});

const Op& kHSVToRGB =
    define_op("HSVToRGB(images: T; T: floating = float32) -> (output: T)",
              {.doc = "Red, green and blue of colours [..., 3] whose hue, saturation and value are from 0 to 1.",
               .cpp = "hsv_to_rgb",
               .body =
                   [](CompositeContext& c) {
                     const Colors x(computed(c.in(0)));
                     c.set_out(0, rgb_of(x.first, x.second, x.third, c.in(0).dtype()));
                   },
               .in_tensorflow = true});

const Op& kAdjustContrastv2 = define_op(
    "AdjustContrastv2(images: T, contrast_factor: float32; T: float16|float32 = float32) -> (output: T)",
    {.doc = "Images [..., height, width, channels] whose differences from the mean of their channel are multiplied by "
            "`contrast_factor`.",
     .cpp = "adjust_contrast",
     .body =
         [](CompositeContext& c) {
           const Tensor x = computed(c.in(0));
           const Tensor middle = mean(x, {-3, -2}, {.keep_dims = true});
           c.set_out(0, cast((x - middle) * one_number(c.in(1)) + middle, c.in(0).dtype()));
         },
     .in_tensorflow = true});

const Op& kAdjustHue = define_op(
    "AdjustHue(images: T, delta: float32; T: float16|float32 = float32) -> (output: T)",
    {.doc =
         "Images [..., height, width, 3] of red, green and blue whose hue, from 0 to 1 around the circle of colours, "
         "is larger by `delta`. The largest and smallest of the three stay what they are.",
     .cpp = "adjust_hue",
     .body =
         [](CompositeContext& c) {
           const HueAndRange x(computed(c.in(0)));
           const Tensor hue = x.hue + one_number(c.in(1));
           const Colors parts = parts_of_hue(hue - floor(hue));
           c.set_out(0, joined(x.low + x.range * parts.first, x.low + x.range * parts.second,
                               x.low + x.range * parts.third, c.in(0).dtype()));
         },
     .in_tensorflow = true});

const Op& kAdjustSaturation = define_op(
    "AdjustSaturation(images: T, scale: float32; T: float16|float32 = float32) -> (output: T)",
    {.doc = "Images [..., height, width, 3] of red, green and blue whose saturation is multiplied by `scale`, and at "
            "least 0 and at most 1.",
     .cpp = "adjust_saturation",
     .body =
         [](CompositeContext& c) {
           const HueAndRange x(computed(c.in(0)));
           const Tensor s = x.saturation() * one_number(c.in(1));
           c.set_out(0, rgb_of(x.hue, minimum(maximum(s, zeros_like(s)), ones_like(s)), x.high, c.in(0).dtype()));
         },
     .in_tensorflow = true});

}  // namespace panto
