// Kernels of LSTMs over all time steps. 16-bit types are computed in float, including the states passed from step to
// step; only results are rounded.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "panto/device/cpu/gemm/gemm.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {
namespace {

// The order of the gates' columns, counted in blocks of `units` columns.
struct GateOrder {
  int64_t i, ci, f, o;
};
constexpr GateOrder kFirst{0, 1, 2, 3}, kSecond{0, 2, 1, 3};

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

template <class T>
float* convert(const T* from, int64_t count, float* to) {
  return std::transform(from, from + count, to, [](T v) { return static_cast<float>(v); });
}

// Floats without a copy; 16-bit types as a float copy.
template <class T>
class AsFloats {
 public:
  AsFloats(const T* from, int64_t count) {
    if constexpr (std::is_same_v<T, float>) {
      data_ = from;
    } else {
      copy_.resize(static_cast<size_t>(count));
      convert(from, count, copy_.data());
      data_ = copy_.data();
    }
  }
  const float* data() const { return data_; }
  float operator[](int64_t i) const { return data_[i]; }

 private:
  std::vector<float> copy_;
  const float* data_;
};

// c = a b.
void multiply(const GemmSize& s, const float* a, const float* b, float* c) {
  cpu::cached_gemm_plan(kFloat32, s)->run(a, b, c);
}

std::vector<float> floats(int64_t count) { return std::vector<float>(static_cast<size_t>(count)); }

// Inputs 1 to 8 of a call. The shape function has checked their shapes.
template <class T>
struct Block {
  explicit Block(const KernelContext& c)
      : time(c.shape(1).dim(0)),
        batch(c.shape(1).dim(1)),
        inputs(c.shape(1).dim(2)),
        units(c.shape(2).dim(1)),
        steps(*c.data<int64_t>(0)),
        x(c.data<T>(1)),
        cs_prev(c.data<T>(2)),
        h_prev(c.data<T>(3)),
        w(c.data<T>(4), c.numel(4)),
        wci(c.data<T>(5), units),
        wcf(c.data<T>(6), units),
        wco(c.data<T>(7), units),
        b(c.data<T>(8), c.numel(8)),
        peephole(c.flag("use_peephole")) {
    if (steps < 0 || steps > time) invalid("seq_len_max: expected 0 to {}, got {}", time, steps);
    state = checked_mul(batch, units);
    gates = checked_mul(state, 4);
    width = checked_add(inputs, units);
  }
  // Writes [x, h] of step t as one matrix, the left factor of the step's product.
  template <class H>
  void join(int64_t t, const H* h, float* to) const {
    for (int64_t n = 0; n < batch; ++n) {
      to = convert(x + (t * batch + n) * inputs, inputs, to);
      to = convert(h + n * units, units, to);
    }
  }

  int64_t time, batch, inputs, units, steps;
  const T *x, *cs_prev, *h_prev;
  AsFloats<T> w, wci, wcf, wco, b;
  bool peephole;
  int64_t state = 0, gates = 0, width = 0;  // elements of a state, of all gates, and of a row of [x, h_prev]
};

template <class T>
void forward(KernelContext& c, const GateOrder& order, float forget_bias) {
  const Block<T> s(c);
  const float clip = c.real("cell_clip");
  T* out[7];
  for (int k = 0; k < 7; ++k) out[k] = c.out_data<T>(k);
  std::vector<float> xh = floats(checked_mul(s.batch, s.width)), z = floats(s.gates);
  std::vector<float> state_cs = floats(s.state), state_h = state_cs;
  convert(s.cs_prev, s.state, state_cs.data());
  convert(s.h_prev, s.state, state_h.data());
  const int64_t steps = s.state == 0 ? 0 : s.steps;
  for (int64_t t = 0; t < steps; ++t) {
    s.join(t, state_h.data(), xh.data());
    multiply({.m = s.batch, .n = 4 * s.units, .k = s.width}, xh.data(), s.w.data(), z.data());
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t u = 0; u < s.units; ++u) {
        const auto gate = [&](int64_t place) {
          const int64_t column = place * s.units + u;
          return z[static_cast<size_t>(n * 4 * s.units + column)] + s.b[column];
        };
        const int64_t k = n * s.units + u, at = t * s.state + k;
        const float cs_prev = state_cs[static_cast<size_t>(k)];
        const float by_i = s.peephole ? cs_prev * s.wci[u] : 0.0F, by_f = s.peephole ? cs_prev * s.wcf[u] : 0.0F;
        const float i = sigmoid(gate(order.i) + by_i), ci = std::tanh(gate(order.ci));
        const float f = sigmoid(gate(order.f) + forget_bias + by_f);
        float cs = ci * i + cs_prev * f;
        if (clip > 0) cs = cs < -clip ? -clip : cs > clip ? clip : cs;  // a NaN stays NaN
        const float o = sigmoid(gate(order.o) + (s.peephole ? cs * s.wco[u] : 0.0F)), co = std::tanh(cs);
        const float results[] = {i, cs, f, o, ci, co, co * o};
        state_cs[static_cast<size_t>(k)] = cs;
        state_h[static_cast<size_t>(k)] = co * o;
        for (int r = 0; r < 7; ++r) out[r][at] = static_cast<T>(results[r]);
      }
    }
  }
  for (T* o : out) std::fill(o + steps * s.state, o + s.time * s.state, T(0));
}

template <class T>
void backward(KernelContext& c, const GateOrder& order) {
  const Block<T> s(c);
  const T* given[9];
  for (int k = 0; k < 9; ++k) given[k] = c.data<T>(9 + k);
  for (int k = 0; k < 8; ++k) std::fill_n(c.out_data<T>(k), c.out_numel(k), T(0));
  if (s.state == 0) return;
  T* x_grad = c.out_data<T>(0);
  std::vector<float> d_cs = floats(s.state), d_h = d_cs;           // gradients from the next step
  std::vector<float> d_z = floats(checked_mul(s.steps, s.gates));  // of all steps
  std::vector<float> xh = floats(checked_mul(s.steps, checked_mul(s.batch, s.width)));
  std::vector<float> d_xh = floats(checked_mul(s.batch, s.width));
  std::vector<float> d_wci = floats(s.units), d_wcf = d_wci, d_wco = d_wci, d_b = floats(4 * s.units);
  for (int64_t t = s.steps - 1; t >= 0; --t) {
    s.join(t, t == 0 ? s.h_prev : given[6] + (t - 1) * s.state, xh.data() + t * s.batch * s.width);
    const T* before = t == 0 ? s.cs_prev : given[1] + (t - 1) * s.state;
    float* dz = d_z.data() + t * s.gates;
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t unit = 0; unit < s.units; ++unit) {
        const int64_t k = n * s.units + unit;
        const auto u = static_cast<size_t>(unit);
        const auto value = [&](int r) { return static_cast<float>(given[r][t * s.state + k]); };
        const float i = value(0), cs = value(1), f = value(2), o = value(3), ci = value(4), co = value(5);
        const auto cs_prev = static_cast<float>(before[k]);
        float &next_cs = d_cs[static_cast<size_t>(k)], &next_h = d_h[static_cast<size_t>(k)];
        const float dh = value(8) + next_h;
        const float d_o = o * (1 - o) * dh * co;
        float dcs = (1 - co * co) * dh * o + value(7) + next_cs;
        if (s.peephole) dcs += d_o * s.wco[unit];
        const float d_ci = (1 - ci * ci) * dcs * i, d_f = f * (1 - f) * dcs * cs_prev, d_i = i * (1 - i) * dcs * ci;
        const auto set = [&](int64_t place, float d) {
          dz[n * 4 * s.units + place * s.units + unit] = d;
          d_b[static_cast<size_t>(place * s.units + unit)] += d;
        };
        set(order.i, d_i);
        set(order.ci, d_ci);
        set(order.f, d_f);
        set(order.o, d_o);
        next_cs = dcs * f;
        if (s.peephole) {
          next_cs += d_i * s.wci[unit] + d_f * s.wcf[unit];
          d_wci[u] += d_i * cs_prev;
          d_wcf[u] += d_f * cs_prev;
          d_wco[u] += d_o * cs;
        }
      }
    }
    multiply({.m = s.batch, .n = s.width, .k = 4 * s.units, .transpose_b = true}, dz, s.w.data(), d_xh.data());
    for (int64_t n = 0; n < s.batch; ++n) {
      const float* row = d_xh.data() + n * s.width;
      std::transform(row, row + s.inputs, x_grad + (t * s.batch + n) * s.inputs,
                     [](float v) { return static_cast<T>(v); });
      std::copy(row + s.inputs, row + s.width, d_h.data() + n * s.units);
    }
  }
  const auto give = [&](int k, const std::vector<float>& from) {
    std::ranges::transform(from, c.out_data<T>(k), [](float v) { return static_cast<T>(v); });
  };
  give(1, d_cs);
  give(2, d_h);
  if (s.steps > 0) {
    std::vector<float> d_w = floats(c.out_numel(3));
    multiply({.m = s.width, .n = 4 * s.units, .k = s.steps * s.batch, .transpose_a = true}, xh.data(), d_z.data(),
             d_w.data());
    give(3, d_w);
  }
  give(4, d_wci);
  give(5, d_wcf);
  give(6, d_wco);
  give(7, d_b);
}

const CpuKernel block_kernel("BlockLSTM", types::of<"BlockLSTM">{},
                             []<class T>(KernelContext& c) { forward<T>(c, kFirst, c.real("forget_bias")); });
const CpuKernel block_v2_kernel("BlockLSTMV2", types::of<"BlockLSTMV2">{},
                                []<class T>(KernelContext& c) { forward<T>(c, kSecond, 0); });
const CpuKernel grad_kernel("BlockLSTMGrad", types::of<"BlockLSTMGrad">{},
                            []<class T>(KernelContext& c) { backward<T>(c, kFirst); });
const CpuKernel grad_v2_kernel("BlockLSTMGradV2", types::of<"BlockLSTMGradV2">{},
                               []<class T>(KernelContext& c) { backward<T>(c, kSecond); });

}  // namespace
}  // namespace panto
