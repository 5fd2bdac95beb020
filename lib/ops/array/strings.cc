// Ops on strings.
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

const Op& kStringJoin = define_op(
    "StringJoin(inputs: N*string; N: int >= 1, separator: string = \"\") -> (output: string)",
    {.doc = "The strings of all inputs one after the other, element by element, with `separator` between them. Inputs "
            "broadcast (TensorFlow: scalars only).",
     .shape =
         [](ShapeContext& c) {
           PartialShape shape = c.shape(0);
           for (int i = 1; i < c.num_inputs(); ++i) shape = broadcast_shapes(shape, c.shape(i));
           c.output(std::move(shape));
         },
     .no_gradient = "strings are not differentiable",
     .batch = batching::elementwise});

const Op& kAdd = define_op("Add(x: T, y: T; T: numeric|string) -> (z: T)",
                           {.doc = "AddV2 of numbers; of strings, those of `y` after those of `x`.",
                            .cpp = "add_v1",
                            .body =
                                [](CompositeContext& c) {
                                  const bool text = c.type("T") == kString;
                                  c.set_out(0, text ? string_join({c.in(0), c.in(1)}) : add(c.in(0), c.in(1)));
                                },
                            .in_tensorflow = true});

}  // namespace panto
