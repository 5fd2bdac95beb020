#include "panto/nn/layers/recurrent.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

std::vector<Variable> LstmCell::variables() const { return {kernel_, recurrent_kernel_, bias_}; }

LstmCell::LstmCell(int64_t inputs, int64_t units) : LstmCell(inputs, units, LstmOptions()) {}

LstmCell::LstmCell(int64_t inputs, int64_t units, LstmOptions options) : inputs_(inputs), units_(units) {
  if (inputs < 1 || units < 1) invalid("LstmCell: expected positive sizes, got {} and {}", inputs, units);
  const DType dtype = options.dtype;
  kernel_ = Variable(options.kernel_initializer({inputs, 4 * units}, dtype), options.name + "/kernel");
  recurrent_kernel_ =
      Variable(options.recurrent_initializer({units, 4 * units}, dtype), options.name + "/recurrent_kernel");
  const auto part = [&](int64_t blocks, double value) { return constant_initializer(value)({blocks * units}, dtype); };
  bias_ = Variable(concat({part(1, 0), part(1, options.forget_bias), part(2, 0)}, 0), options.name + "/bias");
}

LstmState LstmCell::operator()(const Tensor& x, const LstmState& state, std::source_location where) const {
  return from_caller(where, [&] {
    const PartialShape expected{-1, inputs_};
    if (!expected.compatible_with(x.partial_shape())) {
      invalid("LstmCell: expected an input of shape [batch, {}], got {}", inputs_, x.partial_shape().to_string());
    }
    expect_state(state);
    return step(project(x), state);
  });
}

void LstmCell::expect_state(const LstmState& state) const {
  const PartialShape expected{-1, units_};
  for (const Tensor* t : {&state.h, &state.c}) {
    if (!t->defined() || expected.compatible_with(t->partial_shape())) continue;
    invalid("LstmCell: expected a state of shape [batch, {}], got {}", units_, t->partial_shape().to_string());
  }
}

Tensor LstmCell::project(const Tensor& x) const {
  return bias_add(x.partial_shape().rank() == 3 ? batch_matmul(x, kernel_) : matmul(x, kernel_), bias_);
}

LstmState LstmCell::step(Tensor projected, const LstmState& state) const {
  if (state.h.defined()) projected = std::move(projected) + matmul(state.h, recurrent_kernel_);
  const std::vector<Tensor> gates = split(1, projected, 4);
  Tensor c = sigmoid(gates[0]) * tanh(gates[2]);
  if (state.c.defined()) c = sigmoid(gates[1]) * state.c + std::move(c);
  return {sigmoid(gates[3]) * tanh(c), c};
}

Lstm::Lstm(int64_t inputs, int64_t units) : Lstm(inputs, units, LstmLayerOptions()) {}

Lstm::Lstm(int64_t inputs, int64_t units, LstmLayerOptions options)
    : return_sequences_(options.return_sequences), cell_(inputs, units, std::move(options.cell)) {}

std::pair<std::vector<Tensor>, Tensor> Lstm::unroll(const Tensor& x, LstmState state) const {
  const PartialShape& shape = x.partial_shape();
  const PartialShape expected{-1, -1, cell_.inputs()};
  if (!expected.compatible_with(shape)) {
    invalid("Lstm: expected an input of shape [batch, steps, {}], got {}", cell_.inputs(), shape.to_string());
  }
  if (!shape.known_rank() || shape.dim(1) < 0) {
    failf(Code::kUnimplemented, "Lstm: expected a number of steps that the trace knows, got an input of shape {}",
          shape.to_string());
  }
  const int64_t steps = shape.dim(1);
  if (steps == 0) invalid("Lstm: expected at least one step, got an input of shape {}", shape.to_string());
  cell_.expect_state(state);
  // All steps' products with the kernel at once; those with the recurrent one wait for each other.
  std::vector<Tensor> hidden;
  for (Tensor& projected : unpack(cell_.project(x), steps, {.axis = 1})) {
    state = cell_.step(std::move(projected), state);
    hidden.push_back(state.h);
  }
  return {std::move(hidden), std::move(state.c)};
}

Tensor Lstm::forward(const Tensor& x) const {
  auto [hidden, c] = unroll(x, {});
  return return_sequences_ ? pack(hidden, {.axis = 1}) : hidden.back();
}

LstmOutput Lstm::run(const Tensor& x, const LstmState& state, std::source_location where) const {
  return from_caller(where, [&]() -> LstmOutput {
    auto [hidden, c] = unroll(x, state);
    return {pack(hidden, {.axis = 1}), {hidden.back(), std::move(c)}};
  });
}

std::string Lstm::to_string() const { return fmt::format("Lstm({}, {})", cell_.inputs(), cell_.units()); }

}  // namespace panto
