// Functions under the names of NumPy and tf.signal that are built from ops: what these compute
// (tests/reference/ops/numpy_cases.py), eagerly and traced; gradients beside differences; what is refused.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "panto/autograd/transforms/derivatives.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/numpy/elementary.h"
#include "panto/lib/ops/numpy/numerics.h"
#include "panto/lib/ops/numpy/rearranging.h"
#include "panto/lib/ops/numpy/statistics.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/ops/signal/frames.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(numpy_functions)

const Tensor& reference(const std::string& name) {
  static const auto* const arrays = new std::map<std::string, Tensor>(reference_arrays("numpy_functions.npz"));
  return arrays->at(name);
}
const Tensor& given(const std::string& name) { return reference("input/" + name); }

std::vector<double> numbers(const Tensor& t) {
  const Tensor wide = t.dtype() == kComplex64 || t.dtype() == kComplex128 ? stack({real(t), imag(t)}) : t;
  return cast(wide, kFloat64).to_vector<double>();
}

bool same(double a, double b, double tolerance) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

void expect_same(const Tensor& found, const Tensor& expected, double tolerance) {
  BOOST_TEST(found.shape() == expected.shape());
  if (found.shape() != expected.shape()) return;
  const std::vector<double> a = numbers(found), b = numbers(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same(a[i], b[i], tolerance)) BOOST_ERROR("element " << i << ": " << a[i] << ", expected " << b[i]);
  }
}

using F = std::function<Tensor(const Tensor&)>;

struct Row {
  const char *name, *input;
  F f;
  bool has_gradient = true;
};

// Each calls a function as one types it.
std::vector<Row> rows() {
  const Tensor &x = given("x"), &y = given("y"), &square = given("square"), &vector = given("vector"),
               &short_ = given("short"), &others = given("others"), &matrix = given("matrix");
  return {
      {"log2", "powers", [](const Tensor& t) { return log2(t); }, false},
      {"log10", "powers", [](const Tensor& t) { return log10(t); }, false},
      {"exp2", "x", [](const Tensor& t) { return exp2(t); }},
      {"logaddexp", "special", [&](const Tensor& t) { return logaddexp(t, others); }, false},
      {"hypot", "x", [&](const Tensor& t) { return hypot(t, y); }},
      {"logit", "probabilities", [](const Tensor& t) { return logit(t); }},
      {"sinc", "x", [](const Tensor& t) { return sinc(cat({flatten(t), zeros({1}, kFloat64)})); }},
      {"deg2rad", "x", [](const Tensor& t) { return deg2rad(t); }},
      {"rad2deg", "x", [](const Tensor& t) { return rad2deg(t); }},
      {"trunc", "special", [](const Tensor& t) { return trunc(t); }, false},
      {"fmod", "x", [&](const Tensor& t) { return fmod(t, y); }},
      {"remainder", "x", [&](const Tensor& t) { return remainder(t, y); }},
      {"signbit", "special", [](const Tensor& t) { return signbit(where(isnan(t), 1, t)); }, false},
      {"copysign", "special", [&](const Tensor& t) { return copysign(t, others); }, false},
      {"heaviside", "special", [](const Tensor& t) { return heaviside(t, 0.25); }, false},
      {"lerp", "x", [&](const Tensor& t) { return lerp(t, y, 0.25); }},
      {"nan_to_num", "special", [](const Tensor& t) { return nan_to_num(t); }, false},
      {"nan_to_num_given", "special",
       [](const Tensor& t) { return nan_to_num(t, {.nan = -1, .posinf = 2, .neginf = -2}); }, false},
      {"isclose", "special", [](const Tensor& t) { return isclose(t, t + 1e-9); }, false},
      {"isclose_nan", "special", [](const Tensor& t) { return isclose(t, t, {.equal_nan = true}); }, false},
      {"swapaxes", "cube", [](const Tensor& t) { return swapaxes(t, 0, -1); }},
      {"moveaxis", "cube", [](const Tensor& t) { return moveaxis(t, 0, -1); }},
      {"moveaxis_back", "cube", [](const Tensor& t) { return moveaxis(t, -1, 1); }},
      {"flatten", "cube", [](const Tensor& t) { return flatten(t, 1); }},
      {"rot90", "cube", [](const Tensor& t) { return rot90(t); }},
      {"rot90_twice", "cube", [](const Tensor& t) { return rot90(t, 2); }},
      {"rot90_back", "cube", [](const Tensor& t) { return rot90(t, -1); }},
      {"fliplr", "x", [](const Tensor& t) { return fliplr(t); }},
      {"flipud", "x", [](const Tensor& t) { return flipud(t); }},
      {"vstack", "x", [&](const Tensor& t) { return vstack({t, y, arange(4.)}); }},
      {"hstack", "x", [&](const Tensor& t) { return hstack({t, y}); }},
      {"hstack_vectors", "vector", [&](const Tensor& t) { return hstack({t, short_}); }},
      {"block_diag", "x", [&](const Tensor& t) { return block_diag({t, square}); }},
      {"kron", "x", [&](const Tensor& t) { return kron(t, square); }},
      {"kron_ranks", "short", [&](const Tensor& t) { return kron(t, square); }},
      {"diagonal", "cube", [](const Tensor& t) { return diagonal(t); }},
      {"diagonal_of", "cube", [](const Tensor& t) { return diagonal(t, 1, 1, 2); }},
      {"diagonal_below", "cube", [](const Tensor& t) { return diagonal(t, -1, 2, 0); }},
      {"diag_embed", "x", [](const Tensor& t) { return diag_embed(t, 1); }},
      {"take", "cube", [](const Tensor& t) { return take(t, tensor({{0, 5}, {23, 1}})); }},
      {"take_axis", "cube", [](const Tensor& t) { return take(t, {2, 0, 0}, 1); }},
      {"take_axis", "cube", [](const Tensor& t) { return index_select(t, 1, {2, 0, 0}); }},
      {"take_along_axis", "x", [](const Tensor& t) { return take_along_axis(t, given("positions"), 1); }},
      {"take_along_axis_first", "x", [](const Tensor& t) { return take_along_axis(t, tensor({{0, 2, 1, -1}}), 0); }},
      {"take_along_axis_cube", "cube",
       [](const Tensor& t) { return take_along_axis(t, tensor({{{1}, {0}, {2}}}), 2); }},
      {"index_add", "x", [&](const Tensor& t) { return index_add(t, 1, {1, 1, 3}, square); }},
      {"masked_select", "x", [&](const Tensor& t) { return masked_select(t, x > 0); }},
      {"masked_select_broadcast", "x",
       [](const Tensor& t) { return masked_select(t, tensor({true, false, true, false})); }},
      {"masked_fill", "x", [](const Tensor& t) { return masked_fill(t, t > 0, 0.5); }},
      {"isin", "ties", [](const Tensor& t) { return isin(t, tensor({3., 1.})); }, false},
      {"isin_none", "ties", [](const Tensor& t) { return isin(t, zeros({0}, kFloat64)); }, false},
      {"vander", "short", [](const Tensor& t) { return vander(t); }},
      {"vander_increasing", "short", [](const Tensor& t) { return vander(t, 5, true); }},
      {"quantile", "x", [](const Tensor& t) { return quantile(t, 0.6); }},
      {"quantile_axis", "cube", [](const Tensor& t) { return quantile(t, 0.7, 1); }},
      {"quantile_axes", "cube", [](const Tensor& t) { return quantile(t, 0.7, {.axis = {2, 0}, .keep_dims = true}); }},
      {"quantile_list", "cube", [](const Tensor& t) { return quantile(t, {0, 0.25, 1}, {.axis = {-1}}); }},
      {"quantile_list_keep", "cube",
       [](const Tensor& t) { return quantile(t, {0.5, 0.25}, {.axis = {1}, .keep_dims = true}); }},
      {"quantile_nan", "holes", [](const Tensor& t) { return quantile(t, 0.5, 0); }, false},
      {"quantile_integers", "integers", [](const Tensor& t) { return quantile(t, 0.4); }, false},
      {"percentile", "x", [](const Tensor& t) { return percentile(t, 90, 0); }},
      {"median", "x", [](const Tensor& t) { return median(t); }},
      {"median_axis", "cube", [](const Tensor& t) { return median(t, 1); }},
      {"nansum", "holes", [](const Tensor& t) { return nansum(t, 1); }, false},
      {"nansum_all", "holes", [](const Tensor& t) { return nansum(t); }, false},
      {"nanmean", "holes", [](const Tensor& t) { return nanmean(t, -1); }, false},
      {"nanmax", "holes", [](const Tensor& t) { return nanmax(t, 1); }, false},
      {"nanmin", "holes", [](const Tensor& t) { return nanmin(t, 0); }, false},
      {"count_nonzero", "integers", [](const Tensor& t) { return count_nonzero(t, 1); }, false},
      {"ptp", "cube", [](const Tensor& t) { return ptp(t, 1); }},
      {"cov", "x", [](const Tensor& t) { return cov(t); }},
      {"cov_biased", "x", [](const Tensor& t) { return cov(t, {.correction = 0}); }},
      {"cov_vector", "vector", [](const Tensor& t) { return cov(t); }},
      {"corrcoef", "x", [](const Tensor& t) { return corrcoef(t); }, false},
      {"dot", "cube", [&](const Tensor& t) { return dot(t, matrix); }},
      {"dot_vectors", "short", [](const Tensor& t) { return dot(t, t); }},
      {"inner", "cube", [&](const Tensor& t) { return inner(t, x); }},
      {"tensordot", "cube", [](const Tensor& t) { return tensordot(t, moveaxis(t, 0, -1)); }},
      {"tensordot_axes", "cube", [](const Tensor& t) { return tensordot(t, t, {0, 2}, {0, -1}); }},
      {"tensordot_none", "short", [&](const Tensor& t) { return tensordot(t, vector, 0); }},
      {"addmm", "x", [&](const Tensor& t) { return addmm(t, square, y, {.beta = 0.5, .alpha = 2}); }},
      {"cdist", "x", [&](const Tensor& t) { return cdist(t, y); }},
      {"l2_normalize", "x", [](const Tensor& t) { return l2_normalize(t, 0); }},
      {"trapezoid", "cube", [](const Tensor& t) { return trapezoid(t, {.dx = 0.5, .axis = 1}); }},
      {"trapezoid_at", "cube", [](const Tensor& t) { return trapezoid(t, tensor({0., 1., 3.}), 1); }},
      {"cumulative_trapezoid", "x", [](const Tensor& t) { return cumulative_trapezoid(t); }},
      {"interp", "x", [](const Tensor& t) { return interp(t, given("points"), given("heights")); }},
      {"interp_ends", "points",
       [](const Tensor& t) { return interp(tensor({-5., -2., 2., 7., 0.5}), t, given("heights")); }, false},
      {"polyval", "x", [&](const Tensor& t) { return polyval(short_, t); }},
      {"polyfit", "vector", [](const Tensor& t) { return polyfit(t, t * t * t - t, 2); }, false},
      {"convolve", "vector", [&](const Tensor& t) { return convolve(t, short_); }},
      {"convolve_same", "vector", [&](const Tensor& t) { return convolve(t, short_, "same"); }},
      {"convolve_same_even", "vector", [&](const Tensor& t) { return convolve(t, x[0], "same"); }},
      {"convolve_valid", "short", [&](const Tensor& t) { return convolve(t, vector, "valid"); }},
      {"frame", "signal", [](const Tensor& t) { return frame(t, 8, 3); }},
      {"frame_padded", "signal", [](const Tensor& t) { return frame(t, 8, 5, {.pad_end = true}); }},
      {"frame_none", "signal", [](const Tensor& t) { return frame(t, 60, 5); }, false},
      {"overlap_and_add", "signal", [](const Tensor& t) { return overlap_and_add(frame(t, 8, 3), 3); }},
      {"stft", "signal", [](const Tensor& t) { return stft(t, 12, 5); }},
      {"stft_padded", "signal",
       [](const Tensor& t) { return stft(t, 12, 5, {.fft_length = 20, .window = ones({12}), .pad_end = true}); }},
      {"inverse_stft", "signal", [](const Tensor& t) { return inverse_stft(stft(t, 12, 5), 12, 5); }},
  };
}

// A sum of the results, each with another weight.
Tensor weighed(const Tensor& y) {
  const Tensor flat = dtypes::kComplex.contains(y.dtype()) ? cat({flatten(real(y)), flatten(imag(y))}) : flatten(y);
  return sum(flat * cos(cast(range(0, size(flat), 1), kFloat64)));
}

BOOST_AUTO_TEST_CASE(are_those_of_numpy) {
  for (const Row& row : rows()) {
    BOOST_TEST_CONTEXT(row.name) {
      const Tensor& x = given(row.input);
      const Tensor expected = reference(row.name), found = row.f(x);
      expect_same(found, expected, 1e-12);
      const auto traced = trace([&](const Tensor& t) { return row.f(t); });
      expect_same(traced(x), found, 1e-14);
    }
  }
}

BOOST_AUTO_TEST_CASE(sizes_become_known_late) {
  for (const Row& row : rows()) {
    const Tensor& x = given(row.input);
    // Lists of sizes and of parts need a known size.
    const std::string name = row.name;
    if (name.starts_with("convolve")) continue;
    const PartialShape unknown(std::vector<int64_t>(static_cast<size_t>(x.rank()), -1));
    BOOST_TEST_CONTEXT(name) {
      const auto traced = trace([&](const Tensor& t) { return row.f(t); }, {TensorSpec(x.dtype(), unknown)});
      expect_same(traced(x), row.f(x), 1e-14);
    }
  }
}

BOOST_AUTO_TEST_CASE(have_gradients) {
  for (const Row& row : rows()) {
    if (!row.has_gradient) continue;
    const Tensor& x = given(row.input);
    const Tensor slope = grad([&](const Tensor& t) { return weighed(row.f(t)); })(x);
    const std::vector<double> found = slope.to_vector<double>(), at = x.to_vector<double>();
    BOOST_TEST_CONTEXT(row.name) {
      for (size_t i = 0; i < at.size(); i += 1 + at.size() / 12) {
        const double step = 1e-5;
        const auto moved = [&](double by) {
          std::vector<double> values = at;
          values[i] += by;
          return weighed(row.f(tensor(values, x.shape()))).item<double>();
        };
        const double expected = (moved(step) - moved(-step)) / (2 * step);
        if (!same(found[i], expected, 2e-6))
          BOOST_ERROR("element " << i << ": " << found[i] << ", expected " << expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(histograms) {
  const auto check = [](const std::string& name, const Histogram& h) {
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(h.counts.dtype() == kInt64);
      expect_same(h.counts, reference(name + "/0"), 0);
      expect_same(h.edges, reference(name + "/1"), 1e-15);
    }
  };
  check("histogram", histogram(given("x"), 5));
  check("histogram_range", histogram(given("bins"), 4, {.range = {{0, 1}}}));
  check("histogram_one", histogram(tensor({2., 2.}), 4));
  check("histogram_integers", histogram(given("integers"), 3));
  const auto [counts, edges] = histogram(tensor({1.f, 2.f, 3.f}), 2);
  BOOST_TEST(edges.dtype() == kFloat32);
  BOOST_TEST(counts.to_vector<int64_t>() == (std::vector<int64_t>{1, 2}));
}

BOOST_AUTO_TEST_CASE(lists_and_made_numbers) {
  expect_same(logspace(-1, 2, 7, 10, kFloat64), reference("logspace"), 1e-15);
  expect_same(geomspace(-1, -1000, 4, kFloat64), reference("geomspace"), 1e-15);
  expect_same(tri(3, 5, 1), reference("tri"), 0);
  expect_same(hann_window(10, true, kFloat64), reference("hann_window"), 1e-15);
  expect_same(hann_window(9, true, kFloat64), reference("hann_window_odd"), 1e-15);
  expect_same(hann_window(8, false, kFloat64), reference("hann_window_symmetric"), 1e-15);
  expect_same(hamming_window(8, true, kFloat64), reference("hamming_window"), 1e-15);
  expect_same(stack(unstack(given("x"), 1)), transpose(given("x")), 0);
  const std::vector<Tensor> parts = chunk(arange(11), 4);
  BOOST_TEST(parts.size() == 4U);
  BOOST_TEST(parts[0].to_vector<int32_t>() == (std::vector<int32_t>{0, 1, 2}));
  BOOST_TEST(parts[3].to_vector<int32_t>() == (std::vector<int32_t>{9, 10}));
  BOOST_TEST(full_like(tensor({1, 2}), 7).to_vector<int32_t>() == (std::vector<int32_t>{7, 7}));
  BOOST_TEST(randn_like(given("x")).dtype() == kFloat64);
  BOOST_TEST(rand_like(given("cube")).shape() == given("cube").shape());
  // NumPy's logarithms of powers are whole numbers; so are these.
  BOOST_TEST(log10(tensor({1000.f, 1e-3f}))[0].item<float>() == 3);
  BOOST_TEST(log10(1000.0).item<double>() == 3);
  BOOST_TEST(log2(tensor({8., 0.125}))[1].item<double>() == -3);
  BOOST_TEST(vdot(tensor({1., 2.}), tensor({3., 4.})).item<double>() == 11);
  BOOST_TEST(logical_xor(tensor({true, true}), tensor({true, false})).to_vector<bool>() ==
             (std::vector<bool>{false, true}));
}

// NaN is one of no values, as in NumPy, wherever it stands.
BOOST_AUTO_TEST_CASE(nan_is_in_nothing) {
  const double nan = std::nan("");
  using Bools = std::vector<bool>;
  BOOST_TEST(isin(tensor({1., nan, 2.}), tensor({0., nan, nan})).to_vector<bool>() == (Bools{false, false, false}));
  BOOST_TEST(isin(tensor({1., nan, 2.}), tensor({nan, 2., 3.})).to_vector<bool>() == (Bools{false, false, true}));
  BOOST_TEST(isin(tensor({nan, 5.}), tensor({1.})).to_vector<bool>() == (Bools{false, false}));
}

BOOST_AUTO_TEST_CASE(no_frames_are_silence) {
  expect_same(overlap_and_add(zeros({2, 0, 9}, kFloat64), 2), zeros({2, 7}, kFloat64), 0);
  expect_same(overlap_and_add(zeros({0, 3, 4}, kFloat64), 2), zeros({0, 8}, kFloat64), 0);
}

BOOST_AUTO_TEST_CASE(gradients_where_formulas_divide_by_zero) {
  const auto slope = [](const F& f, const Tensor& x) { return grad([&](const Tensor& t) { return sum(f(t)); })(x); };
  const Tensor zeros3 = zeros({3}, kFloat64);
  expect_same(slope([](const Tensor& t) { return sinc(t); }, zeros3), zeros3, 0);
  expect_same(slope([](const Tensor& t) { return logaddexp(t, t * 1.); }, zeros3), ones({3}, kFloat64), 1e-15);
  expect_same(slope([&](const Tensor& t) { return logaddexp(t, zeros3); }, zeros3), zeros3 + 0.5, 1e-15);
  const Tensor row = reshape(zeros3, {1, 3});
  expect_same(slope([&](const Tensor& t) { return cdist(t, row); }, row), row, 0);
}

BOOST_AUTO_TEST_CASE(what_is_refused) {
  const Tensor& x = given("x");
  expect_error_begins([&] { quantile(x, 1.5); }, "InvalidArgument: q: expected numbers from 0 to 1, got 1.5");
  expect_error_begins([&] { quantile(x, 0.5, {.method = "hazen"}); }, "InvalidArgument: method: expected linear");
  expect_error_begins([&] { quantile(x, 0.5, {.axis = {0, -2}}); }, "InvalidArgument: axis: expected each one once");
  expect_error_begins([&] { histogram(x, 0); }, "InvalidArgument: bins: expected at least 1, got 0");
  expect_error_begins([&] { histogram(x, 2, {.range = {{1, 1}}}); },
                      "InvalidArgument: range: expected two numbers in ascending order");
  expect_error_begins([&] { moveaxis(x, 2, 0); }, "InvalidArgument: axis: expected one in [-2, 2), got 2");
  expect_error_begins([&] { tensordot(x, x, 3); },
                      "InvalidArgument: tensordot: expected a number of dimensions of both, got 3");
  expect_error_begins([&] { tensordot(x, x, {0}, {0, 1}); },
                      "InvalidArgument: tensordot: expected as many axes of both, got 1 and 2");
  expect_error_begins([&] { chunk(x, 0); }, "InvalidArgument: chunk: expected a count of at least 1, got 0");
  expect_error_begins([&] { rot90(given("vector")); },
                      "InvalidArgument: rot90: expected a rank of at least 2, got shape [7]");
  expect_error_begins([&] { take_along_axis(x, {1}, 0); },
                      "InvalidArgument: take_along_axis: expected positions of rank 2, got shape [1]");
  expect_error_begins([&] { geomspace(-1, 1, 3); },
                      "InvalidArgument: geomspace: expected numbers of one sign, got -1 and 1");
  expect_error_begins([&] { logspace(0, 1, 0); }, "InvalidArgument: count: expected at least 1, got 0");
  expect_error_begins([&] { convolve(given("vector"), x); },
                      "InvalidArgument: convolve: expected vectors with elements, got shape [3,4]");
  expect_error_begins([&] { convolve(given("vector"), given("short"), "most"); },
                      "InvalidArgument: mode: expected full, same or valid");
  expect_error_begins([&] { frame(x, 0, 1); }, "InvalidArgument: length: expected at least 1, got 0");
  expect_error_begins([&] { stft(x, 2, 0); }, "InvalidArgument: step: expected at least 1, got 0");
  expect_error_begins([&] { logical_xor(x, x); }, "InvalidArgument: logical_xor: expected bools, got float64");
  expect_error_begins([&] { cov(given("cube")); },
                      "InvalidArgument: cov: expected a vector or a matrix, got shape [2,3,4]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
