#include "panto/lib/graph/files/import/for_loop.h"

#include <memory>
#include <string>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/control.h"
#include "panto/ops/math.h"

namespace panto {

namespace {

// Builds a function of the loop's values: the number of the round, `limit`, `delta`, and the body's arguments.
class LoopFunction {
 public:
  explicit LoopFunction(std::span<const DType> types) {
    for (const DType type : types) {
      const bool number = endpoints_.inputs.size() < 3;
      const OutputInfo info{type, number ? PartialShape(Shape{}) : PartialShape()};
      endpoints_.inputs.push_back(
          {graph_.add(placeholder_spec(fmt::format("arg_{}", endpoints_.inputs.size()), info)), 0});
    }
  }

  NodeOutput in(size_t i) const { return endpoints_.inputs[i]; }
  size_t size() const { return endpoints_.inputs.size(); }
  NodeOutput add_zero() { return {graph_.add(const_spec("zero", tensor(0))), 0}; }
  // Adds a node and returns its first output. Attributes that follow from the inputs are inferred.
  NodeOutput add(const Op& op, std::vector<NodeOutput> inputs, std::vector<AttrValue> attrs,
                 std::vector<DType> outputs) {
    NodeSpec spec;
    spec.name = graph_.unique_name(std::string(op.name()));
    spec.op = &op;
    spec.inputs = std::move(inputs);
    spec.attrs = std::move(attrs);
    for (const DType type : outputs) spec.outputs.push_back({type, PartialShape()});
    if (op.has_effects()) endpoints_.effects.push_back(graph_.id_limit());
    return {graph_.add(std::move(spec)), 0};
  }
  void give(NodeOutput output) { endpoints_.outputs.push_back(output); }
  FunctionRef make(const std::string& name) {
    infer_shapes(graph_);
    const auto made = std::make_shared<GraphFunction>(name, std::move(graph_), std::move(endpoints_));
    return {.name = name, .body = made};
  }

 private:
  Graph graph_;
  Endpoints endpoints_;
};

FunctionRef condition_of(std::span<const DType> types, const std::string& name) {
  LoopFunction f(types);
  const std::vector<AttrValue> of_ints = {AttrValue(kInt32)};
  const NodeOutput i = f.in(0), limit = f.in(1), zero = f.add_zero();
  const NodeOutput upwards = f.add(kGreater, {f.in(2), zero}, of_ints, {kBool});
  const NodeOutput below = f.add(kLess, {i, limit}, of_ints, {kBool});
  const NodeOutput above = f.add(kGreater, {i, limit}, of_ints, {kBool});
  f.give(f.add(kSelectV2, {upwards, below, above}, {AttrValue(kBool)}, {kBool}));
  return f.make(name);
}

FunctionRef round_of(std::span<const DType> types, const FunctionRef& body, const std::string& name) {
  LoopFunction f(types);
  f.give(f.add(kAddV2, {f.in(0), f.in(2)}, {AttrValue(kInt32)}, {kInt32}));
  f.give(f.in(1));
  f.give(f.in(2));
  const std::vector<DType> results(types.begin() + 3, types.end());
  std::vector<DType> arguments = results;
  arguments.insert(arguments.begin(), kInt32);
  std::vector<NodeOutput> inputs = {f.in(0)};
  for (size_t i = 3; i < f.size(); ++i) inputs.push_back(f.in(i));
  const Op& call = body.body->effects() == 0 ? kPartitionedCall : kStatefulPartitionedCall;
  std::vector<AttrValue> attrs(call.signature().attrs.size());
  put_attr(call, "Tin", AttrValue(arguments), attrs);
  put_attr(call, "Tout", AttrValue(results), attrs);
  put_attr(call, "f", AttrValue(body), attrs);
  const NodeOutput called = f.add(call, std::move(inputs), std::move(attrs), results);
  for (size_t k = 0; k < results.size(); ++k) f.give({called.node, static_cast<int>(k)});
  return f.make(name);
}

}  // namespace

std::vector<Tensor> for_loop(const Tensor& start, const Tensor& limit, const Tensor& delta,
                             const std::vector<Tensor>& values, const FunctionRef& body) {
  if (body.body == nullptr) {
    failf(Code::kUnimplemented, "body: expected a function that is known when the graph is read, got '{}'",
          printable(body.name));
  }
  std::vector<DType> types = {kInt32, kInt32, kInt32};
  for (const Tensor& value : values) types.push_back(value.dtype());
  // Makes the run fail if `delta` leads away from `limit`: element 1 of a vector with one element does not exist.
  const Tensor wrong = select(delta > 0, start > limit, select(delta < 0, start < limit, start != limit));
  const Tensor first = gather(expand_dims(start, 0), cast(wrong, kInt32), 0);
  std::vector<Tensor> inputs = {first, limit, delta};
  inputs.insert(inputs.end(), values.begin(), values.end());
  const FunctionRef condition = condition_of(types, body.name + "_cond"),
                    round = round_of(types, body, body.name + "_round");
  const bool stateful = round.body->effects() != 0;
  std::vector<Tensor> results =
      stateful ? while_op(inputs, condition, round) : stateless_while(inputs, condition, round);
  results.erase(results.begin(), results.begin() + 3);
  return results;
}

}  // namespace panto
