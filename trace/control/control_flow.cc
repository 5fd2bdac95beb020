#include "panto/trace/control/control_flow.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/control/control.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/control/record.h"
#include "panto/trace/control/traced_body.h"

namespace panto::detail {
namespace {

// Calls a user's function so that its ops record their own source lines.
template <class F>
TensorFunction with_own_lines(const F& fn) {
  return [&fn](std::span<const Tensor> in) {
    const CallerScope own(nullptr);
    return fn(in);
  };
}

TensorFunction without_arguments(const BranchFunction& fn) {
  return [&fn](std::span<const Tensor>) {
    const CallerScope own(nullptr);
    return fn();
  };
}

// A symbolic tensor with the dtype and handle data of `like`, and this shape.
Tensor of_shape(const Tensor& like, const PartialShape& shape) {
  return meta_tensor(like.dtype(), shape, std::nullopt, nullptr, like.is_meta() ? like.impl()->meta->handle : nullptr);
}

// The types and shapes of a loop's values in every round, as far as they are given or known at first.
std::vector<Tensor> first_guess(std::span<const Tensor> values, const std::vector<PartialShape>& said) {
  std::vector<Tensor> likes(values.begin(), values.end());
  if (said.empty()) return likes;
  if (said.size() != values.size()) {
    invalid("shape_invariants: expected one for each of {} values, got {}", values.size(), said.size());
  }
  for (size_t i = 0; i < likes.size(); ++i) {
    if (!likes[i].partial_shape().compatible_with(said[i])) {
      invalid("shape_invariants {}: expected a shape that the first value {} has, got {}", i,
              likes[i].partial_shape().to_string(), said[i].to_string());
    }
    likes[i] = of_shape(likes[i], said[i]);
  }
  return likes;
}

TracedBody trace_round(const RoundFunction& body, std::vector<Tensor>& likes) {
  // If the body's results have less precise shapes than its arguments, trace it again with these shapes.
  for (;;) {
    TracedBody traced = trace_body("body", likes, with_own_lines(body));
    const std::vector<NodeOutput>& outputs = traced.endpoints.outputs;
    if (outputs.size() != likes.size()) {
      invalid("body: expected {} values, as many as it takes, got {}", likes.size(), outputs.size());
    }
    bool changed = false;
    for (size_t i = 0; i < likes.size(); ++i) {
      const PartialShape known = known_of_both(likes[i].partial_shape(), traced.graph.info(outputs[i]).shape);
      if (known == likes[i].partial_shape()) continue;
      likes[i] = of_shape(likes[i], known);
      changed = true;
    }
    if (!changed) return traced;
  }
}

}  // namespace

bool makes_node() {
  return std::ranges::any_of(recorders(), [](const Recorder* r) { return r->symbolic() || r->inlines_functions(); });
}

bool makes_node(const Tensor& condition) { return condition.is_meta() || makes_node(); }

bool holds(const Tensor& condition) { return is_true(condition); }

Tensor tensor_of(Arg arg) {
  if (arg.is_literal()) return identity(std::move(arg));
  if (arg.kind() == Arg::Kind::kVariable) return arg.variable().value(arg.where());
  return arg.tensor();
}

void no_branch() { fail(Code::kInvalidArgument, "switch_case: expected at least one branch, got none"); }

Tensors record_cond(const Tensor& pred, const BranchFunction& then, const BranchFunction& otherwise,
                    const std::source_location& where) {
  return from_caller(where, [&] {
    std::vector<TracedBody> branches;
    branches.push_back(trace_body("then", {}, without_arguments(then)));
    branches.push_back(trace_body("else", {}, without_arguments(otherwise)));
    return call_branches(pred, false, std::move(branches));
  });
}

Tensors record_case(const Tensor& index, std::span<const BranchFunction> branches, const std::source_location& where) {
  return from_caller(where, [&] {
    std::vector<TracedBody> bodies;
    for (size_t k = 0; k < branches.size(); ++k) {
      bodies.push_back(trace_body(fmt::format("branch_{}", k), {}, without_arguments(branches[k])));
    }
    return call_branches(index.dtype() == kInt32 ? index : cast(index, kInt32), true, std::move(bodies));
  });
}

Tensors record_while(const RoundFunction& condition, const RoundFunction& body, Tensors values,
                     const WhileOptions& options, const std::source_location& where) {
  if (options.maximum_iterations >= 0) {
    // Add the round number as the first value of the loop.
    WhileOptions unlimited = options;
    unlimited.maximum_iterations = -1;
    if (!unlimited.shape_invariants.empty()) {
      unlimited.shape_invariants.insert(unlimited.shape_invariants.begin(), PartialShape(Shape{}));
    }
    values.insert(values.begin(), tensor(int64_t{0}));
    const int64_t most = options.maximum_iterations;
    const RoundFunction counted_condition = [&condition, most](std::span<const Tensor> in) -> Tensors {
      return {logical_and(less(in[0], most), cast(condition(in.subspan(1))[0], kBool))};
    };
    const RoundFunction counted_body = [&body](std::span<const Tensor> in) {
      Tensors next = body(in.subspan(1));
      next.insert(next.begin(), in[0] + int64_t{1});
      return next;
    };
    Tensors results = record_while(counted_condition, counted_body, std::move(values), unlimited, where);
    results.erase(results.begin());
    return results;
  }
  return from_caller(where, [&] {
    std::vector<Tensor> likes = first_guess(values, options.shape_invariants);
    TracedBody round = trace_round(body, likes);
    TracedBody goes_on = trace_body("cond", likes, with_own_lines(condition));
    return call_loop(values, std::move(goes_on), std::move(round), options.parallel_iterations);
  });
}

}  // namespace panto::detail
