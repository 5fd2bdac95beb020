// L2HMC, and helpers shared with other networks of Pantograph's contestant.
#pragma once

#include <cmath>
#include <vector>

#include "panto/panto.h"

namespace panto::peer_networks {

inline Tensor dense(const Tensor& x, const Tensor& weights, const Tensor& bias) {
  return bias_add(matmul(x, weights), bias);
}

// The outputs of the networks S, Q and T of L2HMC (Levy, Hoffman and Sohl-Dickstein 2018) for one half of a point; they
// use the 14 parameters from `at` on.
struct Update {
  Tensor scale, translation, transformation;
};

inline Update update_of(const std::vector<Tensor>& in, size_t at, const Tensor& a, const Tensor& b,
                        const Tensor& time) {
  const auto p = [&](size_t i) { return in[at + i]; };
  Tensor h = relu(matmul(a, p(0)) + matmul(b, p(1)) + matmul(time, p(2)) + p(3));
  h = relu(dense(h, p(4), p(5)));
  return {.scale = tanh(dense(h, p(6), p(7))) * exp(p(8)),
          .translation = dense(h, p(9), p(10)),
          .transformation = tanh(dense(h, p(11), p(12))) * exp(p(13))};
}

// The energy of a Gaussian with the variances 100 and 0.1 along the diagonals.
inline Tensor energy(const Tensor& x) {
  static const Tensor precision = tensor({{5.005f, 4.995f}, {4.995f, 5.005f}});
  return 0.5f * sum(matmul(x, precision) * x, {1});
}

inline Tensor energy_gradient(const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(energy(x), x);
}

// Inputs: positions and momenta [samples, 2], the logarithm of the step length [1], parameters of the position and of
// the momentum networks. Ten leapfrog steps forward; the loss of section 4, scaled.
inline Tensor l2hmc(const std::vector<Tensor>& in) {
  constexpr int kSteps = 10;
  const Tensor step = exp(in[2]);
  Tensor x = in[0], v = in[1], log_jacobian;
  const auto stretch = [&](const Tensor& by) {
    const Tensor more = sum(by, {1});
    log_jacobian = log_jacobian.defined() ? log_jacobian + more : more;
  };
  static const Tensor masks[] = {tensor({{1.f, 0.f}}), tensor({{0.f, 1.f}})};
  const auto move_momentum = [&](const Tensor& time) {
    const Tensor slope = energy_gradient(x);
    const Update u = update_of(in, 17, x, slope, time);
    const Tensor scale = 0.5f * step * u.scale;
    v = v * exp(scale) - 0.5f * step * (exp(step * u.transformation) * slope - u.translation);
    stretch(scale);
  };
  const auto move_position = [&](const Tensor& time, const Tensor& kept, const Tensor& moved) {
    const Update u = update_of(in, 3, v, kept * x, time);
    const Tensor scale = step * u.scale;
    x = kept * x + moved * (x * exp(scale) + step * (exp(step * u.transformation) * v + u.translation));
    stretch(moved * scale);
  };
  for (int i = 0; i < kSteps; ++i) {
    const double angle = 2 * std::acos(-1.0) * i / kSteps;
    const Tensor time = tensor({{static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))}});
    move_momentum(time);
    move_position(time, masks[i % 2], masks[1 - i % 2]);
    move_position(time, masks[1 - i % 2], masks[i % 2]);
    move_momentum(time);
  }
  const auto hamiltonian = [](const Tensor& x, const Tensor& v) { return energy(x) + 0.5f * sum(v * v, {1}); };
  const Tensor accepted = exp(minimum(hamiltonian(in[0], in[1]) - hamiltonian(x, v) + log_jacobian, 0.0f));
  const Tensor jump = sum(square(x - in[0]), {1}) * accepted + 1e-4f;
  return mean(0.001f / jump - 0.1f * jump);
}

}  // namespace panto::peer_networks
