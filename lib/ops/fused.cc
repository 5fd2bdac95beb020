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
    {.doc = "What a program of elementwise ops computes, in one loop over the elements. Values are numbered: `inputs` "
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
     .no_gradient = "the optimizer makes it after gradients were taken"});

}  // namespace panto
