// Tensors that a session keeps between runs, under handles; and counter variables.

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/variable_checks.h"
#include "panto/ops/state.h"

namespace panto {
namespace {

// A handle refers to a single tensor, so it cannot be batched.
void one_handle(BatchContext&) {
  fail(Code::kUnimplemented, "handle: expected the same for all examples of vmap, got a batch");
}

}  // namespace

const Op& kGetSessionHandle = define_op(
    "GetSessionHandle(value: T; T: type) -> (handle: string)",
    {.doc = "Keeps `value` in the session, and gives the name by which GetSessionTensor finds it in later runs. It is "
            "kept until DeleteSessionTensor, or as long as the session's resources.",
     .effects = {effects::external()},
     .shape = shapes::scalar,
     .no_gradient = "a handle has none",
     .batch = one_handle});

const Op& kGetSessionHandleV2 =
    define_op("GetSessionHandleV2(value: T; T: type) -> (handle: resource)",
              {.doc = "Keeps `value` in the session, as GetSessionHandle does, and gives a resource that has it.",
               .cpp = "get_session_resource",
               .traits = {Trait::kSelfAllocating},
               .effects = {effects::external(), effects::allocates(0)},
               .shape = shapes::scalar,
               .no_gradient = "a handle has none",
               .batch = one_handle});

const Op& kGetSessionTensor = define_op("GetSessionTensor(handle: string; dtype: type) -> (value: dtype)",
                                        {.doc = "The tensor that the session keeps by that handle.",
                                         .traits = {Trait::kSelfAllocating},
                                         .effects = {effects::external()},
                                         .shape =
                                             [](ShapeContext& c) {
                                               c.expect_scalar(0);
                                               c.output(PartialShape());
                                             },
                                         .no_gradient = "the tensor was made in another run",
                                         .batch = one_handle});

const Op& kDeleteSessionTensor = define_op(  //
    "DeleteSessionTensor(handle: string) -> ()", {.doc = "The session keeps the tensor of that handle no more.",
                                                  .effects = {effects::external()},
                                                  .shape = [](ShapeContext& c) { c.expect_scalar(0); },
                                                  .no_gradient = "it has no outputs",
                                                  .batch = one_handle});

const Op& kResourceCountUpTo = define_op(
    "ResourceCountUpTo(resource: resource; limit: int, T: int32|int64) -> (output: T)",
    {.doc = "Adds 1 to a scalar variable, and gives the value that it had. Where that is `limit`, OutOfRange instead.",
     .effects = {effects::updates(0)},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           shapes::scalar(c);
           if (!c.symbolic()) return;
           const TensorImpl& handle = *c.in(0).impl();
           if (handle.meta == nullptr || handle.meta->handle == nullptr) return;
           expect_variable_dtype(handle.meta->handle->dtype, c.type("T"));
           expect_variable_shape(handle.meta->handle->shape, Shape{}, "resource");
         },
     .no_gradient = "it counts in integers"});

}  // namespace panto
