// FunctionBody: a function that ops call through an attribute of type func, such as the branches of If or the body of
// While.
//
// This is the part that ops, the dispatcher and recorders need. The graph of a function is in
// lib/graph/functions/graph_function.h. Calling a function under recorders and differentiating it is done by trace/,
// which registers a FunctionRuntime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct Call;

// Immutable.
class PANTO_EXPORT FunctionBody : public std::enable_shared_from_this<FunctionBody> {
 public:
  FunctionBody();
  FunctionBody(const FunctionBody&) = delete;
  FunctionBody& operator=(const FunctionBody&) = delete;
  virtual ~FunctionBody();

  virtual const std::string& name() const noexcept = 0;
  virtual std::span<const DType> input_types() const noexcept = 0;
  virtual std::span<const DType> output_types() const noexcept = 0;
  // The effects of a call besides its outputs: bits of Effect::What.
  virtual uint8_t effects() const noexcept = 0;
  // How many times an op that calls the function can be differentiated as a whole. Each time needs a version of the
  // function that also returns what its gradient needs.
  virtual int gradient_orders() const noexcept = 0;
  // Infers what is known of the outputs from the inputs, which are symbolic or real tensors. Throws InvalidArgument if
  // the inputs do not fit.
  virtual std::vector<Tensor> infer(std::span<const Tensor* const> inputs) const = 0;
};

// Functions that find each other by name: a function that calls itself cannot own its own body.
class PANTO_EXPORT FunctionLibrary {
 public:
  FunctionLibrary();
  FunctionLibrary(const FunctionLibrary&) = delete;
  FunctionLibrary& operator=(const FunctionLibrary&) = delete;
  virtual ~FunctionLibrary();
  // Throws NotFound if there is no function of that name. Thread-safe.
  virtual std::shared_ptr<const FunctionBody> find(const std::string& name) const = 0;
};

// The body of a function that an attribute names. Throws NotFound if only the name is known.
PANTO_EXPORT std::shared_ptr<const FunctionBody> body_of(const FunctionRef& function);

// True if calls of this op run functions that its attributes name.
inline bool calls_functions(const Op& op) noexcept { return op.kind() >= OpKind::kCall && op.kind() <= OpKind::kLoop; }

// The minimum of gradient_orders over the functions that a call runs.
PANTO_EXPORT int gradient_orders(const Call& call);
// How many times active tapes may differentiate a call that is made now.
PANTO_EXPORT int wanted_gradient_orders();

// The services of trace/ for ops that call functions.
class PANTO_EXPORT FunctionRuntime {
 public:
  virtual ~FunctionRuntime();
  // Calls a function as this thread's recorders require: its plan, or its ops one by one. `outputs`: undefined handles,
  // one for each output of the function.
  virtual void call(const FunctionBody& body, std::span<const Tensor* const> inputs,
                    std::span<Tensor> outputs) const = 0;
  // Computes the gradients of a function's inputs from the gradients of its outputs, as SymbolicGradient does.
  // `outputs`: undefined handles, one for each input. The gradient is zero if no output depends on an input.
  virtual void gradient(const FunctionBody& body, std::span<const Tensor* const> inputs,
                        std::span<const Tensor* const> output_gradients, std::span<Tensor> outputs) const = 0;
  // The gradients of ops that call functions. A node has one only if it was prepared for that: its functions then also
  // return what their gradients need.
  virtual void cond_gradient(GradContext& g) const = 0;
  virtual void loop_gradient(GradContext& g) const = 0;
  // For a traced conditional or loop that tapes want to differentiate more times than its functions allow: calls
  // versions of the functions that allow it. Returns as many outputs as the call has.
  virtual std::vector<Tensor> call_for_gradients(CompositeContext& c) const = 0;
  // The rules for vmap and jvp of these ops.
  virtual void batch(BatchContext& c) const = 0;
  virtual void jvp(JvpContext& c) const = 0;

  static const FunctionRuntime& get();
  // Called once, while the library is loaded; `runtime` must live forever.
  static void enter(const FunctionRuntime* runtime) noexcept;
};

}  // namespace panto
