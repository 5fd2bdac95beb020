// Bias, softmax and softmax cross-entropy.
#include <string>

#include "panto/lib/base/error.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

bool channels_first(std::string_view data_format) { return data_format == "NCHW"; }

void bias_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 2);
  const int64_t biases = c.vector(1);
  const PartialShape& value = c.shape(0);
  if (!value.known_rank()) return c.output(PartialShape());
  SmallVector<int64_t, 8> dims(value.dims().begin(), value.dims().end());
  int64_t& channels = dims[channels_first(c.text("data_format")) ? 1 : dims.size() - 1];
  channels = c.merge(channels, biases, "bias: number of channels");
  c.output(PartialShape(std::span<const int64_t>(dims)));
}

// Sums over all dimensions except the channels.
void bias_gradient(CompositeContext& c) {
  const Tensor& dy = c.in(0);
  const int rank = dy.partial_shape().rank();
  if (rank >= 0 && rank < 2) {
    fail(Code::kInvalidArgument,
         "out_backprop: expected a rank of at least 2, got shape " + dy.partial_shape().to_string());
  }
  const bool first = channels_first(c.text("data_format"));
  if (rank >= 0) {
    const int channels = first ? 1 : rank - 1;
    std::vector<int64_t> axes;
    for (int k = 0; k < rank; ++k) {
      if (k != channels) axes.push_back(k);
    }
    return c.set_out(0, sum(dy, axes));
  }
  // Rank 0 or 1 fails at run time, as the range then ends before it begins.
  const Tensor dims = panto::rank(dy);
  const Tensor axes = first ? range(2, dims, 1) : range(1, dims - 1, 1);
  c.set_out(0, sum(dy, concat({reshape(0, {1}), axes}, 0)));
}

void rank_at_least_1(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  c.output(c.shape(0));
}

Tensor sum_rows(const Tensor& x) { return sum(x, {-1}, {.keep_dims = true}); }
// [batch] -> [batch, 1].
Tensor column(const Tensor& x) { return expand_dims(x, -1); }

// Gradient of softmax(x) - labels with respect to x.
Tensor softmax_gradient(const Tensor& y, const Tensor& dy) { return (dy - sum_rows(dy * y)) * y; }

// The logits as they were broadcast.
Tensor full_logits(const GradContext& g) {
  const Tensor &logits = g.in(0), &backprop = g.out(1);
  const bool same = logits.partial_shape().fully_known() && logits.partial_shape() == backprop.partial_shape();
  return same ? logits : broadcast_to(logits, shape(backprop));
}

// The gradient of the logits. The gradient of the loss is the op's second output; a gradient of that output only occurs
// when a gradient is differentiated.
Tensor cross_entropy_gradient(const GradContext& g, const Tensor& logits) {
  Tensor dx;
  if (g.has_dy(0)) dx = column(g.dy(0)) * g.out(1);
  if (g.has_dy(1)) {
    const Tensor second = softmax_gradient(softmax(logits), g.dy(1));
    dx = dx.defined() ? dx + second : second;
  }
  return dx;
}

// ---- Inside vmap, and tangents --------------------------------------------------------------------------------------

void bias_batch(BatchContext& c) {
  const bool first = channels_first(c.text("data_format"));
  if (!first && !c.batched(1)) return c.set_out(0, bias_add(c.in(0), c.in(1)));
  const int rank = c.rank(0);
  if (rank < 0) return c.loop();
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[first ? 1 : dims.size() - 1] = c.shape(1).dim(0);
  if (c.batched(1)) dims.insert(dims.begin(), c.size());
  c.set_out(0, c.front(0) + reshape(c.in(1), dims));
}

void softmax_tangent(JvpContext& c) { c.set(0, softmax_gradient(c.out(), c.tangent(0))); }

void log_softmax_tangent(JvpContext& c) { c.set(0, c.tangent(0) - sum_rows(exp(c.out()) * c.tangent(0))); }

void cross_entropy_batch(BatchContext& c) {
  // Make both matrices before their rows are joined.
  const PartialShape& both = c.out_shape(1);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 2; ++i) {
    const Tensor x = c.batched(i) ? c.with_rank(i, 2) : c.in(i);
    inputs.push_back(merge_front(broadcast_to(x, c.with_size(both))));
  }
  SmallVector<Tensor, 2> outputs = c.again(inputs);
  for (int k = 0; k < 2; ++k) c.set_out(k, split_front(outputs[static_cast<size_t>(k)], c.size(), both.dim(0)));
}

void cross_entropy_tangent(JvpContext& c) {
  const Tensor zero = zeros_like(c.out(1));
  const Tensor logits = c.in(0) + zero;
  Tensor loss, backprop;
  if (c.has_tangent(0)) {
    const Tensor dx = c.tangent(0) + zero;
    loss = sum(c.out(1) * dx, {-1});
    backprop = softmax_gradient(softmax(logits), dx);
  }
  if (c.has_tangent(1)) {
    const Tensor dx = c.tangent(1) + zero;
    const Tensor by_labels = sum(-log_softmax(logits) * dx, {-1});
    loss = loss.defined() ? loss + by_labels : by_labels;
    backprop = backprop.defined() ? backprop - dx : -dx;
  }
  c.set(0, loss);
  c.set(1, backprop);
}

void sparse_cross_entropy_tangent(JvpContext& c) {
  c.set(0, sum(c.out(1) * c.tangent(0), {-1}));
  c.set(1, softmax_gradient(softmax(c.in(0)), c.tangent(0)));
}

void l2_batch(BatchContext& c) {
  const Tensor flat = reshape(c.in(0), {c.size(), c.shape(0).numel()});
  c.set_out(0, sum(square(flat), {1}) / 2);
}

void l2_tangent(JvpContext& c) { c.set(0, sum(c.in(0) * c.tangent(0))); }

}  // namespace

const Op& kBiasAdd = define_op(
    "BiasAdd(value: T, bias: T; T: numeric, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\") -> (output: T)",
    {.doc = "`value` (at least 2 dimensions) plus a `bias` for each channel: the last dimension, or dimension 1 if "
            "`data_format` is NCHW.",
     .aliases = {"BiasAddV1"},
     .traits = {Trait::kReusesInput0},
     .shape = bias_shape,
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) g.set(0, g.dy());
           if (g.needs(1)) g.set(1, bias_add_grad(g.dy(), {.data_format = std::string(g.text("data_format"))}));
         },
     .flops = [](const CostContext& c) { return c.out_numel(0); },
     .batch = bias_batch,
     .jvp = tangents::linear});

const Op& kBiasAddGrad =
    define_op("BiasAddGrad(out_backprop: T; T: numeric, data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\") -> (output: T)",
              {.doc = "The gradient of BiasAdd with respect to the bias: the sum over all dimensions but the channels.",
               .body = bias_gradient,
               .in_tensorflow = true});

const Op& kSoftmax =
    define_op("Softmax(logits: T; T: floating) -> (softmax: T)",
              {.doc = "exp(x) / sum(exp(x)) along the last dimension, from differences to the largest element.",
               .traits = {Trait::kReusesInput0},
               .shape = rank_at_least_1,
               .saves = {out(0)},
               .gradient = [](GradContext& g) { g.set(0, softmax_gradient(g.out(0), g.dy())); },
               .flops = [](const CostContext& c) { return 5 * c.numel(0); },
               .batch = batching::trailing,
               .jvp = softmax_tangent});

const Op& kLogSoftmax =
    define_op("LogSoftmax(logits: T; T: floating) -> (logsoftmax: T)",
              {.doc = "x - log(sum(exp(x))) along the last dimension, from differences to the largest element.",
               .traits = {Trait::kReusesInput0},
               .shape = rank_at_least_1,
               .saves = {out(0)},
               .gradient = [](GradContext& g) { g.set(0, g.dy() - exp(g.out(0)) * sum_rows(g.dy())); },
               .flops = [](const CostContext& c) { return 5 * c.numel(0); },
               .batch = batching::trailing,
               .jvp = log_softmax_tangent});

const Op& kSoftmaxCrossEntropyWithLogits = define_op(
    "SoftmaxCrossEntropyWithLogits(features: T, labels: T; T: floating) -> (loss: T, backprop: T)",
    {.doc = "Cross entropy -sum(labels * log_softmax(features)) of each row, and its gradient with respect to the "
            "features, softmax(features) - labels, which holds where each row of labels sums to 1. Features and labels "
            "broadcast to a matrix [batch, classes]. softmax_cross_entropy_with_logits gives the loss alone.",
     .cpp = "softmax_cross_entropy_and_backprop",
     .traits = {Trait::kBroadcasts},
     .shape =
         [](ShapeContext& c) {
           const PartialShape both = c.broadcast(0, 1);
           if (!both.known_rank()) {
             c.output(0, PartialShape::of_rank(1));
             return c.output(1, PartialShape::of_rank(2));
           }
           if (both.rank() != 2) {
             c.invalid("features and labels: expected them to broadcast to a matrix, got shape " + both.to_string());
           }
           c.output(0, {both.dim(0)});
           c.output(1, both);
         },
     .saves = {in(0), out(1)},
     .gradient =
         [](GradContext& g) {
           const Tensor logits = full_logits(g);
           if (g.needs(0)) g.set(0, cross_entropy_gradient(g, logits));
           if (!g.needs(1)) return;
           Tensor dlabels;
           if (g.has_dy(0)) dlabels = -log_softmax(logits) * column(g.dy(0));
           if (g.has_dy(1)) dlabels = dlabels.defined() ? dlabels - g.dy(1) : -g.dy(1);
           g.set(1, dlabels);
         },
     .flops = [](const CostContext& c) { return 8 * c.out_numel(1); },
     .batch = cross_entropy_batch,
     .jvp = cross_entropy_tangent});

const Op& kSparseSoftmaxCrossEntropyWithLogits = define_op(
    "SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels; T: floating, Tlabels: index = int64)"
    " -> (loss: T, backprop: T)",
    {.doc =
         "Cross entropy of each row of `features` [batch, classes], where `labels` [batch] has the number of the "
         "true class, and its gradient with respect to the features. A label outside [0, classes) is InvalidArgument. "
         "sparse_softmax_cross_entropy_with_logits gives the loss alone.",
     .cpp = "sparse_softmax_cross_entropy_and_backprop",
     .shape =
         [](ShapeContext& c) {
           c.expect_rank(0, 2);
           const auto [batch, classes] = c.matrix(0);
           const int64_t rows = c.merge(batch, c.vector(1), "labels");
           if (classes == 0) c.invalid("classes: expected at least 1, got 0");
           c.output(0, {rows});
           c.output(1, {rows, classes});
         },
     .saves = {in(0), out(1)},
     .gradient = [](GradContext& g) { g.set(0, cross_entropy_gradient(g, g.in(0))); },
     .flops = [](const CostContext& c) { return 6 * c.out_numel(1); },
     .batch = batching::rows,
     .jvp = sparse_cross_entropy_tangent});

const Op& kL2Loss = define_op("L2Loss(t: T; T: floating) -> (output: T)",
                              {.doc = "Half the sum of the squares of all elements.",
                               .traits = {},
                               .shape = shapes::scalar,
                               .saves = {in(0)},
                               .gradient = [](GradContext& g) { g.set(0, g.in(0) * g.dy()); },
                               .flops = [](const CostContext& c) { return 2 * c.numel(0); },
                               .batch = l2_batch,
                               .jvp = l2_tangent});

}  // namespace panto
