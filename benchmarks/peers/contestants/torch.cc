// PyTorch: the C++ API from its wheel. lint: allow(built) roster.py compiles it, against what was installed
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/torch.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>

#include "panto/benchmarks/peers/contestants/contestant.h"
#include "panto/benchmarks/peers/contestants/torch_l2hmc.h"

namespace {

using torch::Tensor;
using Tensors = std::vector<Tensor>;

std::vector<float> host(const Tensor& t) {
  if (t.is_complex()) return host(torch::view_as_real(t));
  const Tensor flat = t.detach().to(torch::kFloat).contiguous().reshape({-1});
  return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}
peers::Parts host(const Tensors& list) {
  return peers::each(list, [](const Tensor& t) { return host(t); });
}

template <class F>
peers::Workload calls(F f) {
  return peers::calls(std::move(f), [](const auto& result) { return host(result); });
}

struct Library {
  using Tensor = torch::Tensor;

  static Tensor tensor(const peers::Input& in) {
    if (in.form == "bool") return torch::tensor(in.classes).to(torch::kBool);
    if (!in.classes.empty()) return torch::tensor(in.classes).to(torch::kLong).reshape(in.shape);
    const std::map<std::string, torch::ScalarType> types = {
        {"bfloat16", torch::kBFloat16}, {"float16", torch::kHalf}, {"quint8", torch::kChar}, {"", torch::kFloat}};
    const Tensor t = torch::tensor(in.floats).reshape(in.shape).to(types.at(in.dtype));
    if (in.form == "nhwc") return t.permute({0, 3, 1, 2}).contiguous(at::MemoryFormat::ChannelsLast);
    if (in.form == "hwio") return t.permute({3, 2, 0, 1}).contiguous(at::MemoryFormat::ChannelsLast);
    if (in.form == "depthwise") return t.permute({2, 3, 0, 1}).contiguous(at::MemoryFormat::ChannelsLast);
    if (in.form == "ndhwc") return t.permute({0, 4, 1, 2, 3}).contiguous(at::MemoryFormat::ChannelsLast3d);
    if (in.form == "dhwio") return t.permute({4, 3, 0, 1, 2}).contiguous(at::MemoryFormat::ChannelsLast3d);
    if (in.form == "complex") return torch::view_as_complex(t);
    if (in.form == "hwio_nchw") return t.permute({3, 2, 0, 1}).contiguous();
    return t;
  }

  template <class F>
  static std::optional<peers::Workload> make(const std::string& mode, F f, std::vector<Tensor> x) {
    if (mode == "eager" || mode == "frozen") {
      peers::Workload work = calls([f, x] { return f(x); });
      work.runs = [runs = work.runs](int64_t count) {
        const c10::InferenceMode inference;
        runs(count);
      };
      return work;
    }
    if constexpr (std::is_same_v<decltype(f(x)), Tensor>) {
      if (mode == "taped" || mode == "grad") x[0].requires_grad_();
      if (mode == "taped") return calls([f, x] { return f(x); });
      if (mode == "grad") {
        return calls([f, x] {
          const Tensor y = f(x);
          return std::vector<Tensor>{y, torch::autograd::grad({y}, {x[0]}, {torch::ones_like(y)})[0]};
        });
      }
      if (mode == "train") return training(f, x);
    }
    return std::nullopt;
  }

  // Plain gradient descent on all inputs but the first two.
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
    peers::Workload work = calls(step);
    work.output = [step, parameters] {
      const auto values = [&] {
        // Filters in their original layout.
        return peers::each(parameters,
                           [](const Tensor& p) { return host(p.dim() == 4 ? p.permute({2, 3, 1, 0}) : p); });
      };
      return peers::three_steps([&] { return step().item<float>(); }, values);
    };
    return work;
  }
};

using torch_networks::dense;
Tensor layer_norm(const Tensor& x, const Tensor& scale, const Tensor& offset) {
  return torch::layer_norm(x, {x.size(-1)}, scale, offset, 1e-5);
}
Tensor loss_of(const Tensor& logits, const Tensor& labels) {
  return torch::nn::functional::cross_entropy(logits, labels);
}

// Networks take x, labels and parameters, and return the loss. Parameters here: a weight and a bias for each layer.
Tensor mlp(const std::vector<Tensor>& in) {
  Tensor h = in[0];
  for (size_t i = 2; i < in.size(); i += 2) {
    h = dense(h, in[i], in[i + 1]);
    if (i + 2 < in.size()) h = torch::relu(h);
  }
  return loss_of(h, in[1]);
}

// x [batch, height, width, channels]; parameters: filters and biases of two convolutions, each with a pool, and a dense
// layer. Dimensions in NCHW order with channels last in memory, as PyTorch recommends on CPUs.
Tensor cnn(const std::vector<Tensor>& in) {
  Tensor h = in[0];
  for (const size_t i : {2, 4}) {
    h = torch::max_pool2d(torch::relu(torch::conv2d(h, in[i], in[i + 1], 1, "same")), 2);
  }
  return loss_of(dense(h.permute({0, 2, 3, 1}).reshape({h.size(0), -1}), in[6], in[7]), in[1]);
}

// x [steps, batch, inputs]; parameters: the cell's [inputs + state, 4 state], then those of a dense layer on the last
// state.
Tensor lstm(const std::vector<Tensor>& in) {
  Tensor h = torch::zeros({in[0].size(1), in[2].size(1) / 4}), c = h;
  for (const Tensor& x : in[0].unbind()) {
    const std::vector<Tensor> gates = dense(torch::cat({x, h}, 1), in[2], in[3]).chunk(4, 1);
    c = torch::sigmoid(gates[1]) * c + torch::sigmoid(gates[0]) * torch::tanh(gates[2]);
    h = torch::sigmoid(gates[3]) * torch::tanh(c);
  }
  return loss_of(dense(h, in[4], in[5]), in[1]);
}

// x [tokens of 8 texts, width]; attention with four heads, then two dense layers, each after a layer norm, with the 12
// parameters from `at` on. Causal: no token looks at later ones.
Tensor block(const Tensor& x, const Tensors& in, size_t at, bool causal) {
  const auto p = [&](size_t i) { return in[at + i]; };
  const int64_t batch = 8, heads = 4, tokens = x.size(0), width = x.size(1);
  const Tensor projected = dense(layer_norm(x, p(0), p(1)), p(2), p(3));
  const std::vector<Tensor> qkv =
      projected.reshape({batch, tokens / batch, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind();
  const Tensor mixed = torch::scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], {}, 0.0, causal);
  const Tensor y = x + dense(mixed.permute({0, 2, 1, 3}).reshape({tokens, width}), p(4), p(5));
  return y + dense(torch::gelu(dense(layer_norm(y, p(6), p(7)), p(8), p(9))), p(10), p(11));
}

Tensor transformer(const Tensors& in) { return loss_of(block(in[0], in, 2, false), in[1]); }

// GPT-2 (Radford and others 2019). Inputs: the tokens of 8 texts, concatenated, and the tokens to predict. Parameters:
// word and position embeddings, blocks, and a layer norm. The word embeddings are also the last layer's weights.
Tensor gpt2(const Tensors& in) {
  const Tensor &words = in[2], &positions = in[3];
  const Tensor vectors = torch::embedding(words, in[0]).reshape({-1, positions.size(0), positions.size(1)});
  Tensor x = (vectors + positions).reshape({-1, positions.size(1)});
  size_t at = 4;
  for (; at + 12 < in.size(); at += 12) x = block(x, in, at, true);
  return loss_of(torch::mm(layer_norm(x, in[at], in[at + 1]), words.t()), in[1]);
}

// That block for a text's next token x [1, width]. `keys` and `values` [heads, tokens, width / heads] hold all previous
// tokens; this one is appended.
Tensor next_in_block(const Tensor& x, const Tensors& in, size_t at, Tensor& keys, Tensor& values) {
  const auto p = [&](size_t i) { return in[at + i]; };
  const int64_t heads = 4, width = x.size(1);
  const std::vector<Tensor> qkv =
      dense(layer_norm(x, p(0), p(1)), p(2), p(3)).reshape({3, heads, 1, width / heads}).unbind();
  keys = keys.defined() ? torch::cat({keys, qkv[1]}, 1) : qkv[1];
  values = values.defined() ? torch::cat({values, qkv[2]}, 1) : qkv[2];
  const Tensor mixed = torch::scaled_dot_product_attention(qkv[0], keys, values);
  const Tensor y = x + dense(mixed.reshape({1, width}), p(4), p(5));
  return y + dense(torch::gelu(dense(layer_norm(y, p(6), p(7)), p(8), p(9))), p(10), p(11));
}

// GPT-2 continues from a token with the likeliest token each time, until its positions end. Returns the last logits.
Tensor gpt2_writing(const Tensors& in) {
  const Tensor &words = in[1], &positions = in[2];
  const size_t depth = (in.size() - 5) / 12;
  Tensors keys(depth), values(depth);
  Tensor token = in[0], logits;
  for (int64_t t = 0; t < positions.size(0); ++t) {
    Tensor x = torch::embedding(words, token) + positions[t];
    for (size_t i = 0; i < depth; ++i) x = next_in_block(x, in, 3 + 12 * i, keys[i], values[i]);
    logits = torch::mm(layer_norm(x, in[in.size() - 2], in.back()), words.t());
    token = torch::argmax(logits, 1);
  }
  return logits;
}

// The Hessian of sum(tanh(x w) u) times v.
Tensor hessian_by_vector(const Tensors& in) {
  const c10::InferenceMode off(false);
  const Tensor x = in[0].detach().requires_grad_();
  const Tensor y = torch::sum(torch::tanh(x * in[1]) * in[2]);
  const Tensor first = torch::autograd::grad({y}, {x}, {}, true, true)[0];
  return torch::autograd::grad({first}, {x}, {in[3]})[0];
}

// The convolution and its gradients by x and the filter; in[2] is the gradient by the output.
Tensors conv(const Tensors& in) {
  const c10::InferenceMode off(false);
  const Tensor x = in[0].detach().requires_grad_(), filter = in[1].detach().requires_grad_();
  const Tensor y = torch::conv2d(x, filter, {}, 1, "same");
  const Tensors gradients = torch::autograd::grad({y}, {x, filter}, {in[2]});
  return {y, gradients[0], gradients[1].permute({2, 3, 1, 0})};
}
Tensors conv_nhwc(const Tensors& in) {
  Tensors all = conv(in);
  for (const size_t i : {0, 1}) all[i] = all[i].permute({0, 2, 3, 1});
  return all;
}

// A residual network of bottlenecks (with the stride in the 3x3 convolution). Parameters: for each convolution the
// kernel and its norm's scale and offset; last a dense layer's weights and bias. First comes a convolution with a pool,
// then bottlenecks of three convolutions, or four if the number of channels changes. Those with four, except the first,
// halve the images.
class ResNet {
 public:
  explicit ResNet(bool training) : training_(training) {}

  // Returns the loss; in inference, the network's output for the images.
  Tensor operator()(const Tensors& in) const {
    size_t at = 2;
    const auto convolve = [&](const Tensor& x, int64_t stride) {
      const Tensor &kernel = in[at], &scale = in[at + 1], &offset = in[at + 2];
      const Statistics& s = statistics(at, scale);
      at += 3;
      const Tensor y = torch::conv2d(x, kernel, {}, stride, kernel.size(2) / 2);
      return torch::batch_norm(y, scale, offset, s.mean, s.variance, training_, 0.01, 1e-3, false);
    };
    Tensor x = torch::max_pool2d(torch::relu(convolve(in[0], 2)), 3, 2, 1);
    for (bool first = true; at + 2 < in.size(); first = false) {
      const bool changes = in[at].size(1) != in[at + 6].size(0);
      const int64_t stride = changes && !first ? 2 : 1;
      Tensor y = torch::relu(convolve(x, 1));
      y = torch::relu(convolve(y, stride));
      y = convolve(y, 1);
      x = torch::relu(y + (changes ? convolve(x, stride) : x));
    }
    const Tensor logits = dense(x.mean({2, 3}), in[at], in[at + 1]);
    return training_ ? loss_of(logits, in[1]) : logits;
  }

 private:
  struct Statistics {
    Tensor mean, variance;
  };
  const Statistics& statistics(size_t at, const Tensor& scale) const {
    Statistics& s = (*statistics_)[at];
    if (!s.mean.defined()) s = {torch::zeros(scale.sizes()), torch::ones(scale.sizes())};
    return s;
  }
  bool training_;
  std::shared_ptr<std::map<size_t, Statistics>> statistics_ = std::make_shared<std::map<size_t, Statistics>>();
};

// Permutes images and volumes back to channels last, their original layout.
Tensor channels_last(const Tensor& x) { return x.dim() == 4 ? x.permute({0, 2, 3, 1}) : x.permute({0, 2, 3, 4, 1}); }

// The sparse matrix of these entries in the format that PyTorch multiplies fastest; built at first use.
class Rows {
 public:
  const Tensor& of(const Tensor& places, const Tensor& values, int64_t n) {
    if (!values_.is_same(values)) {
      const c10::InferenceMode off(false);
      rows_ = torch::sparse_coo_tensor(places.t().clone(), values.clone(), {n, n}).coalesce().to_sparse_csr();
      values_ = values;
    }
    return rows_;
  }

 private:
  Tensor values_, rows_;
};

void add_kernels(peers::Works<Library>& w) {
  w.add("depthwise", [](const Tensor& x, const Tensor& filter) {
    return channels_last(torch::conv2d(x, filter, {}, 1, filter.size(2) / 2, 1, x.size(1)));
  });
  w.add("grouped", [](const Tensor& x, const Tensor& filter) {
    return channels_last(torch::conv2d(x, filter, {}, 1, 1, 1, x.size(1) / filter.size(1)));
  });
  w.add("conv3d",
        [](const Tensor& x, const Tensor& filter) { return channels_last(torch::conv3d(x, filter, {}, 1, 1)); });
  w.add("max_pool", [](const Tensor& x) { return channels_last(torch::max_pool2d(x, 3, 2)); });
  w.add("avg_pool", [](const Tensor& x) { return channels_last(torch::avg_pool2d(x, 2, 2)); });
  w.add("resize", [](const Tensor& x) {
    return channels_last(torch::upsample_bilinear2d(x, {2 * x.size(2), 2 * x.size(3)}, false));
  });
  w.add("batch_norm", [](const Tensors& in) {
    return channels_last(torch::batch_norm(in[0], in[1], in[2], in[3], in[4], false, 0.0, 1e-3, false));
  });
  w.add("batch_norm_training", [](const Tensors& in) {
    const auto all = torch::native_batch_norm(in[0], in[1], in[2], {}, {}, true, 0.0, 1e-3);
    return Tensors{channels_last(std::get<0>(all)), std::get<1>(all)};
  });
  w.add("sort", [](const Tensor& x) { return std::get<0>(torch::sort(x)); });
  w.add("top_k", [](const Tensor& x) {
    const auto [values, indices] = torch::topk(x, 100);
    return Tensors{values, indices};
  });
  w.add("cumsum", [](const Tensor& x) { return torch::cumsum(x, -1); });
  w.add("gather", [](const Tensor& table, const Tensor& rows) { return torch::index_select(table, 0, rows); });
  w.add("scatter_add", [](const Tensor& table, const Tensor& rows, const Tensor& updates) {
    return torch::index_add(table, 0, rows, updates);
  });
  w.add("segment_sum", [](const Tensor& x, const Tensor& ids) {
    return torch::index_add(torch::zeros({100000, x.size(1)}), 0, ids, x);
  });
  w.add("embedding_bag", [](const Tensor& table, const Tensor& rows, const Tensor& bags) {
    const int64_t each = std::min<int64_t>(32, bags.size(0));
    return std::get<0>(torch::embedding_bag(table, rows, torch::arange(bags.size(0) / each) * each));
  });
  w.add("unique", [](const Tensor& x) {
    const auto [values, positions, counts] = torch::_unique2(x, true, true);
    return Tensors{values, positions};
  });
  w.add("one_hot", [](const Tensor& x) { return torch::one_hot(x, 256).to(torch::kFloat); });
  w.add("where", [](const Tensor& c, const Tensor& x, const Tensor& y) { return torch::where(c, x, y); });
  w.add("nonzero", [](const Tensor& x) { return torch::nonzero(x); });
  w.add("normal", [](const Tensor& x) { return torch::randn(x.sizes()); });
  w.add("fft", [](const Tensor& x) { return torch::fft_fft(x); });
  w.add("rfft", [](const Tensor& x) { return torch::fft_rfft(x); });
  w.add("fft2", [](const Tensor& x) { return torch::fft_fft2(x); });
  w.add("cholesky", [](const Tensor& x) { return torch::linalg_cholesky(x); });
  w.add("qr", [](const Tensor& x) {
    const auto [q, r] = torch::linalg_qr(x);
    return Tensors{q, r};
  });
  w.add("svd", [](const Tensor& x) {
    const auto [u, s, v] = torch::linalg_svd(x, false);
    return Tensors{s, u, v.t()};
  });
  w.add("eigh", [](const Tensor& x) {
    const auto [e, v] = torch::linalg_eigh(x);
    return Tensors{e, v};
  });
  w.add("solve", [](const Tensor& a, const Tensor& b) { return torch::linalg_solve(a, b); });
  w.add("sparse_dense", [rows = std::make_shared<Rows>()](const Tensor& places, const Tensor& values, const Tensor& x) {
    return torch::mm(rows->of(places, values, x.size(0)), x);
  });
}

peers::Works<Library> works() {
  peers::Works<Library> w;
  w.add("add", [](const Tensor& x, const Tensor& y) { return x + y; });
  w.add("mul", [](const Tensor& x, const Tensor& y) { return x * y; });
  w.add("matmul", [](const Tensor& x, const Tensor& y) { return torch::mm(x, y); });
  w.add("quantized_matmul", [](const Tensor& x, const Tensor& y) { return torch::_int_mm(x, y); });
  w.add("chain", [](const Tensor& x, const Tensor& factor) {
    Tensor y = x;
    for (int i = 0; i < 100; ++i) y = y * factor;
    return y;
  });
  w.add("view", [](const Tensor& x) { return x.view({-1}); });
  w.add("hessian", hessian_by_vector);
  w.add("log_exp", [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = torch::log(torch::exp(y));
    return y;
  });
  w.add("conv", conv_nhwc);
  w.add("conv_nchw", conv);
  w.add("exp", [](const Tensor& x) { return torch::exp(x); });
  w.add("tanh", [](const Tensor& x) { return torch::tanh(x); });
  w.add("gelu", [](const Tensor& x) { return 0.5 * x * (1.0 + torch::erf(x * 0.7071067811865476)); });
  w.add("sum", [](const Tensor& x) { return torch::sum(x); });
  w.add("rows", [](const Tensor& x) { return torch::sum(x, 1); });
  w.add("columns", [](const Tensor& x) { return torch::sum(x, 0); });
  w.add("softmax", [](const Tensor& x) { return torch::softmax(x, 1); });
  w.add("transpose", [](const Tensor& x) { return x.t().contiguous(); });
  w.add("add_transposed", [](const Tensor& x, const Tensor& y) { return x + y.t(); });
  w.add("bias_add", [](const Tensor& x, const Tensor& b) { return x + b; });
  w.add("layer_norm", layer_norm);
  w.add("mlp", mlp);
  w.add("cnn", cnn);
  w.add("lstm", lstm);
  w.add("transformer", transformer);
  w.add("gpt2", gpt2);
  w.add("gpt2_writing", gpt2_writing);
  w.add("l2hmc", torch_networks::l2hmc);
  w.add("resnet", ResNet(true));
  w.add("resnet_inference", ResNet(false));
  add_kernels(w);
  return w;
}

// Returns the command's output without the trailing newline.
std::string printed(const std::string& command) {
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen");
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (pclose(pipe) != 0) throw std::runtime_error("torch_package.py fails");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// The work compiled ahead of time. `packages`: the command that builds its package and prints the path.
std::optional<peers::Workload> packaged(const std::string& packages, const std::string& work,
                                        const std::vector<peers::Input>& inputs) {
  std::string command = packages + " " + work;
  Tensors x;
  for (const peers::Input& in : inputs) {
    command += " " + in.text;
    if (x.empty() || work != "resnet_inference") x.push_back(Library::tensor(in));  // others are constants there
  }
  const std::string path = printed(command);
  if (path == "none") return std::nullopt;
  const auto loader = std::make_shared<torch::inductor::AOTIModelPackageLoader>(path);
  peers::Workload result = calls([loader, x] { return loader->run(x); });
  result.runs = [runs = result.runs](int64_t count) {
    const c10::InferenceMode inference;
    runs(count);
  };
  return result;
}

}  // namespace

// Arguments: threads; for works compiled ahead of time also Python, torch_package.py, and a folder for packages.
int main(int argc, char** argv) {
  at::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  const auto all = works();
  if (argc > 4) {
    const std::string packages = std::string(argv[2]) + " " + argv[3] + " " + argv[4];
    return peers::serve(std::cin, std::cout, [&](const auto& work, const auto& mode, const auto& inputs) {
      return mode == "traced" ? packaged(packages, work, inputs) : std::nullopt;
    });
  }
  return peers::serve(std::cin, std::cout, [&](const auto&... what) { return all.make(what...); });
}
