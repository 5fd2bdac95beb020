// Optional values: tensors that may be missing, such as outputs that only another branch computes. In vmap every
// example has its own.
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/lists.h"

namespace panto {
namespace {

void from_value_gradient(GradContext& g) {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (int i = 0; i < g.num_inputs(); ++i) {
    types.push_back(g.in_type(i));
    shapes.push_back(g.in_shape(i));
  }
  std::vector<Tensor> components = optional_get_value(g.dy(), types, shapes);
  for (int i = 0; i < g.num_inputs(); ++i) {
    if (g.needs(i) && differentiable(types[static_cast<size_t>(i)])) {
      g.set(i, std::move(components[static_cast<size_t>(i)]));
    }
  }
}

void get_value_gradient(GradContext& g) {
  std::vector<Tensor> components;
  for (int k = 0; k < g.num_outputs(); ++k) components.push_back(g.has_dy(k) ? g.dy(k) : zeros_like(g.out(k)));
  g.set(0, optional_from_value(components));
}

void get_value_shape(ShapeContext& c) {
  c.expect_scalar(0);
  const AttrSlot& slot = c.slot("output_shapes");
  const auto* shapes = static_cast<const PartialShape*>(slot.p);
  if (slot.n != static_cast<uint32_t>(c.num_outputs())) {
    c.invalid("output_shapes: expected as many as output_types, got others");
  }
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, shapes[k]);
}

}  // namespace

const Op& kOptionalFromValue =
    define_op("OptionalFromValue(components: Toutput_types; Toutput_types: list(type) >= 1) -> (optional: variant)",
              {.doc = "A scalar that holds `components`.",
               .traits = {Trait::kSelfAllocating},
               .shape = [](ShapeContext& c) { c.output(Shape{}); },
               .saves = {shape_of(0)},
               .gradient = from_value_gradient,
               .batch = batching::loop,
               .jvp = tangents::linear});

const Op& kOptionalNone =
    define_op("OptionalNone() -> (optional: variant)", {.doc = "A scalar that holds nothing.",
                                                        .traits = {Trait::kSelfAllocating},
                                                        .shape = [](ShapeContext& c) { c.output(Shape{}); },
                                                        .no_gradient = "it holds nothing"});

const Op& kOptionalHasValue =
    define_op("OptionalHasValue(optional: variant) -> (has_value: bool)", {.doc = "Whether the scalar holds tensors.",
                                                                           .shape =
                                                                               [](ShapeContext& c) {
                                                                                 c.expect_scalar(0);
                                                                                 c.output(Shape{});
                                                                               },
                                                                           .no_gradient = "it gives no number",
                                                                           .batch = batching::loop});

const Op& kOptionalGetValue = define_op(
    "OptionalGetValue(optional: variant; output_types: list(type) >= 1, output_shapes: list(shape) >= 1) -> "
    "(components: output_types)",
    {.doc = "The tensors that the scalar holds, which must be of these types and shapes.",
     .traits = {Trait::kSelfAllocating},
     .shape = get_value_shape,
     .saves = {out(0)},
     .gradient = get_value_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

}  // namespace panto
