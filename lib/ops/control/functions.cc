// Ops that call functions: conditionals, loops and plain calls.
//
// Each is a composite: under a tape that tracks an input, and inside a transform, its body's calls run one by one.
// While a graph is built it is one node. In a plan, conditionals and loops have kernels (lib/runtime/control), so that
// only branches that are taken are compiled; calls are replaced by the nodes of their function.
#include <algorithm>
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/control/control.h"
#include "panto/ops/control.h"

namespace panto {
namespace {

SmallVector<const Tensor*, 8> inputs_from(const CallView& c, int first) {
  SmallVector<const Tensor*, 8> inputs;
  for (int i = first; i < c.num_inputs(); ++i) inputs.push_back(&c.in(i));
  return inputs;
}

// Calls a function whose output types have been checked.
std::vector<Tensor> call_body_of(const FunctionBody& body, std::span<const Tensor* const> inputs) {
  std::vector<Tensor> outputs(body.output_types().size());
  FunctionRuntime::get().call(body, inputs, outputs);
  return outputs;
}

std::vector<Tensor> call_function(const FunctionRef& function, std::span<const Tensor* const> inputs,
                                  std::span<const DType> types) {
  const std::shared_ptr<const FunctionBody> body = body_of(function);
  detail::expect_outputs(*body, types);
  return call_body_of(*body, inputs);
}

void set_all(CompositeContext& c, std::vector<Tensor> outputs) {
  for (size_t k = 0; k < outputs.size(); ++k) c.set_out(static_cast<int>(k), std::move(outputs[k]));
}

// Merges in the output shapes that a file declares.
void merge_output_shapes(ShapeContext& c, std::vector<PartialShape>& shapes) {
  const std::span<const PartialShape> said = c.shapes("output_shapes");
  if (said.size() != shapes.size()) return;
  for (size_t k = 0; k < shapes.size(); ++k) {
    if (shapes[k].compatible_with(said[k])) shapes[k] = shapes[k].merged_with(said[k]);
  }
}

// The function's abstract outputs for these inputs. nullopt if it does not take such inputs: then another function is
// called, or the call fails.
std::optional<std::vector<Tensor>> known_outputs(const FunctionBody& body, std::span<const Tensor* const> inputs) {
  const auto same = [](const Tensor* t, DType type) { return t->dtype() == type; };
  const bool types_fit = std::ranges::equal(inputs, body.input_types(), same);
  try {
    return body.infer(inputs);
  } catch (const Error& error) {
    if (error.code() != Code::kInvalidArgument || !types_fit) throw;
    return std::nullopt;
  }
}

// The shape function of ops that call one of `functions`: outputs have what all functions have in common.
void branches_shape(ShapeContext& c, std::span<const FunctionRef> functions) {
  if (!c.symbolic()) return;  // the plan of the branch that is taken checks the shapes
  std::vector<PartialShape> shapes;
  bool first = true;
  for (const FunctionRef& function : functions) {
    if (function.body == nullptr) {  // a recursive function
      shapes.assign(static_cast<size_t>(c.num_outputs()), {});
      first = false;
      continue;
    }
    detail::expect_outputs(*function.body, c.types("Tout"));
    const std::optional<std::vector<Tensor>> known = known_outputs(*function.body, inputs_from(c, 1));
    if (!known) {
      shapes.assign(static_cast<size_t>(c.num_outputs()), {});
      first = false;
      continue;
    }
    const std::vector<Tensor>& outputs = *known;
    if (first) {
      for (const Tensor& t : outputs) shapes.push_back(t.partial_shape());
    } else {
      for (size_t k = 0; k < shapes.size(); ++k)
        shapes[k] = detail::known_of_both(shapes[k], outputs[k].partial_shape());
    }
    first = false;
  }
  merge_output_shapes(c, shapes);
  for (size_t k = 0; k < shapes.size(); ++k) c.output(static_cast<int>(k), std::move(shapes[k]));
}

void cond_shape(ShapeContext& c) {
  const FunctionRef branches[] = {c.function("then_branch"), c.function("else_branch")};
  branches_shape(c, branches);
}

void case_shape(ShapeContext& c) {
  c.expect_scalar(0);
  if (c.functions("branches").empty()) c.invalid("branches: expected at least one, got none");
  branches_shape(c, c.functions("branches"));
}

void loop_shape(ShapeContext& c) {
  if (!c.symbolic()) return;
  const FunctionRef& body = c.function("body");
  const FunctionRef& condition = c.function("cond");
  if (body.body == nullptr || condition.body == nullptr) return;
  SmallVector<const Tensor*, 8> inputs = inputs_from(c, 0);
  detail::expect_outputs(*body.body, c.types("T"));
  detail::expect_condition(*condition.body);
  // What holds before the first round and after every round.
  std::vector<Tensor> values = detail::loop_invariant(*body.body, inputs);
  condition.body->infer(dispatch::pointers_to(values));
  std::vector<PartialShape> shapes;
  for (const Tensor& t : values) shapes.push_back(t.partial_shape());
  merge_output_shapes(c, shapes);
  for (size_t k = 0; k < shapes.size(); ++k) c.output(static_cast<int>(k), std::move(shapes[k]));
}

void call_shape(ShapeContext& c) {
  const FunctionRef& function = c.function("f");
  if (function.body == nullptr) return;
  detail::expect_outputs(*function.body, c.types("Tout"));
  const std::vector<Tensor> outputs = function.body->infer(inputs_from(c, 0));
  for (size_t k = 0; k < outputs.size(); ++k) {
    c.output(static_cast<int>(k), outputs[k].partial_shape());
    if (!c.symbolic()) continue;
    if (auto values = known_integers(outputs[k])) c.output_values(static_cast<int>(k), std::move(*values));
    if (outputs[k].is_meta() && outputs[k].impl()->meta->handle != nullptr) {
      c.output_handle(static_cast<int>(k), outputs[k].impl()->meta->handle);
    }
  }
}

// Whether a trace under tapes records the call: it then needs a node with a gradient, as nothing can be called now.
bool is_recorded_for_gradients(const CompositeContext& c) {
  const auto inputs = inputs_from(c, 0);
  const bool symbolic =
      symbolic_recorder() != nullptr || std::ranges::any_of(inputs, [](const Tensor* t) { return t->is_meta(); });
  return symbolic && gradient_orders(c.call()) < wanted_gradient_orders();
}

void cond_body(CompositeContext& c) {
  if (is_recorded_for_gradients(c)) return set_all(c, FunctionRuntime::get().call_for_gradients(c));
  const bool taken = detail::is_true(c.in(0));
  set_all(c, call_function(taken ? c.function("then_branch") : c.function("else_branch"), inputs_from(c, 1),
                           c.types("Tout")));
}

void case_body(CompositeContext& c) {
  if (is_recorded_for_gradients(c)) return set_all(c, FunctionRuntime::get().call_for_gradients(c));
  const auto branches = c.functions("branches");
  const FunctionRef& taken = branches[detail::branch_index(c.in(0), branches.size())];
  set_all(c, call_function(taken, inputs_from(c, 1), c.types("Tout")));
}

void loop_body(CompositeContext& c) {
  if (is_recorded_for_gradients(c)) return set_all(c, FunctionRuntime::get().call_for_gradients(c));
  std::vector<Tensor> values;
  for (int i = 0; i < c.num_inputs(); ++i) values.push_back(c.in(i));
  const std::shared_ptr<const FunctionBody> condition = body_of(c.function("cond"));
  detail::expect_condition(*condition);
  const auto go_on = [&] { return detail::is_true(call_body_of(*condition, dispatch::pointers_to(values))[0]); };
  while (go_on()) {
    c.call().step->throw_if_stopped();
    values = call_function(c.function("body"), dispatch::pointers_to(values), c.types("T"));
  }
  set_all(c, std::move(values));
}

void call_body(CompositeContext& c) { set_all(c, call_function(c.function("f"), inputs_from(c, 0), c.types("Tout"))); }

void symbolic_gradient_shape(ShapeContext& c) {
  const size_t count = c.types("Tout").size();
  if (static_cast<size_t>(c.num_inputs()) < count) {
    c.invalid(fmt::format("input: expected at least {}, one for each output, got {}", count, c.num_inputs()));
  }
  for (size_t k = 0; k < count; ++k) {
    const int at = static_cast<int>(k);
    if (c.types("Tin")[k] != c.types("Tout")[k]) {
      c.invalid(fmt::format("output {}: expected the type of the input, {}, got {}", k, dtype_name(c.types("Tin")[k]),
                            dtype_name(c.types("Tout")[k])));
    }
    c.output(at, c.shape(at));
  }
}

void symbolic_gradient_body(CompositeContext& c) {
  const std::shared_ptr<const FunctionBody> body = body_of(c.function("f"));
  const size_t count = body->input_types().size();
  const SmallVector<const Tensor*, 8> all = inputs_from(c, 0);
  const std::span<const Tensor* const> inputs(all.data(), all.size());
  if (c.types("Tout").size() != count || inputs.size() != count + body->output_types().size()) {
    invalid("function '{}': expected {} inputs and {} gradients of outputs, got {} and {}", body->name(), count,
            body->output_types().size(), c.types("Tout").size(), inputs.size() - c.types("Tout").size());
  }
  std::vector<Tensor> outputs(count);
  FunctionRuntime::get().gradient(*body, inputs.first(count), inputs.subspan(count), outputs);
  set_all(c, std::move(outputs));
}

void batch(BatchContext& c) { FunctionRuntime::get().batch(c); }
void jvp(JvpContext& c) { FunctionRuntime::get().jvp(c); }
void cond_gradient(GradContext& g) { FunctionRuntime::get().cond_gradient(g); }
void loop_gradient(GradContext& g) { FunctionRuntime::get().loop_gradient(g); }

}  // namespace

const Op& kIf = define_op(
    "If(cond: Tcond, input: Tin; Tcond: type, Tin: list(type) >= 0, Tout: list(type) >= 0, then_branch: func, "
    "else_branch: func, output_shapes: list(shape) = []) -> (output: Tout)",
    {.doc = "What `then_branch` gives of `input` if `cond` is true, else what `else_branch` does. A number is true if "
            "it is not 0, a string if it is not empty, any other tensor than a scalar if it has elements. The branches "
            "may have effects.",
     .cpp = "if_op",
     .kind = OpKind::kCond,
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(1), effects::random(), effects::external()},
     .shape = cond_shape,
     .body = cond_body,
     .in_tensorflow = true,
     .saves = {in(0), in(1), out(0)},
     .gradient = cond_gradient,
     .batch = batch,
     .jvp = jvp});

const Op& kStatelessIf = define_op(
    "StatelessIf(cond: Tcond, input: Tin; Tcond: type, Tin: list(type) >= 0, Tout: list(type) >= 0, then_branch: func, "
    "else_branch: func, output_shapes: list(shape) = []) -> (output: Tout)",
    {.doc = "What `then_branch` gives of `input` if `cond` is true, else what `else_branch` does. As If, of branches "
            "that have no effects.",
     .kind = OpKind::kCond,
     .traits = {Trait::kSelfAllocating},
     .shape = cond_shape,
     .body = cond_body,
     .in_tensorflow = true,
     .saves = {in(0), in(1), out(0)},
     .gradient = cond_gradient,
     .batch = batch,
     .jvp = jvp});

const Op& kCase = define_op(
    "Case(branch_index: int32, input: Tin; Tin: list(type) >= 0, Tout: list(type) >= 0, branches: list(func) >= 1, "
    "output_shapes: list(shape) = []) -> (output: Tout)",
    {.doc = "What branch number `branch_index` gives of `input`; the last one where there is none of that number. The "
            "branches may have effects.",
     .cpp = "case_op",
     .kind = OpKind::kCase,
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(1), effects::random(), effects::external()},
     .shape = case_shape,
     .body = case_body,
     .in_tensorflow = true,
     .saves = {in(0), in(1), out(0)},
     .gradient = cond_gradient,
     .batch = batch,
     .jvp = jvp});

const Op& kStatelessCase = define_op(
    "StatelessCase(branch_index: int32, input: Tin; Tin: list(type) >= 0, Tout: list(type) >= 0, branches: list(func) "
    ">= 1, output_shapes: list(shape) = []) -> (output: Tout)",
    {.doc = "What branch number `branch_index` gives of `input`; the last one where there is none of that number. As "
            "Case, of branches that have no effects.",
     .kind = OpKind::kCase,
     .traits = {Trait::kSelfAllocating},
     .shape = case_shape,
     .body = case_body,
     .in_tensorflow = true,
     .saves = {in(0), in(1), out(0)},
     .gradient = cond_gradient,
     .batch = batch,
     .jvp = jvp});

const Op& kWhile = define_op(
    "While(input: T; T: list(type) >= 0, cond: func, body: func, output_shapes: list(shape) = [], "
    "parallel_iterations: int = 10) -> (output: T)",
    {.doc = "`input`, or what `body` makes of it, again and again, while `cond` of it is true. The functions may have "
            "effects.",
     .cpp = "while_op",
     .kind = OpKind::kLoop,
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::random(), effects::external()},
     .shape = loop_shape,
     .body = loop_body,
     .in_tensorflow = true,
     .saves = {in(0), out(0)},
     .gradient = loop_gradient,
     .batch = batch,
     .jvp = jvp});

const Op& kStatelessWhile = define_op(
    "StatelessWhile(input: T; T: list(type) >= 0, cond: func, body: func, output_shapes: list(shape) = [], "
    "parallel_iterations: int = 10) -> (output: T)",
    {.doc = "`input`, or what `body` makes of it, again and again, while `cond` of it is true. As While, of functions "
            "that have no effects.",
     .kind = OpKind::kLoop,
     .traits = {Trait::kSelfAllocating},
     .shape = loop_shape,
     .body = loop_body,
     .in_tensorflow = true,
     .saves = {in(0), out(0)},
     .gradient = loop_gradient,
     .batch = batch,
     .jvp = jvp});

const Op& kPartitionedCall = define_op(
    "PartitionedCall(args: Tin; Tin: list(type) >= 0, Tout: list(type) >= 0, f: func, config: string = \"\", "
    "config_proto: string = \"\", executor_type: string = \"\") -> (output: Tout)",
    {.doc = "What the function `f`, which has no effects, gives of `args`.",
     .kind = OpKind::kCall,
     .traits = {Trait::kSelfAllocating},
     .shape = call_shape,
     .body = call_body,
     .in_tensorflow = true});

const Op& kSymbolicGradient = define_op(
    "SymbolicGradient(input: Tin; Tin: list(type) >= 1, Tout: list(type) >= 1, f: func) -> (output: Tout)",
    {.doc =
         "The gradients of the inputs of the function `f`, which are the first of `input`, from those of its outputs, "
         "which are the others: by the function that a file's library names for it, else by the nodes of `f`. Zeros "
         "where nothing depends on an input.",
     .traits = {Trait::kSelfAllocating},
     .shape = symbolic_gradient_shape,
     .body = symbolic_gradient_body,
     .in_tensorflow = true});

const Op& kStatefulPartitionedCall = define_op(
    "StatefulPartitionedCall(args: Tin; Tin: list(type) >= 0, Tout: list(type) >= 0, f: func, config: string = \"\", "
    "config_proto: string = \"\", executor_type: string = \"\") -> (output: Tout)",
    {.doc = "What the function `f`, which may have effects, gives of `args`.",
     .kind = OpKind::kCall,
     .traits = {Trait::kSelfAllocating},
     .effects = {effects::updates(0), effects::random(), effects::external()},
     .shape = call_shape,
     .body = call_body,
     .in_tensorflow = true});

const Op& kToBool = define_op(  //
    "ToBool(input: T @host; T: type) -> (output: bool @host)",
    {.doc =
         "Whether a conditional takes `input` for true: a number that is not 0, a string that is not empty, any other "
         "tensor than a scalar if it has elements.",
     .shape = shapes::scalar,
     .no_gradient = "booleans have none",
     .batch = batching::loop});

// TensorFlow's op for an output of an If that only the other branch computes.
const Op& kFakeParam = define_op(
    "FakeParam(; dtype: type, shape: shape) -> (output: dtype)",
    {.doc = "A tensor whose elements mean nothing, of that shape, with no elements along dimensions that are unknown: "
            "what a branch gives that was not asked for it.",
     .traits = {Trait::kSelfAllocating},
     .shape = [](ShapeContext& c) { c.output(c.shape_attr("shape")); },
     .no_gradient = "its elements mean nothing"});

}  // namespace panto
