// Layers of 16 bits give what those of float32 give, as far as 16 bits go, and have gradients.
#include "panto/autograd/tape.h"
#include "panto/nn/layers/attention.h"
#include "panto/nn/layers/convolution.h"
#include "panto/nn/layers/core/activation_layers.h"
#include "panto/nn/layers/core/dropout.h"
#include "panto/nn/layers/core/einsum_dense.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/layers/recurrent.h"
#include "panto/tests/nn/layers/layers.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(half_layers)

// `make(type)` is the layer with variables of that type.
template <class Make>
void expect_as_wide(const char* name, const Make& make, const Shape& shape) {
  const auto wide = make(kFloat32);
  const Tensor x = wave(shape, 1);
  const std::vector<double> expected = values_of(wide(x));
  for (const DType type : {kBFloat16, kFloat16}) {
    BOOST_TEST_CONTEXT(name << " of " << dtype_name(type)) {
      const auto layer = make(type);
      for (size_t i = 0; i < layer.variables().size(); ++i) {
        layer.variables()[i].assign(cast(wide.variables()[i], layer.variables()[i].dtype()));
      }
      GradientTape tape;
      const Tensor in = cast(x, type);
      tape.watch(in);
      const Tensor y = layer(in);
      BOOST_TEST(dtype_name(y.dtype()) == dtype_name(type));
      expect_near(y, Shape(wide(x).shape()), expected, type == kFloat16 ? 0.02 : 0.1, 1);
      std::vector<GradSource> sources = {in};
      for (const Variable& v : layer.variables()) sources.emplace_back(v);
      for (const Tensor& g : tape.gradient(sum(square(y)), std::span<const GradSource>(sources))) {
        BOOST_TEST(g.defined());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(give_what_wide_ones_give) {
  const auto check = [](const char* name, const Shape& shape, const auto& make) { expect_as_wide(name, make, shape); };
  check("Conv1D", {2, 5, 3}, [](DType t) { return Conv1D(3, 2, 2, {.padding = Padding::kCausal, .dtype = t}); });
  check("Conv3D", {1, 3, 3, 3, 2}, [](DType t) { return Conv3D(2, 2, 2, {.dtype = t}); });
  check("Conv2DTranspose", {1, 3, 3, 2}, [](DType t) { return Conv2DTranspose(2, 2, 2, {.stride = 2, .dtype = t}); });
  check("SeparableConv2D", {1, 3, 3, 2}, [](DType t) { return SeparableConv2D(2, 2, 2, {.dtype = t}); });
  check("GroupNorm", {2, 3, 4}, [](DType t) { return GroupNorm(4, {.groups = 2, .dtype = t}); });
  check("RMSNorm", {2, 3, 4}, [](DType t) { return RMSNorm(4, {.dtype = t}); });
  check("UnitNormalization", {2, 4}, [](DType) { return UnitNormalization(); });
  check("BatchNorm", {2, 3, 4}, [](DType) { return BatchNorm(4); });
  check("EinsumDense", {2, 3, 4},
        [](DType t) { return EinsumDense("abc,cd->abd", {4, 2}, {.bias_axes = "d", .dtype = t}); });
  check("PReLU", {2, 4}, [](DType t) { return PReLU({4}, {.dtype = t}); });
  check("ReLU", {2, 4}, [](DType) { return ReLU({.max_value = 0.5, .negative_slope = 0.25, .threshold = 0.125}); });
  check("ELU", {2, 4}, [](DType) { return ELU(0.5); });
  check("Softmax", {2, 4}, [](DType) { return Softmax(); });
  check("SimpleRnn", {2, 3, 4}, [](DType t) { return SimpleRnn(4, 3, {.cell = {.dtype = t}}); });
  check("Gru", {2, 3, 4}, [](DType t) { return Gru(4, 3, {.cell = {.dtype = t}}); });
  check("Lstm", {2, 3, 4}, [](DType t) { return Lstm(4, 3, {.cell = {.dtype = t}}); });
  check("ConvLstm1D", {1, 2, 4, 2}, [](DType t) { return ConvLstm1D(2, 2, 2, {.cell = {.dtype = t}}); });
  check("Attention", {2, 3, 4}, [](DType t) { return Attention({.use_scale = true, .causal = true, .dtype = t}); });
  check("AdditiveAttention", {2, 3, 4}, [](DType t) { return AdditiveAttention(4, {.dtype = t}); });
  check("MultiHeadAttention", {2, 3, 4},
        [](DType t) { return MultiHeadAttention(4, {.heads = 2, .causal = true, .key_value_heads = 1, .dtype = t}); });
  for (const char* name : {"celu", "hard_silu", "mish", "squareplus", "sparsemax", "sparse_plus", "log_sigmoid"}) {
    check(name, {2, 4}, [&](DType) { return Lambda(name, name); });
  }
}

BOOST_AUTO_TEST_CASE(dropped) {
  const TrainingScope training;
  for (const DType type : {kBFloat16, kFloat16}) {
    const Tensor x = ones({4, 4, 4, 4}, type);
    for (const Tensor& y : {Dropout(0.5)(x), SpatialDropout2D(0.5)(x), GaussianDropout(0.5)(x), GaussianNoise(0.5)(x),
                            AlphaDropout(0.5)(x)}) {
      BOOST_TEST(dtype_name(y.dtype()) == dtype_name(type));
    }
    const Gru gru(4, 3, {.cell = {.dropout = 0.5, .recurrent_dropout = 0.5, .dtype = type}});
    BOOST_TEST(dtype_name(gru(ones({2, 3, 4}, type)).dtype()) == dtype_name(type));
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
