// Ops that call C++ functions of the host program by token (host_call.h).

#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/control.h"

namespace panto {
namespace {

void nothing_known(ShapeContext&) {}

}  // namespace

const Op& kPyFunc = define_op(
    "PyFunc(input: Tin; token: string, Tin: list(type) >= 0, Tout: list(type) >= 0) -> (output: Tout)",
    {.doc = "What the function of the host program, in C++ here and in Python in TensorFlow, that was entered as "
            "`token` makes of `input` (host_call). NotFound where there is none when it is reached.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = nothing_known,
     .no_gradient = "the function is not known",
     .batch = batching::loop});

const Op& kPyFuncStateless = define_op(
    "PyFuncStateless(input: Tin; token: string, Tin: list(type) >= 0, Tout: list(type) >= 0) -> (output: Tout)",
    {.doc = "PyFunc of a function that does nothing but compute.",
     .traits = {Trait::kSelfAllocating},
     .shape = nothing_known,
     .no_gradient = "the function is not known",
     .batch = batching::loop});

const Op& kEagerPyFunc = define_op(
    "EagerPyFunc(input: Tin; token: string, is_async: bool = false, Tin: list(type) >= 0, Tout: list(type) >= 0) -> "
    "(output: Tout)",
    {.doc = "PyFunc of a function of tensors, which all are here. `is_async` changes nothing.",
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = nothing_known,
     .no_gradient = "the function is not known",
     .batch = batching::loop});

}  // namespace panto
