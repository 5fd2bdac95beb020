// dispatch: the one door. Every op, eager, taped or traced, from a typed function, a graph or a plug-in, goes through
// here:
//
//   bind attributes and types -> infer shapes -> place -> ask recorders what they keep
//     -> allocate (or take over a donated input) -> run the kernel -> tell the recorders
//
// `call` does all of it. `prepare` does once what does not depend on values, `run` the rest, without recorders: a step
// of an executor is a prepared call.
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

// Calls take their inputs by address: they need no handles of their own.
inline SmallVector<const Tensor*, 8> pointers_to(std::span<const Tensor> tensors) {
  SmallVector<const Tensor*, 8> pointers;
  for (const Tensor& t : tensors) pointers.push_back(&t);
  return pointers;
}

// Memory behind inferred attributes that are lists.
struct BindStorage {
  SmallVector<DType, 8> types;
};

struct CallOptions {
  const std::source_location* where = nullptr;
  std::string_view node_name = {};  // for the tracer and error context
  Device* device = nullptr;         // null: by scope and inputs
  uint64_t donated = 0;             // bit i: input i is a temporary of the caller's
};

// By flat inputs; `attrs` by signature position, inferred and defaulted ones may be unset. Throws Error with the op,
// the inputs' shapes and dtypes and the user's line as context.
PANTO_EXPORT Outputs call(const Op& op, std::span<const Tensor* const> inputs, std::span<const AttrSlot> attrs,
                          const CallOptions& options = {});
// What the body of a composite makes, whatever kernels there are; who listens hears the calls of the body.
PANTO_EXPORT Outputs call_body(const Op& composite, std::span<const Tensor* const> inputs,
                               std::span<const AttrSlot> attrs, const CallOptions& options = {});
// By name, with owned attributes: for importers, tests and tools. Unknown attributes throw InvalidArgument.
PANTO_EXPORT Outputs call(std::string_view op, std::span<const Tensor> inputs,
                          std::span<const std::pair<std::string, AttrValue>> attrs = {});

// ---- The typed functions' entrance (what the generated code calls) -------------------------------------------------
// Literals take the type of the tensors they stand beside, variables are read, mixed types are promoted and cast.
// An argument is an Arg* or an ArgList*.
struct TypedArg {
  Arg* arg = nullptr;
  const ArgList* list = nullptr;
  TypedArg(Arg* a) : arg(a) {}             // NOLINT(google-explicit-constructor)
  TypedArg(const ArgList* l) : list(l) {}  // NOLINT(google-explicit-constructor)
};
PANTO_EXPORT Outputs call_typed(const Op& op, std::span<TypedArg> args, std::span<AttrSlot> attrs,
                                const std::source_location& where);
// One output, no lists: the common case.
PANTO_EXPORT Tensor call_typed_1(const Op& op, std::span<Arg* const> args, std::span<AttrSlot> attrs);

// ---- Prepared calls ------------------------------------------------------------------------------------------------
class PANTO_EXPORT Prepared {
 public:
  const Op& op() const { return *op_; }
  Device& device() const { return *device_; }
  // In whose memory output k will be.
  Device& output_device(size_t k) const;
  std::span<const AttrSlot> attrs() const { return {slots_.data(), slots_.size()}; }
  // Inferred from the input specs given to `prepare`; unknown where those were.
  std::span<const OutputSpec> specs() const { return {specs_.data(), specs_.size()}; }
  bool static_shapes() const { return static_shapes_; }
  // Its kernel starts, and says later that it is done; `run` waits for that.
  bool asynchronous() const { return kernel_.start != nullptr; }
  const std::string& node_name() const { return node_name_; }
  // What the kernel's prepare part made. Another prepared call of the same graph node may go on with it.
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
  // What `run` and `start` do before the kernel.
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
  // Where output k goes, and its elements: of calls with known shapes whose outputs the dispatcher allocates.
  struct Allocation {
    Device* device = nullptr;
    int64_t numel = 0;
  };
  SmallVector<Allocation, 1> allocations_;
  bool allocated_ = false;  // it is such a call
  bool static_shapes_ = false;
  std::string node_name_;
};

// In whose memory output k of an op is that runs on `device`: there, or where the op says so, the host's.
PANTO_EXPORT Device& output_device(const Op& op, size_t k, Device& device);

// `inputs`: META tensors (or real ones, for constants) that tell dtypes and what is known of shapes; `attrs` by
// signature position, all set or defaulted. Throws like `call`; Unimplemented if there is no kernel.
PANTO_EXPORT std::shared_ptr<Prepared> prepare(const Op& op, std::span<const Tensor> inputs,
                                               std::span<const AttrValue> attrs, Device& device,
                                               std::string_view node_name);
// Runs it for `step`. Outputs that are defined on entry are written to (they must have the inferred dtype and shape and
// be seen by nobody else), others are allocated; bit i of `donated`: the caller gives input i away. Records nothing.
PANTO_EXPORT void run(const Prepared& prepared, const Step& step, std::span<const Tensor* const> inputs,
                      std::span<Tensor> outputs, uint64_t donated = 0);
// Starts a call whose kernel is asynchronous and does not wait for it. `ended` is as StartedCall's
// (lib/core/step/async.h); after it `finish` gives the outputs. Both throw as `run` does.
PANTO_EXPORT std::shared_ptr<StartedCall> start(const Prepared& prepared, const Step& step,
                                                std::span<const Tensor* const> inputs, Callable<void()> ended);
PANTO_EXPORT void finish(const Prepared& prepared, StartedCall& started, std::span<Tensor> outputs);

}  // namespace panto::dispatch
