// Rnn: a recurrent layer; it runs a cell over sequences.
//
//   Gru gru(16, 32, {.return_sequences = true});
//   Tensor y = gru(x);                              // [batch, steps, 16] -> [batch, steps, 32]
//   auto [sequence, last, state] = gru.run(x);      // all outputs, the last one, and the state behind it
//   gru.run(more, state);                           // goes on from there
//   gru.run(x, {}, sequence_mask(lengths, 20));     // of sequences of several lengths
//
// If the number of steps is known, the steps are unrolled; if a trace or a graph does not know it, or `unroll` is
// false, they become one loop. Thread-safety: calls may run in several threads at once, except for stateful layers.
#pragma once

#include <concepts>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/layers/recurrent/cell.h"

namespace panto {

struct RnnOptions {
  bool return_sequences = false;  // return the outputs of all steps, not only the last one
  bool go_backwards = false;      // begin with the last step; outputs are in the order in which they are computed
  bool stateful = false;          // each call continues from the state after the call before: `batch` sequences go on
  int64_t batch = 0;              // of a stateful layer
  bool unroll = true;             // in graphs, where the number of steps is known
  bool zero_output_for_mask = false;  // masked steps output zeros, instead of the output before
};

// The options of the layer together with those of a cell: `{.return_sequences = true, .cell = {.dropout = 0.2}}`.
template <class CellOptions>
struct RecurrentOptions {
  bool return_sequences = false;
  bool go_backwards = false;
  bool stateful = false;
  int64_t batch = 0;
  bool unroll = true;
  bool zero_output_for_mask = false;
  CellOptions cell = {};

  RnnOptions of_layer() const {
    return {return_sequences, go_backwards, stateful, batch, unroll, zero_output_for_mask};
  }
};

// The outputs of all steps [batch, steps, ...], the last output, and the state after it.
struct RnnOutput {
  Tensor sequence;
  Tensor last;
  RnnState state;
};

// Runs any cell, from a state of zeros: [batch, steps, ...] -> [batch, ...], or [batch, steps, ...] with
// return_sequences.
class PANTO_EXPORT Rnn : public BuiltInLayer {
 public:
  template <std::derived_from<RnnCell> Cell>
  explicit Rnn(Cell cell, const RnnOptions& options = {})
      : Rnn(std::make_shared<const Cell>(std::move(cell)), options) {}
  // Throws InvalidArgument for a null pointer, and for a stateful layer without a batch.
  explicit Rnn(std::shared_ptr<const RnnCell> cell, const RnnOptions& options = {});
  // Throws InvalidArgument for an x that the cell cannot take, or without steps.
  Tensor forward(const Tensor& x) const override;
  // Starts from a given state; `state` has one tensor for each state of the cell, or none. A mask, bool[batch, steps],
  // is false for steps that do not count: these keep the state, and repeat the output before (zeros at first). Throws
  // as above, and for a state or a mask of another shape.
  RnnOutput run(const Tensor& x, const RnnState& state = {}, const Tensor& mask = {},
                std::source_location where = std::source_location::current()) const;
  // A stateful layer begins with zeros again. Throws FailedPrecondition for another layer.
  void reset_state() const;
  Parts parts() const override;
  std::vector<Variable> state() const override;
  std::string to_string() const override { return text_; }
  const RnnCell& cell() const { return *cell_; }
  const RnnOptions& options() const { return options_; }
  // A layer with the same options, a fresh cell with new variables, and the opposite direction. Throws Unimplemented
  // for a cell without RnnCell::fresh.
  Rnn reversed() const;

 protected:
  // `name` begins messages; to_string returns `text`.
  Rnn(std::shared_ptr<const RnnCell> cell, const RnnOptions& options, std::string name, std::string text);
  // `sequence`: whether to compute the result's `sequence`, which is undefined otherwise.
  RnnOutput over_steps(const Tensor& x, RnnState state, const Tensor& mask, bool sequence) const;

 private:
  RnnStep first_step(const Tensor& x, RnnState state, bool may_lack_zeros) const;
  RnnOutput unrolled(const RnnCell::Sequence& prepared, RnnStep last, int64_t steps, const Tensor& mask,
                     bool sequence) const;
  RnnOutput looped(const RnnCell::Sequence& prepared, const RnnStep& begin, const Tensor& mask, bool sequence) const;
  RnnStep one_step(const Tensor& x, const RnnStep& before, const Tensor& counts, const std::vector<Tensor>& held) const;

  std::shared_ptr<const RnnCell> cell_;
  RnnOptions options_;
  std::string name_, text_;
  std::vector<Variable> kept_;  // the state between calls of a stateful layer
};

}  // namespace panto
