#include "panto/nn/layers/recurrent/rnn.h"

#include <numeric>
#include <span>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/trace/control/functional.h"

namespace panto {
namespace {

// Exchanges the first two dimensions.
Tensor steps_first(const Tensor& x) {
  const int rank = x.partial_shape().rank();
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::swap(perm[0], perm[1]);
  return transpose(x, perm);
}

// Reshapes bool[batch] to the rank of `like`.
Tensor in_rank_of(const Tensor& counts, const Tensor& like) {
  std::vector<int64_t> dims(static_cast<size_t>(like.partial_shape().rank()), 1);
  dims[0] = -1;
  return reshape(counts, dims);
}

}  // namespace

Rnn::Rnn(std::shared_ptr<const RnnCell> cell, const RnnOptions& options) : Rnn(std::move(cell), options, "Rnn", "") {
  text_ = "Rnn(" + cell_->to_string() + ")";
}

Rnn::Rnn(std::shared_ptr<const RnnCell> cell, const RnnOptions& options, std::string name, std::string text)
    : cell_(std::move(cell)), options_(options), name_(std::move(name)), text_(std::move(text)) {
  if (!cell_) invalid("{}: expected a cell, got none", name_);
  if (!options.stateful) return;
  if (options.batch < 1) invalid("{}: expected the batch of a stateful layer, got {}", name_, options.batch);
  const std::vector<Variable> variables = cell_->variables();
  const DType type = variables.empty() ? kFloat32 : variables[0].dtype();
  const VariableUseScope states(VariableUse::kKept);
  for (const int64_t size : cell_->state_sizes()) {
    kept_.emplace_back(constant_initializer(0)({options.batch, size}, type), "state");
  }
}

Parts Rnn::parts() const { return cell_->parts(); }
std::vector<Variable> Rnn::state() const {
  std::vector<Variable> all = Layer::state();
  all.insert(all.end(), kept_.begin(), kept_.end());
  return all;
}

void Rnn::reset_state() const {
  if (!options_.stateful) failf(Code::kFailedPrecondition, "{}: expected a stateful layer, got another", name_);
  for (const Variable& v : kept_) v.assign(zeros_like(v));
}

Rnn Rnn::reversed() const {
  std::shared_ptr<const RnnCell> other = cell_->fresh();
  if (!other) {
    failf(Code::kUnimplemented, "Bidirectional: expected a second layer, since {} does not make another of its kind",
          cell_->to_string());
  }
  RnnOptions options = options_;
  options.go_backwards = !options.go_backwards;
  return Rnn(std::move(other), options, name_, text_);
}

Tensor Rnn::forward(const Tensor& x) const {
  RnnOutput all = over_steps(x, {}, {}, options_.return_sequences);
  return options_.return_sequences ? all.sequence : all.last;
}

RnnOutput Rnn::run(const Tensor& x, const RnnState& state, const Tensor& mask, std::source_location where) const {
  return from_caller(where, [&] { return over_steps(x, state, mask, true); });
}

RnnOutput Rnn::over_steps(const Tensor& x, RnnState state, const Tensor& mask, bool sequence) const {
  cell_->expect_sequence(x, name_);
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank()) invalid("{}: expected an input of known rank, got {}", name_, shape.to_string());
  const int64_t steps = shape.dim(1);
  if (steps == 0) invalid("{}: expected at least one step, got an input of shape {}", name_, shape.to_string());
  if (state.empty() && options_.stateful) {
    if (shape.dim(0) >= 0 && shape.dim(0) != options_.batch) {
      invalid("{}: expected a batch of {}, got an input of shape {}", name_, options_.batch, shape.to_string());
    }
    for (const Variable& v : kept_) state.push_back(v.value());
  }
  Tensor counts = mask;
  if (mask.defined()) {
    const PartialShape expected{shape.dim(0), steps};
    if (mask.dtype() != kBool || !expected.compatible_with(mask.partial_shape())) {
      invalid("{}: expected a mask of bool{}, got {}{}", name_, whole(expected.to_string()), dtype_name(mask.dtype()),
              whole(mask.partial_shape().to_string()));
    }
    if (options_.go_backwards) counts = reverse(counts, {1});
  }
  const bool unroll = steps >= 0 && (options_.unroll || !detail::makes_node());
  const RnnStep begin = first_step(x, std::move(state), unroll && !mask.defined());
  const RnnCell::Sequence prepared = cell_->prepare(options_.go_backwards ? reverse(x, {1}) : x, false);
  RnnOutput all =
      unroll ? unrolled(prepared, begin, steps, counts, sequence) : looped(prepared, begin, counts, sequence);
  for (size_t i = 0; i < kept_.size(); ++i) kept_[i].assign(stop_gradient(all.state[i]));
  return all;
}

// The given `state`, with zeros for states that are missing, and an output of zeros. With `may_lack_zeros`, and if the
// cell accepts it, zeros are undefined tensors.
RnnStep Rnn::first_step(const Tensor& x, RnnState state, bool may_lack_zeros) const {
  const size_t states = cell_->state_sizes().size();
  if (state.empty() && may_lack_zeros && cell_->takes_undefined()) return {{}, RnnState(states)};
  RnnStep begin = cell_->start(x, false);
  if (state.empty()) return begin;
  if (state.size() != states) invalid("{}: expected {} states, got {}", name_, states, state.size());
  for (size_t i = 0; i < states; ++i) {
    if (!state[i].defined()) continue;
    const PartialShape &expected = begin.state[i].partial_shape(), &got = state[i].partial_shape();
    if (!expected.compatible_with(got)) {
      invalid("{}: expected state {} of shape {}, got {}", name_, i, expected.to_string(), got.to_string());
    }
    begin.state[i] = state[i];
  }
  return begin;
}

RnnStep Rnn::one_step(const Tensor& x, const RnnStep& before, const Tensor& counts,
                      const std::vector<Tensor>& held) const {
  RnnStep now = cell_->advance(x, before.state, held);
  if (now.state.size() != before.state.size()) {
    invalid("{}: expected a step to give {} states, got {}", name_, before.state.size(), now.state.size());
  }
  if (!counts.defined()) return now;
  const Tensor& otherwise = before.output;
  now.output = where(in_rank_of(counts, now.output), now.output,
                     options_.zero_output_for_mask ? zeros_like(now.output) : otherwise);
  for (size_t i = 0; i < now.state.size(); ++i) {
    now.state[i] = where(in_rank_of(counts, now.state[i]), now.state[i], before.state[i]);
  }
  return now;
}

RnnOutput Rnn::unrolled(const RnnCell::Sequence& prepared, RnnStep last, int64_t steps, const Tensor& mask,
                        bool sequence) const {
  std::vector<Tensor> counts(static_cast<size_t>(steps));
  if (mask.defined()) counts = unpack(mask, steps, {.axis = 1});
  std::vector<Tensor> outputs;
  const std::vector<Tensor> inputs = unpack(prepared.x, steps, {.axis = 1});
  for (size_t i = 0; i < inputs.size(); ++i) {
    last = one_step(inputs[i], last, counts[i], prepared.held);
    if (sequence) outputs.push_back(last.output);
  }
  return {sequence ? pack(outputs, {.axis = 1}) : Tensor(), std::move(last.output), std::move(last.state)};
}

RnnOutput Rnn::looped(const RnnCell::Sequence& prepared, const RnnStep& begin, const Tensor& mask,
                      bool sequence) const {
  std::vector<Tensor> slices = {steps_first(prepared.x)};
  if (mask.defined()) slices.push_back(steps_first(mask));
  // The last output is carried between rounds like a state.
  std::vector<Tensor> carried = begin.state;
  carried.push_back(begin.output);
  const detail::SliceFunction round = [&](std::span<const Tensor> before, std::span<const Tensor> slice) {
    const RnnStep previous{before.back(), RnnState(before.begin(), before.end() - 1)};
    RnnStep now = one_step(slice[0], previous, slice.size() > 1 ? slice[1] : Tensor(), prepared.held);
    detail::SliceResult result{std::move(now.state), {}};
    result.state.push_back(now.output);
    if (sequence) result.outputs.push_back(std::move(now.output));
    return result;
  };
  detail::SliceResult all =
      detail::over_slices(round, slices, std::move(carried), false, std::source_location::current());
  RnnOutput result;
  result.last = std::move(all.state.back());
  all.state.pop_back();
  result.state = std::move(all.state);
  if (sequence) result.sequence = steps_first(all.outputs[0]);
  return result;
}

}  // namespace panto
