// FunctionBody: a function that ops call by an attribute of type func: the branches of If, the body of While.
//
// What is here is what ops, the dispatcher and recorders need to know of one. Its graph is in
// lib/graph/functions/graph_function.h; calling it under recorders, and differentiating it, is the work of trace/,
// which enters a FunctionRuntime.
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
  // What a call does besides making its outputs: bits of Effect::What.
  virtual uint8_t effects() const noexcept = 0;
  // How often an op that calls it can be differentiated as a whole: once for each time that it was made to give what
  // its gradient needs, too.
  virtual int gradient_orders() const noexcept = 0;
  // What is known of the outputs, from what is known of the inputs: symbolic tensors, or real ones. Throws
  // InvalidArgument where the inputs do not fit.
  virtual std::vector<Tensor> infer(std::span<const Tensor* const> inputs) const = 0;
};

// Functions that know each other by name: one that calls itself cannot own its own body.
class PANTO_EXPORT FunctionLibrary {
 public:
  FunctionLibrary();
  FunctionLibrary(const FunctionLibrary&) = delete;
  FunctionLibrary& operator=(const FunctionLibrary&) = delete;
  virtual ~FunctionLibrary();
  // Throws NotFound if there is none of that name. Thread-safe.
  virtual std::shared_ptr<const FunctionBody> find(const std::string& name) const = 0;
};

// The body of a function that an attribute names. Throws NotFound if nothing but the name is known.
PANTO_EXPORT std::shared_ptr<const FunctionBody> body_of(const FunctionRef& function);

// Whether calls of this op run functions that its attributes name.
inline bool calls_functions(const Op& op) noexcept { return op.kind() >= OpKind::kCall && op.kind() <= OpKind::kLoop; }

// The least gradient_orders of the functions that a call calls.
PANTO_EXPORT int gradient_orders(const Call& call);
// How often tapes that listen may differentiate what is called now.
PANTO_EXPORT int wanted_gradient_orders();

// What trace/ does for ops that call functions.
class PANTO_EXPORT FunctionRuntime {
 public:
  virtual ~FunctionRuntime();
  // Calls a function as the recorders of this thread ask: its plan, or the ops that it is made of. `outputs`: undefined
  // handles, as many as it has outputs.
  virtual void call(const FunctionBody& body, std::span<const Tensor* const> inputs,
                    std::span<Tensor> outputs) const = 0;
  // The gradients of a function's inputs from those of its outputs: what SymbolicGradient gives. `outputs`: undefined
  // handles, one for each input. Zeros where nothing depends on an input.
  virtual void gradient(const FunctionBody& body, std::span<const Tensor* const> inputs,
                        std::span<const Tensor* const> output_gradients, std::span<Tensor> outputs) const = 0;
  // The gradients of ops that call functions. Only a node that was made ready for it has one: the functions that it
  // calls then give what their gradients need.
  virtual void cond_gradient(GradContext& g) const = 0;
  virtual void loop_gradient(GradContext& g) const = 0;
  // In a trace, of a conditional or a loop that tapes want to differentiate more often than its functions allow: the
  // call of functions that allow it. As many outputs as the call has.
  virtual std::vector<Tensor> call_for_gradients(CompositeContext& c) const = 0;
  // Their rules for vmap and jvp.
  virtual void batch(BatchContext& c) const = 0;
  virtual void jvp(JvpContext& c) const = 0;

  static const FunctionRuntime& get();
  // Once, while the library is loaded; `runtime` lives for ever.
  static void enter(const FunctionRuntime* runtime) noexcept;
};

}  // namespace panto
