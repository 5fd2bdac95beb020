// Cells: one step of a recurrent layer.
//
//   struct Leaky : RnnCell {                                       // one of your own
//     Dense in{3, 4}, back{4, 4, {.use_bias = false}};
//     Parts parts() const override { return {in, back}; }
//     std::vector<int64_t> state_sizes() const override { return {4}; }
//     RnnStep step(const Tensor& x, const RnnState& state) const override {
//       const Tensor h = 0.5f * state[0] + 0.5f * tanh(in(x) + back(state[0]));
//       return {h, {h}};
//     }
//   };
//   Rnn layer(Leaky(), {.return_sequences = true});                // over sequences: rnn.h
//
// A cell is a handle, as a layer is. Thread-safety: calls may run in several threads at once.
#pragma once

#include <concepts>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// The state between steps: tensors [batch, ...].
using RnnState = std::vector<Tensor>;

// The output of a step, and the state after it.
struct RnnStep {
  Tensor output = {};
  RnnState state = {};
};

class PANTO_EXPORT RnnCell {
 public:
  RnnCell() = default;
  RnnCell(const RnnCell&) = default;
  RnnCell(RnnCell&&) = default;
  RnnCell& operator=(const RnnCell&) = default;
  RnnCell& operator=(RnnCell&&) = default;
  virtual ~RnnCell();

  // The last dimensions of the states [batch, size].
  virtual std::vector<int64_t> state_sizes() const = 0;
  // The last dimension of the output [batch, size]: the first state's, unless overridden.
  virtual int64_t output_size() const;
  // x [batch, ...], and one state for each of state_sizes().
  virtual RnnStep step(const Tensor& x, const RnnState& state) const = 0;
  // The layers and variables of the cell.
  virtual Parts parts() const;  // none
  std::vector<Variable> variables() const { return parts().variables(); }
  virtual std::string to_string() const;

  // One step; without a state it begins with zeros. Throws InvalidArgument for another number of states.
  RnnStep operator()(const Tensor& x, const RnnState& state = {},
                     std::source_location where = std::source_location::current()) const;

  // ---- Optimizations over a whole sequence in this library's cells. A cell of your own needs none of these.
  // ------------
  // The prepared inputs of the steps: the sequence, whose `x` may already be multiplied by a kernel, and tensors that
  // are the same for all steps (dropout factors).
  struct Sequence {
    Tensor x = {};
    std::vector<Tensor> held = {};
  };
  // Prepares [batch, steps, ...], or one step [batch, ...].
  virtual Sequence prepare(const Tensor& x, bool one_step) const;
  // One step of a prepared sequence.
  virtual RnnStep advance(const Tensor& x, const RnnState& state, const std::vector<Tensor>& held) const;
  // Zero output and states, for a sequence [batch, steps, ...] or a step [batch, ...].
  virtual RnnStep start(const Tensor& x, bool one_step) const;
  // Whether `advance` accepts undefined tensors as states of zeros.
  virtual bool takes_undefined() const { return false; }
  // Throws InvalidArgument unless x is a sequence that the cell can take: [batch, steps, inputs], as far as known.
  virtual void expect_sequence(const Tensor& x, std::string_view layer) const;
  // A cell with the same options and new variables; null: unsupported.
  virtual std::shared_ptr<const RnnCell> fresh() const;
};

// Stacks cells: the output of each is the input of the next. The states are those of the first cell, then those of the
// second, ... Dropout masks of the cells are drawn anew at each step.
class PANTO_EXPORT StackedRnnCells final : public RnnCell {
 public:
  template <class... Cells>
    requires(sizeof...(Cells) > 0 && (std::derived_from<Cells, RnnCell> && ...))
  explicit StackedRnnCells(Cells... cells)
      : StackedRnnCells(
            std::vector<std::shared_ptr<const RnnCell>>{std::make_shared<const Cells>(std::move(cells))...}) {}
  // Throws InvalidArgument for an empty list.
  explicit StackedRnnCells(std::vector<std::shared_ptr<const RnnCell>> cells);
  std::vector<int64_t> state_sizes() const override;
  int64_t output_size() const override { return cells_.back()->output_size(); }
  RnnStep step(const Tensor& x, const RnnState& state) const override;
  RnnStep start(const Tensor& x, bool one_step) const override;
  Parts parts() const override;
  std::string to_string() const override;
  void expect_sequence(const Tensor& x, std::string_view layer) const override;
  std::shared_ptr<const RnnCell> fresh() const override;

 private:
  std::vector<std::shared_ptr<const RnnCell>> cells_;
};

namespace detail {
// Checks shared by the cells of this library. Internal.
void expect_cell_sizes(std::string_view cell, int64_t inputs, int64_t units);
void expect_sequence_of(std::string_view layer, const Tensor& x, int64_t inputs);
void expect_step_of(std::string_view cell, const Tensor& x, int64_t inputs);
// x . kernel + bias, for [batch, inputs] or [batch, steps, inputs]. `bias` may be undefined.
Tensor project(const Tensor& x, const Variable& kernel, const Tensor& bias);
// Applies dropout to a sequence or a step in training: one mask for all steps.
Tensor dropped_input(const Tensor& x, double rate, bool one_step);
// Zeros [batch, size], with the batch and the dtype of x, which may be of unknown rank.
Tensor zero_rows(const Tensor& x, int64_t size);
// The dropout factors in training for a state [batch, units] of sequence x; undefined if nothing is dropped.
Tensor state_factors(const Tensor& x, int64_t units, double rate);
}  // namespace detail

}  // namespace panto
