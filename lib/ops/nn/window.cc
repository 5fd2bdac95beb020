#include "panto/lib/ops/nn/window.h"

#include <algorithm>
#include <string>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

int64_t dim_of(const PartialShape& shape, int k) { return shape.known_rank() ? shape.dim(k) : kUnknownDim; }

// An attribute with one number per dimension, all at least 1.
std::span<const int64_t> numbers_of(const CallView& call, AttrName name, size_t rank) {
  const std::span<const int64_t> values = call.integers(name);
  if (values.size() != rank) invalid("{}: expected {} numbers, got {}", name.text, rank, values.size());
  for (size_t k = 0; k < rank; ++k) {
    if (values[k] < 1) invalid("{}[{}]: expected at least 1, got {}", name.text, k, values[k]);
  }
  return values;
}

template <class Axes>
void expect_one_for_each_image(std::span<const int64_t> values, const Axes& axes, const char* name, Code code) {
  for (const int k : {axes.batch, axes.channels}) {
    const int64_t v = values[static_cast<size_t>(k)];
    if (v != 1) failf(code, "{} of batch and channels: expected 1, got {}", name, v);
  }
}

// Explicit paddings, before and after each dimension; empty if there are none.
std::span<const int64_t> paddings_of(const CallView& call, int batch, int channels) {
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
  for (const int k : {batch, channels}) {
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
  // As in TensorFlow (docs/differences.md): an input slightly smaller than the window has no positions. The stride may
  // be up to INT64_MAX; after the checks above, the other values are at most half of that.
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

PartialShape Convolution::image(int64_t h, int64_t w, int64_t channels) const {
  if (channels_first()) return PartialShape{batch, channels, h, w};
  return PartialShape{batch, h, w, channels};
}
PartialShape Convolution::input() const { return image(height.input, width.input, in_channels); }
PartialShape Convolution::output() const { return image(height.output, width.output, out_channels); }
PartialShape Convolution::filter() const {
  return PartialShape{height.size, width.size, in_channels < 0 ? kUnknownDim : in_channels / groups, out_channels};
}

namespace {

// Fills in the channels for filters of kind kOfGroups.
void group_channels(Convolution& c, const PartialShape& filter) {
  c.out_channels = dim_of(filter, 3);
  const int64_t of_group = dim_of(filter, 2);
  if (c.in_channels < 0 || of_group <= 0) return;
  if (c.in_channels == 0 || c.in_channels % of_group != 0) {
    invalid("channels of the input: expected a multiple of the filter's {}, got {}", of_group, c.in_channels);
  }
  c.groups = c.in_channels / of_group;
  if (c.out_channels >= 0 && c.out_channels % c.groups != 0) {
    invalid("output channels: expected a multiple of the {} groups, got {}", c.groups, c.out_channels);
  }
}

void part_channels(Convolution& c, const PartialShape& filter) {
  const int64_t own = dim_of(filter, 2), multiplier = dim_of(filter, 3);
  if (c.in_channels >= 0 && own >= 0 && c.in_channels != own) {
    invalid("channels of the input: expected the filter's {}, got {}", own, c.in_channels);
  }
  if (c.in_channels < 0) c.in_channels = own;
  if (c.in_channels < 0) return;
  c.groups = c.in_channels;
  if (multiplier >= 0) c.out_channels = checked_mul(c.in_channels, multiplier, "output channels");
}

}  // namespace

Convolution convolution_of(const CallView& call, const PartialShape& input, const PartialShape& filter,
                           FilterKind kind) {
  Convolution c;
  const bool says = call.op().signature().find_attr("data_format") >= 0;
  c.axes = image_axes(says ? call.text("data_format") : "NHWC");
  const auto strides = numbers_of(call, "strides", 4), dilations = numbers_of(call, "dilations", 4);
  expect_one_for_each_image(strides, c.axes, "strides", Code::kInvalidArgument);
  expect_one_for_each_image(dilations, c.axes, "dilations", Code::kInvalidArgument);
  const auto paddings = paddings_of(call, c.axes.batch, c.axes.channels);
  for (int k = 0; filter.known_rank() && k < 4; ++k) {
    if (filter.dim(k) == 0) invalid("filter: expected a shape without zeros, got {}", filter.to_string());
  }
  c.batch = dim_of(input, c.axes.batch);
  c.in_channels = dim_of(input, c.axes.channels);
  kind == FilterKind::kDepthwise ? part_channels(c, filter) : group_channels(c, filter);
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

int64_t depthwise_flops(int64_t outputs, int64_t height, int64_t width) {
  return convolution_flops(outputs, convolution_flops(height, width, 1) / 2, 1);
}

Windows pool_of(const CallView& call, const PartialShape& input) {
  const bool says = call.op().signature().find_attr("data_format") >= 0;
  Windows w{image_axes(says ? call.text("data_format") : "NHWC"), {}, {}};
  const auto ksize = numbers_of(call, "ksize", 4), strides = numbers_of(call, "strides", 4);
  expect_one_for_each_image(ksize, w.axes, "ksize", Code::kUnimplemented);
  expect_one_for_each_image(strides, w.axes, "strides", Code::kUnimplemented);
  const auto paddings = paddings_of(call, w.axes.batch, w.axes.channels);
  const auto side = [&](WindowAxis& a, int dim, const char* what) {
    const auto at = static_cast<size_t>(dim);
    a.input = dim_of(input, dim);
    a.size = ksize[at];
    a.stride = strides[at];
    // This ensures that every window has an element that is not padding.
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

// ---- Volumes --------------------------------------------------------------------------------------------------------

VolumeAxes volume_axes(std::string_view data_format) {
  if (data_format == "NCDHW") return {.batch = 0, .depth = 2, .height = 3, .width = 4, .channels = 1};
  return {.batch = 0, .depth = 1, .height = 2, .width = 3, .channels = 4};
}

namespace {

PartialShape volume(const VolumeAxes& axes, int64_t batch, int64_t d, int64_t h, int64_t w, int64_t channels) {
  int64_t dims[5];
  dims[axes.batch] = batch;
  dims[axes.depth] = d;
  dims[axes.height] = h;
  dims[axes.width] = w;
  dims[axes.channels] = channels;
  return PartialShape(std::span<const int64_t>(dims));
}

constexpr const char* kSides[] = {"depth of the input", "height of the input", "width of the input"};

// Fills in the three sides; windows have a size and a stride for each dimension.
void slide_volume(VolumeWindows& w, const CallView& call, const PartialShape& input, std::span<const int64_t> sizes,
                  std::span<const int64_t> strides) {
  WindowAxis* sides[] = {&w.depth, &w.height, &w.width};
  const int dims[] = {w.axes.depth, w.axes.height, w.axes.width};
  for (int i = 0; i < 3; ++i) {
    WindowAxis& a = *sides[i];
    a.input = dim_of(input, dims[i]);
    a.size = sizes[static_cast<size_t>(dims[i])];
    a.stride = strides[static_cast<size_t>(dims[i])];
    slide(a, call.text("padding"), {}, dims[i], kSides[i]);
  }
}

}  // namespace

PartialShape VolumeConvolution::input() const {
  return volume(axes, batch, depth.input, height.input, width.input, in_channels);
}
PartialShape VolumeConvolution::output() const {
  return volume(axes, batch, depth.output, height.output, width.output, out_channels);
}

VolumeConvolution volume_convolution_of(const CallView& call, const PartialShape& input, const PartialShape& filter) {
  VolumeConvolution c;
  c.axes = volume_axes(call.text("data_format"));
  const auto strides = numbers_of(call, "strides", 5), dilations = numbers_of(call, "dilations", 5);
  expect_one_for_each_image(strides, c.axes, "strides", Code::kInvalidArgument);
  expect_one_for_each_image(dilations, c.axes, "dilations", Code::kInvalidArgument);
  for (int k = 0; filter.known_rank() && k < 5; ++k) {
    if (filter.dim(k) == 0) invalid("filter: expected a shape without zeros, got {}", filter.to_string());
  }
  c.batch = dim_of(input, c.axes.batch);
  c.in_channels = dim_of(input, c.axes.channels);
  c.out_channels = dim_of(filter, 4);
  const int64_t own = dim_of(filter, 3);
  if (c.in_channels >= 0 && own >= 0 && c.in_channels != own) {
    invalid("channels of the input: expected the filter's {}, got {}", own, c.in_channels);
  }
  if (c.in_channels < 0) c.in_channels = own;
  WindowAxis* sides[] = {&c.depth, &c.height, &c.width};
  const int dims[] = {c.axes.depth, c.axes.height, c.axes.width};
  for (int i = 0; i < 3; ++i) {
    WindowAxis& a = *sides[i];
    a.input = dim_of(input, dims[i]);
    a.size = dim_of(filter, i);
    a.stride = strides[static_cast<size_t>(dims[i])];
    a.dilation = dilations[static_cast<size_t>(dims[i])];
    slide(a, call.text("padding"), {}, dims[i], kSides[i]);
  }
  return c;
}

VolumeWindows volume_pool_of(const CallView& call, const PartialShape& input) {
  VolumeWindows w{volume_axes(call.text("data_format")), {}, {}, {}};
  const auto ksize = numbers_of(call, "ksize", 5), strides = numbers_of(call, "strides", 5);
  expect_one_for_each_image(ksize, w.axes, "ksize", Code::kUnimplemented);
  expect_one_for_each_image(strides, w.axes, "strides", Code::kUnimplemented);
  slide_volume(w, call, input, ksize, strides);
  return w;
}

PartialShape pooled_shape(const VolumeWindows& w, const PartialShape& input) {
  return volume(w.axes, dim_of(input, w.axes.batch), w.depth.output, w.height.output, w.width.output,
                dim_of(input, w.axes.channels));
}

// ---- Patches -------------------------------------------------------------------------------------------------------

namespace {

Windows apart(const CallView& call, const PartialShape& input, int64_t height, int64_t width) {
  Windows w{image_axes("NHWC"), {}, {}};
  const auto strides = numbers_of(call, "strides", 4), rates = numbers_of(call, "rates", 4);
  expect_one_for_each_image(strides, w.axes, "strides", Code::kUnimplemented);
  expect_one_for_each_image(rates, w.axes, "rates", Code::kUnimplemented);
  const auto side = [&](WindowAxis& a, int dim, int64_t size, const char* what) {
    a.input = dim_of(input, dim);
    a.size = size;
    a.stride = strides[static_cast<size_t>(dim)];
    a.dilation = rates[static_cast<size_t>(dim)];
    slide(a, call.text("padding"), {}, dim, what);
  };
  side(w.height, w.axes.height, height, "height of the input");
  side(w.width, w.axes.width, width, "width of the input");
  return w;
}

}  // namespace

Windows image_patches_of(const CallView& call, const PartialShape& input) {
  const auto ksizes = numbers_of(call, "ksizes", 4);
  expect_one_for_each_image(ksizes, image_axes("NHWC"), "ksizes", Code::kUnimplemented);
  return apart(call, input, ksizes[1], ksizes[2]);
}

VolumeWindows volume_patches_of(const CallView& call, const PartialShape& input) {
  VolumeWindows w{volume_axes("NDHWC"), {}, {}, {}};
  const auto ksizes = numbers_of(call, "ksizes", 5), strides = numbers_of(call, "strides", 5);
  expect_one_for_each_image(ksizes, w.axes, "ksizes", Code::kUnimplemented);
  expect_one_for_each_image(strides, w.axes, "strides", Code::kUnimplemented);
  slide_volume(w, call, input, ksizes, strides);
  return w;
}

Windows dilation_of(const CallView& call, const PartialShape& input, const PartialShape& filter) {
  for (int k = 0; filter.known_rank() && k < 2; ++k) {
    if (filter.dim(k) == 0) invalid("filter: expected a height and width of at least 1, got {}", filter.to_string());
  }
  const int64_t channels = dim_of(input, 3), own = dim_of(filter, 2);
  if (channels >= 0 && own >= 0 && channels != own) {
    invalid("channels of the input: expected the filter's {}, got {}", own, channels);
  }
  return apart(call, input, dim_of(filter, 0), dim_of(filter, 1));
}

}  // namespace panto
