// Send and Recv: pass values between parts of a step through a rendezvous. TensorFlow inserts them where it partitions
// a graph.

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/ops/state.h"

namespace panto {
namespace {

// The Recv waits for one value and does not know of the batch.
void one_value(BatchContext&) {
  fail(Code::kUnimplemented, "tensor: expected the same for all examples of vmap, got a batch");
}

}  // namespace

const Op& kSend = define_op(
    "_Send(tensor: T; T: type, tensor_name: string, send_device: string, send_device_incarnation: int, "
    "recv_device: string, client_terminated: bool = false) -> ()",
    {.doc = "Leaves `tensor` at the step's rendezvous for the _Recv with the same attributes, in the same round of the "
            "same loop. Without a rendezvous it is FailedPrecondition.",
     .cpp = "send_tensor",
     .kind = OpKind::kSend,
     .effects = {effects::external()},
     .shape = [](ShapeContext&) {},
     .in_tensorflow = true,
     .no_gradient = "what it sends goes elsewhere",
     .batch = one_value});

const Op& kRecv = define_op(
    "_Recv(; tensor_type: type, tensor_name: string, send_device: string, send_device_incarnation: int, "
    "recv_device: string, client_terminated: bool = false) -> (tensor: tensor_type)",
    {.doc = "The tensor that the _Send with the same attributes leaves at the step's rendezvous: waits until it is "
            "there.",
     .cpp = "receive_tensor",
     .kind = OpKind::kReceive,
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { c.output(PartialShape()); },
     .in_tensorflow = true,
     .no_gradient = "what it receives comes from elsewhere"});

const Op& kHostSend = define_op(
    "_HostSend(tensor: T @host; T: type, tensor_name: string, send_device: string, send_device_incarnation: int, "
    "recv_device: string, client_terminated: bool = false) -> ()",
    {.doc = "_Send of a tensor in host memory.",
     .cpp = "send_host_tensor",
     .kind = OpKind::kSend,
     .effects = {effects::external()},
     .shape = [](ShapeContext&) {},
     .in_tensorflow = true,
     .no_gradient = "what it sends goes elsewhere",
     .batch = one_value});

const Op& kHostRecv = define_op(
    "_HostRecv(; tensor_type: type, tensor_name: string, send_device: string, send_device_incarnation: int, "
    "recv_device: string, client_terminated: bool = false) -> (tensor: tensor_type @host)",
    {.doc = "_Recv of a tensor into host memory.",
     .cpp = "receive_host_tensor",
     .kind = OpKind::kReceive,
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::external()},
     .shape = [](ShapeContext& c) { c.output(PartialShape()); },
     .in_tensorflow = true,
     .no_gradient = "what it receives comes from elsewhere"});

}  // namespace panto
