#include "panto/trace/tracer.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/graph/device_function.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"

namespace panto {
namespace {

std::string scoped(std::string_view name) { return std::string(current_name_scope()).append(name); }

SourceLine line_of(const Call& call) {
  const std::source_location* where = current_caller() != nullptr ? current_caller() : call.where;
  if (where == nullptr) return {};
  return {where->file_name(), static_cast<int>(where->line())};
}

// Calls f(flat input, what the call does to the resource there) for each resource.
template <class F>
void for_each_resource(const Call& call, const F& f) {
  const CallView view(call);
  const auto& arguments = call.op->signature().inputs;
  for (size_t a = 0; a < arguments.size(); ++a) {
    if (call.op->effect_on(static_cast<int>(a)) == 0) continue;
    const auto [first, last] = view.list(static_cast<int>(a));
    for (int i = first; i < last; ++i) {
      if (call.inputs[static_cast<size_t>(i)]->dtype() != kResource) continue;  // a mixed list for a function
      f(static_cast<size_t>(i), call.op->effect_on(static_cast<int>(a)));
    }
  }
}

}  // namespace

Tensor symbol_of(Graph& graph, NodeOutput output) {
  if (!output.valid()) return {};
  const OutputInfo& info = graph.info(output);
  Tensor symbol = meta_tensor(info.dtype, info.shape, std::nullopt, graph.identity());
  graph.bind(symbol, output);
  return symbol;
}

Tensor Tracer::add_input(DType dtype, const PartialShape& shape, const std::string& name, const Tensor& value) {
  NodeSpec spec = placeholder_spec(graph_.unique_name(scoped(name)), {dtype, shape});
  const int node = graph_.add(std::move(spec));
  ask_for_device(graph_, node);
  Tensor t = value.defined() ? value : meta_tensor(dtype, shape, std::nullopt, graph_.identity());
  graph_.bind(t, {node, 0});
  return t;
}

NodeOutput Tracer::add_const(const Tensor& value) {
  const NodeOutput output{graph_.add(const_spec(graph_.unique_name(scoped("Const")), value)), 0};
  graph_.bind(value, output);
  return output;
}

NodeOutput Tracer::capture(const Tensor& value) {
  std::string name = "captured";
  if (value.dtype() == kResource && !value.is_meta()) name = variable_of(value).name();
  const NodeOutput output{graph_.add(placeholder_spec(graph_.unique_name(name), info_of(value))), 0};
  graph_.bind(value, output);
  captures_.push_back({value, output});
  return output;
}

NodeOutput Tracer::output_of(const Tensor& t) {
  const NodeOutput known = graph_.output_of(t);
  if (known.valid()) return known;
  if (t.is_meta() && (options_.captures_symbols || (t.impl()->meta->lifted != nullptr && options_.capture))) {
    return capture(t);
  }
  if (t.is_meta()) {
    invalid("tensor: expected a value of this trace, got {} of another one (pass it as an argument)", t.to_string());
  }
  // Two handles of one variable must share one input, as effects are ordered per input.
  if (t.dtype() == kResource && options_.capture) {
    const ResourceHandle& resource = *static_cast<const ResourceHandle*>(t.impl()->data);
    for (const Capture& c : captures_) {
      if (c.value.dtype() == kResource && *static_cast<const ResourceHandle*>(c.value.impl()->data) == resource) {
        graph_.bind(t, c.input);
        return c.input;
      }
    }
  }
  return t.impl()->literal || !options_.capture ? add_const(t) : capture(t);
}

std::vector<int> Tracer::order(const Call& call, std::span<const NodeOutput> inputs) const {
  std::vector<int> after = control_inputs_;
  after.insert(after.end(), also_.begin(), also_.end());
  if (!options_.order_effects) return after;
  const Op& op = *call.op;
  for_each_resource(call, [&](size_t i, uint8_t effect) {
    const auto it = accesses_.find(inputs[i]);
    if (it == accesses_.end()) return;
    if (it->second.last_write >= 0) after.push_back(it->second.last_write);
    if ((effect & Effect::kWrites) != 0) after.insert(after.end(), it->second.reads.begin(), it->second.reads.end());
  });
  if (op.has_effect(Effect::kExternal) && last_effect_ >= 0) after.push_back(last_effect_);
  return after;
}

void Tracer::note_effects(const Call& call, std::span<const NodeOutput> inputs, int node) {
  const Op& op = *call.op;
  for_each_resource(call, [&](size_t i, uint8_t effect) {
    if ((effect & Effect::kWrites) != 0) {
      accesses_[inputs[i]] = {node, {}};
    } else {
      accesses_[inputs[i]].reads.push_back(node);
    }
  });
  if (op.has_effect(Effect::kExternal)) last_effect_ = node;
  if (op.has_effect(Effect::kWrites | Effect::kExternal)) effects_.push_back(node);
}

void Tracer::give_seeds(NodeSpec& spec) {
  if (!spec.op->has_effect(Effect::kRandom)) return;
  const int at[] = {spec.op->signature().find_attr("seed"), spec.op->signature().find_attr("seed2")};
  for (const int attr : at) {
    if (attr < 0 || spec.attrs[static_cast<size_t>(attr)].as<int64_t>() != 0) return;
  }
  const auto [seed, seed2] = graph_.next_seeds();
  spec.attrs[static_cast<size_t>(at[0])] = AttrValue(seed);
  spec.attrs[static_cast<size_t>(at[1])] = AttrValue(seed2);
}

void Tracer::record(const Call& call) {
  std::vector<NodeOutput> inputs;
  inputs.reserve(call.inputs.size());
  for (const Tensor* t : call.inputs) inputs.push_back(output_of(*t));
  NodeSpec spec;
  spec.name = graph_.unique_name(scoped(call.node_name.empty() ? std::string_view(call.op->name()) : call.node_name));
  spec.op = call.op;
  spec.inputs = inputs;
  const auto& defs = call.op->signature().attrs;
  for (size_t i = 0; i < call.attrs.size(); ++i) spec.attrs.push_back(to_value(call.attrs[i], defs[i].kind));
  give_seeds(spec);
  for (const Tensor& t : call.outputs) spec.outputs.push_back(info_of(t));
  spec.control_inputs = order(call, inputs);
  spec.where = line_of(call);
  const int node = latest_ = graph_.add(std::move(spec));
  ask_for_device(graph_, node);
  for (size_t k = 0; k < call.outputs.size(); ++k) {
    if (call.outputs[k].is_meta()) call.outputs[k].impl()->meta->trace = graph_.identity();
    graph_.bind(call.outputs[k], {node, static_cast<int>(k)});
  }
  note_effects(call, inputs, node);
}

void Tracer::record_custom(std::span<const Tensor>, std::span<const Tensor>, std::shared_ptr<CustomBackward>) {
  fail(Code::kUnimplemented, "trace: expected ops, got an operation with a gradient of its own (call it outside)");
}

Operation Tracer::latest_operation() const { return latest_ < 0 ? Operation() : operation(latest_); }

void Tracer::name_value(const Tensor& value, std::string_view name) {
  const NodeOutput output = graph_.output_of(value);
  if (!output.valid()) return;
  if (name.ends_with('/')) {
    graph_.rename(output.node, std::string(name.substr(0, name.size() - 1)));
  } else {
    graph_.rename(output.node, graph_.unique_name(scoped(name)));
  }
}

void Tracer::value_read(const Tensor& value, const std::source_location& where) {
  if (!graph_.output_of(value).valid()) return;
  baked_.push_back(fmt::format("{}:{}: {}{}", where.file_name(), where.line(), dtype_name(value.dtype()),
                               value.partial_shape().to_string()));
}

int Tracer::add_no_op(const std::string& name, std::vector<int> after) {
  NodeSpec spec;
  spec.name = graph_.unique_name(scoped(name));
  spec.op = &get_op("NoOp");
  spec.control_inputs = std::move(after);
  return graph_.add(std::move(spec));
}

Variable Tracer::make(const Tensor& initial, const PartialShape& shape, std::string_view name,
                      const std::source_location& where) {
  if (!options_.make_variables) {
    fail(Code::kFailedPrecondition,
         fmt::format("variable '{}': expected it to be made before the function is traced, got one inside [at {}:{}]",
                     name, where.file_name(), where.line()));
  }
  // Variables are initialized before anything else runs, so their nodes get no control inputs.
  struct NoControlInputs {
    explicit NoControlInputs(Tracer& tracer) : tracer(tracer), before(tracer.set_control_inputs({})) {}
    ~NoControlInputs() { tracer.set_control_inputs(std::move(before)); }
    NoControlInputs(const NoControlInputs&) = delete;
    NoControlInputs& operator=(const NoControlInputs&) = delete;
    Tracer& tracer;
    std::vector<int> before;
  } const apart(*this);
  const std::string unique = graph_.unique_name(scoped(name));
  const std::pair<std::string, AttrValue> attrs[] = {
      {"dtype", AttrValue(initial.dtype())}, {"shape", AttrValue(shape)}, {"shared_name", AttrValue(unique)}};
  const Tensor handle = std::move(dispatch::call("VarHandleOp", {}, attrs)[0]);
  graph_.rename(graph_.output_of(handle).node, unique);
  const Tensor assign_inputs[] = {handle, initial};
  const std::pair<std::string, AttrValue> assign_attrs[] = {{"dtype", AttrValue(initial.dtype())}};
  dispatch::call("AssignVariableOp", assign_inputs, assign_attrs);
  const int initializer = latest_;
  graph_.rename(initializer, graph_.unique_name(unique + "/Assign"));
  graph_.add_variable(
      {unique, graph_.output_of(handle), initializer, initial.dtype(), shape, handle, VariableUseScope::current()});
  return Variable::from_handle(handle, initial.dtype(), shape, unique, initial, operation(initializer));
}

}  // namespace panto
