// A chain of small multiplications, eager or traced.
#pragma once

#include "panto/autograd/tape.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/ops/ops.h"

namespace panto::bench {

constexpr int kChain = 100;

inline Tensor chain(const Tensor& x, const Tensor& factor, int length = kChain) {
  Tensor y = x;
  for (int i = 0; i < length; ++i) y = mul(y, factor);
  return y;
}

// Times `f(x, factor)`, such a chain; `item`: the counter's name for one multiplication.
template <class F>
void forward(benchmark::State& state, const char* item, const F& f) {
  const Tensor x = numbers({8, 8}), factor = numbers({8, 8}, 2);
  for (auto _ : state) benchmark::DoNotOptimize(f(x, factor));
  per_item(state, item, kChain);
}

template <class F>
void forward_and_backward(benchmark::State& state, const char* item, const F& f) {
  const Tensor x = numbers({8, 8}), factor = numbers({8, 8}, 2);
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(x);
    benchmark::DoNotOptimize(tape.gradient(f(x, factor), x));
  }
  per_item(state, item, kChain);
}

}  // namespace panto::bench
