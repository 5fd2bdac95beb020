// Works of one or two ops each: layers, sorting, indices, random numbers, linear algebra, texts.
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "panto/benchmarks/peers/contestants/contestant.h"
#include "panto/panto.h"

namespace panto::peer_kernels {

using Tensors = std::vector<Tensor>;

// Returns the input as a tensor, in the form and type that it asks for (contestant.h).
inline Tensor tensor_of(const peers::Input& in) {
  const Shape shape(in.shape);
  if (in.form == "text") return tensor(in.texts());
  if (in.form == "complex") {
    std::vector<std::complex<float>> pairs;
    for (size_t i = 0; i < in.floats.size(); i += 2) pairs.emplace_back(in.floats[i], in.floats[i + 1]);
    return tensor(pairs, Shape(std::vector<int64_t>(in.shape.begin(), in.shape.end() - 1)));
  }
  const Tensor t = in.classes.empty() ? tensor(in.floats, shape) : tensor(in.classes, shape);
  if (in.dtype == "quint8") return bitcast(cast(t, kUint8), kQUint8);
  if (!in.dtype.empty()) return cast(t, parse_dtype(in.dtype));
  if (in.form == "bool") return cast(t, kBool);
  if (in.form == "entries") return cast(t, kInt64);
  return t;
}

// Returns the numbers to compare: complex numbers as their parts, a text as the sum of its bytes times their positions.
inline std::vector<float> host(const Tensor& t) {
  std::vector<float> result;
  if (t.dtype() == kString) {
    for (const std::string& text : t.to_vector<std::string>()) {
      int64_t sum = 0;
      for (size_t i = 0; i < text.size(); ++i) {
        sum += static_cast<int64_t>(i + 1) * static_cast<unsigned char>(text[i]);
      }
      result.push_back(static_cast<float>(sum));
    }
    return result;
  }
  if (t.dtype() == kComplex64) {
    for (const std::complex<float>& v : t.to_vector<std::complex<float>>()) {
      result.push_back(v.real());
      result.push_back(v.imag());
    }
    return result;
  }
  return cast(t.dtype() == kQInt32 ? bitcast(t, kInt32) : t, kFloat32).to_vector<float>();
}

template <class Works>
void add_layers(Works& w) {
  w.add("depthwise",
        [](const Tensor& x, const Tensor& filter) { return depthwise_conv2d(x, filter, {1, 1, 1, 1}, "SAME"); });
  w.add("grouped", [](const Tensor& x, const Tensor& filter) { return conv2d(x, filter, {1, 1, 1, 1}, "SAME"); });
  w.add("conv3d", [](const Tensor& x, const Tensor& filter) { return conv3d(x, filter, {1, 1, 1, 1, 1}, "SAME"); });
  w.add("max_pool", [](const Tensor& x) { return max_pool(x, {1, 3, 3, 1}, {1, 2, 2, 1}, "VALID"); });
  w.add("avg_pool", [](const Tensor& x) { return avg_pool(x, {1, 2, 2, 1}, {1, 2, 2, 1}, "VALID"); });
  w.add("resize", [](const Tensor& x) {
    const auto side = [&](int i) { return static_cast<int32_t>(2 * x.shape()[i]); };
    return resize_bilinear(x, tensor({side(1), side(2)}), {.half_pixel_centers = true});
  });
  w.add("batch_norm", [](const Tensors& in) {
    return fused_batch_norm(in[0], in[1], in[2], in[3], in[4], {.epsilon = 1e-3f, .is_training = false}).y;
  });
  w.add("batch_norm_training", [](const Tensors& in) {
    const auto all = fused_batch_norm(in[0], in[1], in[2], in[3], in[4], {.epsilon = 1e-3f});
    return Tensors{all.y, all.batch_mean};
  });
}

template <class Works>
void add_orders(Works& w) {
  w.add("sort", [](const Tensor& x) { return sort(x); });
  w.add("top_k", [](const Tensor& x) {
    const auto found = top_k(x, 100);
    return Tensors{found.values, found.indices};
  });
  w.add("cumsum", [](const Tensor& x) { return cumsum(x, -1); });
  w.add("gather", [](const Tensor& table, const Tensor& rows) { return gather(table, rows, 0); });
  w.add("scatter_add", [](const Tensor& table, const Tensor& rows, const Tensor& updates) {
    return tensor_scatter_add(table, expand_dims(rows, 1), updates);
  });
  w.add("segment_sum", [](const Tensor& x, const Tensor& ids) { return unsorted_segment_sum(x, ids, 100000); });
  w.add("embedding_bag", [](const Tensor& table, const Tensor& rows, const Tensor& bags) {
    return sparse_segment_sum(table, rows, bags);
  });
  w.add("unique", [](const Tensor& x) {
    const auto found = unique(x);
    return Tensors{found.y, found.idx};
  });
  w.add("one_hot", [](const Tensor& x) { return one_hot(x, 256); });
  w.add("where", [](const Tensor& c, const Tensor& x, const Tensor& y) { return where(c, x, y); });
  w.add("nonzero", [](const Tensor& x) { return where(x); });
  w.add("normal", [](const Tensor& x) { return stateless_random_normal_by_seed(shape(x), tensor({1, 2})); });
}

template <class Works>
void add_algebra(Works& w) {
  w.add("fft", [](const Tensor& x) { return fft(x); });
  w.add("rfft", [](const Tensor& x) { return rfft(x); });
  w.add("fft2", [](const Tensor& x) { return fft2(x); });
  w.add("cholesky", [](const Tensor& x) { return cholesky(x); });
  w.add("qr", [](const Tensor& x) {
    const auto parts = qr(x);
    return Tensors{parts.q, parts.r};
  });
  w.add("svd", [](const Tensor& x) {
    const auto parts = svd(x);
    return Tensors{parts.s, parts.u, parts.v};
  });
  w.add("eigh", [](const Tensor& x) {
    const auto parts = self_adjoint_eig(x);
    return Tensors{parts.e, parts.v};
  });
  w.add("solve", [](const Tensor& a, const Tensor& b) { return matrix_solve(a, b); });
  w.add("sparse_dense", [](const Tensor& places, const Tensor& values, const Tensor& x) {
    const int64_t n = x.shape()[0];
    return sparse_tensor_dense_mat_mul(places, values, tensor({n, n}), x);
  });
  w.add("hash", [](const Tensor& x) { return string_to_hash_bucket_fast(x, 1 << 20); });
  w.add("regex", [](const Tensor& x) { return static_regex_replace(x, "[0-9]+", "#"); });
  w.add("strong_hash", [](const Tensor& x) { return string_to_hash_bucket_strong(x, 1 << 20, {1, 2}); });
}

template <class Works>
void add(Works& w) {
  add_layers(w);
  add_orders(w);
  add_algebra(w);
}

}  // namespace panto::peer_kernels
