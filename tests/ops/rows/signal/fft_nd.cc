// Samples of Fourier transforms of any dimensions, beside sums for each element.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/derivatives.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/ops/signal/signal.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::fft_nd_rows {
namespace {

// The axes of a call, not negative, and their lengths.
struct Axes {
  std::vector<size_t> at;
  Index lengths;
  explicit Axes(const Given& g) : lengths(integers(g.in[1])) {
    for (const int64_t axis : integers(g.in[2])) at.push_back(normal_axis(axis, g.in[0].dims.size()));
  }
  Index applied_to(Index dims) const {
    for (size_t k = 0; k < at.size(); ++k) dims[at[k]] = lengths[k];
    return dims;
  }
};

// Zero outside.
Complex there(const Array& x, const Index& index) {
  size_t flat = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    if (index[d] >= x.dims[d]) return 0;
    flat = flat * static_cast<size_t>(x.dims[d]) + static_cast<size_t>(index[d]);
  }
  return x.complex(flat);
}

// The sum over all elements of lines that begin at those of `from`, which gives an element; for each of `dims`.
template <class From>
Array sums(const Axes& axes, const Index& dims, double sign, const From& from) {
  double count = 1;
  for (const int64_t n : axes.lengths) count *= static_cast<double>(n);
  std::vector<Complex> out;
  for_each_index(dims, [&](const Index& to) {
    Complex sum = 0;
    for_each_index(axes.lengths, [&](const Index& lines) {
      Index index = to;
      double turns = 0;
      for (size_t k = 0; k < lines.size(); ++k) {
        index[axes.at[k]] = lines[k];
        turns +=
            static_cast<double>(lines[k] * to[axes.at[k]] % axes.lengths[k]) / static_cast<double>(axes.lengths[k]);
      }
      sum += from(index) * std::polar(1.0, sign * 2 * std::numbers::pi * turns);
    });
    out.push_back(sign < 0 ? sum : sum / count);
  });
  return complexes(dims, out);
}

template <int kSign>
std::vector<Array> complex_reference(const Given& g) {
  const Axes axes(g);
  return {sums(axes, axes.applied_to(g.in[0].dims), kSign, [&](const Index& i) { return there(g.in[0], i); })};
}
std::vector<Array> half_reference(const Given& g) {
  const Axes axes(g);
  Index dims = axes.applied_to(g.in[0].dims);
  dims[axes.at.back()] = axes.lengths.back() / 2 + 1;
  return {sums(axes, dims, -1, [&](const Index& i) { return there(g.in[0], i); })};
}
// What is there of the half that is missing is the conjugate of its mirror image in the last line, once the other
// dimensions are transformed.
std::vector<Array> whole_reference(const Given& g) {
  const Axes axes(g);
  const size_t last = axes.at.back();
  const int64_t n = axes.lengths.back();
  Axes others = axes;
  others.at.pop_back();
  others.lengths.pop_back();
  Index between = others.applied_to(g.in[0].dims);
  const Array x = sums(others, between, 1, [&](const Index& i) { return there(g.in[0], i); });
  Axes line = axes;
  line.at = {last};
  line.lengths = {n};
  Array all = sums(line, axes.applied_to(g.in[0].dims), 1, [&](Index i) {
    const int64_t k = i[last], mirror = std::min(k, n - k);
    i[last] = mirror;
    const Complex z = there(x, i);
    if (k == 0 || 2 * k == n) return Complex(z.real());
    return k == mirror ? z : std::conj(z);
  });
  all.imag.clear();
  return {all};
}

struct Shapes {
  Index dims;
  std::vector<double> lengths, axes;
};
const std::vector<Shapes> kShapes = {
    {{2, 6}, {6}, {-1}},
    {{3, 4}, {3, 4}, {0, 1}},
    {{2, 3, 4}, {4, 2}, {2, 0}},
    {{3, 4, 2}, {5}, {1}},
    {{2, 5, 3}, {3, 4}, {-2, -1}},
    {{2, 3, 4}, {2, 3, 4}, {0, 1, 2}},
    {{0, 3}, {3}, {1}},
    {{3, 0}, {4}, {1}},
    {{4, 3}, {3}, {0}},
    {{1}, {1}, {0}},
};

Details of(bool real_input, DType real, Reference reference, std::vector<Attr> types, const char* label) {
  std::vector<Sample> samples;
  const bool is_wide = real == kFloat64;
  const DType type = real_input ? real : is_wide ? kComplex128 : kComplex64;
  for (const Shapes& s : kShapes) {
    samples.push_back(
        {.in = {(real_input ? draw(s.dims) : draw_complex(s.dims)).as(type), list(s.lengths), list(s.axes)},
         .attrs = types});
  }
  const Array x = samples[1].in[0];
  const auto error = [&](const Array& lengths, const Array& axes, const char* text) {
    return ErrorSample{.in = {x, lengths, axes}, .attrs = types, .text = text, .type = type};
  };
  std::vector<ErrorSample> errors = {
      error(list({3, 3}), list({0}), "the size of fft_length and that of axes: expected 2, got 1"),
      error(list({3, 3}), list({0, -2}), "axes: expected each dimension once, got -2 again"),
      error(list({3}), list({2}), "axes: expected"),
      error(list({0}), list({1}), "fft_length: expected at least 1, got 0"),
      error(scalar(3), scalar(1), "fft_length: expected a vector, got shape []")};
  if (!types.empty()) {  // types that do not belong together
    const Attrs wrong = real_input ? Attrs{types[0], {"Tcomplex", is_wide ? kComplex64 : kComplex128}}
                                   : Attrs{{"Treal", is_wide ? kFloat32 : kFloat64}, types[1]};
    errors.push_back({.in = samples[0].in,
                      .attrs = wrong,
                      .text = real_input ? "Tcomplex: expected" : "Treal: expected",
                      .type = type});
  }
  return {.samples = samples,
          .reference = std::move(reference),
          .errors = std::move(errors),
          .label = label,
          .types = {type},
          .units = 16,
          .floor = 8,
          .gradient = false};  // below
}

using Linear = std::function<Tensor(const Tensor&)>;

Tensor numbers(const Tensor& like, int seed) {
  const Array a = draw_complex({like.shape().dims().begin(), like.shape().dims().end()}, -1, 1, seed);
  return like.dtype() == kComplex128 ? to_tensor(a, kComplex128) : panto::real(to_tensor(a, kComplex128));
}
double product(const Tensor& a, const Tensor& b) {
  if (a.dtype() != kComplex128) return sum(a * b).item<double>();
  return sum(panto::real(conj(a) * b)).item<double>();
}
// Of a linear function of which the gradient of the product with w is g, the products <g, v> and <w, f(v)> are one.
bool adjoint(const Linear& f, const Tensor& x) {
  const Tensor w = numbers(f(x), 3), v = numbers(x, 5);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  const Tensor dx = tape.gradient(y, x, w);
  return std::abs(product(dx, v) - product(w, f(v))) < 1e-9;
}

void derivatives() {
  const Tensor z = to_tensor(draw_complex({3, 4, 5}), kComplex128), x = to_tensor(draw({3, 4, 5}), kFloat64);
  const std::vector<std::pair<Index, Index>> all = {
      {{4}, {1}}, {{5, 3}, {2, 0}}, {{2, 7}, {-3, -1}}, {{3, 4, 5}, {0, 1, 2}}, {{6, 2, 3}, {1, 2, 0}}};
  for (const auto& [lengths, axes] : all) {
    BOOST_TEST(adjoint([&](const Tensor& t) { return fftn(t, lengths, axes); }, z));
    BOOST_TEST(adjoint([&](const Tensor& t) { return ifftn(t, lengths, axes); }, z));
    BOOST_TEST(adjoint([&](const Tensor& t) { return rfftn(t, lengths, axes); }, x));
    BOOST_TEST(adjoint([&](const Tensor& t) { return irfftn(t, lengths, axes); }, z));
  }
}

// As the transforms of one, two and three dimensions have it, and as NumPy chooses dimensions and lengths.
void faces() {
  const Tensor z = to_tensor(draw_complex({3, 4, 6}), kComplex128), x = panto::real(z);
  const auto same = [](const Tensor& a, const Tensor& b) { return difference(to_array(a), b, {64, 8}).empty(); };
  BOOST_TEST(same(fft3(z), fftn(z)));
  BOOST_TEST(same(ifft3(z), ifftn(z)));
  BOOST_TEST(same(rfft3(x), rfftn(x)));
  BOOST_TEST(same(irfft3(z), irfftn(z)));
  BOOST_TEST(same(fft2(z, {2, 8}), fftn(z, {2, 8})));
  BOOST_TEST(same(irfft2(z, {2, 8}), irfftn(z, {2, 8})));
  BOOST_TEST(same(transpose(fft(transpose(z, {2, 1, 0})), {2, 1, 0}), fftn(z, {}, {0})));
  BOOST_TEST(same(x, irfftn(rfftn(x, {}, {1, 0}), {4, 3}, {1, 0})));
  BOOST_TEST(fftn(cast(x, kFloat32)).dtype() == kComplex64);
  expect_error_begins([&] { fftn(z, {2}, {0, 1}); }, "InvalidArgument: lengths: expected 2, got 1");
  expect_error_begins([&] { fftn(tensor(1.0F)); }, "InvalidArgument: x: expected at least one dimension, got shape []");
}

const Attrs kNarrow = {{"Treal", kFloat32}, {"Tcomplex", kComplex64}};
const Attrs kWide = {{"Treal", kFloat64}, {"Tcomplex", kComplex128}};

Details with(Details d, std::vector<OwnTest> own) {
  d.own = std::move(own);
  return d;
}

const Family fourier("fft", {
                                {"FFTND", with(of(false, kFloat32, complex_reference<-1>, {}, ""),
                                               {{"derivatives", derivatives}, {"faces", faces}})},
                                {"FFTND", of(false, kFloat64, complex_reference<-1>, {}, "wide")},
                                {"IFFTND", of(false, kFloat32, complex_reference<1>, {}, "")},
                                {"IFFTND", of(false, kFloat64, complex_reference<1>, {}, "wide")},
                                {"RFFTND", of(true, kFloat32, half_reference, kNarrow, "")},
                                {"RFFTND", of(true, kFloat64, half_reference, kWide, "wide")},
                                {"IRFFTND", of(false, kFloat32, whole_reference, kNarrow, "")},
                                {"IRFFTND", of(false, kFloat64, whole_reference, kWide, "wide")},
                            });

}  // namespace
}  // namespace panto::test::fft_nd_rows
