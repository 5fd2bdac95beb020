// A library whose blocks are wrong in three ways and right once.
#include <panto/define_op.h>
#include <panto/device/cpu/kernel.h>

namespace faulty_ops {
using namespace panto;

const Op& kBroken = define_op("Broken(x: T; T: numbers) -> (y: T)", {.doc = "No such types.", .shape = shapes::scalar});
const Op& kShapeless = define_op("Shapeless(x: float32) -> (y: float32)", {.doc = "Without a shape function."});
const CpuKernel orphan_kernel("NoSuchOp", TypeList<float>{}, []<class T>(KernelContext&) {});

const Op& kSound = define_op(
    "Sound(x: float32) -> (y: float32)",
    {.doc = "The body is the identity.", .body = [](CompositeContext& c) { c.set_out(0, identity(c.in(0))); }});

}  // namespace faulty_ops
