#include "panto/tests/random/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/array_value.h"
#include "panto/tests/random/oracle.h"
#include "panto/tests/random/program/generate.h"

namespace panto::random {
namespace {

bool has_floating_inputs(const Program& p) {
  return std::ranges::any_of(p.inputs, [](const Input& in) { return dtypes::kFloating.contains(in.value.dtype()); }) ||
         std::ranges::any_of(p.variables,
                             [](const VariableInit& v) { return dtypes::kFloating.contains(v.value.dtype()); });
}

struct How {
  bool persistent = false;
  bool second = false;  // gradients of the gradients
};

using Call = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

// What flows into each floating output: no two elements count alike.
std::vector<Tensor> weights(std::span<const Tensor> targets, uint64_t seed) {
  std::vector<Tensor> result;
  Rng rng(seed);
  for (const Tensor& t : targets) result.push_back(draw_tensor(rng, t.dtype(), t.shape(), 0.25, 1.75));
  return result;
}

std::vector<Tensor> floating(std::span<const Tensor> tensors) {
  std::vector<Tensor> result;
  for (const Tensor& t : tensors) {
    if (t.defined() && dtypes::kFloating.contains(t.dtype())) result.push_back(t);
  }
  return result;
}

// The values, and the gradients of their weighted sum by all floating inputs and variables.
std::vector<Tensor> gradients_of(const Call& call, std::span<const Tensor> given, const World& world, const How& how) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : given) inputs.push_back(view_tensor(t, t.shape()));
  std::vector<GradSource> sources;
  for (const Tensor& t : floating(inputs)) sources.emplace_back(t);
  for (const Variable& v : world.variables()) {
    if (dtypes::kFloating.contains(v.dtype())) sources.emplace_back(v);
  }
  const GradientTape::Options options{.persistent = how.persistent, .unconnected_zero = true};
  GradientTape outer(options);
  for (const GradSource& s : sources) outer.watch(s);
  std::vector<Tensor> first;
  if (how.second) {
    GradientTape inner(options);
    for (const GradSource& s : sources) inner.watch(s);
    const std::vector<Tensor> targets = floating(call(inputs));
    first = inner.gradients(targets, sources, weights(targets, 1));
    const std::vector<Tensor> there = floating(first);
    const std::vector<Tensor> second =
        there.empty() ? std::vector<Tensor>() : outer.gradients(there, sources, weights(there, 2));
    first.insert(first.end(), second.begin(), second.end());
    return first;
  }
  const std::vector<Tensor> targets = floating(call(inputs));
  if (targets.empty()) return {};
  return outer.gradients(targets, sources, weights(targets, 1));
}

// A branch that is not taken gives a graph zeros, and C++ nothing. What comes from there to a value that is no number
// is NaN in a graph only: zero times NaN.
bool mixes_zeros_and_nan(const Program& p, std::span<const Tensor> inputs) {
  if (!has_form(p.body, Statement::Form::kCond) && !has_form(p.body, Statement::Form::kLoop)) return false;
  World world(p);
  std::map<int, Tensor> values;
  interpret(p.body, inputs, world, {}, &values);
  return std::ranges::any_of(values, [](const auto& value) {
    const Tensor& t = value.second;
    return dtypes::kFloating.contains(t.dtype()) &&
           !std::ranges::all_of(test::to_array(t).values, [](double v) { return std::isfinite(v); });
  });
}

std::string traced_against_eager(const Program& p, std::span<const Tensor> inputs, bool known, const How& how) {
  std::vector<Tensor> expected;
  {
    World world(p);
    try {
      expected =
          gradients_of([&](std::span<const Tensor> in) { return interpret(p.body, in, world); }, inputs, world, how);
    } catch (const Error&) {
      return {};  // some op has no gradient
    }
  }
  World world(p);
  std::vector<TensorSpec> specs;
  for (const Input& in : p.inputs) specs.emplace_back(in.value.dtype(), known ? in.value.partial_shape() : in.spec);
  const Function f = make_traced(
      [&](std::span<const Tensor> in) { return interpret(p.body, in, world, {.functions = p.seed % 3 != 0}); }, specs,
      std::source_location::current());
  world.reset();
  const std::vector<Tensor> got =
      gradients_of([&](std::span<const Tensor> in) { return f.call(in); }, inputs, world, how);
  if (difference_of_gradients(expected, got, {}).empty() || mixes_zeros_and_nan(p, inputs)) return {};
  // What cancels leaves roundings: how much, runs with noise say.
  std::vector<std::vector<Tensor>> noisy;
  double unit = 0x1p-52;
  for (const Tensor& t : floating(expected)) unit = std::max(unit, test::epsilon(t.dtype()));
  for (uint64_t n = 1; n <= 8; ++n) {
    World own(p);
    const RunOptions options{.noise = unit * static_cast<double>(n), .noise_everywhere = true, .noise_seed = n};
    Rng rng(n);
    std::vector<Tensor> moved;
    for (const Tensor& t : inputs) moved.push_back(with_noise(t, options.noise, rng));
    noisy.push_back(
        gradients_of([&](std::span<const Tensor> in) { return interpret(p.body, in, own, options); }, moved, own, how));
  }
  return difference_of_gradients(expected, got, noisy);
}

// What their gradients take for granted, a random program does not keep to: that labels add up to 1; that the first
// inputs are constants, by which TensorFlow gives none; that a sample is a quantile, though it jumps to another one;
// that nobody sees the steps of quantized numbers; that matrices are symmetric.
bool has_limited_gradient(const Op& op) {
  constexpr std::string_view kSuch[] = {"Betainc",
                                        "Cholesky",
                                        "Polygamma",
                                        "QuantizeAndDequantizeV2",
                                        "QuantizeAndDequantizeV3",
                                        "QuantizeAndDequantizeV4",
                                        "SoftmaxCrossEntropyWithLogits",
                                        "StatelessRandomGammaV2",
                                        "StatelessRandomGammaV3",
                                        "Zeta"};
  return std::ranges::find(kSuch, op.name()) != std::end(kSuch);
}

// Everything in float64, so that differences mean something.
bool all_double(const Program& p) {
  const auto fine = [](const Tensor& t) {
    return !dtypes::kDifferentiable.contains(t.dtype()) || t.dtype() == kFloat64;
  };
  return std::ranges::all_of(p.inputs, [&](const Input& in) { return fine(in.value); }) &&
         std::ranges::any_of(p.inputs, [](const Input& in) { return in.value.dtype() == kFloat64; }) &&
         !has_effects(p.body) && !has_kind(p.body, Statement::Kind::kGradient) && !any_op(p.body, [](const Op& op) {
           return op.is(OpKind::kStopGradient) || !op.no_gradient().empty() || has_limited_gradient(op);
         });
}

// The gradient of the weighted outputs by a value on the way to them.
std::vector<Tensor> gradients_inside(const Program& p, std::span<const Tensor> given, World& world) {
  std::vector<Tensor> inputs;
  for (const Tensor& t : given) inputs.push_back(view_tensor(t, t.shape()));
  GradientTape tape({.unconnected_zero = true});
  for (const Tensor& t : floating(inputs)) tape.watch(t);
  RunOptions options;
  options.watch = [&](int v, const Tensor& t) {
    if (v == p.fed) tape.watch(t);
  };
  std::map<int, Tensor> values;
  const std::vector<Tensor> targets = floating(interpret(p.body, inputs, world, options, &values));
  check_alone(values, p.fed);
  if (targets.empty()) return {};
  const GradSource source = values.at(p.fed);
  return tape.gradients(targets, {&source, 1}, weights(targets, 1));
}

using Directions = std::vector<Tensor>;

// Whether the slopes along two directions that add up to this one add up to its slope. Where they do not there is a
// kink that no step along the direction shows: the middle one of three equal elements stays the middle one.
bool slopes_add_up(const Directions& directions, double slope, double allowed,
                   const std::function<double(const Directions&, double h)>& value_at) {
  constexpr double kStep = 3e-5;
  const auto slope_along = [&](const Directions& d) {
    return (value_at(d, kStep) - value_at(d, -kStep)) / (2 * kStep);
  };
  Rng rng(1);
  for (int pair = 0; pair < 8; ++pair) {
    Directions one, other;
    for (const Tensor& d : directions) {
      one.push_back(draw_tensor(rng, kFloat64, d.shape(), -1, 1));
      other.push_back(sub(d, one.back()));
    }
    if (std::abs(slope_along(one) + slope_along(other) - slope) > allowed) return false;
  }
  return true;
}

// Along one direction, with several steps: where they disagree there is a kink, or rounding is all that is seen.
std::string against_slopes(const Directions& directions, std::span<const Tensor> gradients,
                           const std::function<double(const Directions&, double h)>& value_at) {
  double slopes[3], kinks[3];  // how far the slopes to both sides are apart
  const double steps[] = {1e-4, 3e-5, 1e-5};
  double here = 0;
  try {
    here = value_at(directions, 0);
    for (int i = 0; i < 3; ++i) {
      const double before = value_at(directions, -steps[i]), behind = value_at(directions, steps[i]);
      slopes[i] = (behind - before) / (2 * steps[i]);
      kinks[i] = std::abs(behind - here - (here - before)) / steps[i];
    }
  } catch (const Error&) {
    return {};
  }
  double expected = 0, scale = 0;
  for (size_t i = 0; i < directions.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const Tensor part = mul(gradients[i], directions[i]);
    expected += sum(part).item<double>();
    scale += sum(abs(part)).item<double>();
  }
  const double spread = std::max(std::abs(slopes[0] - slopes[1]), std::abs(slopes[1] - slopes[2]));
  const double allowed = 1e-4 * (scale + std::abs(slopes[1])) + 1e-6;
  // A curve is straighter from near by, a kink is not.
  const bool kinked = kinks[2] > allowed && kinks[2] > 0.3 * kinks[0];
  const bool rounded = std::abs(here) * 0x1p-52 / steps[2] > allowed;
  if (!std::isfinite(expected) || !std::isfinite(slopes[0] + slopes[1] + slopes[2]) || spread > allowed || kinked ||
      rounded) {
    return {};
  }
  if (std::abs(expected - slopes[1]) <= 4 * allowed) return {};
  if (!slopes_add_up(directions, slopes[1], 4 * allowed, value_at)) return {};
  return fmt::format("directional derivative: {} by the tape, {} by differences", expected, slopes[1]);
}

bool has_double_inside(const Program& p) { return p.fed >= 0 && p.fed_value.dtype() == kFloat64 && all_double(p); }

// Of all that is given: `inputs`, or by the value that sessions are fed (`inside`).
std::string against_differences(const Program& p, std::span<const Tensor> inputs, bool inside) {
  World world(p);
  std::map<int, Tensor> values;
  interpret(p.body, inputs, world, {}, &values);
  for (const auto& [v, t] : values) {
    if (dtypes::kDifferentiable.contains(t.dtype()) && t.dtype() != kFloat64) return {};
  }
  std::vector<Tensor> places;  // that are moved
  if (inside) {
    places.push_back(values.at(p.fed));
  } else {
    std::ranges::copy_if(inputs, std::back_inserter(places), [](const Tensor& t) { return t.dtype() == kFloat64; });
  }
  std::vector<Tensor> gradients, seeds;
  try {
    gradients = inside ? gradients_inside(p, inputs, world)
                       : gradients_of([&](std::span<const Tensor> in) { return interpret(p.body, in, world); }, inputs,
                                      world, {});
  } catch (const Error&) {
    return {};
  }
  if (gradients.empty()) return {};
  // Where a step is lost in a large number there is no difference to see.
  constexpr double kLargest = 1e6;
  for (const Tensor& t : places) {
    if (std::ranges::any_of(t.data<double>(), [](double x) { return !(std::abs(x) < kLargest); })) return {};
  }
  Rng rng(p.seed);
  Directions directions;
  for (const Tensor& t : places) directions.push_back(draw_tensor(rng, kFloat64, t.shape(), -1, 1));
  return against_slopes(directions, gradients, [&](const Directions& along, double h) {
    std::vector<Tensor> moved;
    for (size_t i = 0; i < places.size(); ++i) moved.push_back(add(places[i], mul(along[i], tensor(h))));
    std::vector<Tensor> given(inputs.begin(), inputs.end());
    RunOptions options;
    if (inside) {
      options.replaced = p.fed;
      options.replacement = moved[0];
    } else {
      size_t at = 0;
      for (Tensor& t : given) t = t.dtype() == kFloat64 ? moved[at++] : t;
    }
    const std::vector<Tensor> targets = floating(interpret(p.body, given, world, options));
    if (seeds.empty()) seeds = weights(targets, 1);
    double total = 0;
    for (size_t k = 0; k < targets.size(); ++k) total += sum(mul(targets[k], seeds[k])).item<double>();
    return total;
  });
}

}  // namespace

const std::vector<GradientMode>& gradient_modes() {
  static const auto* modes = new std::vector<GradientMode>{
      {"gradient", has_floating_inputs,
       [](const Program& p, std::span<const Tensor> in) { return traced_against_eager(p, in, true, {}); }},
      {"gradient, unknown dimensions", has_floating_inputs,
       [](const Program& p, std::span<const Tensor> in) {
         return traced_against_eager(p, in, false, {.persistent = p.seed % 2 == 0});
       }},
      {"gradient, persistent", has_floating_inputs,
       [](const Program& p, std::span<const Tensor> in) {
         return traced_against_eager(p, in, p.seed % 2 == 0, {.persistent = true});
       }},
      {"gradient, second order", has_floating_inputs,
       [](const Program& p, std::span<const Tensor> in) {
         return traced_against_eager(p, in, p.seed % 2 == 0, {.second = true});
       }},
      {"differences", all_double,
       [](const Program& p, std::span<const Tensor> in) { return against_differences(p, in, false); }},
      {"differences, inside", has_double_inside,
       [](const Program& p, std::span<const Tensor> in) { return against_differences(p, in, true); }},
  };
  return *modes;
}

}  // namespace panto::random
