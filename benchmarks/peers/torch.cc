// PyTorch: its C++ API, as it lies in the wheel. lint: allow(built) roster.py compiles it, against what was installed
#include <torch/torch.h>

#include <cstdlib>
#include <functional>
#include <iostream>

#include "panto/benchmarks/peers/contestant.h"

namespace {

using torch::Tensor;

struct Library {
  using Tensor = torch::Tensor;

  static Tensor tensor(const peers::Input& in) {
    if (!in.classes.empty()) return torch::tensor(in.classes).to(torch::kLong);
    const Tensor t = torch::tensor(in.floats).reshape(in.shape);
    if (t.dim() != 4) return t;
    // Images and filters.
    return (in.shape[3] == 1 ? t.permute({0, 3, 1, 2}) : t.permute({3, 2, 0, 1}))
        .contiguous(at::MemoryFormat::ChannelsLast);
  }
  static std::vector<float> host(const Tensor& t) {
    const Tensor flat = t.detach().contiguous().reshape({-1});
    return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
  }

  template <class F>
  static std::optional<peers::Workload> make(const std::string& mode, F f, std::vector<Tensor> x) {
    if (mode == "eager") return peers::calls([f, x] { return f(x); }, host);
    if (mode == "taped" || mode == "grad") x[0].requires_grad_();
    if (mode == "taped") return peers::calls([f, x] { return f(x); }, host);
    if (mode == "grad") {
      return peers::calls(
          [f, x] {
            const Tensor y = f(x);
            return torch::autograd::grad({y}, {x[0]}, {torch::ones_like(y)})[0];
          },
          host);
    }
    if (mode == "train") return training(f, x);
    return std::nullopt;
  }

  // Plain gradient descent on all inputs but the first two; its output: the losses of three steps.
  static peers::Workload training(const std::function<Tensor(const std::vector<Tensor>&)>& f,
                                  const std::vector<Tensor>& x) {
    const std::vector<Tensor> parameters(x.begin() + 2, x.end());
    for (const Tensor& p : parameters) p.requires_grad_();
    const auto step = [f, x, parameters] {
      const Tensor loss = f(x);
      const std::vector<Tensor> gradients = torch::autograd::grad({loss}, parameters);
      const torch::NoGradGuard none;
      for (size_t i = 0; i < parameters.size(); ++i) parameters[i].sub_(gradients[i], 0.01);
      return loss.detach();
    };
    peers::Workload work = peers::calls(step, host);
    work.output = [step] {
      std::vector<float> losses;
      for (int i = 0; i < 3; ++i) losses.push_back(step().item<float>());
      return losses;
    };
    return work;
  }
};

Tensor dense(const Tensor& x, const Tensor& weights, const Tensor& bias) { return torch::addmm(bias, x, weights); }
Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& offset) {
  return torch::layer_norm(x, {x.size(-1)}, scale, offset, 1e-5);
}
Tensor loss_of(const Tensor& logits, const Tensor& labels) {
  return torch::nn::functional::cross_entropy(logits, labels);
}

// Networks take x, labels and parameters, and give the loss: these a weight and a bias for each layer.
Tensor mlp(const std::vector<Tensor>& in) {
  Tensor h = in[0];
  for (size_t i = 2; i < in.size(); i += 2) {
    h = dense(h, in[i], in[i + 1]);
    if (i + 2 < in.size()) h = torch::relu(h);
  }
  return loss_of(h, in[1]);
}

// x [batch, height, width, channels]; filters, weights and biases of two convolutions, each with a pool, and a dense
// layer. In NCHW order of dimensions, with channels last in memory: what PyTorch recommends on CPUs.
Tensor cnn(const std::vector<Tensor>& in) {
  Tensor h = in[0];
  for (const size_t i : {2, 4}) {
    h = torch::max_pool2d(torch::relu(torch::conv2d(h, in[i], in[i + 1], 1, "same")), 2);
  }
  return loss_of(dense(h.permute({0, 2, 3, 1}).reshape({h.size(0), -1}), in[6], in[7]), in[1]);
}

// x [steps, batch, inputs]; of the cell [inputs + state, 4 state], then of a dense layer on the last state.
Tensor lstm(const std::vector<Tensor>& in) {
  Tensor h = torch::zeros({in[0].size(1), in[2].size(1) / 4}), c = h;
  for (const Tensor& x : in[0].unbind()) {
    const std::vector<Tensor> gates = dense(torch::cat({x, h}, 1), in[2], in[3]).chunk(4, 1);
    c = torch::sigmoid(gates[1]) * c + torch::sigmoid(gates[0]) * torch::tanh(gates[2]);
    h = torch::sigmoid(gates[3]) * torch::tanh(c);
  }
  return loss_of(dense(h, in[4], in[5]), in[1]);
}

// x [batch of 8 x 128 tokens, 256]; attention with four heads, then two dense layers, each after a layer norm.
Tensor transformer(const std::vector<Tensor>& in) {
  const int64_t batch = 8, heads = 4, tokens = in[0].size(0), width = in[0].size(1);
  const Tensor projected = dense(layer_norm(in[0], in[2], in[3]), in[4], in[5]);
  const std::vector<Tensor> qkv =
      projected.reshape({batch, tokens / batch, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind();
  const Tensor mixed = torch::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2]);
  const Tensor x = in[0] + dense(mixed.permute({0, 2, 1, 3}).reshape({tokens, width}), in[6], in[7]);
  const Tensor h = torch::gelu(dense(layer_norm(x, in[8], in[9]), in[10], in[11]));
  return loss_of(x + dense(h, in[12], in[13]), in[1]);
}

peers::Works<Library> works() {
  peers::Works<Library> w;
  w.add("add", [](const Tensor& x, const Tensor& y) { return x + y; });
  w.add("mul", [](const Tensor& x, const Tensor& y) { return x * y; });
  w.add("matmul", [](const Tensor& x, const Tensor& y) { return torch::mm(x, y); });
  w.add("chain", [](const Tensor& x, const Tensor& factor) {
    Tensor y = x;
    for (int i = 0; i < 100; ++i) y = y * factor;
    return y;
  });
  w.add("exp", [](const Tensor& x) { return torch::exp(x); });
  w.add("tanh", [](const Tensor& x) { return torch::tanh(x); });
  w.add("gelu", [](const Tensor& x) { return 0.5 * x * (1.0 + torch::erf(x * 0.7071067811865476)); });
  w.add("sum", [](const Tensor& x) { return torch::sum(x); });
  w.add("rows", [](const Tensor& x) { return torch::sum(x, 1); });
  w.add("columns", [](const Tensor& x) { return torch::sum(x, 0); });
  w.add("softmax", [](const Tensor& x) { return torch::softmax(x, 1); });
  w.add("transpose", [](const Tensor& x) { return x.t().contiguous(); });
  w.add("bias_add", [](const Tensor& x, const Tensor& b) { return x + b; });
  w.add("layer_norm", layer_norm);
  w.add("mlp", mlp);
  w.add("cnn", cnn);
  w.add("lstm", lstm);
  w.add("transformer", transformer);
  return w;
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  const auto all = works();
  return peers::serve(std::cin, std::cout, [&](const auto&... what) { return all.make(what...); });
}
