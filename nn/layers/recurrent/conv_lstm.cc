#include "panto/nn/layers/recurrent/conv_lstm.h"

#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/convolution/spatial.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

template <int Rank>
std::string name_of(std::string_view end) {
  return fmt::format("ConvLstm{}D{}", Rank, whole(end));
}

template <int Rank>
RnnOptions stateless(const RecurrentOptions<ConvLstmOptions<Rank>>& options) {
  if (options.stateful) invalid("ConvLstm{}D: expected one that is not stateful, got another", Rank);
  return options.of_layer();
}

}  // namespace

template <int Rank>
ConvLstmCell<Rank>::ConvLstmCell(int64_t inputs, int64_t filters, Extents<Rank> window, ConvLstmOptions<Rank> options)
    : inputs_(inputs), filters_(filters), window_(window), options_(std::move(options)) {
  const std::string cell = name_of<Rank>("Cell");
  detail::expect_cell_sizes(cell, inputs, filters);
  detail::expect_positive(cell, "window", window);
  detail::expect_positive(cell, "stride", options_.stride);
  detail::expect_positive(cell, "dilation", options_.dilation);
  if (options_.padding == Padding::kCausal) invalid("{}: expected padding kValid or kSame, got kCausal", cell);
  if (!options_.activation || !options_.recurrent_activation) {
    invalid("{}: expected two activations ('linear' for none), got fewer", cell);
  }
  const auto kernel_shape = [&](int64_t channels) {
    return detail::kernel_shape(window, channels, checked_mul(4, filters));
  };
  const DType dtype = options_.dtype;
  const std::string& name = options_.name;
  kernel_ = Variable(options_.kernel_initializer(kernel_shape(inputs), dtype), name + "/kernel");
  recurrent_kernel_ =
      Variable(options_.recurrent_initializer(kernel_shape(filters), dtype), name + "/recurrent_kernel");
  if (!options_.use_bias) return;
  const auto part = [&](int64_t blocks, double value) {
    return constant_initializer(value)({blocks * filters}, dtype);
  };
  bias_ = Variable(concat({part(1, 0), part(1, options_.forget_bias), part(2, 0)}, 0), name + "/bias");
}

template <int Rank>
Tensor ConvLstmCell<Rank>::convolved(const Tensor& x) const {
  Tensor y = detail::convolve<Rank>(x, kernel_.value(), {options_.stride, options_.padding, options_.dilation});
  return bias_.defined() ? bias_add(std::move(y), bias_) : y;
}

template <int Rank>
RnnStep ConvLstmCell<Rank>::step(const Tensor& x, const RnnState& state) const {
  const Activation &gate = options_.recurrent_activation, &activation = options_.activation;
  const Tensor &before = state[0], &memory = state[1];
  Tensor projected = convolved(x);
  if (before.defined()) {
    projected =
        std::move(projected) + detail::convolve<Rank>(before, recurrent_kernel_.value(), {1, Padding::kSame, 1});
  }
  const std::vector<Tensor> gates = split(Rank + 1, projected, 4);
  Tensor c = gate(gates[0]) * activation(gates[2]);
  if (memory.defined()) c = gate(gates[1]) * memory + std::move(c);
  Tensor h = gate(gates[3]) * activation(c);
  return {h, {h, c}};
}

// Zeros in the shape of one step's convolution.
template <int Rank>
RnnStep ConvLstmCell<Rank>::start(const Tensor& x, bool one_step) const {
  const Tensor first = one_step ? x : x(Slice(), 0);
  const Tensor like = stop_gradient(slice(convolved(zeros_like(first)), std::vector<int64_t>(Rank + 2, 0), [&] {
    std::vector<int64_t> sizes(Rank + 2, -1);
    sizes.back() = filters_;
    return sizes;
  }()));
  const Tensor zeros = zeros_like(like);
  return {zeros, {zeros, zeros}};
}

template <int Rank>
void ConvLstmCell<Rank>::expect_sequence(const Tensor& x, std::string_view layer) const {
  constexpr std::string_view kNames[] = {"batch, steps, length", "batch, steps, height, width",
                                         "batch, steps, depth, height, width"};
  detail::expect_channels(layer, x, Rank + 3, kNames[Rank - 1], inputs_);
}

template <int Rank>
std::shared_ptr<const RnnCell> ConvLstmCell<Rank>::fresh() const {
  return std::make_shared<const ConvLstmCell>(inputs_, filters_, window_, options_);
}

template <int Rank>
std::string ConvLstmCell<Rank>::to_string() const {
  return fmt::format("ConvLstm{}DCell({}, {}, {})", Rank, inputs_, filters_, detail::text(window_));
}

template class ConvLstmCell<1>;
template class ConvLstmCell<2>;
template class ConvLstmCell<3>;

template <int Rank>
ConvLstm<Rank>::ConvLstm(int64_t inputs, int64_t filters, Extents<Rank> window)
    : ConvLstm(inputs, filters, window, RecurrentOptions<ConvLstmOptions<Rank>>()) {}

template <int Rank>
ConvLstm<Rank>::ConvLstm(int64_t inputs, int64_t filters, Extents<Rank> window,
                         RecurrentOptions<ConvLstmOptions<Rank>> options)
    : Rnn(std::make_shared<const ConvLstmCell<Rank>>(inputs, filters, window, std::move(options.cell)),
          stateless(options), name_of<Rank>(""),
          fmt::format("ConvLstm{}D({}, {}, {})", Rank, inputs, filters, detail::text(window))) {}

template class ConvLstm<1>;
template class ConvLstm<2>;
template class ConvLstm<3>;

}  // namespace panto
