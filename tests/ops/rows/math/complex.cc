// Samples of ops that make complex numbers and take them apart, and of clipping and norms.
#include <algorithm>
#include <cmath>
#include <complex>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::complex_rows {
namespace {

std::vector<Array> joined(const Given& g) {
  const Array &re = g.in[0], &im = g.in[1];
  const Index& dims = re.dims.size() >= im.dims.size() ? re.dims : im.dims;
  Array shape;
  shape.dims = dims;
  std::vector<Complex> z;
  for (size_t i = 0; i < static_cast<size_t>(shape.numel()); ++i) {
    z.emplace_back(re.values[re.broadcast_position(dims, i)], im.values[im.broadcast_position(dims, i)]);
  }
  return {complexes(dims, z)};
}

Reference part(double (*f)(Complex)) {
  return [f](const Given& g) {
    Array y = filled(g.in[0].dims, 0);
    for (size_t i = 0; i < y.values.size(); ++i) y.values[i] = f(g.in[0].complex(i));
    return std::vector<Array>{y};
  };
}

double real_of(Complex z) { return z.real(); }
double imag_of(Complex z) { return z.imag(); }
double angle_of(Complex z) { return std::arg(z); }
double magnitude_of(Complex z) { return std::abs(z); }

// Of one type of complex numbers, whose parts are of type `part`.
Details parts(double (*f)(Complex), DType type, DType part_type) {
  const Attr out = {"Tout", part_type};
  return {.samples = {{.in = {draw_complex({2, 3})}, .attrs = {out}},
                      {.in = {draw_complex({})}, .attrs = {out}},
                      {.in = {draw_complex({37})}, .attrs = {out}}},
          .reference = part(f),
          .errors = {{.in = {draw_complex({2})},
                      .attrs = {{"Tout", part_type == kFloat32 ? kFloat64 : kFloat32}},
                      .text = part_type == kFloat32 ? "Tout: expected float32, got float64"
                                                    : "Tout: expected float64, got float32",
                      .type = type}},
          .label = part_type == kFloat32 ? "" : "wide",
          .types = {type}};
}

Details made(DType part_type, DType type) {
  const Attr out = {"Tout", type};
  return {.samples = {{.in = {draw({2, 3}), draw({2, 3}, -2, 2, 1)}, .attrs = {out}},
                      {.in = {draw({2, 3}), draw({3}, -2, 2, 1)}, .attrs = {out}},
                      {.in = {draw({}), draw({2}, -2, 2, 1)}, .attrs = {out}}},
          .reference = joined,
          .errors = {{.in = {draw({2}), draw({3})},
                      .attrs = {out},
                      .text = "shapes: expected ones that broadcast, got [2] and [3]",
                      .type = part_type},
                     {.in = {draw({2}), draw({2})},
                      .attrs = {{"Tout", type == kComplex64 ? kComplex128 : kComplex64}},
                      .text = "Tout: expected",
                      .type = part_type}},
          .label = part_type == kFloat32 ? "" : "wide",
          .types = {part_type},
          .gradient = false};  // tests/ops/complex_test.cc asks for it: differences here are of real outputs
}

const Family complex_parts("math", {
                                       {"Complex", made(kFloat32, kComplex64)},
                                       {"Complex", made(kFloat64, kComplex128)},
                                       {"Real", parts(real_of, kComplex64, kFloat32)},
                                       {"Real", parts(real_of, kComplex128, kFloat64)},
                                       {"Imag", parts(imag_of, kComplex64, kFloat32)},
                                       {"Imag", parts(imag_of, kComplex128, kFloat64)},
                                       {"Angle", parts(angle_of, kComplex64, kFloat32)},
                                       {"Angle", parts(angle_of, kComplex128, kFloat64)},
                                       {"ComplexAbs", parts(magnitude_of, kComplex64, kFloat32)},
                                       {"ComplexAbs", parts(magnitude_of, kComplex128, kFloat64)},
                                   });

std::vector<Array> clipped(const Given& g) {
  Array y = g.in[0];
  for (size_t i = 0; i < y.values.size(); ++i) {
    const double low = g.in[1].values[g.in[1].broadcast_position(y.dims, i)];
    const double high = g.in[2].values[g.in[2].broadcast_position(y.dims, i)];
    y.values[i] = std::min(std::max(y.values[i], low), high);
  }
  return {y};
}

std::vector<Array> norm(const Given& g) {
  const Array& x = g.in[0];
  std::vector<uint8_t> reduced(x.dims.size(), 0);
  for (const int64_t axis : integers(g.in[1])) reduced[normal_axis(axis, x.dims.size())] = 1;
  const bool keep = g.flag("keep_dims");
  Index dims;
  for (size_t k = 0; k < x.dims.size(); ++k) {
    if (reduced[k] == 0) dims.push_back(x.dims[k]);
    if (reduced[k] != 0 && keep) dims.push_back(1);
  }
  Array squares = filled(dims, 0);
  size_t flat = 0;
  for_each_index(x.dims, [&](const Index& index) {
    size_t to = 0, k = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      if (reduced[i] != 0 && !keep) continue;
      to = to * static_cast<size_t>(dims[k++]) + static_cast<size_t>(reduced[i] != 0 ? 0 : index[i]);
    }
    squares.values[to] += std::norm(x.complex(flat++));
  });
  for (double& v : squares.values) v = std::sqrt(v);
  return {squares};
}

const Family bounds(
    "math",
    {
        {"ClipByValue",
         {.samples = {{.in = {draw({2, 3}), scalar(-1), scalar(1)}},
                      {.in = {draw({2, 3}), draw({3}, -2, -0.5, 1), draw({2, 1}, 0.5, 1.5, 2)}},
                      {.in = {draw({}), scalar(0), scalar(1)}},
                      {.in = {draw({0, 2}), scalar(0), scalar(1)}}},
          .reference = clipped,
          .errors = {{.in = {draw({2}), draw({3, 2}), scalar(1)},
                      .text = "clip_value_min and clip_value_max: expected shapes that broadcast to that of t, [2], "
                              "got [3,2] and []"}}}},
        {"EuclideanNorm",
         {.samples = {{.in = {draw({2, 3}), list({1})}},
                      {.in = {draw({2, 3, 4}), list({0, -1})}},
                      {.in = {draw({2, 3}), list({0})}, .attrs = {{"keep_dims", true}}},
                      {.in = {draw({5}), list({0})}},
                      {.in = {draw({2, 3}, 0.5, 1), list({})}}},
          .reference = norm,
          .errors = {{.in = {draw({2}), list({1})}, .text = "reduction_indices"}},
          .types = dtypes::kNumeric - dtypes::kComplex}},
        {"EuclideanNorm",
         {.samples = {{.in = {draw_complex({2, 3}), list({1})}}},
          .reference = norm,
          .label = "complex",
          .types = dtypes::kComplex}},
        {"EuclideanNorm",
         {.samples = {{.in = {array({0, 2}, {}), list({0})}}}, .reference = norm, .label = "none", .gradient = false}},
    });

}  // namespace
}  // namespace panto::test::complex_rows
