// A user's own library of ops, built against the public headers only: a kernel op with a gradient, and a composite that
// uses the typed function generated from this file.
#include "cube.h"  // lint: allow(include-form) as generated for a library outside this project

#include <panto/define_op.h>

namespace cube_ops {
using namespace panto;

const Op& kCube = define_op("Cube(x: T; T: float32|float64) -> (y: T)",
                            {.doc = "x * x * x, element by element.",
                             .traits = {Trait::kElementwise},
                             .shape = shapes::same_as_input,
                             .saves = {in(0)},
                             .gradient = [](GradContext& g) { g.set(0, g.dy() * 3.0f * square(g.in(0))); }});

const CpuKernel cube_kernel("Cube", TypeList<float, double>{}, []<class T>(KernelContext& c) {
  const T* x = c.data<T>(0);
  T* y = c.out_data<T>(0);
  for (int64_t i = 0; i < c.out_numel(0); ++i) y[i] = x[i] * x[i] * x[i];
});

const Op& kScaledCubes = define_op("ScaledCubes(x: T; scale: float = 1.0, T: float32|float64) -> (y: T)",
                                   {.doc = "scale * x * x * x, made of Cube.", .body = [](CompositeContext& c) {
                                      c.set_out(0, cube(c.in(0)) * c.real("scale"));
                                    }});

}  // namespace cube_ops
