// oneDNN's matrix product, called directly, to compare ours with.
#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

namespace panto::bench {

// [m, k] x [k, n]; each operand can be transposed in memory.
class Gemm {
 public:
  Gemm(int64_t m, int64_t k, int64_t n, bool transpose_a = false, bool transpose_b = false,
       dnnl::memory::data_type type = dnnl::memory::data_type::f32)
      : flops_(2.0 * static_cast<double>(m * k * n)),
        a_(static_cast<size_t>(m * k), 1.0f),
        b_(static_cast<size_t>(k * n), 1.0f),
        c_(static_cast<size_t>(m * n)) {
    using dnnl::memory;
    const memory::desc a({m, k}, type, transpose_a ? memory::dims{1, m} : memory::dims{k, 1});
    const memory::desc b({k, n}, type, transpose_b ? memory::dims{1, k} : memory::dims{n, 1});
    const memory::desc c({m, n}, type, memory::dims{n, 1});
    const dnnl::matmul::desc desc(a, b, c);
    matmul_ = dnnl::matmul(dnnl::matmul::primitive_desc(desc, engine()));
    arguments_ = {{DNNL_ARG_SRC, memory(a, engine(), a_.data())},
                  {DNNL_ARG_WEIGHTS, memory(b, engine(), b_.data())},
                  {DNNL_ARG_DST, memory(c, engine(), c_.data())}};
    run();
  }

  void run() {
    matmul_.execute(stream(), arguments_);
    stream().wait();
  }
  double flops() const { return flops_; }

 private:
  static dnnl::engine& engine() {
    static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
  }
  static dnnl::stream& stream() {
    static dnnl::stream one(engine());
    return one;
  }

  double flops_;
  std::vector<float> a_, b_, c_;  // large enough for elements of any supported type
  dnnl::matmul matmul_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace panto::bench
