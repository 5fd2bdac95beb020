#include "panto/tests/random/oracle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/array_value.h"

namespace panto::random {
namespace {

// |difference| <= relative * (largest element) + absolute, of gradients.
struct GradientBound {
  DType type;
  double relative, absolute;
};
constexpr GradientBound kGradientBounds[] = {
    {kFloat64, 1e-9, 1e-10},
    {kFloat32, 1e-3, 1e-4},
    {kBFloat16, 0.3, 0.1},
    {kFloat16, 0.1, 0.05},
};

// How many times what noise changes may be between two answers.
constexpr double kTimesNoise = 64;

Tensor wide(const Tensor& t) { return cast(t, kFloat64); }

bool is_floating(const Tensor& t) { return dtypes::kFloating.contains(t.dtype()); }

std::string at_output(size_t k, const std::string& text) { return fmt::format("output {}: {}", k, text); }

// As bits: also the signs of zeros.
std::string sign_difference(const Tensor& a, const Tensor& b) {
  if (!is_floating(a)) return {};
  const Tensor wide_a = wide(a), wide_b = wide(b);
  const auto x = wide_a.data<double>(), y = wide_b.data<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == 0 && std::signbit(x[i]) != std::signbit(y[i])) {
      return fmt::format("element {}: expected {}, got {} (signs of zeros)", i, x[i], y[i]);
    }
  }
  return {};
}

}  // namespace

std::string difference_in_bits(std::span<const Tensor> expected, std::span<const Tensor> got, bool signs_of_zeros) {
  if (expected.size() != got.size()) return fmt::format("expected {} outputs, got {}", expected.size(), got.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    if (!got[k].defined()) return at_output(k, "undefined");
    std::string text;
    const bool alike = expected[k].dtype() == got[k].dtype() && expected[k].shape() == got[k].shape();
    // The tables' comparison does not tell parts apart.
    if (alike && dtypes::kComplex.contains(got[k].dtype())) {
      const Tensor parts[] = {parts_of(expected[k]), parts_of(got[k])};
      text = test::difference(parts[0], parts[1]);
      if (text.empty() && signs_of_zeros) text = sign_difference(parts[0], parts[1]);
    } else {
      text = test::difference(expected[k], got[k]);
      if (text.empty() && signs_of_zeros) text = sign_difference(expected[k], got[k]);
    }
    if (!text.empty()) return at_output(k, text);
  }
  return {};
}

std::string difference_beyond_noise(const Program& program, std::span<const Tensor> inputs,
                                    std::span<const Tensor> expected, std::span<const Tensor> got) {
  constexpr int kRuns = 3;
  std::vector<std::vector<Tensor>> noisy;
  for (int n = 0; n < kRuns; ++n) {
    World world(program);
    RunOptions options;
    options.noise_seed = static_cast<uint64_t>(n);
    // In the least exact type that occurs.
    options.noise = 0x1p-50;
    for (const auto& t : expected) {
      if (is_floating(t)) options.noise = std::max(options.noise, test::epsilon(t.dtype()));
    }
    if (n > 0) options.noise *= n == 1 ? -1 : 2;
    options.noise = std::abs(options.noise);
    noisy.push_back(interpret(program.body, inputs, world, options));
  }
  for (size_t k = 0; k < expected.size(); ++k) {
    if (!is_floating(expected[k])) {
      // What contractions cannot change must be the same.
      bool changes = false;
      for (const auto& run : noisy) changes = changes || !test::difference(expected[k], run[k]).empty();
      if (changes || dtypes::kComplex.contains(expected[k].dtype())) continue;
      const std::string text = test::difference(expected[k], got[k]);
      if (!text.empty()) return at_output(k, text);
      continue;
    }
    if (expected[k].dtype() != got[k].dtype() || !(expected[k].shape() == got[k].shape())) {
      return at_output(k, test::difference(expected[k], got[k]));
    }
    const Tensor we = wide(expected[k]), wg = wide(got[k]);
    const auto e = we.data<double>(), g = wg.data<double>();
    double scale = 0;
    for (const double v : e) scale = std::isfinite(v) ? std::max(scale, std::abs(v)) : scale;
    std::vector<Tensor> wide_runs;
    for (const auto& run : noisy) wide_runs.push_back(wide(run[k]));
    for (size_t i = 0; i < e.size(); ++i) {
      double spread = 0;
      bool special = !std::isfinite(e[i]);
      for (const Tensor& run : wide_runs) {
        const double v = run.data<double>()[i];
        special = special || !std::isfinite(v);
        spread = std::max(spread, std::abs(v - e[i]));
      }
      if (special || e[i] == g[i]) continue;
      const double allowed = kTimesNoise * spread + 8 * test::epsilon(expected[k].dtype()) * scale;
      if (spread > 0 && std::abs(g[i] - e[i]) <= allowed) continue;
      return at_output(k,
                       fmt::format("element {}: expected {}, got {} (noise explains {:.3g})", i, e[i], g[i], allowed));
    }
  }
  return {};
}

std::string difference_of_gradients(std::span<const Tensor> expected, std::span<const Tensor> got,
                                    std::span<const std::vector<Tensor>> noisy) {
  if (expected.size() != got.size()) return fmt::format("expected {} gradients, got {}", expected.size(), got.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    if (expected[k].defined() != got[k].defined()) {
      return fmt::format("gradient {} is {}", k, got[k].defined() ? "there" : "absent");
    }
    if (!expected[k].defined()) continue;
    if (expected[k].dtype() != got[k].dtype() || !(expected[k].shape() == got[k].shape())) {
      return fmt::format("gradient {}: {}", k, test::difference(expected[k], got[k]));
    }
    for (const GradientBound& bound : kGradientBounds) {
      if (bound.type != expected[k].dtype()) continue;
      const Tensor we = wide(expected[k]), wg = wide(got[k]);
      const auto e = we.data<double>(), g = wg.data<double>();
      std::vector<Tensor> runs;
      for (const std::vector<Tensor>& run : noisy) {
        if (run[k].defined()) runs.push_back(wide(run[k]));
      }
      double spread = 0;
      for (const Tensor& run : runs) {
        for (size_t i = 0; i < e.size(); ++i) spread = std::max(spread, std::abs(run.data<double>()[i] - e[i]));
      }
      double scale = 0;
      bool finite = true;
      for (const double v : e) {
        finite = finite && std::isfinite(v);
        scale = std::max(scale, std::abs(v));
      }
      for (size_t i = 0; finite && i < e.size(); ++i) {
        const double apart = std::abs(e[i] - g[i]), allowed = bound.relative * scale + bound.absolute;
        if (apart <= allowed) continue;
        if (apart <= allowed + kTimesNoise * spread) continue;
        return fmt::format("gradient {}, element {}: expected {}, got {}", k, i, e[i], g[i]);
      }
    }
  }
  return {};
}

bool judgeable(const Outcome& expected) {
  return std::ranges::none_of(expected.failures, [](const Failure& f) {
    // Memory is another matter; a nested function's signature is only looked at where it is called by itself.
    return f.code == Code::kResourceExhausted || f.leaf.starts_with("argument 'arg_");
  });
}

namespace {

int watched = -1;
off_t seen = 0;

}  // namespace

void WatchedErrors::begin(int file) {
  watched = file;
  dup2(watched, STDERR_FILENO);
  seen = lseek(watched, 0, SEEK_END);
}

std::string WatchedErrors::take() {
  const off_t end = watched < 0 ? 0 : lseek(watched, 0, SEEK_END);
  if (end <= seen) return {};
  std::string text(static_cast<size_t>(end - seen), '\0');
  const ssize_t got = pread(watched, text.data(), text.size(), seen);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  seen = end;
  return text;
}

}  // namespace panto::random
