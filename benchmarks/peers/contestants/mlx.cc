// MLX: the C++ API from its wheel. lint: allow(built) roster.py compiles it, against what was installed
#include <mlx/mlx.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <memory>

#include "panto/benchmarks/peers/contestants/contestant.h"

namespace {

namespace mx = mlx::core;
using mx::array;
using Arrays = std::vector<array>;
using Function = std::function<Arrays(const Arrays&)>;

std::vector<float> host(array x) {
  x = mx::contiguous(mx::astype(x, mx::float32));
  x.eval();
  return {x.data<float>(), x.data<float>() + x.size()};
}
peers::Parts host(const Arrays& list) {
  return peers::each(list, [](const array& x) { return host(x); });
}

// MLX is lazy. Here each run is started at once, and all are waited for at the end.
template <class F>
peers::Workload calls(F f) {
  return {.output = [f]() mutable { return peers::parts(host(f())); },
          .runs =
              [f](int64_t count) mutable {
                for (int64_t i = 1; i < count; ++i) mx::async_eval(f());
                mx::eval(f());
              }};
}

struct Library {
  using Tensor = array;

  static array tensor(const peers::Input& in) {
    const mx::Shape shape(in.shape.begin(), in.shape.end());
    if (!in.classes.empty()) return array(in.classes.data(), shape);
    const array floats(in.floats.data(), shape);
    if (in.dtype == "bfloat16") return mx::astype(floats, mx::bfloat16);
    return in.dtype == "float16" ? mx::astype(floats, mx::float16) : floats;
  }

  template <class F>
  static std::optional<peers::Workload> make(const std::string& mode, F f, const Arrays& x) {
    if (mode == "eager") return calls([f, x] { return f(x); });
    if constexpr (std::is_same_v<decltype(f(x)), Arrays>) {
      if (mode == "traced") return calls([g = mx::compile(Function(f)), x] { return g(x); });
    } else {
      const Function whole = [f](const Arrays& in) { return Arrays{f(in)}; };
      if (mode == "traced") return calls([g = mx::compile(whole), x] { return g(x)[0]; });
      if (mode == "grad") return calls([g = with_gradient(whole, x), x] { return g(x); });
      if (mode == "traced_grad") return calls([g = mx::compile(with_gradient(whole, x)), x] { return g(x); });
      if (mode == "captured") return capturing(whole, x);
      if (mode == "cold") return calls([whole, x] { return mx::compile(Function(whole))(x)[0]; });
      if (mode == "train") return training(whole, x, false);
      if (mode == "traced_train") return training(whole, x, true);
    }
    return std::nullopt;
  }

  // A compiled function of the first input, which reads the others.
  static peers::Workload capturing(const Function& f, const Arrays& x) {
    const Function of_first = [f, x](const Arrays& in) {
      Arrays all = x;
      all[0] = in[0];
      return f(all);
    };
    return calls([g = mx::compile(of_first), first = Arrays{x[0]}] { return g(first)[0]; });
  }

  // Returns a function that computes f and the gradient of its sum by the first input. Finds the shape of f's result
  // once, here.
  static Function with_gradient(const Function& f, const Arrays& x) {
    const array seed = mx::ones(f(x)[0].shape());
    return [f, seed](const Arrays& in) {
      const auto of_first = [&f, &in](const Arrays& first) {
        Arrays all = in;
        all[0] = first[0];
        return f(all);
      };
      const auto [y, gradients] = mx::vjp(of_first, {in[0]}, {seed});
      return Arrays{y[0], gradients[0]};
    };
  }

  // Plain gradient descent on all inputs but the first two.
  static peers::Workload training(const Function& loss, const Arrays& x, bool compiled) {
    std::vector<int> parameters;
    for (size_t i = 2; i < x.size(); ++i) parameters.push_back(static_cast<int>(i));
    const auto both = mx::value_and_grad(loss, parameters);
    Function step = [both](Arrays all) {
      const auto [value, gradients] = both(all);
      for (size_t i = 2; i < all.size(); ++i) all[i] = all[i] - 0.01f * gradients[i - 2];
      all.push_back(value[0]);
      return all;
    };
    if (compiled) step = mx::compile(step);
    const auto state = std::make_shared<Arrays>(x);
    const auto once = [step, state] {
      Arrays all = step(*state);
      mx::async_eval(all);
      array value = all.back();
      all.pop_back();
      *state = std::move(all);
      return value;
    };
    peers::Workload work = calls(once);
    work.output = [once, state] {
      const auto values = [&] { return host(Arrays(state->begin() + 2, state->end())); };
      return peers::three_steps([&] { return once().item<float>(); }, values);
    };
    return work;
  }
};

array dense(const array& x, const array& weights, const array& bias) { return mx::addmm(bias, x, weights); }
array layer_norm(const array& x, const array& scale, const array& offset) {
  return mx::fast::layer_norm(x, scale, offset, 1e-5f);
}
array loss_of(const array& logits, const array& labels) {
  const array chosen = mx::squeeze(mx::take_along_axis(logits, mx::expand_dims(labels, 1), 1), 1);
  return mx::mean(mx::logsumexp(logits, 1) - chosen);
}

// Networks take x, labels and parameters, and return the loss. Parameters here: a weight and a bias for each layer.
array mlp(const Arrays& in) {
  array h = in[0];
  for (size_t i = 2; i < in.size(); i += 2) {
    h = dense(h, in[i], in[i + 1]);
    if (i + 2 < in.size()) h = mx::maximum(h, array(0.0f));
  }
  return loss_of(h, in[1]);
}

// x [batch, height, width, channels]; parameters: filters and biases of two convolutions, each with a pool, and a dense
// layer.
array cnn(const Arrays& in) {
  array h = in[0];
  for (const size_t i : {2, 4}) {
    const int padding = in[i].shape(0) / 2;
    h = mx::conv2d(h, mx::transpose(in[i], {3, 0, 1, 2}), {1, 1}, {padding, padding});
    h = mx::maximum(h + in[i + 1], array(0.0f));
    h = mx::reshape(h, {h.shape(0), h.shape(1) / 2, 2, h.shape(2) / 2, 2, h.shape(3)});
    h = mx::max(h, {2, 4});
  }
  return loss_of(dense(mx::flatten(h, 1), in[6], in[7]), in[1]);
}

// x [steps, batch, inputs]; parameters: the cell's [inputs + state, 4 state], then those of a dense layer on the last
// state.
array lstm(const Arrays& in) {
  array h = mx::zeros({in[0].shape(1), in[2].shape(1) / 4}), c = h;
  for (const array& x : mx::split(in[0], in[0].shape(0))) {
    const Arrays gates = mx::split(dense(mx::concatenate({mx::squeeze(x, 0), h}, 1), in[2], in[3]), 4, 1);
    c = mx::sigmoid(gates[1]) * c + mx::sigmoid(gates[0]) * mx::tanh(gates[2]);
    h = mx::sigmoid(gates[3]) * mx::tanh(c);
  }
  return loss_of(dense(h, in[4], in[5]), in[1]);
}

array gelu(const array& x) { return 0.5f * x * (1.0f + mx::erf(x * 0.7071067811865476f)); }

// x [tokens of 8 texts, width]; attention with four heads, then two dense layers, each after a layer norm, with the 12
// parameters from `at` on. `mask`: "causal", so that no token looks at later ones, or "".
array block(const array& x, const Arrays& in, size_t at, const char* mask) {
  const auto p = [&](size_t i) { return in[at + i]; };
  const int batch = 8, heads = 4, tokens = x.shape(0), width = x.shape(1);
  const array projected = dense(layer_norm(x, p(0), p(1)), p(2), p(3));
  const Arrays qkv = mx::split(
      mx::transpose(mx::reshape(projected, {batch, tokens / batch, 3, heads, width / heads}), {2, 0, 3, 1, 4}), 3);
  const float scale = 1.0f / std::sqrt(static_cast<float>(width / heads));
  const array mixed = mx::fast::scaled_dot_product_attention(mx::squeeze(qkv[0], 0), mx::squeeze(qkv[1], 0),
                                                             mx::squeeze(qkv[2], 0), scale, mask);
  const array y = x + dense(mx::reshape(mx::transpose(mixed, {0, 2, 1, 3}), {tokens, width}), p(4), p(5));
  return y + dense(gelu(dense(layer_norm(y, p(6), p(7)), p(8), p(9))), p(10), p(11));
}

array transformer(const Arrays& in) { return loss_of(block(in[0], in, 2, ""), in[1]); }

// GPT-2 (Radford and others 2019). Inputs: the tokens of 8 texts, concatenated, and the tokens to predict. Parameters:
// word and position embeddings, blocks, and a layer norm. The word embeddings are also the last layer's weights.
array gpt2(const Arrays& in) {
  const array &words = in[2], &positions = in[3];
  const int tokens = in[0].shape(0), length = positions.shape(0), width = positions.shape(1);
  const array vectors = mx::reshape(mx::take(words, in[0], 0), {tokens / length, length, width});
  array x = mx::reshape(vectors + positions, {tokens, width});
  size_t at = 4;
  for (; at + 12 < in.size(); at += 12) x = block(x, in, at, "causal");
  return loss_of(mx::matmul(layer_norm(x, in[at], in[at + 1]), mx::transpose(words)), in[1]);
}

// The Hessian of sum(tanh(x w) u) times v.
array hessian_by_vector(const Arrays& in) {
  const auto whole = [&in](const Arrays& of) { return Arrays{mx::sum(mx::tanh(of[0] * in[1]) * in[2])}; };
  const auto first = [&whole](const Arrays& of) { return mx::vjp(whole, of, {array(1.0f)}).second; };
  return mx::vjp(first, {in[0]}, {in[3]}).second[0];
}

// The squared norm of each example's own gradient.
array gradient_norms(const Arrays& in) {
  const Arrays parameters(in.begin() + 2, in.end());
  const std::function<Arrays(const Arrays&)> norm = [&](const Arrays& example) {
    const auto loss = [&](const Arrays& p) {
      Arrays own = {mx::expand_dims(example[0], 0), mx::expand_dims(example[1], 0)};
      own.insert(own.end(), p.begin(), p.end());
      return Arrays{mlp(own)};
    };
    array total(0.0f);
    for (const array& g : mx::vjp(loss, parameters, {array(1.0f)}).second) total = total + mx::sum(mx::square(g));
    return Arrays{total};
  };
  return mx::vmap(norm, {0, 0}, {0})({in[0], in[1]})[0];
}

array network_jacobian(const Arrays& in) {
  const auto f = [&](const Arrays& x) {
    const array h = mx::tanh(dense(mx::expand_dims(x[0], 0), in[1], in[2]));
    return Arrays{mx::squeeze(dense(h, in[3], in[4]), 0)};
  };
  const std::function<Arrays(const Arrays&)> row = [&](const Arrays& seed) { return mx::vjp(f, {in[0]}, seed).second; };
  return mx::vmap(row, {0}, {0})({mx::eye(static_cast<int>(in[4].size()))})[0];
}

array hessian_matrix(const Arrays& in) {
  const auto whole = [&](const Arrays& x) {
    return Arrays{mx::sum(mx::tanh(mx::matmul(mx::expand_dims(x[0], 0), in[1])) * in[2])};
  };
  const auto first = [&](const Arrays& x) { return mx::vjp(whole, x, {array(1.0f)}).second; };
  const std::function<Arrays(const Arrays&)> row = [&](const Arrays& seed) {
    return mx::vjp(first, {in[0]}, seed).second;
  };
  return mx::vmap(row, {0}, {0})({mx::eye(static_cast<int>(in[0].size()))})[0];
}

// The outputs of the networks S, Q and T of L2HMC (Levy, Hoffman and Sohl-Dickstein 2018) for one half of a point; they
// use the 14 parameters from `at` on.
struct Update {
  array scale, translation, transformation;
};

Update update_of(const Arrays& in, size_t at, const array& a, const array& b, const array& time) {
  const auto p = [&](size_t i) { return in[at + i]; };
  const array zero(0.0f);
  array h = mx::maximum(mx::matmul(a, p(0)) + mx::matmul(b, p(1)) + mx::matmul(time, p(2)) + p(3), zero);
  h = mx::maximum(dense(h, p(4), p(5)), zero);
  return {.scale = mx::tanh(dense(h, p(6), p(7))) * mx::exp(p(8)),
          .translation = dense(h, p(9), p(10)),
          .transformation = mx::tanh(dense(h, p(11), p(12))) * mx::exp(p(13))};
}

// The energy of a Gaussian with the variances 100 and 0.1 along the diagonals.
array energy(const array& x) {
  static const array precision({5.005f, 4.995f, 4.995f, 5.005f}, {2, 2});
  return 0.5f * mx::sum(mx::matmul(x, precision) * x, 1);
}

array energy_gradient(const array& x) {
  const auto whole = [](const Arrays& of) { return Arrays{energy(of[0])}; };
  return mx::vjp(whole, {x}, {mx::ones({x.shape(0)})}).second[0];
}

// The encoded times of ten steps.
const Arrays& times() {
  static const Arrays all = [] {
    Arrays result;
    for (int i = 0; i < 10; ++i) {
      const double angle = 2 * std::acos(-1.0) * i / 10;
      result.push_back(array({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))}, {1, 2}));
    }
    return result;
  }();
  return all;
}

// Inputs: positions and momenta [samples, 2], the logarithm of the step length [1], parameters of the position and of
// the momentum networks. Ten leapfrog steps forward; the loss of section 4, scaled.
array l2hmc(const Arrays& in) {
  constexpr int kSteps = 10;
  const array step = mx::exp(in[2]);
  array x = in[0], v = in[1], log_jacobian = mx::zeros({x.shape(0)});
  static const array masks[] = {array({1.f, 0.f}, {1, 2}), array({0.f, 1.f}, {1, 2})};
  const auto move_momentum = [&](const array& time) {
    const array slope = energy_gradient(x);
    const Update u = update_of(in, 17, x, slope, time);
    const array scale = 0.5f * step * u.scale;
    v = v * mx::exp(scale) - 0.5f * step * (mx::exp(step * u.transformation) * slope - u.translation);
    log_jacobian = log_jacobian + mx::sum(scale, 1);
  };
  const auto move_position = [&](const array& time, const array& kept, const array& moved) {
    const Update u = update_of(in, 3, v, kept * x, time);
    const array scale = step * u.scale;
    x = kept * x + moved * (x * mx::exp(scale) + step * (mx::exp(step * u.transformation) * v + u.translation));
    log_jacobian = log_jacobian + mx::sum(moved * scale, 1);
  };
  for (int i = 0; i < kSteps; ++i) {
    const array& time = times()[static_cast<size_t>(i)];
    move_momentum(time);
    move_position(time, masks[i % 2], masks[1 - i % 2]);
    move_position(time, masks[1 - i % 2], masks[i % 2]);
    move_momentum(time);
  }
  const auto hamiltonian = [](const array& x, const array& v) { return energy(x) + 0.5f * mx::sum(v * v, 1); };
  const array accepted =
      mx::exp(mx::minimum(hamiltonian(in[0], in[1]) - hamiltonian(x, v) + log_jacobian, array(0.0f)));
  const array jump = mx::sum(mx::square(x - in[0]), 1) * accepted + 1e-4f;
  return mx::mean(0.001f / jump - 0.1f * jump);
}

// The convolution and its gradients by x and the filter; in[2] is the gradient by the output.
Arrays conv(const Arrays& in) {
  const int padding = in[1].shape(0) / 2;
  const auto forward = [padding](const Arrays& of) {
    return Arrays{mx::conv2d(of[0], mx::transpose(of[1], {3, 0, 1, 2}), {1, 1}, {padding, padding})};
  };
  auto [all, gradients] = mx::vjp(forward, {in[0], in[1]}, {in[2]});
  all.insert(all.end(), gradients.begin(), gradients.end());
  return all;
}

peers::Works<Library> works() {
  peers::Works<Library> w;
  w.add("add", [](const array& x, const array& y) { return x + y; });
  w.add("mul", [](const array& x, const array& y) { return x * y; });
  w.add("matmul", [](const array& x, const array& y) { return mx::matmul(x, y); });
  w.add("chain", [](const array& x, const array& factor) {
    array y = x;
    for (int i = 0; i < 100; ++i) y = y * factor;
    return y;
  });
  w.add("product", [](const Arrays& in) {
    array y = in[0];
    for (size_t i = 1; i < in.size(); ++i) y = y * in[i];
    return y;
  });
  w.add("view", [](const array& x) { return mx::reshape(x, {-1}); });
  w.add("hessian", hessian_by_vector);
  w.add("gradient_norms", gradient_norms);
  w.add("jacobian", network_jacobian);
  w.add("hessian_matrix", hessian_matrix);
  w.add("log_exp", [](const array& x) {
    array y = x;
    for (int i = 0; i < 20; ++i) y = mx::log(mx::exp(y));
    return y;
  });
  w.add("conv", conv);
  w.add("exp", [](const array& x) { return mx::exp(x); });
  w.add("tanh", [](const array& x) { return mx::tanh(x); });
  w.add("gelu", gelu);
  w.add("sum", [](const array& x) { return mx::sum(x); });
  w.add("rows", [](const array& x) { return mx::sum(x, 1); });
  w.add("columns", [](const array& x) { return mx::sum(x, 0); });
  w.add("softmax", [](const array& x) { return mx::softmax(x, 1); });
  w.add("transpose", [](const array& x) { return mx::contiguous(mx::transpose(x)); });
  w.add("add_transposed", [](const array& x, const array& y) { return x + mx::transpose(y); });
  w.add("bias_add", [](const array& x, const array& b) { return x + b; });
  w.add("layer_norm", layer_norm);
  w.add("mlp", mlp);
  w.add("cnn", cnn);
  w.add("lstm", lstm);
  w.add("transformer", transformer);
  w.add("gpt2", gpt2);
  w.add("l2hmc", l2hmc);
  return w;
}

}  // namespace

int main() {
  const auto all = works();
  return peers::serve(std::cin, std::cout, [&](const auto&... what) { return all.make(what...); });
}
