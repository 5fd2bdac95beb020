// Send and Recv, through the step's rendezvous.

#include <utility>

#include "panto/device/cpu/kernel.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/async.h"
#include "panto/lib/core/step/rendezvous.h"

namespace panto {
namespace {

const std::shared_ptr<Rendezvous>& rendezvous_of(const KernelContext& c) {
  const std::shared_ptr<Rendezvous>& found = c.step().rendezvous;
  if (found == nullptr) {
    fail(Code::kFailedPrecondition, "step: expected a rendezvous, at which values are sent and received, got none");
  }
  return found;
}

// The key in TensorFlow's form: "sender;incarnation;receiver;name;frame:iteration", the incarnation in 16 hex digits.
std::string key_of(const KernelContext& c) {
  return fmt::format("{};{:016x};{};{};{}:{}", c.text("send_device"),
                     static_cast<uint64_t>(c.integer("send_device_incarnation")), c.text("recv_device"),
                     c.text("tensor_name"), c.step().frame, c.step().iteration);
}

void run_send(KernelContext& c) { rendezvous_of(c)->send(key_of(c), c.in(0)); }

void start_receive(const std::shared_ptr<AsyncContext>& c, Done done) {
  const std::shared_ptr<Rendezvous>& rendezvous = rendezvous_of(*c);
  const std::string key = key_of(*c);
  const uint64_t waiting = rendezvous->receive(key, [c, done, key](const Tensor& value, std::exception_ptr error) {
    if (error) return done(std::move(error));
    try {
      const DType expected = c->type("tensor_type");
      if (value.dtype() != expected) {
        invalid("tensor '{}': expected {}, got {} sent", key, dtype_name(expected), dtype_name(value.dtype()));
      }
      const bool moves = &value.device() != &c->device() && is_plain(value.dtype());
      c->set_out(0, moves ? copy_to_device(value, c->device()) : value);
      done();
    } catch (...) {
      done(std::current_exception());
    }
  });
  c->step().cancellation->watch([rendezvous, waiting] { rendezvous->forget(waiting); });
}

const CpuKernel send_kernel("_Send", dtypes::kAny, run_send);
const CpuKernel host_send_kernel("_HostSend", dtypes::kAny, run_send);
const CpuKernel recv_kernel("_Recv", dtypes::kAny, Kernel{.start = start_receive});
const CpuKernel host_recv_kernel("_HostRecv", dtypes::kAny, Kernel{.start = start_receive});

}  // namespace
}  // namespace panto
