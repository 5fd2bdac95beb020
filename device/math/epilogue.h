// The epilogue of fused kernels, on all devices: terms added to a result, then an activation. The bits are those of the
// separate kernels.
#pragma once

#include <cstdint>

#include "panto/device/math/functors.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/nn/fused.h"

namespace panto {

// The operands of the epilogue before the activation. `added` has the shape of the result; all others have one element
// per channel. Absent terms are null. `factor` without `mean` only multiplies, and `offset`, if present, is added then.
struct EpilogueTerms {
  const float *bias = nullptr, *mean = nullptr, *factor = nullptr, *offset = nullptr, *added = nullptr;

  bool any() const { return bias != nullptr || mean != nullptr || factor != nullptr || added != nullptr; }
  // The terms for the part of the result that begins at `element`, which belongs to `channel`.
  EpilogueTerms from(int64_t channel, int64_t element) const {
    const auto at = [](const float* v, int64_t i) { return v == nullptr ? nullptr : v + i; };
    return {at(bias, channel), at(mean, channel), at(factor, channel), at(offset, channel), at(added, element)};
  }
};

// The terms as the call gives them. `factor` is still null: the caller computes it from scale and variance
// (device/batch_norm.h).
struct GivenTerms {
  EpilogueTerms terms;
  const float *scale = nullptr, *variance = nullptr;
};

// `call`: an op whose `args` begin at flat input 2; all of them are float32. Throws InvalidArgument if one has the
// wrong number of elements for the result.
PANTO_EXPORT GivenTerms given_terms(const KernelContext& call, const Epilogue& epilogue, int64_t channels);

namespace epilogue {

struct Identity {
  PANTO_FN float operator()(float x) const { return x; }
};
struct Relu6 {
  PANTO_FN float operator()(float x) const { return k::select(k::is_negative(x), 0.f, k::select(x > 6.f, 6.f, x)); }
};
struct Elu {
  static constexpr int kWork = 50;
  PANTO_FN float operator()(float x) const { return k::select(x < 0.f, k::fast::exp(k::min(x, 0.f)) - 1.f, x); }
};
struct LeakyRelu {
  float alpha;
  PANTO_FN float operator()(float x) const { return k::select(x > 0.f, x, alpha * x); }
};
struct GeluApproximate {
  static constexpr int kWork = 50;
  PANTO_FN float operator()(float x) const {
    return 0.5f * x * (1.f + k::fast::tanh(0.7978845608028654f * (x + 0.044715f * (x * (x * x)))));
  }
};
struct GeluExact {
  static constexpr int kWork = 50;
  PANTO_FN float operator()(float x) const { return 0.5f * x * (1.f + k::erf(0.7071067811865476f * x)); }
};
struct Swish {
  static constexpr int kWork = 50;
  PANTO_FN float operator()(float x) const { return x * SigmoidFn{}(x); }
};

// Calls body(f) with the activation's functor; does nothing if there is no activation.
template <class Body>
[[gnu::always_inline]] inline void with_activation(const Epilogue& e, const Body& body) {
  switch (e.activation) {
    case FusedActivation::kNone: return;
    case FusedActivation::kRelu: return body(ReluFn{});
    case FusedActivation::kRelu6: return body(Relu6{});
    case FusedActivation::kTanh: return body(TanhFn{});
    case FusedActivation::kSigmoid: return body(SigmoidFn{});
    case FusedActivation::kElu: return body(Elu{});
    case FusedActivation::kLeakyRelu: return body(LeakyRelu{e.leaky_alpha});
    case FusedActivation::kGeluApproximate: return body(GeluApproximate{});
    case FusedActivation::kGeluExact: return body(GeluExact{});
    case FusedActivation::kSwish: return body(Swish{});
  }
}

}  // namespace epilogue
}  // namespace panto
