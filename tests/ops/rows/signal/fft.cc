// Samples of Fourier transforms, beside the sums that define them.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "panto/autograd/transforms/derivatives.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/ops/signal/signal.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::fft_rows {
namespace {

// The plain sum loses more in float64 than the transform.
using Long = std::complex<long double>;
// exp(2 pi i sign k / n) of all k below n.
std::vector<Long> roots(int64_t n, double sign) {
  std::vector<Long> w;
  for (int64_t k = 0; k < n; ++k) {
    const long double turn = static_cast<long double>(k) / static_cast<long double>(n);
    w.push_back(std::polar(1.0L, sign * 2 * std::numbers::pi_v<long double> * turn));
  }
  return w;
}

Complex complex_at(const Array& x, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < x.dims.size(); ++k)
    flat = flat * static_cast<size_t>(x.dims[k]) + static_cast<size_t>(index[k]);
  return x.complex(flat);
}

// The sums over the first n elements of dimension `axis`; with sign 1 the means.
Array transformed(const Array& x, size_t axis, int64_t n, double sign) {
  Index dims = x.dims;
  dims[axis] = n;
  const std::vector<Long> w = roots(n, sign);
  std::vector<Complex> y;
  for_each_index(dims, [&](Index index) {
    const int64_t k = index[axis];
    Long sum = 0;
    for (index[axis] = 0; index[axis] < n; ++index[axis]) {
      sum += static_cast<Long>(complex_at(x, index)) * w[static_cast<size_t>(index[axis] * k % n)];
    }
    y.push_back(static_cast<Complex>(sign > 0 ? sum / static_cast<long double>(n) : sum));
  });
  return complexes(dims, y);
}

Array first_of_last(const Array& x, int64_t count) {
  Index dims = x.dims;
  dims.back() = count;
  std::vector<Complex> y;
  for_each_index(dims, [&](const Index& index) { y.push_back(complex_at(x, index)); });
  return complexes(dims, y);
}

template <size_t kRank>
Reference all_of(double sign) {
  return [sign](const Given& g) {
    Array x = g.in[0];
    for (size_t k = x.dims.size() - kRank; k < x.dims.size(); ++k) x = transformed(x, k, x.dims[k], sign);
    return std::vector<Array>{x};
  };
}

template <size_t kRank>
std::vector<Array> half_of(const Given& g) {
  Array x = g.in[0];
  for (size_t k = 0; k < kRank; ++k) {
    x = transformed(x, x.dims.size() - kRank + k, static_cast<int64_t>(g.in[1].values[k]), -1);
  }
  return {first_of_last(x, x.dims.back() / 2 + 1)};
}

// Of the last dimension the half that is missing is the conjugate of the other.
template <size_t kRank>
std::vector<Array> from_half(const Given& g) {
  Array x = g.in[0];
  for (size_t k = 0; k + 1 < kRank; ++k) {
    x = transformed(x, x.dims.size() - kRank + k, static_cast<int64_t>(g.in[1].values[k]), 1);
  }
  const auto n = static_cast<int64_t>(g.in[1].values.back());
  Index dims = x.dims;
  dims.back() = n;
  const std::vector<Long> w = roots(n, 1);
  return {make(dims, [&](Index index) {
    const int64_t j = index.back();
    double sum = 0;
    for (int64_t k = 0; k < n; ++k) {
      index.back() = k <= n / 2 ? k : n - k;
      Complex z = complex_at(x, index);
      if (k == 0 || 2 * k == n) z = z.real();
      sum += ((k <= n / 2 ? z : std::conj(z)) * static_cast<Complex>(w[static_cast<size_t>(j * k % n)])).real();
    }
    return sum / static_cast<double>(n);
  })};
}

Details of_complex(size_t rank, const Reference& reference) {
  std::vector<Sample> samples;
  const std::vector<std::vector<int64_t>> shapes[] = {{{1}, {2}, {2, 12}, {3, 7}, {37}, {2, 2, 15}, {2, 0}, {0, 3}},
                                                      {{2, 3}, {2, 4, 5}, {41, 2}, {1, 1}, {0, 2, 3}, {3, 0}},
                                                      {{2, 3, 4}, {2, 5, 1, 2}, {1, 1, 1}, {0, 2, 2, 2}}};
  for (const auto& dims : shapes[rank - 1]) samples.push_back({.in = {draw_complex(dims)}});
  return {.samples = samples,
          .reference = reference,
          .errors = {{.in = {draw_complex(std::vector<int64_t>(rank - 1, 2))},
                      .text = "input: expected a rank of at least " + std::to_string(rank) + ", got shape"}},
          .units = 16,
          .floor = 8};
}

// What a real op and its inverse have of types, which belong together.
struct Types {
  DType real, complex;
  const char* label;
};
const Types kNarrow = {kFloat32, kComplex64, ""}, kWide = {kFloat64, kComplex128, "wide"};

struct Lengths {
  std::vector<int64_t> dims;
  std::vector<double> lengths;
};

Details of_real(const std::vector<Lengths>& all, bool forward, Reference reference, Types types,
                std::vector<ErrorSample> errors) {
  const Attr other = forward ? Attr("Tcomplex", types.complex) : Attr("Treal", types.real);
  const Attr own = forward ? Attr("Treal", types.real) : Attr("Tcomplex", types.complex);
  std::vector<Sample> samples;
  for (const Lengths& l : all) {
    samples.push_back({.in = {(forward ? draw(l.dims) : draw_complex(l.dims)).as(forward ? types.real : types.complex),
                              list(l.lengths)},
                       .attrs = {own, other}});
  }
  const bool wide = types.real == kFloat64;
  const Attr wrong =
      forward ? Attr("Tcomplex", wide ? kComplex64 : kComplex128) : Attr("Treal", wide ? kFloat32 : kFloat64);
  errors.push_back(
      {.in = samples[0].in, .attrs = {own, wrong}, .text = forward ? "Tcomplex: expected" : "Treal: expected"});
  for (ErrorSample& e : errors) {
    e.in[0] = e.in[0].as(forward ? types.real : types.complex);
    if (e.attrs.empty()) e.attrs = {own, other};
    e.type = forward ? types.real : types.complex;
  }
  return {.samples = samples,
          .reference = std::move(reference),
          .errors = std::move(errors),
          .label = types.label,
          .types = {forward ? types.real : types.complex},
          .units = 16,
          .floor = 8,
          .gradient = false};  // own tests below: differences are of real outputs
}

// ---- Further questions --------------------------------------------------------------------------------------------

// The largest distance of two complex tensors.
double distance(const Tensor& a, const Tensor& b) {
  return max(complex_abs(cast(a, kComplex128) - cast(b, kComplex128))).item<double>();
}

// Every way to take a length apart, beside the sums.
void lengths() {
  std::vector<int64_t> all;
  for (int64_t n = 1; n <= 70; ++n) all.push_back(n);
  for (const int64_t n : {74,  77,  97,  121, 128,  210,  224,  243,  256,  343,  360,
                          499, 512, 625, 997, 1000, 1024, 1125, 2048, 3072, 4096, 4500}) {
    all.push_back(n);
  }
  for (const int64_t n : all) {
    const Array x = draw_complex({n});
    const Tensor expected = to_tensor(transformed(x, 0, n, -1), kComplex128);
    const double size = std::sqrt(static_cast<double>(n));
    BOOST_TEST_CONTEXT("n = " << n) {
      BOOST_TEST(distance(fft(to_tensor(x, kComplex128)), expected) < 1e-14 * size);
      BOOST_TEST(distance(fft(to_tensor(x, kComplex64)), expected) < 5e-6 * size);
      BOOST_TEST(distance(ifft(fft(to_tensor(x, kComplex128))), to_tensor(x, kComplex128)) < 1e-14);
      const Tensor real = to_tensor(draw({3, n}), kFloat64);
      BOOST_TEST(max(abs(irfft(rfft(real), n) - real)).item<double>() < 1e-14);
      BOOST_TEST(distance(rfft(real), slice(fft(real), {0, 0}, {3, n / 2 + 1})) < 1e-13 * size);
    }
  }
}

// Whether a line is as if it had been transformed alone. Elsewhere than on x86 the compiler chooses where sums and
// products become multiply-adds, in one place or the other.
bool as_if_alone(const Tensor& got, const Tensor& expected) {
#ifdef __x86_64__
  return difference(got, expected).empty();
#else
  return distance(got, expected) < 1e-5;
#endif
}

// Many lines, of which several are transformed together, each as if it were alone; also along another dimension.
void lines() {
  for (const int64_t n : {6, 37, 40, 64, 77, 225, 360, 512, 1024}) {
    const Tensor x = to_tensor(draw_complex({53, n}), kComplex64);
    const Tensor all = fft(x), across = transpose(fftn(transpose(x, {1, 0}), {}, {0}), {1, 0});
    const Tensor real = to_tensor(draw({53, n}), kFloat32), half = rfft(real);
    BOOST_TEST(distance(across, all) < 4e-6 * std::sqrt(static_cast<double>(n)));
    for (const int64_t row : {0, 15, 16, 52}) {
      BOOST_TEST(as_if_alone(fft(x(row)), all(row)));
      BOOST_TEST(as_if_alone(rfft(real(row)), half(row)));
      BOOST_TEST(as_if_alone(irfft(half(row), n), irfft(half, n)(row)));
    }
  }
  const Tensor x = to_tensor(draw_complex({37, 5, 53}), kComplex128);
  const Tensor swapped = transpose(fft(transpose(x, {0, 2, 1})), {0, 2, 1});
  BOOST_TEST(distance(fft2(x), fft(swapped)) < 1e-12);
}

using Linear = std::function<Tensor(const Tensor&)>;

Array weights_of(const Tensor& y, int seed) {
  return draw({y.shape().dims().begin(), y.shape().dims().end()}, -1, 1, seed);
}
// A number that is linear in y.
Tensor weighed(const Tensor& y) {
  const Tensor w = to_tensor(weights_of(y, 3), kFloat64);
  if (!dtypes::kComplex.contains(y.dtype())) return sum(y * w);
  return sum(real(y) * w) + sum(imag(y) * to_tensor(weights_of(y, 4), kFloat64));
}

// For a linear f the sum of conj(gradient) * v is f(v): of real and of complex numbers. With two orders also for the
// gradient by what the gradient is linear in.
bool adjoint(const Linear& f, const Tensor& x, const Tensor& v, int orders = 2) {
  const Tensor g = grad([&](const Tensor& t) { return weighed(f(t)); })(x);
  const Tensor product = dtypes::kComplex.contains(x.dtype()) ? sum(real(conj(g) * v)) : sum(g * v);
  const Tensor expected = weighed(f(v));
  if (std::abs(product.item<double>() - expected.item<double>()) > 1e-9) return false;
  if (orders == 1) return true;
  const Tensor w = cast(f(v), kComplex128);
  const Linear back = [&](const Tensor& by) {
    return grad([&](const Tensor& t) { return sum(real(conj(by) * cast(f(t), kComplex128))); })(x);
  };
  return adjoint(back, w, w * 0.5, 1);
}

void derivatives() {
  for (const int64_t n : {1, 2, 5, 8}) {
    const Tensor z = to_tensor(draw_complex({2, 3, n}), kComplex128),
                 dz = to_tensor(draw_complex({2, 3, n}, -1, 1, 5), kComplex128);
    const Tensor x = to_tensor(draw({2, 3, n}), kFloat64), dx = to_tensor(draw({2, 3, n}, -1, 1, 5), kFloat64);
    BOOST_TEST_CONTEXT("n = " << n) {
      BOOST_TEST(adjoint([](const Tensor& t) { return fft(t); }, z, dz));
      BOOST_TEST(adjoint([](const Tensor& t) { return ifft(t); }, z, dz));
      BOOST_TEST(adjoint([](const Tensor& t) { return fft2(t); }, z, dz));
      BOOST_TEST(adjoint([](const Tensor& t) { return ifft2(t); }, z, dz));
      BOOST_TEST(adjoint([](const Tensor& t) { return fft3(t); }, z, dz));
      BOOST_TEST(adjoint([](const Tensor& t) { return ifft3(t); }, z, dz));
      BOOST_TEST(adjoint([](const Tensor& t) { return rfft(t); }, x, dx));
      BOOST_TEST(adjoint([](const Tensor& t) { return rfft2(t); }, x, dx));
      BOOST_TEST(adjoint([](const Tensor& t) { return rfft3(t); }, x, dx));
      BOOST_TEST(adjoint([&](const Tensor& t) { return irfft(t, 2 * n - 1); }, z, dz));
      BOOST_TEST(adjoint([&](const Tensor& t) { return irfft2(t, {2, 2 * n - 1}); }, z, dz));
      BOOST_TEST(adjoint([&](const Tensor& t) { return irfft3(t, {2, 3, 2 * n - 1}); }, z, dz));
      // Lines that are cut, and others that go on with zeros.
      BOOST_TEST(adjoint([&](const Tensor& t) { return rfft(t, (n + 1) / 2); }, x, dx));
      BOOST_TEST(adjoint([&](const Tensor& t) { return rfft2(t, {2, n + 3}); }, x, dx));
      BOOST_TEST(adjoint([&](const Tensor& t) { return irfft(t, n + 4); }, z, dz));
    }
  }
}

// As np.fft has them.
void helpers() {
  BOOST_TEST(difference(array({5}, {0, 0.2, 0.4, -0.4, -0.2}), fftfreq(5), {}) == "");
  BOOST_TEST(difference(array({4}, {0, 2.5, -5, -2.5}), fftfreq(4, 0.1), {}) == "");
  BOOST_TEST(difference(array({3}, {0, 0.125, 0.25}), rfftfreq(4, 2), {}) == "");
  BOOST_TEST(difference(array({3}, {0, 0.2, 0.4}), rfftfreq(5), {}) == "");
  BOOST_TEST(difference(array({5}, {3, 4, 0, 1, 2}), fftshift(tensor({0.F, 1.F, 2.F, 3.F, 4.F})), {}) == "");
  BOOST_TEST(difference(array({5}, {2, 3, 4, 0, 1}), ifftshift(tensor({0.F, 1.F, 2.F, 3.F, 4.F})), {}) == "");
  const Tensor x = to_tensor(iota({2, 3}), kFloat32);
  BOOST_TEST(difference(array({2, 3}, {5, 3, 4, 2, 0, 1}), fftshift(x), {}) == "");
  BOOST_TEST(difference(array({2, 3}, {2, 0, 1, 5, 3, 4}), fftshift(x, {-1}), {}) == "");
  BOOST_TEST(distance(fft(tensor({1, 2, 3, 4})), fft(tensor({1.F, 2.F, 3.F, 4.F}))) == 0);
  BOOST_TEST(fft(to_tensor(iota({4}), kFloat64)).dtype() == kComplex128);
  BOOST_TEST(distance(fft(tensor({1.F, 2.F}), 4), fft(tensor({1.F, 2.F, 0.F, 0.F}))) == 0);
  BOOST_TEST(distance(fft(tensor({1.F, 2.F, 3.F}), 2), fft(tensor({1.F, 2.F}))) == 0);
  BOOST_TEST(irfft(rfft(tensor({1.F, 2.F, 3.F, 4.F}))).shape() == Shape({4}));
}

const std::vector<Lengths> kForward[] = {
    {{{2, 8}, {8}}, {{7}, {7}}, {{3, 5}, {4}}, {{1}, {1}}, {{0, 3}, {3}}, {{2, 82}, {82}}},
    {{{3, 4}, {3, 4}}, {{2, 3, 5}, {2, 3}}, {{2, 1, 1}, {1, 1}}},
    {{{2, 3, 4}, {2, 3, 4}}, {{2, 3, 3, 5}, {2, 2, 3}}}};
const std::vector<Lengths> kBackward[] = {
    {{{2, 5}, {8}}, {{4}, {7}}, {{3, 5}, {4}}, {{1}, {1}}, {{0, 3}, {4}}, {{2, 42}, {82}}},
    {{{3, 3}, {3, 4}}, {{2, 3, 5}, {2, 3}}, {{2, 1, 1}, {1, 1}}},
    {{{2, 3, 3}, {2, 3, 4}}, {{2, 3, 3, 5}, {2, 2, 3}}}};

std::vector<ErrorSample> real_errors(bool forward) {
  const Array x = forward ? draw({2, 3}) : draw_complex({2, 3});
  return {{.in = {x, list({6})},
           .text = forward ? "input: expected at least 6 elements in dimension 1, got 3"
                           : "input: expected at least 4 elements in dimension 1, got 3"},
          {.in = {x, list({0})}, .text = "fft_length: expected at least 1, got 0"},
          {.in = {x, list({2, 3})}, .text = "the size of fft_length: expected 1, got 2"},
          {.in = {forward ? draw({}) : draw_complex({}), list({2})},
           .text = "input: expected a rank of at least 1, got shape []"}};
}

Details with(Details d, std::vector<OwnTest> own) {
  d.own = std::move(own);
  return d;
}

const Family fourier(
    "fft",
    {
        {"FFT", with(of_complex(1, all_of<1>(-1)),
                     {{"lengths", lengths}, {"lines", lines}, {"derivatives", derivatives}, {"helpers", helpers}})},
        {"IFFT", of_complex(1, all_of<1>(1))},
        {"FFT2D", of_complex(2, all_of<2>(-1))},
        {"IFFT2D", of_complex(2, all_of<2>(1))},
        {"FFT3D", of_complex(3, all_of<3>(-1))},
        {"IFFT3D", of_complex(3, all_of<3>(1))},
        {"RFFT", of_real(kForward[0], true, half_of<1>, kNarrow, real_errors(true))},
        {"RFFT", of_real(kForward[0], true, half_of<1>, kWide, {})},
        {"IRFFT", of_real(kBackward[0], false, from_half<1>, kNarrow, real_errors(false))},
        {"IRFFT", of_real(kBackward[0], false, from_half<1>, kWide, {})},
        {"RFFT2D", of_real(kForward[1], true, half_of<2>, kNarrow, {})},
        {"RFFT2D", of_real(kForward[1], true, half_of<2>, kWide, {})},
        {"IRFFT2D", of_real(kBackward[1], false, from_half<2>, kNarrow, {})},
        {"IRFFT2D", of_real(kBackward[1], false, from_half<2>, kWide, {})},
        {"RFFT3D", of_real(kForward[2], true, half_of<3>, kNarrow, {})},
        {"RFFT3D", of_real(kForward[2], true, half_of<3>, kWide, {})},
        {"IRFFT3D", of_real(kBackward[2], false, from_half<3>, kNarrow, {})},
        {"IRFFT3D", of_real(kBackward[2], false, from_half<3>, kWide, {})},
    });

}  // namespace
}  // namespace panto::test::fft_rows
