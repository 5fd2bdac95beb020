// lint: allow(built) roster.py compiles it The machine's limits: only the memory traffic that a work needs at least, or
// only its arithmetic. Only the times are meaningful, not the outputs.
#include <omp.h>
#include <sys/mman.h>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#if defined(__SSE__)
#include <immintrin.h>
#endif

#include "panto/benchmarks/gemm.h"
#include "panto/benchmarks/peers/contestants/contestant.h"

namespace {

using panto::bench::Gemm;
using peers::Input;

// Stores past the caches if the processor has such an instruction; then the target line is not read first.
inline void store(float* to, const float* from) {
#if defined(__AVX512F__)
  _mm512_stream_ps(to, _mm512_loadu_ps(from));
#elif defined(__AVX__)
  _mm256_stream_ps(to, _mm256_loadu_ps(from));
  _mm256_stream_ps(to + 8, _mm256_loadu_ps(from + 8));
#else
  std::copy(from, from + 16, to);
#endif
}

// Reads one array or two, and writes one or none, with all threads.
class Stream {
 public:
  Stream(int reads, bool writes, int64_t count)
      : a_(array(count)), b_(reads > 1 ? array(count) : nullptr), to_(writes ? array(count) : nullptr), count_(count) {}

  void run() const {
    float total = 0;
#pragma omp parallel reduction(+ : total)
    {
      float lanes[64] = {};  // enough for sums to keep up with memory
#pragma omp for schedule(static)
      for (int64_t i = 0; i < count_ / 64; ++i) {
        const float* a = a_.get() + 64 * i;
        if (!to_) {
          for (int j = 0; j < 64; ++j) lanes[j] += a[j];
        } else if (!b_) {
          for (int j = 0; j < 64; j += 16) store(to_.get() + 64 * i + j, a + j);
        } else {
          const float* b = b_.get() + 64 * i;
          float triad[64];
          for (int j = 0; j < 64; ++j) triad[j] = a[j] + 3.0f * b[j];
          for (int j = 0; j < 64; j += 16) store(to_.get() + 64 * i + j, triad + j);
        }
      }
      for (const float lane : lanes) total += lane;
    }
    peers::keep(total);
  }

 private:
  struct Free {
    void operator()(float* p) const { std::free(p); }
  };
  using Array = std::unique_ptr<float, Free>;

  // Allocates huge pages if possible; each part is first written by the thread that uses it later.
  static Array array(int64_t count) {
    constexpr size_t kHuge = 1 << 21;
    const size_t bytes = (static_cast<size_t>(count) * sizeof(float) + kHuge - 1) / kHuge * kHuge;
    Array p(static_cast<float*>(std::aligned_alloc(kHuge, bytes)));
    madvise(p.get(), bytes, MADV_HUGEPAGE);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; ++i) p.get()[i] = 1.0f;
    return p;
  }

  Array a_, b_, to_;
  int64_t count_;
};

// A convolution of height x width images, stride 1 and same size, in the layout that oneDNN likes best: forward, and
// the gradients by the filter and, if asked for, by the image.
class Convolution {
 public:
  Convolution(int64_t batch, int64_t size, const Input& filter, bool by_image) {
    using dnnl::memory;
    const int64_t k = filter.shape[0], in = filter.shape[2], out = filter.shape[3], pad = k / 2;
    const auto any = [](memory::dims dims) {
      return memory::desc(dims, memory::data_type::f32, memory::format_tag::any);
    };
    const auto x = any({batch, in, size, size}), w = any({out, in, k, k}), b = any({out}),
               y = any({batch, out, size, size});
    const memory::dims one = {1, 1}, pads = {pad, pad};
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const dnnl::convolution_forward::primitive_desc forward(
        {dnnl::prop_kind::forward_training, kDirect, x, w, b, y, one, pads, pads}, engine_);
    add(dnnl::convolution_forward(forward), {{DNNL_ARG_SRC, forward.src_desc()},
                                             {DNNL_ARG_WEIGHTS, forward.weights_desc()},
                                             {DNNL_ARG_BIAS, forward.bias_desc()},
                                             {DNNL_ARG_DST, forward.dst_desc()}});
    const dnnl::convolution_backward_weights::primitive_desc of_filter({kDirect, x, w, b, y, one, pads, pads}, engine_,
                                                                       forward);
    add(dnnl::convolution_backward_weights(of_filter), {{DNNL_ARG_SRC, of_filter.src_desc()},
                                                        {DNNL_ARG_DIFF_WEIGHTS, of_filter.diff_weights_desc()},
                                                        {DNNL_ARG_DIFF_BIAS, of_filter.diff_bias_desc()},
                                                        {DNNL_ARG_DIFF_DST, of_filter.diff_dst_desc()}});
    if (!by_image) return;
    const dnnl::convolution_backward_data::primitive_desc of_image({kDirect, x, w, y, one, pads, pads}, engine_,
                                                                   forward);
    add(dnnl::convolution_backward_data(of_image), {{DNNL_ARG_DIFF_SRC, of_image.diff_src_desc()},
                                                    {DNNL_ARG_WEIGHTS, of_image.weights_desc()},
                                                    {DNNL_ARG_DIFF_DST, of_image.diff_dst_desc()}});
  }

  void run() {
    for (auto& [primitive, arguments] : steps_) primitive.execute(stream_, arguments);
    stream_.wait();
  }

 private:
  void add(const dnnl::primitive& primitive, const std::vector<std::pair<int, dnnl::memory::desc>>& arguments) {
    std::unordered_map<int, dnnl::memory> memories;
    for (const auto& [name, desc] : arguments) {
      const dnnl::memory m(desc, engine_);
      std::fill_n(static_cast<float*>(m.get_data_handle()), desc.get_size() / sizeof(float), 1.0f);
      memories.emplace(name, m);
    }
    steps_.emplace_back(primitive, std::move(memories));
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<std::pair<dnnl::primitive, std::unordered_map<int, dnnl::memory>>> steps_;
};

template <class Thing>
peers::Workload runs_of(std::vector<Thing> things) {
  const auto all = std::make_shared<std::vector<Thing>>(std::move(things));
  return peers::calls(
      [all] {
        for (Thing& t : *all) t.run();
        return 0;
      },
      [](int) { return std::vector<float>(); });
}

// A dense layer's products in training: y = x w, dw = x' dy, dx = dy w' (not for the first layer).
void add_dense(std::vector<Gemm>* products, int64_t batch, const Input& weights, bool first = false) {
  const int64_t in = weights.shape[0], out = weights.shape[1];
  products->emplace_back(batch, in, out);
  products->emplace_back(in, batch, out, true, false);
  if (!first) products->emplace_back(batch, out, in, false, true);
}

// The products of a network's training step.
std::vector<Gemm> products_of(const std::string& network, const std::vector<Input>& in) {
  std::vector<Gemm> products;
  if (network == "mlp") {
    for (size_t i = 2; i < in.size(); i += 2) add_dense(&products, in[0].shape[0], in[i], i == 2);
  } else if (network == "lstm") {
    for (int64_t step = 0; step < in[0].shape[0]; ++step) add_dense(&products, in[0].shape[1], in[2]);
    add_dense(&products, in[0].shape[1], in[4]);
  } else if (network == "transformer") {
    for (const size_t i : {4, 6, 10, 12}) add_dense(&products, in[0].shape[0], in[i]);
    // 8 x 4 heads of 128 tokens and 64 numbers: scores and weighted sums, each with two gradients.
    for (int head = 0; head < 32; ++head) {
      for (int i = 0; i < 3; ++i) products.emplace_back(128, 64, 128);
      for (int i = 0; i < 3; ++i) products.emplace_back(128, 128, 64);
    }
  }
  return products;
}

std::optional<peers::Workload> make(const std::string& work, const std::string& mode, const std::vector<Input>& in) {
  constexpr int64_t kLarge = 1 << 20;  // below this, overhead dominates, for which there is no reference
  const auto count = static_cast<int64_t>(in[0].floats.size());
  const auto any_of = [&work](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), work) != names.end();
  };
  std::vector<Gemm> products = products_of(work, in);
  const std::string& dtype = in[0].dtype;
  const int64_t floats_of_memory = dtype.empty() ? count : count / 2;
  if (!dtype.empty() && dtype != "bfloat16" && dtype != "float16") return std::nullopt;
  if (work == "matmul" && dtype != "float16" && in[1].floats.size() >= 128 * 128) {
    const auto type = dtype.empty() ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
    products.emplace_back(in[0].shape[0], in[0].shape[1], in[1].shape[1], false, false, type);
  }
  if (!products.empty()) return runs_of(std::move(products));
  if (work == "cnn") {
    const int64_t batch = in[0].shape[0], size = in[0].shape[1];
    std::vector<Convolution> convolutions;
    convolutions.emplace_back(batch, size, in[2], false);
    convolutions.emplace_back(batch, size / 2, in[4], true);
    return runs_of(std::move(convolutions));
  }
  // With fewer channels no layout is clearly the best.
  if (any_of({"conv", "conv_nchw"}) && dtype.empty() && in[1].shape[2] >= 16) {
    std::vector<Convolution> convolutions;
    convolutions.emplace_back(in[0].shape[0], in[0].shape[2], in[1], true);
    return runs_of(std::move(convolutions));
  }
  if (count < kLarge || mode == "cold") return std::nullopt;
  std::vector<Stream> streams;
  if (any_of({"add", "mul"})) streams.emplace_back(2, true, floats_of_memory);
  if (any_of({"exp", "tanh", "gelu", "softmax", "transpose", "bias_add", "layer_norm"}))
    streams.emplace_back(1, true, floats_of_memory);
  if (any_of({"sum", "rows", "columns"})) streams.emplace_back(1, false, floats_of_memory);
  if (streams.empty()) return std::nullopt;
  return runs_of(std::move(streams));
}

}  // namespace

int main(int argc, char** argv) {
  omp_set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  return peers::serve(std::cin, std::cout, make);
}
