#include "panto/trace/control/functional.h"

#include <algorithm>
#include <iterator>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/lists.h"
#include "panto/trace/control/ready_function.h"
#include "panto/trace/control/record.h"
#include "panto/trace/control/traced_body.h"

namespace panto::detail {
namespace {

// The size of the first dimension; -1 if unknown.
int64_t number_of_slices(const Tensors& elems) {
  if (elems.empty()) invalid("elems: expected at least one tensor, got none");
  int64_t count = -1;
  for (size_t i = 0; i < elems.size(); ++i) {
    const PartialShape& shape = elems[i].partial_shape();
    if (shape.rank() == 0) invalid("elems {}: expected at least one dimension, got a scalar", i);
    const int64_t dim = shape.rank() < 0 ? -1 : shape.dim(0);
    if (count >= 0 && dim >= 0 && dim != count) {
      invalid("elems {}: expected {} slices as in the others, got {}", i, count, dim);
    }
    count = std::max(count, dim);
  }
  return count;
}

PartialShape without_first(const PartialShape& shape) {
  return shape.rank() < 0 ? PartialShape() : PartialShape(shape.dims().subspan(1));
}

// Calls the function once per slice.
SliceResult call_one_by_one(const SliceFunction& fn, const Tensors& elems, Tensors state, bool reverse, int64_t count) {
  std::vector<Tensors> slices;  // by tensor of elems
  for (const Tensor& t : elems) slices.push_back(unpack(t, count));
  std::vector<Tensors> outputs;  // by output: one result per slice
  for (int64_t n = 0; n < count; ++n) {
    const auto at = static_cast<size_t>(reverse ? count - 1 - n : n);
    Tensors slice;
    for (const Tensors& of : slices) slice.push_back(of[at]);
    SliceResult result = fn(state, slice);
    state = std::move(result.state);
    outputs.resize(result.outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) outputs[k].push_back(std::move(result.outputs[k]));
  }
  SliceResult all{std::move(state), {}};
  for (Tensors& of : outputs) {
    if (reverse) std::ranges::reverse(of);
    all.outputs.push_back(stack(of));
  }
  return all;
}

// Records one loop. Slices are popped from the ends of lists and pushed to the ends of others, which takes constant
// time, forwards and backwards.
SliceResult loop_over(const SliceFunction& fn, const Tensors& elems, const Tensors& state, bool reverse,
                      int64_t count) {
  std::vector<PartialShape> slice_shapes;
  Tensors values = {tensor(0)};
  for (const Tensor& t : elems) {
    slice_shapes.push_back(without_first(t.partial_shape()));
    values.push_back(tensor_list_from_tensor(reverse ? t : panto::reverse(t, {0}), spelled_shape(slice_shapes.back())));
  }
  values.insert(values.end(), state.begin(), state.end());
  const Tensor rounds = count >= 0 ? tensor(static_cast<int32_t>(count)) : shape(elems[0])[0];

  // Trace the function once to learn its outputs.
  std::vector<Tensor> likes;
  for (size_t i = 0; i < elems.size(); ++i) likes.push_back(meta_tensor(elems[i].dtype(), slice_shapes[i]));
  likes.insert(likes.end(), state.begin(), state.end());
  size_t num_outputs = 0;
  const TracedBody once = trace_body("slice", likes, [&](std::span<const Tensor> in) {
    const CallerScope own(nullptr);
    SliceResult result = fn(in.subspan(elems.size()), in.first(elems.size()));
    if (result.state.size() != state.size()) {
      invalid("function: expected {} tensors of a state, got {}", state.size(), result.state.size());
    }
    num_outputs = result.outputs.size();
    result.outputs.insert(result.outputs.end(), result.state.begin(), result.state.end());
    return result.outputs;
  });
  std::vector<OutputInfo> outputs;
  for (size_t k = 0; k < num_outputs; ++k) {
    outputs.push_back(once.graph.info(once.endpoints.outputs[k]));
    values.push_back(empty_tensor_list(spelled_shape(outputs[k].shape), -1, outputs[k].dtype));
  }

  const size_t first_state = 1 + elems.size(), first_output = first_state + state.size();
  const RoundFunction goes_on = [&](std::span<const Tensor> in) -> Tensors { return {in[0] < rounds}; };
  const RoundFunction round = [&](std::span<const Tensor> in) -> Tensors {
    Tensors next = {in[0] + 1}, slice;
    for (size_t i = 0; i < elems.size(); ++i) {
      auto [rest, value] = tensor_list_pop_back(in[1 + i], spelled_shape(slice_shapes[i]), elems[i].dtype());
      next.push_back(rest);
      slice.push_back(value);
    }
    SliceResult result = fn(in.subspan(first_state, state.size()), slice);
    next.insert(next.end(), result.state.begin(), result.state.end());
    for (size_t k = 0; k < num_outputs; ++k) {
      next.push_back(tensor_list_push_back(in[first_output + k], result.outputs[k]));
    }
    return next;
  };
  Tensors results = record_while(goes_on, round, std::move(values), {}, std::source_location());
  SliceResult all;
  all.state.assign(results.begin() + static_cast<std::ptrdiff_t>(first_state),
                   results.begin() + static_cast<std::ptrdiff_t>(first_output));
  for (size_t k = 0; k < num_outputs; ++k) {
    const Tensor stacked = tensor_list_stack(results[first_output + k], spelled_shape(outputs[k].shape),
                                             outputs[k].dtype, {.num_elements = count});
    all.outputs.push_back(reverse ? panto::reverse(stacked, {0}) : stacked);
  }
  return all;
}

}  // namespace

SliceResult over_slices(const SliceFunction& fn, const Tensors& elems, Tensors state, bool reverse,
                        const std::source_location& where) {
  return from_caller(where, [&] {
    const int64_t count = number_of_slices(elems);
    if (makes_node() || count < 0) return loop_over(fn, elems, state, reverse, count);
    const SliceFunction own_lines = [&](std::span<const Tensor> s, std::span<const Tensor> slice) {
      const CallerScope own(nullptr);
      return fn(s, slice);
    };
    if (count > 0) return call_one_by_one(own_lines, elems, std::move(state), reverse, count);
    return loop_over(fn, elems, state, reverse, count);  // without slices, the loop tells the shapes of the outputs
  });
}

}  // namespace panto::detail
