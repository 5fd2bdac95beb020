// The state of a prepared convolution: its plan and its packed filter.
#pragma once

#include <memory>
#include <utility>

#include "panto/device/cpu/constant_input.h"
#include "panto/device/cpu/conv/conv_plan.h"
#include "panto/device/cpu/kernel.h"

namespace panto::cpu {

struct PreparedConvolution final : KernelState {
  std::shared_ptr<const ConvPlan> plan;
  MadeOfConstant<PackedFilter> filter;

  int64_t bytes() const noexcept override { return filter.bytes(); }

  // Whether all sizes are known when the call is prepared.
  static bool is_possible(const KernelContext& c) {
    for (int i = 0; i < c.num_inputs(); ++i) {
      if (!c.in(i).partial_shape().fully_known()) return false;
    }
    return c.spec(0).shape.fully_known();
  }

  // Input 1 is the filter, or its shape for the gradient by filter.
  static std::shared_ptr<KernelState> make(const KernelContext& c, std::shared_ptr<const ConvPlan> plan) {
    auto prepared = std::make_shared<PreparedConvolution>();
    prepared->plan = std::move(plan);
    if (prepared->plan->kind() != ConvKind::kByFilter && is_constant(c, 1)) {
      prepared->filter.set(c.in(1), [&](const Tensor& filter) { return prepared->plan->pack(filter, c.device()); });
    }
    return prepared;
  }
};

}  // namespace panto::cpu
