// Normalisation by mean and variance.
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/run_time_checks.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// Throws unless v is a vector with one element per feature, the last dimension of x.
void expect_features(const PartialShape& x, const PartialShape& v, const char* name) {
  const int64_t features = x.known_rank() ? x.dim(x.rank() - 1) : kUnknownDim;
  if (v.known_rank() && v.rank() != 1) invalid("{}: expected a vector, got shape {}", name, v.to_string());
  if (features >= 0 && v.known_rank() && v.dim(0) >= 0 && v.dim(0) != features) {
    invalid("{}: expected {} elements, one for each of the last dimension of x, got {}", name, features, v.dim(0));
  }
}

void check_layer_norm(const CallView& c) {
  const PartialShape& x = c.in(0).partial_shape();
  if (x.rank() == 0) invalid("x: expected a rank of at least 1, got shape []");
  expect_features(x, c.in(1).partial_shape(), "scale");
  expect_features(x, c.in(2).partial_shape(), "offset");
}

// Returns `scale` and `offset`, checked to be vectors with one element per feature, the last dimension of x.
std::pair<Tensor, Tensor> feature_vectors(const CompositeContext& c) {
  const Tensor &x = c.in(0), &scale = c.in(1), &offset = c.in(2);
  const PartialShape& s = x.partial_shape();
  const int64_t features = s.known_rank() ? s.dim(s.rank() - 1) : kUnknownDim;
  if (features >= 0 && scale.partial_shape().fully_known() && offset.partial_shape().fully_known()) {
    return {scale, offset};
  }
  const auto count = [&] {
    return s.known_rank() ? slice(shape(x), {s.rank() - 1}, {1}) : slice(shape(x), reshape(rank(x) - 1, {1}), {1});
  };
  const Tensor like = features >= 0 ? zeros({features}, x.dtype()) : zeros(count(), x.dtype());
  const std::vector<Tensor> all = of_one_shape({like, scale, offset});
  return {all[1], all[2]};
}

void layer_norm_body(CompositeContext& c) {
  check_layer_norm(c);
  const Tensor& x = c.in(0);
  if (x.dtype() == kFloat16 || x.dtype() == kBFloat16) {
    const auto wide = [](const Tensor& t) { return cast(t, kFloat32); };
    const Tensor y = layer_norm(wide(x), wide(c.in(1)), wide(c.in(2)), {.epsilon = c.real("epsilon")});
    return c.set_out(0, cast(y, x.dtype()));
  }
  const auto [scale, offset] = feature_vectors(c);
  const Tensor centred = x - mean(x, {-1}, {.keep_dims = true});
  const Tensor variance = mean(square(centred), {-1}, {.keep_dims = true});
  c.set_out(0, centred * rsqrt(variance + c.real("epsilon")) * scale + offset);
}

// ---- Batches --------------------------------------------------------------------------------------------------------

bool channels_first(std::string_view data_format) { return data_format[1] == 'C'; }

// The number of channels of input i, images or volumes; -1 if unknown.
int64_t channels_of(const ShapeContext& c, int i) {
  const PartialShape& x = c.shape(i);
  if (!x.known_rank()) return kUnknownDim;
  if (x.rank() != 4 && x.rank() != 5) c.invalid("x: expected rank 4 or 5, got shape " + x.to_string());
  return x.dim(channels_first(c.text("data_format")) ? 1 : x.rank() - 1);
}

// The shape of input i merged with that of input 0.
PartialShape merged_shape(const ShapeContext& c, int i, const char* name) {
  if (!c.shape(0).compatible_with(c.shape(i))) {
    invalid("{}: expected shape {}, got {}", name, c.shape(0).to_string(), c.shape(i).to_string());
  }
  return c.shape(0).merged_with(c.shape(i));
}

void batch_norm_shape(ShapeContext& c) {
  int64_t channels = channels_of(c, 0);
  // Training reads the old mean and variance only for moving averages.
  const bool moving = c.flag("is_training") && c.real("exponential_avg_factor") == 1;
  for (int i = 1; i <= 4; ++i) {
    const int64_t elements = c.vector(i);
    if (i >= 3 && moving && elements == 0) continue;
    // Any of them may be the wrong one, depending on which are known.
    channels = c.merge(channels, elements, "number of channels of x, scale, offset, mean and variance");
  }
  c.output(0, c.shape(0));
  for (int k = 1; k <= 4; ++k) c.output(k, {channels});
  c.output(5, Shape());
}

void batch_norm_grad_shape(ShapeContext& c) {
  PartialShape x = merged_shape(c, 1, "x");
  int64_t channels = channels_of(c, c.shape(0).known_rank() ? 0 : 1);
  for (int i = 2; i <= 4; ++i) {
    channels = c.merge(channels, c.vector(i), "number of channels of x, scale, reserve_space_1 and reserve_space_2");
  }
  c.output(0, std::move(x));
  c.output(1, {channels});
  c.output(2, {channels});
  c.output(3, {0});
  c.output(4, {0});
}

void batch_norm_gradient(GradContext& g) {
  if (!g.has_dy(0)) return;  // the statistics carry no gradients, as in TensorFlow
  const auto d = fused_batch_norm_grad(g.dy(0), g.in(0), g.in(1), g.out(3), g.out(4), g.out(5),
                                       {.epsilon = g.real("epsilon"),
                                        .data_format = std::string(g.text("data_format")),
                                        .is_training = g.flag("is_training")});
  if (g.needs(0)) g.set(0, d.x_backprop);
  if (g.needs(1)) g.set(1, d.scale_backprop);
  if (g.needs(2)) g.set(2, d.offset_backprop);
}

// The gradient of batch_norm_gradient. With r = 1 / sqrt(variance + epsilon), n = (x - mean) r, means taken by channel:
//   P(z) = z - mean(z) - n mean(n z)
//   x_backprop = scale r P(dy), scale_backprop = sum(dy n), offset_backprop = sum(dy)
// P is symmetric, and the gradient of mean(n z) with respect to x is r P(z) / size. Outside training mean and variance
// are constants: P(z) = z.
class BatchNormGradGrad {
 public:
  explicit BatchNormGradGrad(GradContext& g) : g_(g) {
    const int rank = g.in(1).partial_shape().rank();
    if (rank < 0) {
      fail(Code::kUnimplemented, "gradient of FusedBatchNormGradV3: expected images of known rank, got an unknown one");
    }
    first_ = channels_first(g.text("data_format"));
    const int channels = first_ ? 1 : rank - 1;
    for (int k = 0; k < rank; ++k) {
      if (k != channels) axes_.push_back(k);
    }
    training_ = g.flag("is_training");
    dy_ = to_float(g.in(0));
    r_ = rsqrt(g.in(4) + g.real("epsilon"));
    n_ = (to_float(g.in(1)) - spread(g.in(3))) * spread(r_);
  }

  void run() {
    const Tensor& scale = g_.in(2);
    const Tensor by_y = g_.has_dy(0) ? to_float(g_.dy(0)) : Tensor();
    Tensor dy, x;
    const auto add_to = [](Tensor& sum, Tensor more) { sum = sum.defined() ? sum + more : std::move(more); };
    if (by_y.defined()) {
      add_to(dy, spread(scale * r_) * project(by_y));
      if (g_.needs(2)) g_.set(2, sum(by_y * project(dy_), axes_) * r_);
      if (g_.needs(1) && training_) {
        const Tensor a = mean_of(n_ * by_y), d = mean_of(n_ * dy_);
        const Tensor q = mean_of(by_y * dy_) - mean_of(by_y) * mean_of(dy_) - a * d;
        add_to(x, -spread(scale * square(r_)) * (q * n_ + d * project(by_y) + a * project(dy_)));
      }
    }
    if (g_.has_dy(1)) {
      add_to(dy, spread(g_.dy(1)) * n_);
      add_to(x, spread(g_.dy(1) * r_) * project(dy_));
    }
    if (g_.has_dy(2)) add_to(dy, spread(g_.dy(2)) + zeros_like(dy_));
    const DType type = g_.in_type(0);
    if (g_.needs(0) && dy.defined()) g_.set(0, type == kFloat32 ? dy : cast(dy, type));
    if (g_.needs(1) && x.defined()) g_.set(1, type == kFloat32 ? x : cast(x, type));
  }

 private:
  static Tensor to_float(const Tensor& t) { return t.dtype() == kFloat32 ? t : cast(t, kFloat32); }
  Tensor mean_of(const Tensor& z) const { return mean(z, axes_, {.keep_dims = true}); }
  // A vector by channel, reshaped to broadcast to images.
  Tensor spread(const Tensor& v) const {
    if (!first_) return v;
    std::vector<int64_t> dims(axes_.size(), 1);
    dims[0] = -1;
    return reshape(v, dims);
  }
  Tensor project(const Tensor& z) const { return training_ ? z - mean_of(z) - n_ * mean_of(n_ * z) : z; }

  GradContext& g_;
  std::vector<int64_t> axes_;
  bool first_ = false, training_ = true;
  Tensor dy_, r_, n_;
};

// ---- Inside vmap ----------------------------------------------------------------------------------------------------
// Each example has its own statistics, so the channels of all examples are joined.

class ChannelsOfBatch {
 public:
  explicit ChannelsOfBatch(const BatchContext& c, int images)
      : rank_(c.rank(images)), axis_(channels_first(c.text("data_format")) ? 1 : rank_ - 1), size_(c.size()) {}

  // [b, n, ..., c] as [n, ..., b c].
  Tensor joined(const Tensor& t) const {
    std::vector<int64_t> perm, dims;
    for (int k = 0; k < rank_; ++k) {
      if (k == axis_) perm.push_back(0);
      perm.push_back(k + 1);
      dims.push_back(t.partial_shape().dim(k + 1) * (k == axis_ ? size_ : 1));
    }
    return reshape(transpose(t, perm), dims);
  }
  Tensor parted(const Tensor& t) const {
    std::vector<int64_t> perm = {axis_};
    std::vector<int64_t> dims;
    for (int k = 0; k < rank_; ++k) {
      const int64_t d = t.partial_shape().dim(k);
      if (k == axis_) dims.push_back(size_);
      dims.push_back(k == axis_ ? d / size_ : d);
      perm.push_back(k < axis_ ? k : k + 1);
    }
    return transpose(reshape(t, dims), perm);
  }
  // [b, c] as [b c], and back.
  Tensor joined_vector(const Tensor& t) const { return reshape(t, {t.partial_shape().numel()}); }
  Tensor parted_vector(const Tensor& t) const { return reshape(t, {size_, t.partial_shape().numel() / size_}); }

 private:
  int rank_, axis_;
  int64_t size_;
};

bool shapes_known(const BatchContext& c) {
  bool known = c.size() > 0;
  for (int i = 0; i < c.num_inputs(); ++i) known = known && c.shape(i).fully_known();
  return known;
}

void batch_norm_batch(BatchContext& c) {
  if (!shapes_known(c)) return c.loop();
  const ChannelsOfBatch channels(c, 0);
  std::vector<Tensor> inputs = {channels.joined(c.front(0))};
  for (int i = 1; i < 5; ++i) inputs.push_back(channels.joined_vector(c.front(i)));
  SmallVector<Tensor, 2> outputs = c.again(inputs);
  c.set_out(0, channels.parted(outputs[0]));
  for (int k = 1; k < 5; ++k) c.set_out(k, channels.parted_vector(outputs[static_cast<size_t>(k)]));
  c.set_common(5, outputs[5]);
}

void batch_norm_grad_batch(BatchContext& c) {
  if (!shapes_known(c)) return c.loop();
  const ChannelsOfBatch channels(c, 1);
  std::vector<Tensor> inputs = {channels.joined(c.front(0)), channels.joined(c.front(1))};
  for (int i = 2; i < 5; ++i) inputs.push_back(channels.joined_vector(c.front(i)));
  inputs.push_back(c.batched(5) ? gather(c.in(5), 0, 0) : c.in(5));  // its value is unused
  SmallVector<Tensor, 2> outputs = c.again(inputs);
  c.set_out(0, channels.parted(outputs[0]));
  for (int k = 1; k < 3; ++k) c.set_out(k, channels.parted_vector(outputs[static_cast<size_t>(k)]));
  for (int k = 3; k < 5; ++k) c.set_common(k, outputs[static_cast<size_t>(k)]);
}

// Scales and offsets that differ between examples are applied after the rows are normalised.
void layer_norm_batch(BatchContext& c) {
  const int rank = c.rank(0);
  if (rank < 0) return c.loop();
  const Tensor scale = c.batched(1) ? ones_like(gather(c.in(1), 0, 0)) : c.in(1);
  const Tensor offset = c.batched(1) || c.batched(2) ? zeros_like(scale) : c.in(2);
  const Tensor y = c.again({c.in(0), scale, offset})[0];
  if (!c.batched(1) && !c.batched(2)) return c.set_out(0, y);
  const Tensor scaled = c.batched(1) ? y * c.with_rank(1, rank) : y;
  c.set_out(0, scaled + (c.batched(2) ? c.with_rank(2, rank) : c.in(2)));
}

// The derivative by x is symmetric, so the gradient op computes the tangent. The op is linear in scale and offset. The
// statistics have no derivatives, as in TensorFlow.
void batch_norm_tangent(JvpContext& c) {
  const std::string format(c.text("data_format"));
  Tensor total;
  if (c.has_tangent(0)) {
    total = fused_batch_norm_grad(
                c.tangent(0), c.in(0), c.in(1), c.out(3), c.out(4), c.out(5),
                {.epsilon = c.real("epsilon"), .data_format = format, .is_training = c.flag("is_training")})
                .x_backprop;
  }
  if (c.has_tangent(1) || c.has_tangent(2)) {
    const Tensor scale = c.has_tangent(1) ? c.tangent(1) : zeros_like(c.in(1));
    const Tensor offset = c.has_tangent(2) ? c.tangent(2) : zeros_like(c.in(2));
    const Tensor more = c.again(std::vector<Tensor>{c.in(0), scale, offset, c.in(3), c.in(4)})[0];
    total = total.defined() ? total + more : more;
  }
  if (total.defined()) c.set(0, total);
}

}  // namespace

const Op& kFusedBatchNorm = define_op(
    "FusedBatchNormV3(x: T, scale: U, offset: U, mean: U, variance: U; T: float16|bfloat16|float32, U: "
    "bfloat16|float32,"
    " epsilon: float = 0.0001, exponential_avg_factor: float = 1,"
    " data_format: {\"NHWC\", \"NCHW\", \"NDHWC\", \"NCDHW\"} = \"NHWC\", is_training: bool = true)"
    " -> (y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)",
    {.doc =
         "(x - m) / sqrt(v + epsilon) * scale + offset by channel (Ioffe and Szegedy 2015). In training m and v are "
         "mean and variance of the batch, which reserve_space_1 and 2 keep for the gradient; batch_mean and "
         "batch_variance are `mean` and `variance` moved toward m and the unbiased v by `exponential_avg_factor`, or, "
         "where that is 1, m and the unbiased v themselves. Otherwise m and v are `mean` and `variance`, and so are "
         "all "
         "these outputs. reserve_space_3 is 0.",
     .shape = batch_norm_shape,
     .saves = {in(0), in(1), out(3), out(4), out(5)},
     .gradient = batch_norm_gradient,
     .flops = [](const CostContext& c) { return 8 * c.numel(0); },
     .batch = batch_norm_batch,
     .jvp = batch_norm_tangent});

const Op& kFusedBatchNormGrad = define_op(
    "FusedBatchNormGradV3(y_backprop: T, x: T, scale: float32, reserve_space_1: U, reserve_space_2: U,"
    " reserve_space_3: U; T: float16|bfloat16|float32, U: float32, epsilon: float = 0.0001,"
    " data_format: {\"NHWC\", \"NCHW\", \"NDHWC\", \"NCDHW\"} = \"NHWC\", is_training: bool = true)"
    " -> (x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U)",
    {.doc = "The gradient of FusedBatchNormV3, from its `x` and `scale` and what it kept: mean and variance. The last "
            "two outputs are empty.",
     .shape = batch_norm_grad_shape,
     .saves = {in(0), in(1), in(2), in(3), in(4)},
     .gradient = [](GradContext& g) { BatchNormGradGrad(g).run(); },
     .flops = [](const CostContext& c) { return 12 * c.numel(0); },
     .batch = batch_norm_grad_batch});

const Op& kLayerNorm = define_op(
    "LayerNorm(x: T, scale: T, offset: T; epsilon: float = 0.00001, T: floating) -> (y: T)",
    {.doc = "(x - mean) / sqrt(variance + epsilon) * scale + offset with mean and variance of the last dimension (Ba, "
            "Kiros and Hinton 2016). `scale` and `offset` are vectors. Of 16-bit types all is computed in float32 and "
            "rounded once.",
     .shape =
         [](ShapeContext& c) {
           check_layer_norm(c);
           c.output(0, c.shape(0));
         },
     .body = layer_norm_body,
     .flops = [](const CostContext& c) { return 8 * c.numel(0); },
     .batch = layer_norm_batch});

}  // namespace panto
