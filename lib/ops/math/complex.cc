// Ops that combine two real numbers to a complex one, and take complex numbers apart. The gradient of a complex number
// is a complex number of the gradients of its real and imaginary part. None of the ops has the trait kElementwise: the
// result's type is an attribute that the shape function must check, and calls of elementwise ops skip the shape
// function.
#include "panto/lib/ops/math/complex.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

Tensor conjugate(const Tensor& x) { return dtypes::kComplex.contains(x.dtype()) ? conj(x) : x; }

namespace {

DType part_of(DType complex) { return complex == kComplex128 ? kFloat64 : kFloat32; }

void expect_result(const ShapeContext& c, DType wanted) {
  const DType got = c.type("Tout");
  if (got != wanted) invalid("Tout: expected {}, got {}", dtype_name(wanted), dtype_name(got));
}

void complex_shape(ShapeContext& c) {
  expect_result(c, complex_of(c.in(0).dtype()));
  shapes::broadcast_two(c);
}
void part_shape(ShapeContext& c) {
  expect_result(c, part_of(c.in(0).dtype()));
  shapes::same_as_input(c);
}

Tensor real_part_of(const Tensor& z) { return real_part(z, {.Tout = part_of(z.dtype())}); }
Tensor imag_part_of(const Tensor& z) { return imag_part(z, {.Tout = part_of(z.dtype())}); }
Tensor joined(const Tensor& re, const Tensor& im) { return complex_parts(re, im, {.Tout = complex_of(re.dtype())}); }

void complex_tangent(JvpContext& c) {
  const Tensor none = zeros_like(c.in(0));  // of any shape: the parts broadcast
  const Tensor re = c.has_tangent(0) ? c.tangent(0) : none;
  const Tensor im = c.has_tangent(1) ? c.tangent(1) : zeros_like(c.in(1));
  c.set(0, joined(re, im));
}

}  // namespace

const Op& kComplex =
    define_op("Complex(real: T, imag: T; T: float32|float64 = float32, Tout: complex = complex64) -> (out: Tout)",
              {.doc = "The complex numbers with these real and imaginary parts; complex128 where those are float64.",
               .cpp = "complex_parts",
               .traits = {Trait::kBroadcasts},
               .shape = complex_shape,
               .gradient =
                   [](GradContext& g) {
                     if (g.needs(0)) g.set(0, real_part_of(g.dy()));
                     if (g.needs(1)) g.set(1, imag_part_of(g.dy()));
                   },
               .flops = flops_each<1>,
               .batch = batching::elementwise,
               .jvp = complex_tangent});

const Op& kReal = define_op("Real(input: T; T: complex = complex64, Tout: float32|float64 = float32) -> (output: Tout)",
                            {.doc = "The real part of complex numbers; float64 of complex128.",
                             .cpp = "real_part",
                             .shape = part_shape,
                             .gradient = [](GradContext& g) { g.set(0, joined(g.dy(), zeros_like(g.dy()))); },
                             .flops = flops_each<1>,
                             .batch = batching::elementwise,
                             .jvp = [](JvpContext& c) { c.set(0, real_part_of(c.tangent(0))); }});

const Op& kImag = define_op("Imag(input: T; T: complex = complex64, Tout: float32|float64 = float32) -> (output: Tout)",
                            {.doc = "The imaginary part of complex numbers; float64 of complex128.",
                             .cpp = "imag_part",
                             .shape = part_shape,
                             .gradient = [](GradContext& g) { g.set(0, joined(zeros_like(g.dy()), g.dy())); },
                             .flops = flops_each<1>,
                             .batch = batching::elementwise,
                             .jvp = [](JvpContext& c) { c.set(0, imag_part_of(c.tangent(0))); }});

const Op& kAngle =
    define_op("Angle(input: T; T: complex = complex64, Tout: float32|float64 = float32) -> (output: Tout)",
              {.doc = "The angle of complex numbers in the plane, from -pi to pi: atan2 of imaginary and real part.",
               .cpp = "angle_part",
               .shape = part_shape,
               .saves = {in(0)},
               // The derivatives by re and im are -im / |z|^2 and re / |z|^2, together i / conj(z).
               .gradient = [](GradContext& g) { g.set(0, joined(zeros_like(g.dy()), g.dy()) / g.conj_in(0)); },
               .flops = flops_each<16>,
               .batch = batching::elementwise,
               .jvp = [](JvpContext& c) { c.set(0, imag_part_of(c.tangent(0) / c.in(0))); }});

const Op& kComplexAbs = define_op(
    "ComplexAbs(x: T; T: complex = complex64, Tout: float32|float64 = float32) -> (y: Tout)",
    {.doc = "The distance of complex numbers from 0, computed without overflow. At 0 the gradient is 0.",
     .cpp = "complex_magnitude",
     .shape = part_shape,
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           const Tensor scale = div_no_nan(g.dy(), g.out(0));
           g.set(0, joined(scale, zeros_like(scale)) * g.in(0));
         },
     .flops = flops_each<8>,
     .batch = batching::elementwise,
     .jvp = [](JvpContext& c) { c.set(0, div_no_nan(real_part_of(c.tangent(0) * conj(c.in(0))), c.out())); }});

}  // namespace panto
