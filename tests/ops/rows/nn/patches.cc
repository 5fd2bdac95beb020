// Samples of windows over images and volumes by themselves, of their largest sums, and of pools that say where the
// largest elements are; each against its definition.
#include <limits>

#include "panto/tests/ops/rows/nn/windows.h"

namespace panto::test::patches_rows {
namespace {

// One of the dimensions that windows slide along.
Side side(const Given& g, size_t dim, int64_t input, int64_t size, int64_t rate) {
  Side s{input, size, g.integers("strides")[dim], rate, 0, 0};
  const int64_t extent = (size - 1) * rate + 1;
  const bool same = g.text("padding") == "SAME";
  s.output = same ? (input + s.stride - 1) / s.stride : (input - extent + s.stride) / s.stride;
  if (same) s.before = std::max<int64_t>(0, (s.output - 1) * s.stride + extent - input) / 2;
  return s;
}

// f(number of the element, its index) for the elements of a window of output o that are inside.
template <class F>
void for_window(const std::vector<Side>& sides, const Index& o, F f) {
  Index windows;
  for (const Side& s : sides) windows.push_back(s.size);
  int64_t number = 0;
  for_each_index(windows, [&](const Index& tap) {
    Index at = {o[0]};
    bool inside = true;
    for (size_t i = 0; i < sides.size(); ++i) {
      at.push_back(sides[i].at(o[i + 1], tap[i]));
      inside = inside && at.back() >= 0 && at.back() < sides[i].input;
    }
    if (inside) f(number, at);
    ++number;
  });
}
Index outputs(const std::vector<Side>& sides, int64_t n, int64_t channels) {
  Index dims = {n};
  for (const Side& s : sides) dims.push_back(s.output);
  dims.push_back(channels);
  return dims;
}
Index with(Index at, int64_t channel) {
  at.push_back(channel);
  return at;
}

std::vector<Array> patches(const Given& g, const std::vector<Side>& sides) {
  const Array& x = g.in[0];
  const int64_t channels = x.dims.back();
  int64_t elements = 1;
  for (const Side& s : sides) elements *= s.size;
  Array y = filled(outputs(sides, x.dims[0], elements * channels), 0);
  if (!x.imag.empty()) y.imag.resize(y.values.size());
  for_each_index(outputs(sides, x.dims[0], channels), [&](const Index& o) {
    for_window(sides, o, [&](int64_t number, const Index& place) {
      Index to = o;
      to.back() += number * channels;
      element(y, to) = at(x, with(place, o.back()));
      if (!x.imag.empty()) {
        Array from = x, parts = y;
        from.values = x.imag;
        const double v = at(from, with(place, o.back()));
        const double* first = y.values.data();
        y.imag[static_cast<size_t>(&element(y, to) - first)] = v;
      }
    });
  });
  return {y};
}
std::vector<Array> image_patches(const Given& g) {
  const Index& d = g.in[0].dims;
  const auto k = g.integers("ksizes"), r = g.integers("rates");
  return patches(g, {side(g, 1, d[1], k[1], r[1]), side(g, 2, d[2], k[2], r[2])});
}
std::vector<Array> volume_patches(const Given& g) {
  const Index& d = g.in[0].dims;
  const auto k = g.integers("ksizes");
  return patches(g, {side(g, 1, d[1], k[1], 1), side(g, 2, d[2], k[2], 1), side(g, 3, d[3], k[3], 1)});
}

Attrs patch_attrs(const char* padding, std::vector<int64_t> ksizes, std::vector<int64_t> strides,
                  std::vector<int64_t> rates = {}) {
  Attrs attrs = attrs_of(padding, std::move(strides));
  attrs.emplace_back("ksizes", std::move(ksizes));
  if (!rates.empty()) attrs.emplace_back("rates", std::move(rates));
  return attrs;
}

// ---- Morphology -----------------------------------------------------------------------------------------------------

struct Best {
  double sum;
  Index place, tap;
};
// f(output, where its window's largest sum is).
template <class F>
Index for_each_largest(const Given& g, F f) {
  const Index &d = g.in[0].dims, &k = g.in[1].dims;
  const auto r = g.integers("rates");
  const std::vector<Side> sides = {side(g, 1, d[1], k[0], r[1]), side(g, 2, d[2], k[1], r[2])};
  const Index dims = outputs(sides, d[0], d[3]);
  for_each_index(dims, [&](const Index& o) {
    Best best{-std::numeric_limits<double>::infinity(), {}, {}};
    for_window(sides, o, [&](int64_t number, const Index& place) {
      const Index in = with(place, o[3]), tap = {number / k[1], number % k[1], o[3]};
      const double sum = at(g.in[0], in) + at(g.in[1], tap);
      if (sum > best.sum) best = {sum, in, tap};
    });
    f(o, best);
  });
  return dims;
}
std::vector<Array> dilation(const Given& g) {
  Array y = filled(for_each_largest(g, [](const auto&...) {}), 0);
  for_each_largest(g, [&](const Index& o, const Best& best) { element(y, o) = best.sum; });
  return {y};
}
std::vector<Array> dilation_by_input(const Given& g) {
  Array dx = filled(g.in[0].dims, 0);
  for_each_largest(g, [&](const Index& o, const Best& best) { element(dx, best.place) += at(g.in[2], o); });
  return {dx};
}
std::vector<Array> dilation_by_filter(const Given& g) {
  Array df = filled(g.in[1].dims, 0);
  for_each_largest(g, [&](const Index& o, const Best& best) { element(df, best.tap) += at(g.in[2], o); });
  return {df};
}

struct DilationShapes {
  Index input, filter, output;
  Attrs attrs;
};
std::vector<Sample> dilation_samples(bool gradient) {
  const auto attrs = [](const char* padding, std::vector<int64_t> strides, std::vector<int64_t> rates) {
    return attrs_of(padding, std::move(strides), {{"rates", std::move(rates)}});
  };
  const std::vector<DilationShapes> all = {
      {{1, 3, 4, 2}, {2, 2, 2}, {1, 2, 3, 2}, attrs("VALID", kOnes, kOnes)},
      {{2, 4, 3, 1}, {3, 2, 1}, {2, 2, 3, 1}, attrs("SAME", {1, 2, 1, 1}, kOnes)},
      {{1, 5, 4, 1}, {2, 2, 1}, {1, 3, 2, 1}, attrs("VALID", {1, 1, 1, 1}, {1, 2, 2, 1})},
      {{0, 2, 2, 1}, {1, 1, 1}, {0, 2, 2, 1}, attrs("SAME", kOnes, kOnes)},
  };
  std::vector<Sample> samples;
  for (const DilationShapes& s : all) {
    samples.push_back({.in = {draw(s.input, -20, 20), draw(s.filter, -3, 3, 1)}, .attrs = s.attrs});
    if (gradient) samples.back().in.push_back(draw(s.output, -2, 2, 2));
  }
  return samples;
}

// ---- Pools that say where -------------------------------------------------------------------------------------------

template <class F>
Index for_each_pool(const Given& g, F f) {
  const Index& d = g.in[0].dims;
  const auto k = g.integers("ksize");
  const std::vector<Side> sides = {side(g, 1, d[1], k[1], 1), side(g, 2, d[2], k[2], 1)};
  const Index dims = outputs(sides, d[0], d[3]);
  for_each_index(dims, [&](const Index& o) {
    Index best;
    for_window(sides, o, [&](int64_t, const Index& place) {
      const Index in = with(place, o[3]);
      if (best.empty() || at(g.in[0], in) > at(g.in[0], best)) best = in;
    });
    f(o, best);
  });
  return dims;
}
double position(const Given& g, const Index& at) {
  const Index& d = g.in[0].dims;
  const int64_t image = g.flag("include_batch_in_index") ? at[0] : 0;
  return static_cast<double>(((image * d[1] + at[1]) * d[2] + at[2]) * d[3] + at[3]);
}
std::vector<Array> with_argmax(const Given& g) {
  const Index dims = for_each_pool(g, [](const auto&...) {});
  Array y = filled(dims, 0), where = filled(dims, 0);
  for_each_pool(g, [&](const Index& o, const Index& best) {
    element(y, o) = at(g.in[0], best);
    element(where, o) = position(g, best);
  });
  return {y, where};
}
// Element number i of the pooled ones, and of the images.
template <class F>
void for_argmax(const Given& g, F f) {
  const Array& where = g.in[2];
  const int64_t images = g.in[0].dims[0], each = g.in[0].numel() / std::max<int64_t>(1, images);
  for (size_t i = 0; i < where.values.size(); ++i) {
    const auto image = static_cast<int64_t>(i) / (where.numel() / images);
    const int64_t first = g.flag("include_batch_in_index") ? 0 : image * each;
    f(i, static_cast<size_t>(first + integer(where, i)));
  }
}
std::vector<Array> grad_with_argmax(const Given& g) {
  Array dx = filled(g.in[0].dims, 0);
  for_argmax(g, [&](size_t i, size_t to) { dx.values[to] += g.in[1].values[i]; });
  return {dx};
}
std::vector<Array> grad_grad_with_argmax(const Given& g) {
  Array y = filled(g.in[2].dims, 0);
  for_argmax(g, [&](size_t i, size_t from) { y.values[i] = g.in[1].values[from]; });
  return {y};
}
Attrs pool_attrs(const char* padding, std::vector<int64_t> ksize, std::vector<int64_t> strides, bool of_batch = false) {
  return attrs_of(padding, std::move(strides), {{"ksize", std::move(ksize)}, {"include_batch_in_index", of_batch}});
}
const Attrs kTwo = pool_attrs("VALID", {1, 2, 2, 1}, {1, 2, 2, 1});
Array places(Index dims, std::vector<double> values) { return array(std::move(dims), std::move(values)).as(kInt64); }

const Family family(
    "patches",
    {
        {"ExtractImagePatches",
         {.samples = {{.in = {draw({1, 3, 4, 2})}, .attrs = patch_attrs("VALID", {1, 2, 2, 1}, kOnes, kOnes)},
                      {.in = {draw({2, 4, 3, 1})}, .attrs = patch_attrs("SAME", {1, 3, 2, 1}, {1, 2, 1, 1}, kOnes)},
                      {.in = {draw({1, 5, 5, 1})}, .attrs = patch_attrs("VALID", {1, 2, 3, 1}, kOnes, {1, 3, 2, 1})},
                      {.in = {draw({1, 4, 3, 2})},
                       .attrs = patch_attrs("SAME", {1, 2, 2, 1}, {1, 3, 2, 1}, {1, 2, 2, 1})},
                      {.in = {zeros_and_ones({1, 2, 3, 1})}, .attrs = patch_attrs("SAME", {1, 2, 2, 1}, kOnes, kOnes)},
                      {.in = {draw({0, 3, 3, 1})}, .attrs = patch_attrs("VALID", {1, 2, 2, 1}, kOnes, kOnes)},
                      {.in = {draw({1, 1, 3, 1})}, .attrs = patch_attrs("VALID", {1, 2, 2, 1}, kOnes, kOnes)}},
          .reference = image_patches,
          .errors = {{.in = {draw({3, 3, 1})},
                      .attrs = patch_attrs("VALID", {1, 2, 2, 1}, kOnes, kOnes),
                      .text = "images: expected rank 4, got shape [3,3,1]"},
                     {.in = {draw({1, 3, 3, 1})},
                      .attrs = patch_attrs("VALID", {1, 0, 2, 1}, kOnes, kOnes),
                      .text = "ksizes[1]: expected at least 1, got 0"},
                     {.in = {draw({1, 3, 3, 1})},
                      .attrs = patch_attrs("SAME", {1, int64_t{1} << 62, 4, 1}, kOnes, kOnes),
                      .text = "patch: expected a product below 2^63, got 4611686018427387904 * 4"}}}},
        {"ExtractVolumePatches",
         {.samples = {{.in = {draw({1, 2, 3, 2, 2})}, .attrs = patch_attrs("VALID", {1, 2, 2, 1, 1}, {1, 1, 1, 1, 1})},
                      {.in = {draw({2, 3, 2, 3, 1})}, .attrs = patch_attrs("SAME", {1, 2, 1, 3, 1}, {1, 2, 1, 2, 1})}},
          .reference = volume_patches,
          .errors = {{.in = {draw({3, 3, 3, 1})},
                      .attrs = patch_attrs("VALID", {1, 2, 2, 2, 1}, {1, 1, 1, 1, 1}),
                      .text = "input: expected rank 5, got shape [3,3,3,1]"}}}},
        {"Dilation2D",
         {.samples = dilation_samples(false),
          .reference = dilation,
          .errors = {{.in = {draw({1, 3, 3, 2}), draw({2, 2, 1})},
                      .attrs = attrs_of("VALID", kOnes, {{"rates", kOnes}}),
                      .text = "channels of the input: expected the filter's 1, got 2"},
                     {.in = {draw({1, 3, 3, 2}), draw({0, 2, 2})},
                      .attrs = attrs_of("VALID", kOnes, {{"rates", kOnes}}),
                      .text = "filter: expected a height and width of at least 1, got [0,2,2]"}},
          .second_order = false}},
        {"Dilation2DBackpropInput",
         {.samples = dilation_samples(true),
          .reference = dilation_by_input,
          .errors = {{.in = {draw({1, 3, 3, 1}), draw({2, 2, 1}), draw({1, 3, 2, 1})},
                      .attrs = attrs_of("VALID", kOnes, {{"rates", kOnes}}),
                      .text = "out_backprop: expected shape [1,2,2,1], got [1,3,2,1]"}},
          .units = 8}},
        {"Dilation2DBackpropFilter",
         {.samples = dilation_samples(true), .reference = dilation_by_filter, .units = 8, .floor = 8}},
        {"MaxPoolWithArgmax",
         {.samples = {{.in = {draw({2, 4, 4, 2}, -20, 20)}, .attrs = kTwo},
                      {.in = {draw({2, 3, 5, 1}, -20, 20)},
                       .attrs = pool_attrs("SAME", {1, 2, 3, 1}, {1, 2, 2, 1}, true)},
                      {.in = {draw({0, 2, 2, 1})}, .attrs = kTwo}},
          .reference = with_argmax,
          .errors = {{.in = {draw({3, 3, 1})}, .attrs = kTwo, .text = "input: expected rank 4, got shape [3,3,1]"}}}},
        {"MaxPoolWithArgmax",
         {.samples = {{.in = {array({1, 2, 4, 1}, {3, 3, 1, 2, 3, 0, 2, 2})}, .attrs = kTwo}},
          .reference = with_argmax,
          .label = "equal",
          .gradient = false}},
        {"MaxPoolGradWithArgmax",
         {.samples = {{.in = {draw({2, 2, 2, 1}), draw({2, 1, 1, 1}, -2, 2, 1), places({2, 1, 1, 1}, {3, 1})},
                       .attrs = kTwo},
                      {.in = {draw({2, 2, 3, 1}), draw({2, 2, 2, 1}, -2, 2, 1),
                              places({2, 2, 2, 1}, {0, 0, 4, 5, 11, 8, 11, 6})},
                       .attrs = pool_attrs("SAME", {1, 2, 2, 1}, {1, 1, 2, 1}, true)}},
          .reference = grad_with_argmax,
          .errors = {{.in = {draw({1, 2, 2, 1}), draw({1, 1, 1, 1}), places({1, 1, 1, 1}, {4})},
                      .attrs = kTwo,
                      .text = "argmax: expected at least 0 and less than the number of elements 4, got 4"},
                     {.in = {draw({1, 2, 2, 1}), draw({1, 2, 2, 1}), places({1, 1, 1, 1}, {0})},
                      .attrs = kTwo,
                      .text = "grad: expected shape [1,1,1,1], got [1,2,2,1]"}}}},
        {"MaxPoolGradGradWithArgmax",
         {.samples = {{.in = {draw({2, 2, 2, 1}), draw({2, 2, 2, 1}, -2, 2, 1), places({2, 1, 1, 1}, {3, 1})},
                       .attrs = kTwo}},
          .reference = grad_grad_with_argmax,
          .errors = {{.in = {draw({1, 2, 2, 1}), draw({1, 2, 2, 1}), places({1, 1, 1, 1}, {-1})},
                      .attrs = kTwo,
                      .text = "argmax: expected at least 0 and less than the number of elements 4, got -1"}}}},
    });

// ---- Orders of dimensions -------------------------------------------------------------------------------------------

std::vector<Array> dim_map(const Given& g) {
  const std::string from = g.text("src_format"), to = g.text("dst_format");
  return {make(g.in[0].dims, [&](const Index& index) {
    const auto d = static_cast<int64_t>(at(g.in[0], index)), n = static_cast<int64_t>(from.size());
    return static_cast<double>(to.find(from[static_cast<size_t>((d + n) % n)]));
  })};
}
std::vector<Array> vec_permute(const Given& g) {
  std::string from = g.text("src_format"), to = g.text("dst_format");
  if (g.in[0].dims[0] < static_cast<int64_t>(from.size())) {
    for (std::string* text : {&from, &to}) {
      std::erase(*text, 'N');
      std::erase(*text, 'C');
    }
  }
  return {make(g.in[0].dims, [&](Index index) {
    index[0] = static_cast<int64_t>(from.find(to[static_cast<size_t>(index[0])]));
    return at(g.in[0], index);
  })};
}

const Family formats(
    "data_format",
    {
        {"DataFormatDimMap",
         {.samples = {{.in = {list({0, 1, 2, 3, -1, -2, -3, -4})}},
                      {.in = {array({2, 1}, {4, -2})}, .attrs = {{"src_format", "NDHWC"}, {"dst_format", "NCDHW"}}},
                      {.in = {scalar(1)}, .attrs = {{"src_format", "NCHW"}, {"dst_format", "NHWC"}}}},
          .reference = dim_map,
          .errors = {{.in = {list({0})},
                      .attrs = {{"dst_format", "NCHX"}},
                      .text = "dst_format: expected the letters of NHWC in some order, got NCHX"},
                     {.in = {list({0})},
                      .attrs = {{"src_format", "NC"}},
                      .text = "src_format: expected 4 or 5 letters, got NC"}},
          .types = dtypes::kIndex}},
        {"DataFormatVecPermute",
         {.samples = {{.in = {list({7, 4, 9, 3})}},
                      {.in = {array({4, 2}, {7, 4, 9, 3, 1, 2, 5, 6})}},
                      {.in = {list({5, 6})}},
                      {.in = {list({5, 6})}, .attrs = {{"src_format", "NCWH"}, {"dst_format", "HWNC"}}},
                      {.in = {list({7, 4, 9, 3, 2})}, .attrs = {{"src_format", "NDHWC"}, {"dst_format", "NCDHW"}}}},
          .reference = vec_permute,
          .errors = {{.in = {list({1, 2, 3})},
                      .text = "x: expected 4 or 2 rows, as many as dimensions or spatial ones, got 3"}},
          .types = dtypes::kIndex}},
    });

}  // namespace
}  // namespace panto::test::patches_rows
