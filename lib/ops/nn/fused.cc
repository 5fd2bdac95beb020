// Fused ops, made by the optimizer, with TensorFlow's names and attributes.
#include "panto/lib/ops/nn/fused.h"
#include "panto/lib/ops/batching.h"

#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/math/elementwise_program.h"
#include "panto/lib/ops/nn/window.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

struct NamedActivation {
  std::string_view name;
  FusedActivation activation;
};
constexpr NamedActivation kActivations[] = {
    {"Relu", FusedActivation::kRelu},
    {"Relu6", FusedActivation::kRelu6},
    {"Tanh", FusedActivation::kTanh},
    {"Sigmoid", FusedActivation::kSigmoid},
    {"Elu", FusedActivation::kElu},
    {"LeakyRelu", FusedActivation::kLeakyRelu},
    {"GeluApproximate", FusedActivation::kGeluApproximate},
    {"GeluExact", FusedActivation::kGeluExact},
    {"Swish", FusedActivation::kSwish},
};

FusedActivation activation_named(std::string_view name, std::string_view before) {
  for (const NamedActivation& a : kActivations) {
    if (a.name == name) return a.activation;
  }
  std::string known;
  for (const NamedActivation& a : kActivations) known.append(known.empty() ? "" : ", ").append(a.name);
  failf(Code::kUnimplemented, "fused_ops: expected {}, then at most one of {}, got '{}'", before, known, name);
}

// `output`, merged with the shape of the tensor that the epilogue adds.
PartialShape with_added(const ShapeContext& c, const Epilogue& epilogue, const PartialShape& output) {
  if (!epilogue.add) return output;
  const PartialShape& added = c.shape(2 + epilogue.add_at());
  if (!output.compatible_with(added)) {
    invalid("Add: expected shape {}, got {}", output.to_string(), added.to_string());
  }
  return output.merged_with(added);
}

template <FilterKind kFilters>
void fused_convolution_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  c.expect_rank(1, 4);
  Convolution convolution = convolution_of(c, c.shape(0), c.shape(1), kFilters);
  const Epilogue epilogue = parse_epilogue(c);
  const auto by_channel = [&](int at, const char* name) {
    convolution.out_channels =
        c.merge(convolution.out_channels, c.vector(2 + at), std::string(name) + ": number of channels");
  };
  if (epilogue.bias) by_channel(epilogue.bias_at(), "bias");
  if (epilogue.batch_norm) {
    int at = epilogue.batch_norm_at();
    for (const char* name : {"scale", "offset", "mean", "variance"}) by_channel(at++, name);
  }
  if (epilogue.scale) by_channel(epilogue.scale_at(), "scale");
  if (epilogue.offset) by_channel(epilogue.offset_at(), "offset");
  c.output(with_added(c, epilogue, convolution.output()));
}

}  // namespace

Epilogue parse_epilogue(const CallView& call) {
  const AttrSlot& slot = call.slot("fused_ops");
  std::span<const std::string> names(static_cast<const std::string*>(slot.p), slot.n);
  const bool convolution = &call.op() != &kFusedMatMul;
  Epilogue epilogue;
  epilogue.leaky_alpha = call.real("leakyrelu_alpha");
  epilogue.epsilon = call.real("epsilon");
  const auto take = [&](std::string_view name) {
    if (names.empty() || names.front() != name) return false;
    names = names.subspan(1);
    return true;
  };
  epilogue.bias = take("BiasAdd");
  epilogue.batch_norm = convolution && take("FusedBatchNorm");
  epilogue.scale = convolution && !epilogue.batch_norm && take("Mul");
  epilogue.offset = epilogue.scale && take("BiasAdd");
  epilogue.add = take("Add");
  const char* before =
      convolution ? "BiasAdd, FusedBatchNorm (or Mul, BiasAdd), Add in this order" : "BiasAdd, Add in this order";
  if (!names.empty()) epilogue.activation = activation_named(names.front(), before);
  if (names.size() > 1) invalid("fused_ops: expected at most one op after {}, got {}", before, names.size());
  const int64_t args = call.integer("num_args");
  if (args != epilogue.num_args()) invalid("num_args: expected {}, got {}", epilogue.num_args(), args);
  return epilogue;
}

const Op& kFusedMatMul = define_op(
    "_FusedMatMul(a: T, b: T, args: num_args*T; transpose_a: bool = false, transpose_b: bool = false,"
    " T: bfloat16|float16|float32, num_args: int >= 0, fused_ops: list(string) = [], epsilon: float = 0.0001,"
    " leakyrelu_alpha: float = 0.2) -> (product: T)",
    {.doc = "matmul(a, b), then what `fused_ops` lists, in this order, any of which may be absent: BiasAdd with a "
            "vector; Add with a tensor of the result's shape; and one of Relu, Relu6, Tanh, Sigmoid, Elu, LeakyRelu, "
            "GeluApproximate, GeluExact, Swish. `args` are their tensors. Made by the optimizer; the result is that of "
            "the "
            "separate ops, bit by bit.",
     .cpp = "fused_matmul",
     .traits = {Trait::kContraction},
     .shape =
         [](ShapeContext& c) {
           const auto [m, k] = c.matrix(0, c.flag("transpose_a"));
           auto [k2, n] = c.matrix(1, c.flag("transpose_b"));
           c.expect_equal(k, k2, "inner dimensions");
           const Epilogue epilogue = parse_epilogue(c);
           if (epilogue.bias) n = c.merge(n, c.vector(2), "bias: number of columns");
           c.output(with_added(c, epilogue, {m, n}));
         },
     .no_gradient = "the optimizer makes it after gradients were taken",
     .flops = [](const CostContext& c) { return 2 * c.out_numel(0) * c.dim(0, c.flag("transpose_a") ? 0 : 1); },
     .types_reason = "the optimizer makes it of float32 only"});

const Op& kFusedConv2D = define_op(
    "_FusedConv2D(input: T, filter: T, args: num_args*T; T: float16|float32|float64, num_args: int >= 0,"
    " strides: list(int), padding: {\"SAME\", \"VALID\", \"EXPLICIT\"}, explicit_paddings: list(int) = [],"
    " data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\", dilations: list(int) = [1, 1, 1, 1],"
    " use_cudnn_on_gpu: bool = true, fused_ops: list(string) = [], epsilon: float = 0.0001,"
    " leakyrelu_alpha: float = 0.2) -> (output: T)",
    {.doc = "conv2d(input, filter), then what `fused_ops` lists, in this order, any of which may be absent: BiasAdd "
            "with a vector; FusedBatchNorm with scale, offset, mean and variance, as FusedBatchNormV3 is after "
            "training, with `epsilon`, or in place of it Mul with a vector and BiasAdd with another; Add with a tensor "
            "of the result's shape; and one of the activations of "
            "_FusedMatMul. `args` are their tensors. Made by the optimizer; the result is that of the separate ops, "
            "bit by bit.",
     .cpp = "fused_conv2d",
     .traits = {Trait::kContraction},
     .shape = fused_convolution_shape<FilterKind::kOfGroups>,
     .no_gradient = "the optimizer makes it after gradients were taken",
     .flops = [](const CostContext& c) { return convolution_flops(c.out_numel(0), c.numel(1), c.dim(1, 3)); },
     .types_reason = "the optimizer makes it of float32 only"});

const Op& kFusedDepthwiseConv2dNative = define_op(
    "_FusedDepthwiseConv2dNative(input: T, filter: T, args: num_args*T; T: float16|float32|float64,"
    " num_args: int >= 0, strides: list(int), padding: {\"SAME\", \"VALID\", \"EXPLICIT\"},"
    " explicit_paddings: list(int) = [], data_format: {\"NHWC\", \"NCHW\"} = \"NHWC\","
    " dilations: list(int) = [1, 1, 1, 1], fused_ops: list(string) = [], epsilon: float = 0.0001,"
    " leakyrelu_alpha: float = 0.2) -> (output: T)",
    {.doc = "depthwise_conv2d(input, filter), then what `fused_ops` lists, as _FusedConv2D does. Made by the "
            "optimizer; the result is that of the separate ops, bit by bit.",
     .cpp = "fused_depthwise_conv2d",
     .traits = {Trait::kContraction},
     .shape = fused_convolution_shape<FilterKind::kDepthwise>,
     .no_gradient = "the optimizer makes it after gradients were taken",
     .flops = [](const CostContext& c) { return depthwise_flops(c.out_numel(0), c.dim(1, 0), c.dim(1, 1)); },
     .types_reason = "the optimizer makes it of float32 only",
     .batch = batching::loop});

const Op& kFusedElementwise = define_op(
    "_FusedElementwise(inputs: Tin; Tin: list(type) >= 1, Tout: list(type) >= 1, ops: list(string), types: list(type),"
    " operands: list(int), outputs: list(int)) -> (results: Tout)",
    {.doc = "What a program of elementwise ops computes, in one loop over the elements. Values are numbered: `inputs` "
            "first, then one for each of `ops`, which has the kernel for `types` and takes, in order, values from "
            "`operands`; `outputs` are the values given out. Made by the optimizer; the result is that of the separate "
            "ops, bit by bit.",
     .cpp = "fused_elementwise",
     .kind = OpKind::kFusedLoop,
     .shape =
         [](ShapeContext& c) {
           const ElementwiseProgram program = parse_elementwise_program(c);
           std::vector<PartialShape> shapes;
           for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(c.shape(i));
           for (size_t k = 0; k < program.outputs.size(); ++k) {
             c.output(static_cast<int>(k), value_shape(program, shapes, program.outputs[k]));
           }
         },
     .no_gradient = "the optimizer makes it after gradients were taken"});

const Op& kFusedReduction = define_op(
    "_FusedReduction(inputs: Tin; Tin: list(type) >= 1, T: float32|float64, ops: list(string), types: list(type),"
    " operands: list(int), outputs: list(int), reduction: {\"sum\", \"mean\", \"max\", \"min\"}, dims: int >= 1,"
    " keep_dims: bool = false) -> (result: T)",
    {.doc = "The reduction, over the last `dims` dimensions, of what a program of elementwise ops computes: the one of "
            "`outputs` (see _FusedElementwise). Made by the optimizer; the result is that of the separate ops, bit by "
            "bit.",
     .cpp = "fused_reduction",
     .shape =
         [](ShapeContext& c) {
           const ElementwiseProgram program = parse_elementwise_program(c);
           std::vector<PartialShape> shapes;
           for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(c.shape(i));
           const PartialShape shape = value_shape(program, shapes, program.outputs[0]);
           if (!shape.known_rank()) return c.output(PartialShape());
           const int64_t dims = c.integer("dims");
           if (dims > shape.rank()) invalid("dims: expected at most {}, got {}", shape.rank(), dims);
           SmallVector<int64_t, 8> kept;
           for (int d = 0; d < shape.rank(); ++d) {
             const bool reduced = d >= shape.rank() - dims;
             if (!reduced) kept.push_back(shape.dim(d));
             if (reduced && c.flag("keep_dims")) kept.push_back(1);
           }
           c.output(PartialShape(std::span<const int64_t>(kept.data(), kept.size())));
         },
     .no_gradient = "the optimizer makes it after gradients were taken",
     .batch = batching::elementwise});

}  // namespace panto
