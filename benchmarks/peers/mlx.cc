// MLX: its C++ API, as it lies in the wheel. lint: allow(built) roster.py compiles it, against what was installed
#include <mlx/mlx.h>

#include <cmath>
#include <functional>
#include <iostream>
#include <memory>

#include "panto/benchmarks/peers/contestant.h"

namespace {

namespace mx = mlx::core;
using mx::array;
using Arrays = std::vector<array>;
using Function = std::function<Arrays(const Arrays&)>;

// Nothing is computed before it is asked for. Here each run is asked for at once, and waited for at the end.
template <class F>
peers::Workload calls(F f, std::vector<float> (*host)(array)) {
  return {.output = [f, host]() mutable { return host(f()); },
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
    return array(in.floats.data(), shape);
  }
  static std::vector<float> host(array x) {
    x = mx::contiguous(x);
    x.eval();
    return {x.data<float>(), x.data<float>() + x.size()};
  }

  template <class F>
  static std::optional<peers::Workload> make(const std::string& mode, F f, const Arrays& x) {
    if (mode == "eager") return calls([f, x] { return f(x); }, host);
    const Function whole = [f](const Arrays& in) { return Arrays{f(in)}; };
    if (mode == "traced") return calls([g = mx::compile(whole), x] { return g(x)[0]; }, host);
    if (mode == "grad") return calls([g = gradient(whole), x] { return g(x)[0]; }, host);
    if (mode == "traced_grad") return calls([g = mx::compile(gradient(whole)), x] { return g(x)[0]; }, host);
    if (mode == "cold") return calls([whole, x] { return mx::compile(Function(whole))(x)[0]; }, host);
    if (mode == "train") return training(whole, x, false);
    if (mode == "traced_train") return training(whole, x, true);
    return std::nullopt;
  }

  static Function gradient(const Function& f) {
    return [f](const Arrays& in) {
      const auto of_first = [&f, &in](const Arrays& first) {
        Arrays all = in;
        all[0] = first[0];
        return f(all);
      };
      const array seed = mx::ones_like(of_first({in[0]})[0]);
      return mx::vjp(of_first, {in[0]}, {seed}).second;
    };
  }

  // Plain gradient descent on all inputs but the first two; its output: the losses of three steps.
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
    const auto once = [step, state = std::make_shared<Arrays>(x)] {
      Arrays all = step(*state);
      mx::async_eval(all);
      array value = all.back();
      all.pop_back();
      *state = std::move(all);
      return value;
    };
    peers::Workload work = calls(once, host);
    work.output = [once] {
      std::vector<float> losses;
      for (int i = 0; i < 3; ++i) losses.push_back(once().item<float>());
      return losses;
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

// Networks take x, labels and parameters, and give the loss: these a weight and a bias for each layer.
array mlp(const Arrays& in) {
  array h = in[0];
  for (size_t i = 2; i < in.size(); i += 2) {
    h = dense(h, in[i], in[i + 1]);
    if (i + 2 < in.size()) h = mx::maximum(h, array(0.0f));
  }
  return loss_of(h, in[1]);
}

// x [batch, height, width, channels]; filters, weights and biases of two convolutions, each with a pool, and a dense
// layer.
array cnn(const Arrays& in) {
  array h = in[0];
  for (const size_t i : {2, 4}) {
    h = mx::maximum(mx::conv2d(h, mx::transpose(in[i], {3, 0, 1, 2}), {1, 1}, {2, 2}) + in[i + 1], array(0.0f));
    h = mx::reshape(h, {h.shape(0), h.shape(1) / 2, 2, h.shape(2) / 2, 2, h.shape(3)});
    h = mx::max(h, {2, 4});
  }
  return loss_of(dense(mx::flatten(h, 1), in[6], in[7]), in[1]);
}

// x [steps, batch, inputs]; of the cell [inputs + state, 4 state], then of a dense layer on the last state.
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

// x [batch of 8 x 128 tokens, 256]; attention with four heads, then two dense layers, each after a layer norm.
array transformer(const Arrays& in) {
  const int batch = 8, heads = 4, tokens = in[0].shape(0), width = in[0].shape(1);
  const array projected = dense(layer_norm(in[0], in[2], in[3]), in[4], in[5]);
  const Arrays qkv = mx::split(
      mx::transpose(mx::reshape(projected, {batch, tokens / batch, 3, heads, width / heads}), {2, 0, 3, 1, 4}), 3);
  const float scale = 1.0f / std::sqrt(static_cast<float>(width / heads));
  const array mixed = mx::fast::scaled_dot_product_attention(mx::squeeze(qkv[0], 0), mx::squeeze(qkv[1], 0),
                                                             mx::squeeze(qkv[2], 0), scale);
  const array x = in[0] + dense(mx::reshape(mx::transpose(mixed, {0, 2, 1, 3}), {tokens, width}), in[6], in[7]);
  const array h = gelu(dense(layer_norm(x, in[8], in[9]), in[10], in[11]));
  return loss_of(x + dense(h, in[12], in[13]), in[1]);
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
  w.add("exp", [](const array& x) { return mx::exp(x); });
  w.add("tanh", [](const array& x) { return mx::tanh(x); });
  w.add("gelu", gelu);
  w.add("sum", [](const array& x) { return mx::sum(x); });
  w.add("rows", [](const array& x) { return mx::sum(x, 1); });
  w.add("columns", [](const array& x) { return mx::sum(x, 0); });
  w.add("softmax", [](const array& x) { return mx::softmax(x, 1); });
  w.add("transpose", [](const array& x) { return mx::contiguous(mx::transpose(x)); });
  w.add("bias_add", [](const array& x, const array& b) { return x + b; });
  w.add("layer_norm", layer_norm);
  w.add("mlp", mlp);
  w.add("cnn", cnn);
  w.add("lstm", lstm);
  w.add("transformer", transformer);
  return w;
}

}  // namespace

int main() {
  const auto all = works();
  return peers::serve(std::cin, std::cout, [&](const auto&... what) { return all.make(what...); });
}
