// L2HMC, and helpers shared with other networks of PyTorch's contestant.
#pragma once

#include <torch/torch.h>

#include <cmath>
#include <vector>

namespace torch_networks {

using torch::Tensor;

inline Tensor dense(const Tensor& x, const Tensor& weights, const Tensor& bias) {
  return torch::addmm(bias, x, weights);
}

// The outputs of the networks S, Q and T of L2HMC (Levy, Hoffman and Sohl-Dickstein 2018) for one half of a point; they
// use the 14 parameters from `at` on.
struct Update {
  Tensor scale, translation, transformation;
};

inline Update update_of(const std::vector<Tensor>& in, size_t at, const Tensor& a, const Tensor& b,
                        const Tensor& time) {
  const auto p = [&](size_t i) { return in[at + i]; };
  Tensor h = torch::relu(torch::mm(a, p(0)) + torch::mm(b, p(1)) + torch::mm(time, p(2)) + p(3));
  h = torch::relu(dense(h, p(4), p(5)));
  return {.scale = torch::tanh(dense(h, p(6), p(7))) * torch::exp(p(8)),
          .translation = dense(h, p(9), p(10)),
          .transformation = torch::tanh(dense(h, p(11), p(12))) * torch::exp(p(13))};
}

// The energy of a Gaussian with the variances 100 and 0.1 along the diagonals.
inline Tensor energy(const Tensor& x) {
  static const Tensor precision = torch::tensor({5.005f, 4.995f, 4.995f, 5.005f}).reshape({2, 2});
  return 0.5 * torch::sum(torch::mm(x, precision) * x, 1);
}

inline Tensor energy_gradient(Tensor x) {
  if (!x.requires_grad()) x = x.detach().requires_grad_();
  return torch::autograd::grad({energy(x).sum()}, {x}, {}, true, true)[0];
}

// Inputs: positions and momenta [samples, 2], the logarithm of the step length [1], parameters of the position and of
// the momentum networks. Ten leapfrog steps forward; the loss of section 4, scaled.
inline Tensor l2hmc(const std::vector<Tensor>& in) {
  constexpr int kSteps = 10;
  const Tensor step = torch::exp(in[2]);
  Tensor x = in[0], v = in[1], log_jacobian;
  const auto stretch = [&](const Tensor& by) {
    const Tensor more = torch::sum(by, 1);
    log_jacobian = log_jacobian.defined() ? log_jacobian + more : more;
  };
  static const Tensor masks[] = {torch::tensor({1.f, 0.f}).reshape({1, 2}), torch::tensor({0.f, 1.f}).reshape({1, 2})};
  const auto move_momentum = [&](const Tensor& time) {
    const Tensor slope = energy_gradient(x);
    const Update u = update_of(in, 17, x, slope, time);
    const Tensor scale = 0.5 * step * u.scale;
    v = v * torch::exp(scale) - 0.5 * step * (torch::exp(step * u.transformation) * slope - u.translation);
    stretch(scale);
  };
  const auto move_position = [&](const Tensor& time, const Tensor& kept, const Tensor& moved) {
    const Update u = update_of(in, 3, v, kept * x, time);
    const Tensor scale = step * u.scale;
    x = kept * x + moved * (x * torch::exp(scale) + step * (torch::exp(step * u.transformation) * v + u.translation));
    stretch(moved * scale);
  };
  for (int i = 0; i < kSteps; ++i) {
    const double angle = 2 * std::acos(-1.0) * i / kSteps;
    const Tensor time =
        torch::tensor({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))}).reshape({1, 2});
    move_momentum(time);
    move_position(time, masks[i % 2], masks[1 - i % 2]);
    move_position(time, masks[1 - i % 2], masks[i % 2]);
    move_momentum(time);
  }
  const auto hamiltonian = [](const Tensor& x, const Tensor& v) { return energy(x) + 0.5 * torch::sum(v * v, 1); };
  const Tensor accepted =
      torch::exp(torch::clamp_max(hamiltonian(in[0], in[1]) - hamiltonian(x, v) + log_jacobian, 0.0));
  const Tensor jump = torch::sum(torch::square(x - in[0]), 1) * accepted + 1e-4;
  return torch::mean(0.001 / jump - 0.1 * jump);
}

}  // namespace torch_networks
