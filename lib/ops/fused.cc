// Ops that the optimizer makes of several. They have TensorFlow's names and attributes.
#include "panto/lib/ops/fused.h"

#include <string>

#include "panto/lib/base/format.h"
#include "panto/lib/core/gradient.h"
#include "panto/lib/ops/elementwise_program.h"
#include "panto/lib/ops/ops.h"

namespace panto {
namespace {

struct NamedActivation {
  std::string_view name;
  Activation activation;
};
constexpr NamedActivation kActivations[] = {
    {"Relu", Activation::kRelu},
    {"Relu6", Activation::kRelu6},
    {"Tanh", Activation::kTanh},
    {"Sigmoid", Activation::kSigmoid},
    {"Elu", Activation::kElu},
    {"LeakyRelu", Activation::kLeakyRelu},
    {"GeluApproximate", Activation::kGeluApproximate},
    {"GeluExact", Activation::kGeluExact},
};

Activation activation_named(std::string_view name) {
  for (const NamedActivation& a : kActivations) {
    if (a.name == name) return a.activation;
  }
  std::string known;
  for (const NamedActivation& a : kActivations) known.append(known.empty() ? "" : ", ").append(a.name);
  failf(Code::kUnimplemented, "fused_ops: expected BiasAdd, then at most one of {}, got '{}'", known, name);
}

}  // namespace

Epilogue parse_epilogue(const CallView& call) {
  const AttrSlot& slot = call.slot("fused_ops");
  std::span<const std::string> names(static_cast<const std::string*>(slot.p), slot.n);
  Epilogue epilogue;
  epilogue.leaky_alpha = call.real("leakyrelu_alpha");
  if (!names.empty() && names.front() == "BiasAdd") {
    epilogue.bias = true;
    names = names.subspan(1);
  }
  if (!names.empty()) epilogue.activation = activation_named(names.front());
  if (names.size() > 1) invalid("fused_ops: expected at most one op after BiasAdd, got {}", names.size());
  const int64_t args = call.integer("num_args");
  if (args != (epilogue.bias ? 1 : 0)) invalid("num_args: expected {}, got {}", epilogue.bias ? 1 : 0, args);
  return epilogue;
}

const Op& kFusedMatMul = define_op(
    "_FusedMatMul(a: T, b: T, args: num_args*T; transpose_a: bool = false, transpose_b: bool = false,"
    " T: bfloat16|float16|float32, num_args: int >= 0, fused_ops: list(string) = [], epsilon: float = 0.0001,"
    " leakyrelu_alpha: float = 0.2) -> (product: T)",
    {.doc =
         "matmul(a, b), then what `fused_ops` lists: BiasAdd with `args[0]` and one of Relu, Relu6, Tanh, Sigmoid, "
         "Elu, "
         "LeakyRelu, GeluApproximate, GeluExact, either of which may be absent. Made by the optimizer; the result is "
         "that of the separate ops, bit by bit.",
     .cpp = "fused_matmul",
     .traits = {Trait::kContraction},
     .shape =
         [](ShapeContext& c) {
           const auto [m, k] = c.matrix(0, c.flag("transpose_a"));
           auto [k2, n] = c.matrix(1, c.flag("transpose_b"));
           c.expect_equal(k, k2, "inner dimensions");
           if (parse_epilogue(c).bias) n = c.merge(n, c.vector(2), "bias: number of columns");
           c.output({m, n});
         },
     .no_gradient = "the optimizer makes it after gradients were taken",
     .flops = [](const CostContext& c) { return 2 * c.out_numel(0) * c.dim(0, c.flag("transpose_a") ? 0 : 1); }});

const Op& kFusedElementwise = define_op(
    "_FusedElementwise(inputs: Tin; Tin: list(type) >= 1, Tout: list(type) >= 1, ops: list(string), types: list(type),"
    " operands: list(int), outputs: list(int)) -> (results: Tout)",
    {.doc =
         "What a program of elementwise ops computes, in one loop over the elements. Values are numbered: `inputs` "
         "first, then one for each of `ops`, which has the kernel for `types` and takes, in order, values from "
         "`operands`; `outputs` are the values given out. Made by the optimizer; the result is that of the separate "
         "ops, bit by bit.",
     .cpp = "fused_elementwise",
     .traits = {Trait::kFusedLoop},
     .shape =
         [](ShapeContext& c) {
           const ElementwiseProgram program = parse_elementwise_program(c);
           std::vector<PartialShape> shapes;
           for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(c.shape(i));
           for (const ElementwiseStep& step : program.steps) {
             PartialShape shape = shapes[static_cast<size_t>(step.operands[0])];
             for (size_t k = 1; k < step.operands.size(); ++k) {
               shape = broadcast_shapes(shape, shapes[static_cast<size_t>(step.operands[k])]);
             }
             shapes.push_back(std::move(shape));
           }
           for (size_t k = 0; k < program.outputs.size(); ++k) {
             c.output(static_cast<int>(k), shapes[static_cast<size_t>(program.outputs[k])]);
           }
         },
     .no_gradient = "the optimizer makes it after gradients were taken"});

}  // namespace panto
