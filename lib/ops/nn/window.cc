#include "panto/lib/ops/nn/window.h"

#include <algorithm>
#include <string>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

int64_t dim_of(const PartialShape& shape, int k) { return shape.known_rank() ? shape.dim(k) : kUnknownDim; }

// The numbers of an attribute that has one for each dimension, all at least 1.
std::span<const int64_t> four_of(const CallView& call, AttrName name) {
  const std::span<const int64_t> values = call.integers(name);
  if (values.size() != 4) invalid("{}: expected 4 numbers, got {}", name.text, values.size());
  for (size_t k = 0; k < 4; ++k) {
    if (values[k] < 1) invalid("{}[{}]: expected at least 1, got {}", name.text, k, values[k]);
  }
  return values;
}

void expect_one_for_each_image(std::span<const int64_t> values, const ImageAxes& axes, const char* name, Code code) {
  for (const int k : {axes.batch, axes.channels}) {
    const int64_t v = values[static_cast<size_t>(k)];
    if (v != 1) failf(code, "{} of batch and channels: expected 1, got {}", name, v);
  }
}

// Explicit paddings, before and after each dimension; empty where there are none.
std::span<const int64_t> paddings_of(const CallView& call, const ImageAxes& axes) {
  const bool has_them = call.op().signature().find_attr("explicit_paddings") >= 0;
  const std::span<const int64_t> values = has_them ? call.integers("explicit_paddings") : std::span<const int64_t>();
  if (call.text("padding") != "EXPLICIT") {
    if (!values.empty()) {
      invalid("explicit_paddings: expected none with padding {}, got {}", call.text("padding"), values.size());
    }
    return {};
  }
  if (values.size() != 8) invalid("explicit_paddings: expected 8 numbers, got {}", values.size());
  for (size_t i = 0; i < 8; ++i) {
    if (values[i] < 0) invalid("explicit_paddings[{}]: expected at least 0, got {}", i, values[i]);
  }
  for (const int k : {axes.batch, axes.channels}) {
    const auto at = static_cast<size_t>(2 * k);
    if (values[at] != 0 || values[at + 1] != 0) {
      invalid("explicit_paddings of batch and channels: expected 0, got {} and {}", values[at], values[at + 1]);
    }
  }
  return values;
}

// Fills in paddings and output of one dimension.
void slide(WindowAxis& a, std::string_view padding, std::span<const int64_t> paddings, int dim, const char* what) {
  if (!paddings.empty()) {
    a.before = paddings[static_cast<size_t>(2 * dim)];
    a.after = paddings[static_cast<size_t>(2 * dim + 1)];
  }
  if (a.size < 0) {
    if (padding == "SAME" && a.input >= 0) a.output = ceil_div(a.input, a.stride);
    return;
  }
  const int64_t extent = checked_add(checked_mul(a.size - 1, a.dilation, "window"), 1, "window");
  if (a.input < 0) return;
  if (padding == "SAME") {
    a.output = ceil_div(a.input, a.stride);
    const int64_t covered = a.output == 0 ? 0 : checked_add((a.output - 1) * a.stride, extent, "window");
    const int64_t missing = std::max<int64_t>(0, covered - a.input);
    a.before = missing / 2;
    a.after = missing - a.before;
    return;
  }
  const int64_t padded = checked_add(checked_add(a.input, a.before, "padded size"), a.after, "padded size");
  // As TensorFlow computes it (docs/differences.md): an input that is a little smaller than the window has no position.
  // The stride is at most what an int64 holds, the rest at most half of that after the checks above.
  const int64_t room = padded - extent;
  const int64_t positions = room > INT64_MAX - a.stride ? room / a.stride : (room + a.stride) / a.stride;
  if (positions < 0) {
    invalid("{}: expected at least {} for a window of {} and a stride of {}, got {}{}", what, extent - 2 * a.stride + 1,
            extent, a.stride, padded, paddings.empty() ? "" : " with paddings");
  }
  a.output = positions;
}

}  // namespace

ImageAxes image_axes(std::string_view data_format) {
  if (data_format == "NCHW") return {.batch = 0, .height = 2, .width = 3, .channels = 1};
  if (data_format == "NHWC") return {.batch = 0, .height = 1, .width = 2, .channels = 3};
  failf(Code::kUnimplemented, "data_format: expected NHWC or NCHW, got {}", data_format);
}

int64_t WindowAxis::first(int64_t position) const {
  const int64_t at = begin(position);
  return at >= 0 ? 0 : ceil_div(-at, dilation);
}
int64_t WindowAxis::last(int64_t position) const {
  const int64_t room = input - begin(position);
  return room <= 0 ? 0 : std::min(size, ceil_div(room, dilation));
}

PartialShape Convolution::image(int64_t h, int64_t w, int64_t channels) const {
  if (channels_first()) return PartialShape{batch, channels, h, w};
  return PartialShape{batch, h, w, channels};
}
PartialShape Convolution::input() const { return image(height.input, width.input, in_channels); }
PartialShape Convolution::output() const { return image(height.output, width.output, out_channels); }
PartialShape Convolution::filter() const {
  return PartialShape{height.size, width.size, in_channels < 0 ? kUnknownDim : in_channels / groups, out_channels};
}

Convolution convolution_of(const CallView& call, const PartialShape& input, const PartialShape& filter) {
  Convolution c;
  c.axes = image_axes(call.text("data_format"));
  const auto strides = four_of(call, "strides"), dilations = four_of(call, "dilations");
  expect_one_for_each_image(strides, c.axes, "strides", Code::kInvalidArgument);
  expect_one_for_each_image(dilations, c.axes, "dilations", Code::kInvalidArgument);
  const auto paddings = paddings_of(call, c.axes);
  for (int k = 0; filter.known_rank() && k < 4; ++k) {
    if (filter.dim(k) == 0) invalid("filter: expected a shape without zeros, got {}", filter.to_string());
  }
  c.batch = dim_of(input, c.axes.batch);
  c.in_channels = dim_of(input, c.axes.channels);
  c.out_channels = dim_of(filter, 3);
  const int64_t of_group = dim_of(filter, 2);
  if (c.in_channels >= 0 && of_group > 0) {
    if (c.in_channels == 0 || c.in_channels % of_group != 0) {
      invalid("channels of the input: expected a multiple of the filter's {}, got {}", of_group, c.in_channels);
    }
    c.groups = c.in_channels / of_group;
    if (c.out_channels >= 0 && c.out_channels % c.groups != 0) {
      invalid("output channels: expected a multiple of the {} groups, got {}", c.groups, c.out_channels);
    }
  }
  const auto side = [&](WindowAxis& a, int dim, int of_filter, const char* what) {
    a.input = dim_of(input, dim);
    a.size = dim_of(filter, of_filter);
    a.stride = strides[static_cast<size_t>(dim)];
    a.dilation = dilations[static_cast<size_t>(dim)];
    slide(a, call.text("padding"), paddings, dim, what);
  };
  side(c.height, c.axes.height, 0, "height of the input");
  side(c.width, c.axes.width, 1, "width of the input");
  return c;
}

int64_t convolution_flops(int64_t outputs, int64_t filter_elements, int64_t out_channels) {
  int64_t flops;
  return __builtin_mul_overflow(2 * outputs, filter_elements / out_channels, &flops) ? INT64_MAX : flops;
}

Windows pool_of(const CallView& call, const PartialShape& input) {
  Windows w{image_axes(call.text("data_format")), {}, {}};
  const auto ksize = four_of(call, "ksize"), strides = four_of(call, "strides");
  expect_one_for_each_image(ksize, w.axes, "ksize", Code::kUnimplemented);
  expect_one_for_each_image(strides, w.axes, "strides", Code::kUnimplemented);
  const auto paddings = paddings_of(call, w.axes);
  const auto side = [&](WindowAxis& a, int dim, const char* what) {
    const auto at = static_cast<size_t>(dim);
    a.input = dim_of(input, dim);
    a.size = ksize[at];
    a.stride = strides[at];
    // So every window has an element that is not padding.
    if (!paddings.empty() && std::max(paddings[2 * at], paddings[2 * at + 1]) >= a.size) {
      invalid("explicit_paddings: expected less than the window's {}, got {} and {}", a.size, paddings[2 * at],
              paddings[2 * at + 1]);
    }
    slide(a, call.text("padding"), paddings, dim, what);
  };
  side(w.height, w.axes.height, "height of the input");
  side(w.width, w.axes.width, "width of the input");
  return w;
}

PartialShape pooled_shape(const Windows& windows, const PartialShape& input) {
  int64_t dims[4];
  dims[windows.axes.batch] = dim_of(input, windows.axes.batch);
  dims[windows.axes.channels] = dim_of(input, windows.axes.channels);
  dims[windows.axes.height] = windows.height.output;
  dims[windows.axes.width] = windows.width.output;
  return PartialShape(std::span<const int64_t>(dims));
}

}  // namespace panto
