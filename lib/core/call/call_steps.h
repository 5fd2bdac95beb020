// The stages of a call: infer shapes, find a kernel, allocate outputs, run the kernel. Shared by eager calls
// (dispatch.cc) and prepared calls (prepared.cc). Internal. All inline, because a small call's instructions are
// counted.
#pragma once

#include <span>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/bind.h"
#include "panto/lib/core/call/composite.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/resource.h"

namespace panto::dispatch {

void link(const Op& op);
[[noreturn]] void missing_kernel(const Op& op, DeviceKind kind, DType primary);

[[gnu::always_inline]] inline void ensure_linked(const Op& op) {
  if (!op.linked()) [[unlikely]]
    link(op);
}

inline void infer(Call& call) {
  bind_outputs(call);
  if (call.op->shape() == nullptr) [[unlikely]]
    return infer_from_body(call);  // a composite
  ShapeContext context(call);
  call.op->shape()(context);
}

inline DType primary_type(const Call& call) {
  const int p = call.op->primary_attr();
  return p < 0 ? DType::kInvalid : call.attrs[static_cast<size_t>(p)].t;
}

inline const Kernel& find_kernel(const Call& call) {
  const DType primary = primary_type(call);
  const Kernel& kernel = call.op->kernel(call.device->kind(), primary);
  if (kernel.run == nullptr) [[unlikely]] {
    // A constant's value is in the program: the CPU kernel can return it for any device.
    if (call.op->is(OpKind::kConstant)) return call.op->kernel(DeviceKind::kCpu, primary);
    missing_kernel(*call.op, call.device->kind(), primary);
  }
  return kernel;
}

// Reuses the memory of a donated input for output 0 if shape and dtype are the same and the tensor has no other owner.
inline bool take_over(Call& call, uint64_t donated, bool recorded, DType dtype, const PartialShape& shape) {
  for (size_t i = 0; donated != 0 && i < call.inputs.size(); ++i, donated >>= 1) {
    if ((donated & 1) == 0) continue;
    const Tensor& t = *call.inputs[i];
    if (t.dtype() != dtype || &t.device() != call.device || !is_plain(dtype) || !exclusively_owned(t) ||
        !(t.partial_shape() == shape)) {
      continue;
    }
    if (!recorded) {
      // No other code has seen the handle: it becomes the output's handle, with a new id.
      call.outputs[0] = t;
      t.impl()->id = next_tensor_id();
      t.impl()->literal = false;
      return true;
    }
    if (t.impl()->buffer == nullptr) continue;  // recorders need the input's id: the output needs its own header
    call.outputs[0] = view_tensor(t, t.shape());
    return true;
  }
  return false;
}

// Outputs marked @host stay in host memory (ops with output lists have no such outputs).
[[gnu::always_inline]] inline Device& device_of_output(const Op& op, size_t output, Device& device) {
  const auto& outputs = op.signature().outputs;
  return output < outputs.size() && outputs[output].host && !device.host_memory() ? cpu_device() : device;
}

inline void allocate(Call& call, std::span<const OutputSpec> specs, uint64_t donated, bool recorded) {
  size_t first = 0;
  const Op& op = *call.op;
  if (donated != 0 && !specs.empty() && !call.outputs[0].defined() &&
      (op.has(Trait::kElementwise) || op.is(OpKind::kFusedLoop) || op.has(Trait::kReusesInput0))) {
    if (op.has(Trait::kReusesInput0)) donated &= 1;
    if (take_over(call, donated, recorded, specs[0].dtype, specs[0].shape)) first = 1;
  }
  for (size_t k = first; k < specs.size(); ++k) {
    if (call.outputs[k].defined()) continue;
    const OutputSpec& spec = specs[k];
    const int64_t numel = spec.shape.numel();
    if (numel < 0) [[unlikely]] {
      failf(Code::kInternal, "output {}: expected a known shape from the shape function, got {}", k,
            spec.shape.to_string());
    }
    Device& device = device_of_output(op, k, *call.device);
    call.outputs[k] = allocate_tensor(device, spec.dtype, static_cast<const Shape&>(spec.shape), numel);
  }
}

inline bool any_elsewhere(const Call& call) {
  for (const Tensor* t : call.inputs) {
    if (t->impl()->device != call.device) return true;
  }
  return false;
}

inline void run_kernel(Call& call, const Kernel& kernel) {
  KernelContext context(call);
  kernel.run(context);
}

// True if all inputs have one known shape: then the shape function of an elementwise op need not run.
[[gnu::always_inline]] inline bool same_known_shapes(const Call& call) {
  if (call.inputs.empty()) return false;
  const TensorImpl& first = *call.inputs[0]->impl();
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    const TensorImpl& other = *call.inputs[i]->impl();
    if (other.numel != first.numel || !(other.shape == first.shape)) return false;
  }
  return true;
}

// Of two inputs that broadcast, one a scalar: the other one, whose shape the output has. Null otherwise.
[[gnu::always_inline]] inline const Tensor* beside_scalar(const Call& call) {
  if (call.inputs.size() != 2 || !call.op->has(Trait::kBroadcasts)) return nullptr;
  const auto is_scalar = [&](size_t i) { return call.inputs[i]->impl()->shape.rank() == 0; };
  return is_scalar(1) ? call.inputs[0] : is_scalar(0) ? call.inputs[1] : nullptr;
}

}  // namespace panto::dispatch
