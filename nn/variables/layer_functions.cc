#include "panto/nn/variables/layer_functions.h"

#include <string_view>
#include <utility>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/nn/layers/convolution/pooling.h"
#include "panto/nn/layers/convolution/spatial.h"
#include "panto/nn/layers/core/drops.h"
#include "panto/nn/layers/core/losses.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/layers/normalization/batch_statistics.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/graph_scope.h"

namespace panto::layers {
namespace {

// The scope of one layer's variables and nodes.
class LayerScope {
 public:
  LayerScope(const std::string& name, std::string_view kind, std::optional<Reuse> reuse = std::nullopt)
      : scope_(name.empty() ? kind : std::string_view(name), {.reuse = reuse, .unique = name.empty()}) {}

 private:
  VariableScope scope_;
};

// Sums the layer's regularizer and the scope's, as in TensorFlow; get_variable alone would use one of the two.
Regularizer with_the_scopes(const Regularizer& own) {
  const Regularizer outer = VariableScope::filled_in({}).regularizer;
  if (!own || !outer) return own;
  return [own, outer](const Tensor& weights) { return outer(weights) + own(weights); };
}

// The dtype of a layer's variables.
DType variable_type(std::string_view layer, const Tensor& x) {
  if (!dtypes::kFloating.contains(x.dtype())) {
    invalid("{}: expected a floating input, got {}", layer, dtype_name(x.dtype()));
  }
  return x.dtype();
}

// The size of x's last dimension, which gives the kernel's size.
int64_t features_of(std::string_view layer, const Tensor& x) {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank() || shape.rank() < 2 || shape.dim(shape.rank() - 1) < 1) {
    invalid("{}: expected an input of rank 2 or more whose last dimension is known and positive, got {}", layer,
            shape.to_string());
  }
  return shape.dim(shape.rank() - 1);
}

// In a graph, TensorFlow adds these to the penalties of weights.
void penalize(const Tensor& y, const Regularizer& activity) {
  if (!activity) return;
  if (!in_graph_scope()) return detail::add_activity_loss(y, activity);
  const Tensor penalty = activity(y);
  add_to_collection("regularization_losses", {div_no_nan(penalty, cast(shape(y)[0], penalty.dtype()))});
}

template <class Options>
Tensor finished(Tensor y, int64_t units, DType type, const Options& options, const std::source_location& where) {
  if (options.use_bias) {
    const GetVariableOptions of_bias{.dtype = type,
                                     .initializer = options.bias_initializer,
                                     .regularizer = with_the_scopes(options.bias_regularizer),
                                     .trainable = options.trainable};
    y = bias_add(std::move(y), get_variable("bias", {units}, of_bias, where));
  }
  if (options.activation) y = options.activation(y);
  penalize(y, options.activity_regularizer);
  return y;
}

void expect_units(std::string_view layer, int64_t units) {
  if (units < 1) invalid("{}: expected a positive number of outputs, got {}", layer, units);
}

template <int Rank>
void expect_windows(std::string_view layer, const Extents<Rank>& window, const detail::Windows<Rank>& windows) {
  detail::expect_positive(layer, "window", window);
  detail::expect_positive(layer, "stride", windows.stride);
  detail::expect_positive(layer, "dilation", windows.dilation);
  if (windows.padding == Padding::kCausal) invalid("{}: expected padding kValid or kSame, got kCausal", layer);
}

template <int Rank>
Tensor conv(std::string_view kind, const Tensor& x, int64_t filters, const Extents<Rank>& window,
            const ConvOptions<Rank>& options, const std::source_location& where) {
  const LayerScope scope(options.name, kind, options.reuse);
  detail::expect_channels(kind, x, Rank + 2, detail::spatial_names<Rank>(), -1);
  const int64_t inputs = features_of(kind, x);
  const DType type = variable_type(kind, x);
  expect_units(kind, filters);
  const detail::Windows<Rank> windows{options.stride, options.padding, options.dilation};
  expect_windows<Rank>(kind, window, windows);
  const Variable kernel = get_variable("kernel", detail::kernel_shape(window, inputs, filters),
                                       {.dtype = type,
                                        .initializer = options.kernel_initializer,
                                        .regularizer = with_the_scopes(options.kernel_regularizer),
                                        .trainable = options.trainable},
                                       where);
  return finished(detail::convolve<Rank>(x, kernel.value(), windows), filters, type, options, where);
}

template <int Rank>
Tensor conv_transpose(std::string_view kind, const Tensor& x, int64_t filters, const Extents<Rank>& window,
                      const ConvTransposeOptions<Rank>& options, const std::source_location& where) {
  const LayerScope scope(options.name, kind, options.reuse);
  detail::expect_channels(kind, x, Rank + 2, detail::spatial_names<Rank>(), -1);
  const int64_t inputs = features_of(kind, x);
  const DType type = variable_type(kind, x);
  expect_units(kind, filters);
  const detail::Windows<Rank> windows{options.stride, options.padding};
  expect_windows<Rank>(kind, window, windows);
  const auto beyond = [&](int i) {
    return detail::beyond_stride(window[i], windows.stride[i], windows.dilation[i], windows.padding);
  };
  const Extents<Rank> more = [&] {
    if constexpr (Rank == 2) return Extents<2>(beyond(0), beyond(1));
    if constexpr (Rank == 3) return Extents<3>(beyond(0), beyond(1), beyond(2));
  }();
  const Variable kernel = get_variable("kernel", detail::kernel_shape(window, filters, inputs),
                                       {.dtype = type,
                                        .initializer = options.kernel_initializer,
                                        .regularizer = with_the_scopes(options.kernel_regularizer),
                                        .trainable = options.trainable},
                                       where);
  return finished(detail::convolve_transposed<Rank>(x, kernel.value(), windows, more), filters, type, options, where);
}

template <int Rank>
Tensor separable_conv(std::string_view kind, const Tensor& x, int64_t filters, const Extents<Rank>& window,
                      const SeparableConvOptions<Rank>& options, const std::source_location& where) {
  const LayerScope scope(options.name, kind, options.reuse);
  detail::expect_channels(kind, x, Rank + 2, detail::spatial_names<Rank>(), -1);
  const int64_t inputs = features_of(kind, x);
  const DType type = variable_type(kind, x);
  expect_units(kind, filters);
  expect_units(kind, options.depth_multiplier);
  const detail::Windows<Rank> windows{options.stride, options.padding, options.dilation};
  expect_windows<Rank>(kind, window, windows);
  const Variable depthwise =
      get_variable("depthwise_kernel", detail::kernel_shape(window, inputs, options.depth_multiplier),
                   {.dtype = type,
                    .initializer = options.depthwise_initializer,
                    .regularizer = with_the_scopes(options.depthwise_regularizer),
                    .trainable = options.trainable},
                   where);
  const Variable pointwise = get_variable(
      "pointwise_kernel", detail::kernel_shape<Rank>(1, checked_mul(inputs, options.depth_multiplier), filters),
      {.dtype = type,
       .initializer = options.pointwise_initializer,
       .regularizer = with_the_scopes(options.pointwise_regularizer),
       .trainable = options.trainable},
      where);
  const Tensor each = detail::convolve_depthwise<Rank>(x, depthwise.value(), windows);
  return finished(detail::convolve<Rank>(each, pointwise.value(), {}), filters, type, options, where);
}

template <class Pool, int Rank>
Tensor pooled(std::string_view kind, const Tensor& x, const Extents<Rank>& window, const PoolOptions<Rank>& options) {
  const LayerScope scope(options.name, kind);
  return Pool(window, {.stride = options.stride, .padding = options.padding}).forward(x);
}

// Runs `train` in training, otherwise `otherwise`.
template <class Train, class Otherwise>
auto by_mode(const Training& training, Train train, Otherwise otherwise) {
  if (training.fed().defined()) return cond(training.fed(), train, otherwise);
  return training.known() ? train() : otherwise();
}

}  // namespace

Training::Training(const Tensor& fed) : fed_(fed) {
  if (!fed.defined() || fed.dtype() != kBool || !fed.partial_shape().compatible_with(Shape())) {
    invalid("training: expected a bool scalar, got {}",
            fed.defined() ? type_text(fed.dtype(), fed.partial_shape()) : "an undefined tensor");
  }
}

Tensor dense(const Tensor& x, int64_t units, const DenseOptions& options, std::source_location where) {
  return from_caller(where, [&] {
    const LayerScope scope(options.name, "dense", options.reuse);
    const int64_t inputs = features_of("dense", x);
    const DType type = variable_type("dense", x);
    expect_units("dense", units);
    const Variable kernel = get_variable("kernel", {inputs, units},
                                         {.dtype = type,
                                          .initializer = options.kernel_initializer,
                                          .regularizer = with_the_scopes(options.kernel_regularizer),
                                          .trainable = options.trainable},
                                         where);
    return finished(x.partial_shape().rank() > 2 ? batch_matmul(x, kernel) : matmul(x, kernel), units, type, options,
                    where);
  });
}

Tensor conv1d(const Tensor& x, int64_t filters, Extents<1> window, const ConvOptions<1>& options,
              std::source_location where) {
  return from_caller(where, [&] { return conv<1>("conv1d", x, filters, window, options, where); });
}
Tensor conv2d(const Tensor& x, int64_t filters, Extents<2> window, const ConvOptions<2>& options,
              std::source_location where) {
  return from_caller(where, [&] { return conv<2>("conv2d", x, filters, window, options, where); });
}
Tensor conv3d(const Tensor& x, int64_t filters, Extents<3> window, const ConvOptions<3>& options,
              std::source_location where) {
  return from_caller(where, [&] { return conv<3>("conv3d", x, filters, window, options, where); });
}

Tensor conv2d_transpose(const Tensor& x, int64_t filters, Extents<2> window, const ConvTransposeOptions<2>& options,
                        std::source_location where) {
  return from_caller(where, [&] { return conv_transpose<2>("conv2d_transpose", x, filters, window, options, where); });
}
Tensor conv3d_transpose(const Tensor& x, int64_t filters, Extents<3> window, const ConvTransposeOptions<3>& options,
                        std::source_location where) {
  return from_caller(where, [&] { return conv_transpose<3>("conv3d_transpose", x, filters, window, options, where); });
}

Tensor separable_conv1d(const Tensor& x, int64_t filters, Extents<1> window, const SeparableConvOptions<1>& options,
                        std::source_location where) {
  return from_caller(where, [&] { return separable_conv<1>("separable_conv1d", x, filters, window, options, where); });
}
Tensor separable_conv2d(const Tensor& x, int64_t filters, Extents<2> window, const SeparableConvOptions<2>& options,
                        std::source_location where) {
  return from_caller(where, [&] { return separable_conv<2>("separable_conv2d", x, filters, window, options, where); });
}

Tensor max_pooling1d(const Tensor& x, Extents<1> window, const PoolOptions<1>& options) {
  return pooled<MaxPool1D, 1>("max_pooling1d", x, window, options);
}
Tensor max_pooling2d(const Tensor& x, Extents<2> window, const PoolOptions<2>& options) {
  return pooled<MaxPool2D, 2>("max_pooling2d", x, window, options);
}
Tensor max_pooling3d(const Tensor& x, Extents<3> window, const PoolOptions<3>& options) {
  return pooled<MaxPool3D, 3>("max_pooling3d", x, window, options);
}
Tensor average_pooling1d(const Tensor& x, Extents<1> window, const PoolOptions<1>& options) {
  return pooled<AveragePool1D, 1>("average_pooling1d", x, window, options);
}
Tensor average_pooling2d(const Tensor& x, Extents<2> window, const PoolOptions<2>& options) {
  return pooled<AveragePool2D, 2>("average_pooling2d", x, window, options);
}
Tensor average_pooling3d(const Tensor& x, Extents<3> window, const PoolOptions<3>& options) {
  return pooled<AveragePool3D, 3>("average_pooling3d", x, window, options);
}

Tensor flatten(const Tensor& x, const std::string& name) {
  const LayerScope scope(name, "flatten");
  return Flatten().forward(x);
}

Tensor dropout(const Tensor& x, double rate, const DropoutOptions& options) {
  const LayerScope scope(options.name, "dropout");
  detail::dropout_rate("dropout", rate);
  variable_type("dropout", x);
  return by_mode(options.training, [&] { return x * detail::dropout_factors(x, rate); }, [&] { return identity(x); });
}

Tensor batch_normalization(const Tensor& x, const BatchNormalizationOptions& options, std::source_location where) {
  return from_caller(where, [&] {
    const std::string_view kind = "batch_normalization";
    const LayerScope scope(options.name, kind, options.reuse);
    const int64_t channels = features_of(kind, x);
    const DType type = variable_type(kind, x) == kFloat64 ? kFloat64 : kFloat32;
    const double momentum = options.momentum, epsilon = options.epsilon;
    if (!(momentum >= 0 && momentum <= 1)) invalid("{}: expected a momentum in [0, 1], got {}", kind, momentum);
    if (!(epsilon >= 0)) invalid("{}: expected an epsilon of at least 0, got {}", kind, epsilon);
    const auto variable = [&](const char* name, const Initializer& initializer, const Regularizer& regularizer,
                              bool trainable) {
      return get_variable(name, {channels},
                          {.dtype = type,
                           .initializer = initializer,
                           .regularizer = with_the_scopes(regularizer),
                           .trainable = trainable},
                          where);
    };
    Tensor gamma = ones({channels}, type), beta = zeros({channels}, type);
    if (options.scale) {
      gamma = variable("gamma", options.gamma_initializer, options.gamma_regularizer, options.trainable).value();
    }
    if (options.center) {
      beta = variable("beta", options.beta_initializer, options.beta_regularizer, options.trainable).value();
    }
    // A scope's regularizer also applies to these, as in TensorFlow.
    const Variable mean = variable("moving_mean", options.moving_mean_initializer, {}, false);
    const Variable variance = variable("moving_variance", options.moving_variance_initializer, {}, false);
    const Tensor old_mean = mean.value(), old_variance = variance.value();
    const auto normalised = [&](bool training) {
      detail::BatchNormalised made =
          detail::normalise_batch(x, gamma, beta, old_mean, old_variance, momentum, epsilon, training);
      if (!training) return std::vector<Tensor>{made.y, identity(old_mean), identity(old_variance)};
      // TensorFlow uses the unbiased variance in its fused op, which handles images, otherwise the biased one.
      if (x.partial_shape().rank() != 4 || type == kFloat64) {
        const Tensor count = cast(size(x), type) / static_cast<double>(channels);
        made.variance = old_variance * momentum + (made.variance - old_variance * momentum) * ((count - 1.0) / count);
      }
      return std::vector<Tensor>{made.y, made.mean, made.variance};
    };
    const std::vector<Tensor> made =
        by_mode(options.training, [&] { return normalised(true); }, [&] { return normalised(false); });
    if (options.training.fed().defined() || options.training.known()) {
      const Operation moved_mean = mean.assign(made[1]), moved_variance = variance.assign(made[2]);
      if (in_graph_scope()) add_to_collection("update_ops", {moved_mean, moved_variance});
    }
    return made[0];
  });
}

}  // namespace panto::layers
