#include "panto/nn/layers/recurrent/gru.h"

#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/nn/layers/core/drops.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

GruCell::GruCell(int64_t inputs, int64_t units) : GruCell(inputs, units, GruOptions()) {}

GruCell::GruCell(int64_t inputs, int64_t units, GruOptions options)
    : inputs_(inputs), units_(units), options_(std::move(options)) {
  detail::expect_cell_sizes("GruCell", inputs, units);
  detail::dropout_rate("GruCell", options_.dropout);
  detail::dropout_rate("GruCell", options_.recurrent_dropout);
  if (!options_.activation || !options_.recurrent_activation) {
    invalid("GruCell: expected two activations ('linear' for none), got fewer");
  }
  const DType dtype = options_.dtype;
  const int64_t columns = checked_mul(3, units);
  const std::string& name = options_.name;
  kernel_ = Variable(options_.kernel_initializer({inputs, columns}, dtype), name + "/kernel");
  recurrent_kernel_ = Variable(options_.recurrent_initializer({units, columns}, dtype), name + "/recurrent_kernel");
  if (!options_.use_bias) return;
  const Shape shape = options_.reset_after ? Shape{2, columns} : Shape{columns};
  bias_ = Variable(constant_initializer(0)(shape, dtype), name + "/bias");
}

RnnStep GruCell::step(const Tensor& x, const RnnState& state) const {
  detail::expect_step_of("GruCell", x, inputs_);
  const Sequence prepared = prepare(x, true);
  return advance(prepared.x, state, prepared.held);
}

// `held`: the state's dropout factors; the recurrent kernel, or its two parts; the recurrent bias.
RnnCell::Sequence GruCell::prepare(const Tensor& x, bool one_step) const {
  Tensor bias, recurrent_bias;
  if (bias_.defined()) bias = bias_.value();
  if (bias.defined() && options_.reset_after) {
    const std::vector<Tensor> both = unpack(bias, 2);
    bias = both[0];
    recurrent_bias = both[1];
  }
  Sequence prepared{detail::project(detail::dropped_input(x, options_.dropout, one_step), kernel_, bias),
                    {detail::state_factors(x, units_, options_.recurrent_dropout)}};
  const Tensor kernel = recurrent_kernel_.value();
  if (options_.reset_after) {
    prepared.held.push_back(kernel);
    prepared.held.push_back(recurrent_bias);
  } else {
    prepared.held.push_back(slice(kernel, {0, 0}, {units_, 2 * units_}));
    prepared.held.push_back(slice(kernel, {0, 2 * units_}, {units_, units_}));
  }
  return prepared;
}

RnnStep GruCell::advance(const Tensor& x, const RnnState& state, const std::vector<Tensor>& held) const {
  const Activation &gate = options_.recurrent_activation, &activation = options_.activation;
  const std::vector<Tensor> from_x = split(1, x, 3);
  const Tensor& before = state[0];
  if (!before.defined()) {  // only if there is no recurrent bias, which would matter
    Tensor h = (1.0 - gate(from_x[0])) * activation(from_x[2]);
    return {h, {h}};
  }
  const Tensor dropped = held[0].defined() ? before * held[0] : before;
  Tensor z, candidate;
  if (options_.reset_after) {
    Tensor product = matmul(dropped, held[1]);
    if (held[2].defined()) product = bias_add(std::move(product), held[2]);
    const std::vector<Tensor> from_h = split(1, product, 3);
    z = gate(from_x[0] + from_h[0]);
    candidate = activation(from_x[2] + gate(from_x[1] + from_h[1]) * from_h[2]);
  } else {
    const std::vector<Tensor> from_h = split(1, matmul(dropped, held[1]), 2);
    z = gate(from_x[0] + from_h[0]);
    candidate = activation(from_x[2] + matmul(gate(from_x[1] + from_h[1]) * dropped, held[2]));
  }
  Tensor h = z * before + (1.0 - z) * candidate;
  return {h, {h}};
}

void GruCell::expect_sequence(const Tensor& x, std::string_view layer) const {
  detail::expect_sequence_of(layer, x, inputs_);
}
std::shared_ptr<const RnnCell> GruCell::fresh() const {
  return std::make_shared<const GruCell>(inputs_, units_, options_);
}
std::string GruCell::to_string() const { return fmt::format("GruCell({}, {})", inputs_, units_); }

Gru::Gru(int64_t inputs, int64_t units) : Gru(inputs, units, GruLayerOptions()) {}
Gru::Gru(int64_t inputs, int64_t units, GruLayerOptions options)
    : Rnn(std::make_shared<const GruCell>(inputs, units, std::move(options.cell)), options.of_layer(), "Gru",
          fmt::format("Gru({}, {})", inputs, units)) {}

}  // namespace panto
