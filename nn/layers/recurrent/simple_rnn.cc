#include "panto/nn/layers/recurrent/simple_rnn.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/nn/layers/core/drops.h"

namespace panto {

SimpleRnnCell::SimpleRnnCell(int64_t inputs, int64_t units) : SimpleRnnCell(inputs, units, SimpleRnnOptions()) {}

SimpleRnnCell::SimpleRnnCell(int64_t inputs, int64_t units, SimpleRnnOptions options)
    : inputs_(inputs), units_(units), options_(std::move(options)) {
  detail::expect_cell_sizes("SimpleRnnCell", inputs, units);
  detail::dropout_rate("SimpleRnnCell", options_.dropout);
  detail::dropout_rate("SimpleRnnCell", options_.recurrent_dropout);
  const auto& [activation, use_bias, kernel, recurrent, dropout, recurrent_dropout, name, dtype] = options_;
  kernel_ = Variable(kernel({inputs, units}, dtype), name + "/kernel");
  recurrent_kernel_ = Variable(recurrent({units, units}, dtype), name + "/recurrent_kernel");
  if (use_bias) bias_ = Variable(constant_initializer(0)({units}, dtype), name + "/bias");
}

RnnStep SimpleRnnCell::step(const Tensor& x, const RnnState& state) const {
  detail::expect_step_of("SimpleRnnCell", x, inputs_);
  const Sequence prepared = prepare(x, true);
  return advance(prepared.x, state, prepared.held);
}

RnnCell::Sequence SimpleRnnCell::prepare(const Tensor& x, bool one_step) const {
  const Tensor bias = bias_.defined() ? bias_.value() : Tensor();
  return {detail::project(detail::dropped_input(x, options_.dropout, one_step), kernel_, bias),
          {detail::state_factors(x, units_, options_.recurrent_dropout)}};
}

RnnStep SimpleRnnCell::advance(const Tensor& x, const RnnState& state, const std::vector<Tensor>& held) const {
  Tensor h = x;
  if (state[0].defined()) {
    h = std::move(h) + matmul(held[0].defined() ? state[0] * held[0] : state[0], recurrent_kernel_);
  }
  if (options_.activation) h = options_.activation(h);
  return {h, {h}};
}

void SimpleRnnCell::expect_sequence(const Tensor& x, std::string_view layer) const {
  detail::expect_sequence_of(layer, x, inputs_);
}
std::shared_ptr<const RnnCell> SimpleRnnCell::fresh() const {
  return std::make_shared<const SimpleRnnCell>(inputs_, units_, options_);
}
std::string SimpleRnnCell::to_string() const { return fmt::format("SimpleRnnCell({}, {})", inputs_, units_); }

SimpleRnn::SimpleRnn(int64_t inputs, int64_t units) : SimpleRnn(inputs, units, SimpleRnnLayerOptions()) {}
SimpleRnn::SimpleRnn(int64_t inputs, int64_t units, SimpleRnnLayerOptions options)
    : Rnn(std::make_shared<const SimpleRnnCell>(inputs, units, std::move(options.cell)), options.of_layer(),
          "SimpleRnn", fmt::format("SimpleRnn({}, {})", inputs, units)) {}

}  // namespace panto
