// Kernels of FakeQuant.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/fake_steps.h"
#include "panto/device/op_kernels.h"

namespace panto {
namespace {

// Returns one quantization, from attributes or scalar inputs, or one for each index of the last dimension.
std::vector<FakeSteps> steps_of(const KernelContext& c, int first) {
  const int64_t bits = c.integer("num_bits");
  const bool narrow = c.flag("narrow_range");
  if (c.num_inputs() <= first) return {FakeSteps(c.real("min"), c.real("max"), bits, narrow)};
  const float *min = c.data<float>(first), *max = c.data<float>(first + 1);
  std::vector<FakeSteps> steps;
  for (int64_t i = 0; i < c.numel(first); ++i) steps.emplace_back(min[i], max[i], bits, narrow);
  return steps;
}

// Calls f(i, steps) for the elements from `begin` to `end`; `begin` must be the start of a row.
template <class F>
void for_elements(const std::vector<FakeSteps>& steps, int64_t begin, int64_t end, const F& f) {
  if (steps.size() == 1) {
    for (int64_t i = begin; i < end; ++i) f(i, steps[0]);
    return;
  }
  for (int64_t row = begin; row < end; row += static_cast<int64_t>(steps.size())) {
    int64_t i = row;
    for (const FakeSteps& s : steps) f(i++, s);
  }
}

// Calls f(begin, end) for ranges of whole rows, in parallel.
template <class F>
void for_rows(const std::vector<FakeSteps>& steps, int64_t numel, const F& f) {
  const auto row = static_cast<int64_t>(steps.size());
  if (numel == 0) return;
  cpu::parallel_ranges(numel / row, numel * static_cast<int64_t>(2 * sizeof(float)),
                       [&](int64_t begin, int64_t end) { f(begin * row, end * row); });
}

void quantize(KernelContext& c) {
  const std::vector<FakeSteps> steps = steps_of(c, 1);
  const float* x = c.data<float>(0);
  float* y = c.out_data<float>(0);
  for_rows(steps, c.numel(0), [&](int64_t begin, int64_t end) {
    for_elements(steps, begin, end, [&](int64_t i, const FakeSteps& s) { y[i] = s.nearest(x[i]); });
  });
}

void pass_inside(KernelContext& c, const std::vector<FakeSteps>& steps) {
  const float *dy = c.data<float>(0), *x = c.data<float>(1);
  float* dx = c.out_data<float>(0);
  for_rows(steps, c.numel(0), [&](int64_t begin, int64_t end) {
    for_elements(steps, begin, end, [&](int64_t i, const FakeSteps& s) { dx[i] = s.inside(x[i]) ? dy[i] : 0; });
  });
}

void fixed_gradient(KernelContext& c) { pass_inside(c, steps_of(c, 2)); }

// Gradients of elements outside the range go to min or max. They are summed in float64, where the order matters little.
void learned_gradient(KernelContext& c) {
  const std::vector<FakeSteps> steps = steps_of(c, 2);
  // The sums must come before pass_inside: output 0 may share memory with an input.
  std::vector<double> below(steps.size()), above(steps.size());
  const float *dy = c.data<float>(0), *x = c.data<float>(1);
  for_elements(steps, 0, c.numel(0), [&](int64_t i, const FakeSteps& s) {
    const auto k = static_cast<size_t>(&s - steps.data());
    if (s.inside(x[i])) return;
    if (x[i] < s.low) below[k] += dy[i];
    if (x[i] > s.high) above[k] += dy[i];
  });
  pass_inside(c, steps);
  std::ranges::transform(below, c.out_data<float>(1), [](double v) { return static_cast<float>(v); });
  std::ranges::transform(above, c.out_data<float>(2), [](double v) { return static_cast<float>(v); });
}

const CpuKernel args_kernel("FakeQuantWithMinMaxArgs", quantize);
const CpuKernel args_gradient_kernel("FakeQuantWithMinMaxArgsGradient", fixed_gradient);
const CpuKernel vars_kernel("FakeQuantWithMinMaxVars", quantize);
const CpuKernel vars_gradient_kernel("FakeQuantWithMinMaxVarsGradient", learned_gradient);
const CpuKernel channels_kernel("FakeQuantWithMinMaxVarsPerChannel", quantize);
const CpuKernel channels_gradient_kernel("FakeQuantWithMinMaxVarsPerChannelGradient", learned_gradient);

}  // namespace
}  // namespace panto
