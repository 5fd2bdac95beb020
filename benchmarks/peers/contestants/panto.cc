// Pantograph's contestant.
#include "panto/panto.h"

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "panto/benchmarks/peers/contestants/contestant.h"
#include "panto/benchmarks/peers/contestants/panto_graphs.h"
#include "panto/benchmarks/peers/contestants/panto_kernels.h"
#include "panto/benchmarks/peers/contestants/panto_l2hmc.h"
#include "panto/benchmarks/peers/contestants/panto_resnet.h"

namespace panto {
namespace {

using Tensors = std::vector<Tensor>;

using peer_kernels::host;
peers::Parts host(const Tensors& list) {
  return peers::each(list, [](const Tensor& t) { return host(t); });
}

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
  return peers::calls(std::move(f), [](const auto& result) { return host(result); });
}

// One call; for few inputs without a vector, as users write it.
peers::Workload calls_of(const Function& f, const Tensors& x) {
  if (f.outputs().size() > 1) return calls_of([f, x] { return f.call(x); });
  if (x.size() == 1) return calls_of([f, a = x[0]] { return f(a); });
  if (x.size() == 2) return calls_of([f, a = x[0], b = x[1]] { return f(a, b); });
  return calls_of([f, x] { return f.call(x)[0]; });
}

// Returns f(x) and the gradient of its sum by the first input.
template <class F>
Tensors with_gradient(const F& f, const Tensors& x) {
  GradientTape tape;
  tape.watch(x[0]);
  const Tensor y = f(x);
  return {y, tape.gradient(y, x[0])};
}

// Plain gradient descent.
struct Training {
  std::function<Tensor(const Tensor& x, const Tensor& labels)> loss;
  Tensors inputs;  // x and labels
  Sgd optimizer;

  Training(std::function<Tensor(const Tensor&, const Tensor&)> loss, Tensors inputs, std::vector<Variable> parameters)
      : loss(std::move(loss)), inputs(std::move(inputs)), optimizer(std::move(parameters), {.learning_rate = 0.01}) {}

  Tensor step(const Tensor& x, const Tensor& labels) {
    const TrainingScope training;
    GradientTape tape;
    const Tensor value = loss(x, labels);
    optimizer.apply(tape.gradient(value, optimizer.variables()));
    return value;
  }
};

peers::Workload training(const std::shared_ptr<Training>& t, bool is_traced) {
  std::function<Tensor()> step = [t] { return t->step(t->inputs[0], t->inputs[1]); };
  if (is_traced) {
    const Function g = trace([t](const Tensor& a, const Tensor& b) { return t->step(a, b); }, specs_of(t->inputs));
    step = [t, g] { return g(t->inputs[0], t->inputs[1]); };
  }
  peers::Workload work = calls_of(step);
  work.output = [step, t] {
    const auto values = [&] {
      return peers::each(t->optimizer.variables(), [](const Variable& v) { return host(v.value()); });
    };
    return peers::three_steps([&] { return step().item<float>(); }, values);
  };
  return work;
}

// Trains all inputs but the first two.
template <class F>
peers::Workload training(F f, const Tensors& x, bool is_traced) {
  const std::vector<Variable> parameters(x.begin() + 2, x.end());
  const auto loss = [f, parameters](const Tensor& images, const Tensor& labels) {
    Tensors all = {images, labels};
    for (const Variable& p : parameters) all.push_back(p.value());
    return f(all);
  };
  return training(std::make_shared<Training>(loss, Tensors{x[0], x[1]}, parameters), is_traced);
}

// The same with a network of layers.
peers::Workload resnet_training(const Tensors& x, bool is_traced) {
  const Sequential network = resnet({x.begin() + 2, x.end()});
  const auto loss = [network](const Tensor& images, const Tensor& labels) {
    return sparse_cross_entropy(network(images), labels);
  };
  return training(std::make_shared<Training>(loss, Tensors{x[0], x[1]}, network.variables()), is_traced);
}

// The network's output for the images; if traced, its weights are constants.
peers::Workload resnet_inference(const Tensors& x, bool is_traced) {
  const Sequential network = resnet({x.begin() + 2, x.end()});
  if (!is_traced) return calls_of([network, images = x[0]] { return network(images); });
  const Function f = trace([network](const Tensor& images) { return network(images); }, specs_of({x[0]}));
  return calls_of(function_of(f.frozen_graph()), {x[0]});
}

struct Library {
  using Tensor = panto::Tensor;

  static inline Device* device = nullptr;  // where the inputs are, and thus where all work runs

  static Tensor tensor(const peers::Input& in) { return peer_kernels::tensor_of(in).to(*device); }

  template <class F>
  static std::optional<peers::Workload> make(const std::string& mode, F f, const Tensors& x) {
    if (mode == "eager") return calls_of([f, x] { return f(x); });
    if (mode == "traced") return calls_of(traced(f, x), x);
    if (mode == "frozen") {
      const auto whole = [f, rest = x](const Tensors& in) {
        Tensors all = rest;
        all[0] = in[0];
        return f(all);
      };
      return calls_of(function_of(traced(whole, {x[0]}).frozen_graph()), {x[0]});
    }
    if constexpr (std::is_same_v<decltype(f(x)), Tensor>) {
      if (mode == "grad") return calls_of([f, x] { return with_gradient(f, x); });
      if (mode == "traced_grad") return calls_of(traced([f](const Tensors& in) { return with_gradient(f, in); }, x), x);
      if (mode == "captured") return capturing(f, x);
      if (mode == "cold") return calls_of([f, x] { return traced(f, x).call(x)[0]; });
      if (mode == "taped") return taped(f, x);
      if (mode == "train") return training(f, x, false);
      if (mode == "traced_train") return training(f, x, true);
    }
    return std::nullopt;
  }

  // A traced function of the first input; the others are variables that it reads.
  template <class F>
  static peers::Workload capturing(F f, const Tensors& x) {
    const std::vector<Variable> variables(x.begin() + 1, x.end());
    const auto whole = [f, variables](const Tensors& in) {
      Tensors all = in;
      for (const Variable& v : variables) all.push_back(v.value());
      return f(all);
    };
    return calls_of(traced(whole, {x[0]}), {x[0]});
  }

  // A new tape every 1000 runs, because a tape keeps all runs.
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

using peer_networks::dense;

// Networks take x, labels and parameters, and return the loss. Parameters here: a weight and a bias for each layer.
Tensor mlp(const Tensors& in) {
  Tensor h = in[0];
  for (size_t i = 2; i < in.size(); i += 2) {
    h = dense(h, in[i], in[i + 1]);
    if (i + 2 < in.size()) h = relu(h);
  }
  return sparse_cross_entropy(h, in[1]);
}

// x [batch, height, width, channels]; parameters: filters and biases of two convolutions, each with a pool, and a dense
// layer.
Tensor cnn(const Tensors& in) {
  Tensor h = in[0];
  for (const size_t i : {2, 4}) {
    h = relu(bias_add(conv2d(h, in[i], {1, 1, 1, 1}, "SAME"), in[i + 1]));
    h = max_pool(h, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID");
  }
  return sparse_cross_entropy(dense(reshape(h, {in[0].shape()[0], -1}), in[6], in[7]), in[1]);
}

// x [steps, batch, inputs]; parameters: the cell's [inputs + state, 4 state], then those of a dense layer on the last
// state.
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

// x [tokens of 8 texts, width]; attention with four heads, then two dense layers, each after a layer norm, with 12
// parameters. `mask`, if defined, is added to the attention scores.
Tensor block(const Tensor& x, std::span<const Tensor> p, const Tensor& mask = {}) {
  const int64_t batch = 8, heads = 4, tokens = x.shape()[0], width = x.shape()[1];
  const Tensor projected = dense(layer_norm(x, p[0], p[1]), p[2], p[3]);
  const Tensor parts = transpose(reshape(projected, {batch, tokens / batch, 3, heads, width / heads}), {2, 0, 3, 1, 4});
  const std::vector<Tensor> qkv = unpack(parts, 3);
  const float scale = 1.0f / std::sqrt(static_cast<float>(width / heads));
  Tensor scores = batch_matmul(qkv[0], qkv[1], {.adj_y = true}) * scale;
  if (mask.defined()) scores = scores + mask;
  const Tensor mixed = transpose(batch_matmul(softmax(scores), qkv[2]), {0, 2, 1, 3});
  const Tensor y = x + dense(reshape(mixed, {tokens, width}), p[4], p[5]);
  return y + dense(gelu(dense(layer_norm(y, p[6], p[7]), p[8], p[9])), p[10], p[11]);
}

Tensor transformer(const Tensors& in) { return sparse_cross_entropy(block(in[0], std::span(in).subspan(2)), in[1]); }

// The mask that prevents tokens from attending to later ones.
Tensor causal_mask(int64_t n) {
  std::vector<float> values(static_cast<size_t>(n * n));
  for (int64_t i = 0; i < n * n; ++i) values[static_cast<size_t>(i)] = i % n > i / n ? -1e9f : 0.0f;
  return tensor(values, {n, n});
}

// GPT-2 (Radford and others 2019). Inputs: the tokens of 8 texts, concatenated, and the tokens to predict. Parameters:
// word and position embeddings, blocks, and a layer norm. The word embeddings are also the last layer's weights.
Tensor gpt2(const Tensors& in) {
  const Tensor &words = in[2], &positions = in[3];
  const int64_t tokens = in[0].shape()[0], length = positions.shape()[0], width = positions.shape()[1];
  const Tensor mask = causal_mask(length);
  Tensor x = reshape(gather(words, in[0], 0), {tokens / length, length, width}) + positions;
  x = reshape(x, {tokens, width});
  size_t at = 4;
  for (; at + 12 < in.size(); at += 12) x = block(x, std::span(in).subspan(at), mask);
  return sparse_cross_entropy(matmul(layer_norm(x, in[at], in[at + 1]), words, {.transpose_b = true}), in[1]);
}

// That block for a text's next token x [1, width]. `keys` and `values` [heads, tokens, width / heads] hold all previous
// tokens; this one is appended.
Tensor next_in_block(const Tensor& x, std::span<const Tensor> p, Tensor& keys, Tensor& values) {
  const int64_t heads = 4, width = x.shape()[1];
  const Tensor projected = dense(layer_norm(x, p[0], p[1]), p[2], p[3]);
  const std::vector<Tensor> qkv = unpack(reshape(projected, {3, heads, 1, width / heads}), 3);
  keys = keys.defined() ? concat({keys, qkv[1]}, 1) : qkv[1];
  values = values.defined() ? concat({values, qkv[2]}, 1) : qkv[2];
  const float scale = 1.0f / std::sqrt(static_cast<float>(width / heads));
  const Tensor mixed = batch_matmul(softmax(batch_matmul(qkv[0], keys, {.adj_y = true}) * scale), values);
  const Tensor y = x + dense(reshape(mixed, {1, width}), p[4], p[5]);
  return y + dense(gelu(dense(layer_norm(y, p[6], p[7]), p[8], p[9])), p[10], p[11]);
}

// GPT-2 continues from a token with the likeliest token each time, until its positions end. Returns the last logits.
Tensor gpt2_writing(const Tensors& in) {
  const Tensor &words = in[1], &positions = in[2];
  const size_t depth = (in.size() - 5) / 12;
  Tensors keys(depth), values(depth);
  Tensor token = in[0], logits;
  for (int64_t t = 0; t < positions.shape()[0]; ++t) {
    Tensor x = gather(words, token, 0) + positions[t];
    for (size_t i = 0; i < depth; ++i) x = next_in_block(x, std::span(in).subspan(3 + 12 * i), keys[i], values[i]);
    logits = matmul(layer_norm(x, in[in.size() - 2], in.back()), words, {.transpose_b = true});
    token = argmax(logits, 1);
  }
  return logits;
}

// The Hessian of sum(tanh(x w) u) times v.
Tensor hessian_by_vector(const Tensors& in) {
  GradientTape outer;
  outer.watch(in[0]);
  GradientTape inner;
  inner.watch(in[0]);
  const Tensor first = inner.gradient(sum(tanh(in[0] * in[1]) * in[2]), in[0]);
  return outer.gradient(first, in[0], in[3]);
}

// The squared norm of each example's own gradient.
Tensor gradient_norms(const Tensors& in) {
  const Tensors parameters(in.begin() + 2, in.end());
  const auto norm = [&](const Tensor& x, const Tensor& label) {
    GradientTape tape;
    Tensors own = {expand_dims(x, 0), expand_dims(label, 0)};
    for (const Tensor& p : parameters) tape.watch(p);
    own.insert(own.end(), parameters.begin(), parameters.end());
    Tensor total;
    for (const Tensor& g : tape.gradient(mlp(own), parameters)) {
      const Tensor squares = sum(square(g));
      total = total.defined() ? total + squares : squares;
    }
    return total;
  };
  return vmap(norm)(in[0], in[1]);
}

Tensor network_jacobian(const Tensors& in) {
  return jacobian([&](const Tensor& x) {
    return reshape(dense(tanh(dense(expand_dims(x, 0), in[1], in[2])), in[3], in[4]), {-1});
  })(in[0]);
}

Tensor hessian_matrix(const Tensors& in) {
  return hessian([&](const Tensor& x) { return sum(tanh(matmul(expand_dims(x, 0), in[1])) * in[2]); })(in[0]);
}

// The convolution and its gradients by x and the filter; in[2] is the gradient by the output.
auto conv(const std::string& layout) {
  return [layout](const Tensors& in) {
    GradientTape tape;
    tape.watch(in[0]);
    tape.watch(in[1]);
    const Tensor y = conv2d(in[0], in[1], {1, 1, 1, 1}, "SAME", {.data_format = layout});
    const Tensors gradients = tape.gradient(y, {in[0], in[1]}, in[2]);
    return Tensors{y, gradients[0], gradients[1]};
  };
}

// Euler's method for x' = -sin(x), in a loop of the graph.
Tensor fall(const Tensor& x) {
  constexpr int kSteps = 100000;
  return while_loop([](const Tensor& i, const Tensor&) { return i < kSteps; },
                    [](const Tensor& i, const Tensor& at) { return std::pair(i + 1, at - 1e-4f * sin(at)); },
                    std::pair(tensor(0), x))
      .second;
}

peers::Works<Library> works() {
  peers::Works<Library> w;
  w.add("add", [](const Tensor& x, const Tensor& y) { return add(x, y); });
  w.add("mul", [](const Tensor& x, const Tensor& y) { return mul(x, y); });
  w.add("matmul", [](const Tensor& x, const Tensor& y) { return matmul(x, y); });
  w.add("quantized_matmul",
        [](const Tensor& x, const Tensor& y) { return quantized_mat_mul(x, y, 0.f, 255.f, 0.f, 255.f).out; });
  w.add("chain", [](const Tensor& x, const Tensor& factor) {
    Tensor y = x;
    for (int i = 0; i < 100; ++i) y = mul(y, factor);
    return y;
  });
  w.add("fall", fall);
  w.add("product", [](const Tensors& in) {
    Tensor y = in[0];
    for (size_t i = 1; i < in.size(); ++i) y = mul(y, in[i]);
    return y;
  });
  w.add("view", [](const Tensor& x) { return reshape(x, {-1}); });
  w.add("hessian", hessian_by_vector);
  w.add("gradient_norms", gradient_norms);
  w.add("jacobian", network_jacobian);
  w.add("hessian_matrix", hessian_matrix);
  w.add("log_exp", [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = log(exp(y));
    return y;
  });
  w.add("conv", conv("NHWC"));
  w.add("conv_nchw", conv("NCHW"));
  w.add("exp", [](const Tensor& x) { return exp(x); });
  w.add("tanh", [](const Tensor& x) { return tanh(x); });
  w.add("gelu", [](const Tensor& x) { return 0.5f * x * (1.0f + erf(x * 0.7071067811865476f)); });
  w.add("sum", [](const Tensor& x) { return sum(x); });
  w.add("rows", [](const Tensor& x) { return sum(x, {1}); });
  w.add("columns", [](const Tensor& x) { return sum(x, {0}); });
  w.add("softmax", [](const Tensor& x) { return softmax(x); });
  w.add("transpose", [](const Tensor& x) { return transpose(x, {1, 0}); });
  w.add("add_transposed", [](const Tensor& x, const Tensor& y) { return x + transpose(y, {1, 0}); });
  w.add("bias_add", [](const Tensor& x, const Tensor& b) { return bias_add(x, b); });
  w.add("layer_norm",
        [](const Tensor& x, const Tensor& scale, const Tensor& offset) { return layer_norm(x, scale, offset); });
  w.add("mlp", mlp);
  w.add("cnn", cnn);
  w.add("lstm", lstm);
  w.add("transformer", transformer);
  w.add("gpt2", gpt2);
  w.add("gpt2_writing", gpt2_writing);
  w.add("l2hmc", peer_networks::l2hmc);
  peer_kernels::add(w);
  return w;
}

std::optional<peers::Workload> resnet_work(const std::string& work, const std::string& mode,
                                           const std::vector<peers::Input>& inputs) {
  Tensors x;
  for (const peers::Input& i : inputs) x.push_back(Library::tensor(i));
  if (work == "resnet" && mode == "train") return resnet_training(x, false);
  if (work == "resnet" && mode == "traced_train") return resnet_training(x, true);
  if (work == "resnet_inference" && mode == "eager") return resnet_inference(x, false);
  if (work == "resnet_inference" && mode == "traced") return resnet_inference(x, true);
  return std::nullopt;
}

// Rows of a tensor, each doubled, in batches.
peers::Workload pipeline(const peers::Input& in) {
  const Dataset batches =
      Dataset::from_tensors({Library::tensor(in)}).map([](const Tensor& row) { return row * 2.f; }).batch(128);
  return calls_of([batches] {
    Tensors all;
    for (const Tensor batch : batches) all.push_back(batch);
    return all;
  });
}

// A network in a file that networks.py made.
peers::Workload network_in_file(const std::string& work, const peers::Input& in) {
  const char* folder = std::getenv("PEERS_NETWORKS");
  if (folder == nullptr) throw Error(Code::kInvalidArgument, "expected PEERS_NETWORKS to name a folder");
  return calls_of(load(std::string(folder) + "/" + work + ".pb", {"x"}, {"y"}), {Library::tensor(in)});
}

// Makes runs wait until the device has finished.
std::optional<peers::Workload> awaited(std::optional<peers::Workload> work) {
  if (work && !Library::device->host_memory()) {
    work->runs = [runs = work->runs](int64_t count) {
      runs(count);
      Library::device->synchronize();
    };
  }
  return work;
}

}  // namespace
}  // namespace panto

// Arguments: threads, the device, and its limit of cached memory in bytes.
int main(int argc, char** argv) {
  panto::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  panto::Library::device = argc > 2 ? &panto::find_device(argv[2]) : &panto::cpu_device();
  if (argc > 3) panto::Library::device->set_cache_limit(std::atoll(argv[3]));
  const auto all = panto::works();
  return peers::serve(std::cin, std::cout, [&](const auto& work, const auto& mode, const auto& inputs) {
    if (mode == "session") return panto::peer_graphs::workload(work, inputs.at(0));
    if (mode == "pipeline") return std::optional(panto::pipeline(inputs.at(0)));
    if (mode == "file") return panto::awaited(panto::network_in_file(work, inputs.at(0)));
    return panto::awaited(work.starts_with("resnet") ? panto::resnet_work(work, mode, inputs)
                                                     : all.make(work, mode, inputs));
  });
}
