#include "panto/nn/layers/recurrent/lstm.h"

#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/nn/layers/core/drops.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

LstmCell::LstmCell(int64_t inputs, int64_t units) : LstmCell(inputs, units, LstmOptions()) {}

LstmCell::LstmCell(int64_t inputs, int64_t units, LstmOptions options)
    : inputs_(inputs), units_(units), options_(std::move(options)) {
  detail::expect_cell_sizes("LstmCell", inputs, units);
  detail::dropout_rate("LstmCell", options_.dropout);
  detail::dropout_rate("LstmCell", options_.recurrent_dropout);
  if (!options_.activation || !options_.recurrent_activation) {
    invalid("LstmCell: expected two activations ('linear' for none), got fewer");
  }
  const DType dtype = options_.dtype;
  const int64_t columns = checked_mul(4, units);
  const std::string& name = options_.name;
  kernel_ = Variable(options_.kernel_initializer({inputs, columns}, dtype), name + "/kernel");
  recurrent_kernel_ = Variable(options_.recurrent_initializer({units, columns}, dtype), name + "/recurrent_kernel");
  if (!options_.use_bias) return;
  const auto part = [&](int64_t blocks, double value) { return constant_initializer(value)({blocks * units}, dtype); };
  bias_ = Variable(concat({part(1, 0), part(1, options_.forget_bias), part(2, 0)}, 0), name + "/bias");
}

LstmState LstmCell::operator()(const Tensor& x, const LstmState& state, std::source_location where) const {
  return from_caller(where, [&]() -> LstmState {
    detail::expect_step_of("LstmCell", x, inputs_);
    expect_state(state);
    RnnStep made = step(x, {state.h, state.c});
    return {std::move(made.state[0]), std::move(made.state[1])};
  });
}

void LstmCell::expect_state(const LstmState& state) const {
  const PartialShape expected{-1, units_};
  for (const Tensor* t : {&state.h, &state.c}) {
    if (!t->defined() || expected.compatible_with(t->partial_shape())) continue;
    invalid("LstmCell: expected a state of shape [batch, {}], got {}", units_, t->partial_shape().to_string());
  }
}

RnnStep LstmCell::step(const Tensor& x, const RnnState& state) const {
  detail::expect_step_of("LstmCell", x, inputs_);
  const Sequence prepared = prepare(x, true);
  return advance(prepared.x, state, prepared.held);
}

RnnCell::Sequence LstmCell::prepare(const Tensor& x, bool one_step) const {
  const Tensor bias = bias_.defined() ? bias_.value() : Tensor();
  return {detail::project(detail::dropped_input(x, options_.dropout, one_step), kernel_, bias),
          {detail::state_factors(x, units_, options_.recurrent_dropout)}};
}

RnnStep LstmCell::advance(const Tensor& x, const RnnState& state, const std::vector<Tensor>& held) const {
  const Activation &gate = options_.recurrent_activation, &activation = options_.activation;
  const Tensor &before = state[0], &memory = state[1];
  Tensor projected = x;
  if (before.defined()) {
    projected = std::move(projected) + matmul(held[0].defined() ? before * held[0] : before, recurrent_kernel_);
  }
  const std::vector<Tensor> gates = split(1, projected, 4);
  Tensor c = gate(gates[0]) * activation(gates[2]);
  if (memory.defined()) c = gate(gates[1]) * memory + std::move(c);
  Tensor h = gate(gates[3]) * activation(c);
  return {h, {h, c}};
}

void LstmCell::expect_sequence(const Tensor& x, std::string_view layer) const {
  detail::expect_sequence_of(layer, x, inputs_);
}
std::shared_ptr<const RnnCell> LstmCell::fresh() const {
  return std::make_shared<const LstmCell>(inputs_, units_, options_);
}
std::string LstmCell::to_string() const { return fmt::format("LstmCell({}, {})", inputs_, units_); }

Lstm::Lstm(int64_t inputs, int64_t units) : Lstm(inputs, units, LstmLayerOptions()) {}

Lstm::Lstm(int64_t inputs, int64_t units, LstmLayerOptions options)
    : Rnn(std::make_shared<const LstmCell>(inputs, units, std::move(options.cell)), options.of_layer(), "Lstm",
          fmt::format("Lstm({}, {})", inputs, units)) {}

LstmOutput Lstm::run(const Tensor& x, const LstmState& state, const Tensor& mask, std::source_location where) const {
  return from_caller(where, [&]() -> LstmOutput {
    cell().expect_state(state);
    RnnState given;
    if (state.h.defined() || state.c.defined()) given = {state.h, state.c};
    RnnOutput all = over_steps(x, std::move(given), mask, true);
    return {std::move(all.sequence), {std::move(all.state[0]), std::move(all.state[1])}};
  });
}

}  // namespace panto
