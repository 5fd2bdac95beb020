// Pantograph's contestant.
#include "panto/panto.h"

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "panto/benchmarks/peers/contestant.h"

namespace panto {
namespace {

using Tensors = std::vector<Tensor>;

std::vector<float> host(const Tensor& t) { return t.to_vector<float>(); }

std::vector<TensorSpec> specs_of(const Tensors& x) {
  std::vector<TensorSpec> specs;
  for (const Tensor& t : x) specs.emplace_back(t.dtype(), PartialShape(t.shape()));
  return specs;
}

template <class F>
Function traced(F f, const Tensors& x) {
  return trace([f](std::span<const Tensor> in) { return f(Tensors(in.begin(), in.end())); }, specs_of(x));
}

template <class F>
peers::Workload calls_of(F f) {
  return peers::calls(std::move(f), host);
}

// One call; without the detour by a vector where the function has few inputs, as one writes it.
peers::Workload calls_of(const Function& f, const Tensors& x) {
  if (x.size() == 1) return calls_of([f, a = x[0]] { return f(a); });
  if (x.size() == 2) return calls_of([f, a = x[0], b = x[1]] { return f(a, b); });
  return calls_of([f, x] { return f.call(x)[0]; });
}

template <class F>
Tensor gradient(const F& f, const Tensors& x) {
  GradientTape tape;
  tape.watch(x[0]);
  return tape.gradient(f(x), x[0]);
}

// Plain gradient descent on all inputs but the first two; its output: the losses of three steps.
template <class F>
struct Training {
  F f;
  Tensors inputs;
  std::vector<Variable> parameters;
  Sgd optimizer;

  Training(F f, const Tensors& x)
      : f(f),
        inputs(x.begin(), x.begin() + 2),
        parameters(x.begin() + 2, x.end()),
        optimizer(parameters, {.learning_rate = 0.01}) {}

  Tensor step(const Tensor& images, const Tensor& labels) {
    GradientTape tape;
    Tensors all = {images, labels};
    for (const Variable& p : parameters) all.push_back(p.value());
    const Tensor loss = f(all);
    optimizer.apply(tape.gradient(loss, parameters));
    return loss;
  }
};

template <class F>
peers::Workload training(F f, const Tensors& x, bool is_traced) {
  const auto t = std::make_shared<Training<F>>(f, x);
  std::function<Tensor()> step = [t] { return t->step(t->inputs[0], t->inputs[1]); };
  if (is_traced) {
    const Function g = trace([t](const Tensor& a, const Tensor& b) { return t->step(a, b); }, specs_of(t->inputs));
    step = [t, g] { return g(t->inputs[0], t->inputs[1]); };
  }
  peers::Workload work = calls_of(step);
  work.output = [step] {
    std::vector<float> losses;
    for (int i = 0; i < 3; ++i) losses.push_back(step().item<float>());
    return losses;
  };
  return work;
}

struct Library {
  using Tensor = panto::Tensor;

  static Tensor tensor(const peers::Input& in) {
    if (!in.classes.empty()) return panto::tensor(in.classes, Shape(in.shape));
    return panto::tensor(in.floats, Shape(in.shape));
  }

  template <class F>
  static std::optional<peers::Workload> make(const std::string& mode, F f, const Tensors& x) {
    if (mode == "eager") return calls_of([f, x] { return f(x); });
    if (mode == "grad") return calls_of([f, x] { return gradient(f, x); });
    if (mode == "traced") return calls_of(traced(f, x), x);
    if (mode == "traced_grad") return calls_of(traced([f](const Tensors& in) { return gradient(f, in); }, x), x);
    if (mode == "cold") return calls_of([f, x] { return traced(f, x).call(x)[0]; });
    if (mode == "taped") return taped(f, x);
    if (mode == "train") return training(f, x, false);
    if (mode == "traced_train") return training(f, x, true);
    return std::nullopt;
  }

  // A fresh tape now and then: one alone would keep all runs.
  template <class F>
  static peers::Workload taped(F f, const Tensors& x) {
    peers::Workload work = calls_of([f, x] { return f(x); });
    work.runs = [f, x](int64_t count) {
      while (count > 0) {
        GradientTape tape;
        tape.watch(x[0]);
        for (int i = 0; i < 1000 && count > 0; ++i, --count) peers::keep(f(x));
      }
    };
    return work;
  }
};

Tensor dense(const Tensor& x, const Tensor& weights, const Tensor& bias) { return bias_add(matmul(x, weights), bias); }

// Networks take x, labels and parameters, and give the loss: these a weight and a bias for each layer.
Tensor mlp(const Tensors& in) {
  Tensor h = in[0];
  for (size_t i = 2; i < in.size(); i += 2) {
    h = dense(h, in[i], in[i + 1]);
    if (i + 2 < in.size()) h = relu(h);
  }
  return sparse_cross_entropy(h, in[1]);
}

// x [batch, height, width, channels]; filters, weights and biases of two convolutions, each with a pool, and a dense
// layer.
Tensor cnn(const Tensors& in) {
  Tensor h = in[0];
  for (const size_t i : {2, 4}) {
    h = relu(bias_add(conv2d(h, in[i], {1, 1, 1, 1}, "SAME"), in[i + 1]));
    h = max_pool(h, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  }
  return sparse_cross_entropy(dense(reshape(h, {in[0].shape()[0], -1}), in[6], in[7]), in[1]);
}

// x [steps, batch, inputs]; of the cell [inputs + state, 4 state], then of a dense layer on the last state.
Tensor lstm(const Tensors& in) {
  const int64_t state = in[2].shape()[1] / 4;
  Tensor h = fill({in[0].shape()[1], state}, 0.0f), c = h;
  for (const Tensor& x : unpack(in[0], in[0].shape()[0])) {
    const std::vector<Tensor> gates = split(1, dense(concat({x, h}, 1), in[2], in[3]), 4);
    c = sigmoid(gates[1]) * c + sigmoid(gates[0]) * tanh(gates[2]);
    h = sigmoid(gates[3]) * tanh(c);
  }
  return sparse_cross_entropy(dense(h, in[4], in[5]), in[1]);
}

// x [batch of 8 x 128 tokens, 256]; attention with four heads, then two dense layers, each after a layer norm.
Tensor transformer(const Tensors& in) {
  const int64_t batch = 8, heads = 4, tokens = in[0].shape()[0], width = in[0].shape()[1];
  const Tensor projected = dense(layer_norm(in[0], in[2], in[3]), in[4], in[5]);
  const Tensor parts = transpose(reshape(projected, {batch, tokens / batch, 3, heads, width / heads}), {2, 0, 3, 1, 4});
  const std::vector<Tensor> qkv = unpack(parts, 3);
  const float scale = 1.0f / std::sqrt(static_cast<float>(width / heads));
  const Tensor weights = softmax(batch_matmul(qkv[0], qkv[1], {.adj_y = true}) * scale);
  const Tensor mixed = reshape(transpose(batch_matmul(weights, qkv[2]), {0, 2, 1, 3}), {tokens, width});
  const Tensor x = in[0] + dense(mixed, in[6], in[7]);
  const Tensor h = gelu(dense(layer_norm(x, in[8], in[9]), in[10], in[11]));
  return sparse_cross_entropy(x + dense(h, in[12], in[13]), in[1]);
}

peers::Works<Library> works() {
  peers::Works<Library> w;
  w.add("add", [](const Tensor& x, const Tensor& y) { return add(x, y); });
  w.add("mul", [](const Tensor& x, const Tensor& y) { return mul(x, y); });
  w.add("matmul", [](const Tensor& x, const Tensor& y) { return matmul(x, y); });
  w.add("chain", [](const Tensor& x, const Tensor& factor) {
    Tensor y = x;
    for (int i = 0; i < 100; ++i) y = mul(y, factor);
    return y;
  });
  w.add("exp", [](const Tensor& x) { return exp(x); });
  w.add("tanh", [](const Tensor& x) { return tanh(x); });
  w.add("gelu", [](const Tensor& x) { return 0.5f * x * (1.0f + erf(x * 0.7071067811865476f)); });
  w.add("sum", [](const Tensor& x) { return sum(x); });
  w.add("rows", [](const Tensor& x) { return sum(x, {1}); });
  w.add("columns", [](const Tensor& x) { return sum(x, {0}); });
  w.add("softmax", [](const Tensor& x) { return softmax(x); });
  w.add("transpose", [](const Tensor& x) { return transpose(x, {1, 0}); });
  w.add("bias_add", [](const Tensor& x, const Tensor& b) { return bias_add(x, b); });
  w.add("layer_norm",
        [](const Tensor& x, const Tensor& scale, const Tensor& offset) { return layer_norm(x, scale, offset); });
  w.add("mlp", mlp);
  w.add("cnn", cnn);
  w.add("lstm", lstm);
  w.add("transformer", transformer);
  return w;
}

}  // namespace
}  // namespace panto

int main(int argc, char** argv) {
  panto::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  const auto all = panto::works();
  return peers::serve(std::cin, std::cout, [&](const auto&... what) { return all.make(what...); });
}
