// dispatch: the one entrance for all op calls, whether eager, taped or traced, from a typed function, a graph or a
// plug-in:
//
//   bind attributes and types -> infer shapes -> place -> ask recorders what they keep
//     -> allocate (or take over a donated input) -> run the kernel -> tell the recorders
//
// `call` does all of it. `prepare` does the part that does not depend on values once; `run` does the rest, without
// recorders. A step of an executor is a prepared call.
#pragma once

#include <memory>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/call/call.h"

namespace panto {
class StartedCall;
}

namespace panto::dispatch {

using Outputs = SmallVector<Tensor, 2>;

// Calls take pointers to their inputs, so that they need no handles of their own.
inline SmallVector<const Tensor*, 8> pointers_to(std::span<const Tensor> tensors) {
  SmallVector<const Tensor*, 8> pointers;
  for (const Tensor& t : tensors) pointers.push_back(&t);
  return pointers;
}

// Storage for inferred attributes that are lists.
struct BindStorage {
  SmallVector<DType, 8> types;
};

struct CallOptions {
  const std::source_location* where = nullptr;
  std::string_view node_name = {};  // for the tracer and error context
  Device* device = nullptr;         // null: decided by device scope and inputs
  uint64_t donated = 0;             // bit i: input i is a temporary that the caller gives away
};

// Inputs are flat; `attrs` is by signature position, and inferred and defaulted attributes may be unset. Throws Error
// with the op, the inputs' shapes and dtypes and the user's line as context.
PANTO_EXPORT Outputs call(const Op& op, std::span<const Tensor* const> inputs, std::span<const AttrSlot> attrs,
                          const CallOptions& options = {});
// Runs the body of a composite even if it has kernels; recorders hear the calls of the body.
PANTO_EXPORT Outputs call_body(const Op& composite, std::span<const Tensor* const> inputs,
                               std::span<const AttrSlot> attrs, const CallOptions& options = {});
// By op name, with owned attributes: for importers, tests and tools. Throws InvalidArgument for unknown attributes.
PANTO_EXPORT Outputs call(std::string_view op, std::span<const Tensor> inputs,
                          std::span<const std::pair<std::string, AttrValue>> attrs = {});

// ---- Entrance of the typed functions (called by generated code) ----------------------------------------------------
// Literals take the dtype of the tensors beside them, variables are read, mixed dtypes are promoted and cast.
// An argument is an Arg* or an ArgList*.
struct TypedArg {
  Arg* arg = nullptr;
  const ArgList* list = nullptr;
  TypedArg(Arg* a) : arg(a) {}             // NOLINT(google-explicit-constructor)
  TypedArg(const ArgList* l) : list(l) {}  // NOLINT(google-explicit-constructor)
};
PANTO_EXPORT Outputs call_typed(const Op& op, std::span<TypedArg> args, std::span<AttrSlot> attrs,
                                const std::source_location& where);
// For ops with one output and no lists: the common case.
PANTO_EXPORT Tensor call_typed_1(const Op& op, std::span<Arg* const> args, std::span<AttrSlot> attrs);

// ---- Prepared calls ------------------------------------------------------------------------------------------------
class PANTO_EXPORT Prepared {
 public:
  const Op& op() const { return *op_; }
  Device& device() const { return *device_; }
  // The device whose memory will hold output k.
  Device& output_device(size_t k) const;
  std::span<const AttrSlot> attrs() const { return {slots_.data(), slots_.size()}; }
  // Inferred from the input specs given to `prepare`; unknown dimensions if those had some.
  std::span<const OutputSpec> specs() const { return {specs_.data(), specs_.size()}; }
  bool static_shapes() const { return static_shapes_; }
  // True if the kernel is asynchronous: it starts, and reports later that it is done. `run` waits for that.
  bool asynchronous() const { return kernel_.start != nullptr; }
  const std::string& node_name() const { return node_name_; }
  // The state that the kernel's prepare function made. Another prepared call of the same graph node may continue with
  // it.
  const std::shared_ptr<KernelState>& state() const { return state_; }
  void set_state(std::shared_ptr<KernelState> state) { state_ = std::move(state); }

 private:
  friend PANTO_EXPORT std::shared_ptr<Prepared> prepare(const Op&, std::span<const Tensor>, std::span<const AttrValue>,
                                                        Device&, std::string_view);
  friend PANTO_EXPORT void run(const Prepared&, const Step&, std::span<const Tensor* const>, std::span<Tensor>,
                               uint64_t);
  friend PANTO_EXPORT std::shared_ptr<StartedCall> start(const Prepared&, const Step&, std::span<const Tensor* const>,
                                                         Callable<void()>);
  friend PANTO_EXPORT void finish(const Prepared&, StartedCall&, std::span<Tensor>);
  // The part of `run` and `start` before the kernel.
  void begin(Call& call, const Step& step, std::span<const Tensor* const> inputs) const;
  void make_outputs(Call& call, size_t count, uint64_t donated, bool given) const;
  void add_context(Error& error, const Call& call) const;
  const Op* op_ = nullptr;
  Device* device_ = nullptr;
  Kernel kernel_;
  std::vector<AttrValue> values_;
  SmallVector<AttrSlot, 4> slots_;  // borrow from values_
  SmallVector<OutputSpec, 1> specs_;
  std::shared_ptr<KernelState> state_;
  BindStorage storage_;
  // Device and number of elements of output k, if shapes are known and the dispatcher allocates the outputs.
  struct Allocation {
    Device* device = nullptr;
    int64_t numel = 0;
  };
  SmallVector<Allocation, 1> allocations_;
  bool allocated_ = false;  // allocations_ is filled in
  bool static_shapes_ = false;
  std::string node_name_;
};

// The device whose memory holds output k of an op that runs on `device`: `device`, or the host for outputs marked
// @host.
PANTO_EXPORT Device& output_device(const Op& op, size_t k, Device& device);

// `inputs`: META tensors (or real ones, for constants) with the dtypes and what is known of the shapes. `attrs`: by
// signature position, all set or defaulted. Throws like `call`; Unimplemented if there is no kernel.
PANTO_EXPORT std::shared_ptr<Prepared> prepare(const Op& op, std::span<const Tensor> inputs,
                                               std::span<const AttrValue> attrs, Device& device,
                                               std::string_view node_name);
// Runs the call for `step`. Outputs that are defined on entry are written to (they must have the inferred dtype and
// shape and no other owner); others are allocated. Bit i of `donated`: the caller gives input i away. Records nothing.
PANTO_EXPORT void run(const Prepared& prepared, const Step& step, std::span<const Tensor* const> inputs,
                      std::span<Tensor> outputs, uint64_t donated = 0);
// Starts a call with an asynchronous kernel, and does not wait for it. `ended` is called as by StartedCall
// (lib/core/step/async.h); after that `finish` returns the outputs. Both throw as `run` does.
PANTO_EXPORT std::shared_ptr<StartedCall> start(const Prepared& prepared, const Step& step,
                                                std::span<const Tensor* const> inputs, Callable<void()> ended);
PANTO_EXPORT void finish(const Prepared& prepared, StartedCall& started, std::span<Tensor> outputs);

}  // namespace panto::dispatch
