#include "panto/device/cpu/epilogue.h"

#include "panto/device/cpu/loops.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/functors.h"

namespace panto::cpu {
namespace {

struct NoActivation {
  float operator()(float x) const { return x; }
};
struct Relu6 {
  float operator()(float x) const { return k::min(k::max(x, 0.f), 6.f); }
};
struct Elu {
  static constexpr int kWork = 50;
  float operator()(float x) const { return k::select(x < 0.f, k::fast::exp(k::min(x, 0.f)) - 1.f, x); }
};
struct LeakyRelu {
  float alpha;
  float operator()(float x) const { return k::select(x > 0.f, x, alpha * x); }
};
struct GeluApproximate {
  static constexpr int kWork = 50;
  float operator()(float x) const {
    return 0.5f * x * (1.f + k::fast::tanh(0.7978845608028654f * (x + 0.044715f * (x * (x * x)))));
  }
};
struct GeluExact {
  static constexpr int kWork = 50;
  float operator()(float x) const { return 0.5f * x * (1.f + k::erf(0.7071067811865476f * x)); }
};

template <class F>
void apply(F f, const float* bias, int64_t rows, int64_t columns, float* y) {
  const int64_t work = rows * columns * (8 + extra_work<F>());
  parallel_ranges(
      rows, work,
      [&](int64_t begin, int64_t end) {
        specialised([&] {
          if (bias == nullptr) {
            PANTO_INDEPENDENT
            for (int64_t i = begin * columns; i < end * columns; ++i) y[i] = f(y[i]);
            return;
          }
          for (int64_t r = begin; r < end; ++r) {
            float* row = y + r * columns;
            PANTO_INDEPENDENT
            for (int64_t j = 0; j < columns; ++j) row[j] = f(row[j] + bias[j]);
          }
        });
      },
      8);
}

}  // namespace

void apply_epilogue(const Epilogue& epilogue, const float* bias, int64_t rows, int64_t columns, float* y) {
  switch (epilogue.activation) {
    case Activation::kNone:
      if (bias != nullptr) apply(NoActivation{}, bias, rows, columns, y);
      return;
    case Activation::kRelu: return apply(ReluFn{}, bias, rows, columns, y);
    case Activation::kRelu6: return apply(Relu6{}, bias, rows, columns, y);
    case Activation::kTanh: return apply(TanhFn{}, bias, rows, columns, y);
    case Activation::kSigmoid: return apply(SigmoidFn{}, bias, rows, columns, y);
    case Activation::kElu: return apply(Elu{}, bias, rows, columns, y);
    case Activation::kLeakyRelu: return apply(LeakyRelu{epilogue.leaky_alpha}, bias, rows, columns, y);
    case Activation::kGeluApproximate: return apply(GeluApproximate{}, bias, rows, columns, y);
    case Activation::kGeluExact: return apply(GeluExact{}, bias, rows, columns, y);
  }
}

}  // namespace panto::cpu
