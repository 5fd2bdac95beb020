#include "panto/nn/layers/core/merge.h"

#include <string>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

template <class F>
Tensor folded(const char* name, const ArgList& list, F f) {
  return from_caller(list.where(), [&] {
    const std::vector<Tensor>& tensors = list.tensors();
    if (tensors.empty()) invalid("{}: expected at least one tensor, got none", name);
    Tensor result = tensors[0];
    for (size_t i = 1; i < tensors.size(); ++i) result = f(std::move(result), tensors[i]);
    return result;
  });
}

}  // namespace

Tensor add(const ArgList& tensors) {
  return folded("add", tensors, [](Tensor a, const Tensor& b) { return std::move(a) + b; });
}
Tensor multiply(const ArgList& tensors) {
  return folded("multiply", tensors, [](Tensor a, const Tensor& b) { return std::move(a) * b; });
}
Tensor average(const ArgList& tensors) {
  const Tensor total = folded("average", tensors, [](Tensor a, const Tensor& b) { return std::move(a) + b; });
  return from_caller(tensors.where(), [&] { return total / static_cast<double>(tensors.tensors().size()); });
}
Tensor maximum(const ArgList& tensors) {
  return folded("maximum", tensors, [](Tensor a, const Tensor& b) { return maximum(std::move(a), b); });
}
Tensor minimum(const ArgList& tensors) {
  return folded("minimum", tensors, [](Tensor a, const Tensor& b) { return minimum(std::move(a), b); });
}
Tensor concatenate(const ArgList& tensors, int64_t axis) { return concat(tensors, axis); }
Tensor subtract(Arg a, Arg b) { return sub(std::move(a), std::move(b)); }
Tensor multiply(Arg a, Arg b) { return mul(std::move(a), std::move(b)); }

Tensor batch_dot(Arg a, Arg b, const BatchDotOptions& options) {
  return from_caller(a.where(), [&]() -> Tensor {
    if (options.axes.size() != 2) invalid("batch_dot: expected two axes, got {}", options.axes.size());
    Tensor parts[] = {identity(std::move(a)), identity(std::move(b))};
    int axes[2];
    for (int i = 0; i < 2; ++i) {
      axes[i] = detail::normal_axis("batch_dot", options.axes[static_cast<size_t>(i)],
                                    detail::known_rank("batch_dot", parts[i], 2));
      if (axes[i] == 0) invalid("batch_dot: expected axes other than 0, the batch's, got 0");
    }
    const int64_t sizes[] = {parts[0].partial_shape().dim(axes[0]), parts[1].partial_shape().dim(axes[1])};
    if (sizes[0] >= 0 && sizes[1] >= 0 && sizes[0] != sizes[1]) {
      invalid("batch_dot: expected axes of one size, got axis {} of {} and axis {} of {}", axes[0],
              parts[0].partial_shape().to_string(), axes[1], parts[1].partial_shape().to_string());
    }
    std::string terms[2], result = "z";
    char next = 'a';
    for (int i = 0; i < 2; ++i) {
      if (options.normalize) parts[i] = detail::normalized(parts[i], axes[i]);
      for (int k = 0; k < parts[i].partial_shape().rank(); ++k) {
        if (k == 0 || k == axes[i]) {
          terms[i] += k == 0 ? 'z' : 'y';
          continue;
        }
        if (next == 'y') invalid("batch_dot: expected at most 24 dimensions besides the axes, got more");
        terms[i] += next;
        result += next++;
      }
    }
    const Tensor y = einsum(terms[0] + "," + terms[1] + "->" + result, parts[0], parts[1]);
    return result.size() == 1 ? expand_dims(y, 1) : y;
  });
}

}  // namespace panto
