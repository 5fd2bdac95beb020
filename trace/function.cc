#include "panto/trace/function.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <list>
#include <mutex>
#include <set>
#include <thread>

#include "panto/lib/base/file.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/graph/files/function_io.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/rewrite.h"
#include "panto/trace/concrete.h"
#include "panto/trace/trace.h"
#include "panto/trace/trace_lock.h"

namespace panto {
namespace {

std::string place(const std::source_location& where) {
  return fmt::format("at {}:{}", where.file_name(), where.line());
}

// Every output gets a node of its own: inputs, captures, constants and repeated values go through an Identity.
std::vector<NodeOutput> collect_outputs(Tracer& tracer, std::vector<Tensor>& returned) {
  std::vector<NodeOutput> outputs;
  std::set<NodeOutput> seen;
  for (size_t i = 0; i < returned.size(); ++i) {
    if (!returned[i].defined()) invalid("output {}: expected a tensor, got an undefined handle", i);
    NodeOutput o = tracer.output_of(returned[i]);
    const Node& node = tracer.graph().at(o.node);
    if (node.is(OpKind::kPlaceholder) || node.is(OpKind::kConstant) || seen.contains(o)) {
      const Tensor input = returned[i];
      returned[i] = std::move(dispatch::call("Identity", {&input, 1})[0]);
      o = tracer.output_of(returned[i]);
    }
    outputs.push_back(o);
    seen.insert(o);
  }
  return outputs;
}

thread_local constinit detail::CallStructure* traced_structure = nullptr;

// Sets the CallStructure of this thread's trace; restores the previous one at the end.
class StructureScope {
 public:
  explicit StructureScope(detail::CallStructure* structure) noexcept
      : previous_(std::exchange(traced_structure, structure)) {}
  ~StructureScope() { traced_structure = previous_; }
  StructureScope(const StructureScope&) = delete;
  StructureScope& operator=(const StructureScope&) = delete;

 private:
  detail::CallStructure* previous_;
};

// `states`: of the Function being traced. `arguments`: the call's structure, if it has lengths or keys.
ConcretePtr trace_once(const TensorFunction& fn, std::vector<TensorSpec> specs, std::span<const Tensor> values,
                       const std::source_location& where, std::shared_ptr<NodeStates> states,
                       const detail::CallStructure* arguments = nullptr) {
  return with_context([&] { return "while tracing, " + place(where); },
                      [&] {
                        ConcreteFunction::Parts parts;
                        parts.states = std::move(states);
                        Tracer tracer(parts.graph, {.symbolic = values.empty()});
                        const RecorderPause outer;  // an outer trace records the function when it is called
                        const RecorderScope recording(&tracer);
                        VariableMaker* previous = set_variable_maker(&tracer);
                        std::vector<Tensor> inputs, returned;
                        detail::CallStructure structure;
                        if (arguments != nullptr) structure = *arguments;
                        const StructureScope finding(&structure);
                        try {
                          for (size_t i = 0; i < specs.size(); ++i) {
                            if (specs[i].name.empty()) specs[i].name = "arg_" + std::to_string(i);
                            const Tensor value = values.empty() ? Tensor() : view_tensor(values[i], values[i].shape());
                            inputs.push_back(tracer.add_input(specs[i].dtype, specs[i].shape, specs[i].name, value));
                            parts.inputs.push_back(parts.graph.output_of(inputs.back()));
                          }
                          returned = fn(inputs);
                        } catch (...) {
                          set_variable_maker(previous);
                          throw;
                        }
                        set_variable_maker(previous);
                        parts.outputs = collect_outputs(tracer, returned);
                        parts.specs = std::move(specs);
                        parts.variant = std::move(structure.variant);
                        parts.result = std::move(structure.result);
                        parts.captures = tracer.captures();
                        parts.effects = tracer.effects();
                        parts.baked = tracer.baked();
                        return std::make_shared<ConcreteFunction>(std::move(parts));
                      });
}

std::vector<TensorSpec> specs_of(std::span<const Tensor* const> values) {
  std::vector<TensorSpec> specs;
  for (const Tensor* t : values) specs.emplace_back(t->dtype(), t->partial_shape());
  return specs;
}

bool same(std::span<const TensorSpec> a, std::span<const TensorSpec> b) {
  return std::ranges::equal(
      a, b, [](const TensorSpec& x, const TensorSpec& y) { return x.dtype == y.dtype && x.shape == y.shape; });
}

std::string spec_list(std::span<const TensorSpec> specs) {
  std::string text;
  for (const TensorSpec& s : specs) text.append(text.empty() ? "" : ", ").append(s.to_string());
  return text;
}

// Why a new trace is needed: the first argument in which the call differs from the latest signature.
std::string difference(std::span<const TensorSpec> latest, std::span<const Tensor* const> args) {
  if (latest.size() != args.size()) return fmt::format("{} arguments instead of {}", args.size(), latest.size());
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i]->dtype() != latest[i].dtype || !(args[i]->partial_shape() == latest[i].shape)) {
      return fmt::format("argument '{}' is {}{}, was {}", latest[i].name, dtype_name(args[i]->dtype()),
                         args[i]->partial_shape().to_string(), latest[i].to_string());
    }
  }
  return "nothing changed";
}

}  // namespace

TensorSpec::TensorSpec(DType dtype, std::initializer_list<Dim> dims, std::string name)
    : TensorSpec(dtype, PartialShape(dims), std::move(name)) {}

std::string TensorSpec::to_string() const { return type_text(dtype, shape); }

// Calls take no lock, as signatures and pass names are only ever added.
class Function::Impl {
 public:
  Impl(ConcretePtr only) : fixed_(std::move(only)) {}  // NOLINT(google-explicit-constructor)
  Impl(TensorFunction fn, std::source_location where) : fn_(std::move(fn)), where_(where) {}

  // outputs(n) returns where to write n outputs.
  template <class Outputs>
  void call(std::span<const Tensor* const> args, const std::source_location& where, const Outputs& outputs,
            detail::CallStructure* structure = nullptr) {
    try {
      ConcreteFunction& concrete = fixed_ != nullptr ? *fixed_ : find(args, structure);
      if (structure != nullptr) structure->result = concrete.parts().result;
      concrete.call(args, *passes_.load(std::memory_order_acquire), outputs(concrete.num_outputs()));
    } catch (Error& error) {
      error.add_context("in a traced function");
      if (where.line() != 0) error.add_context(place(where));
      throw;
    }
  }
  const ConcreteFunction& latest() const {
    if (fixed_ != nullptr) return *fixed_;
    const size_t count = num_traced_.load(std::memory_order_acquire);
    if (count == 0) fail(Code::kFailedPrecondition, "function: expected it to be called first, got no trace yet");
    return *traced_[count - 1];
  }
  int num_traces() const {
    return fixed_ != nullptr ? 1 : static_cast<int>(num_traced_.load(std::memory_order_acquire));
  }
  void set_passes(std::string passes) {
    check_passes(passes);
    const std::lock_guard lock(passes_mutex_);
    passes_.store(&*all_passes_.insert(std::move(passes)).first, std::memory_order_release);
  }

 private:
  static constexpr size_t kMaxTraces = 64;

  ConcreteFunction* find_traced(std::span<const Tensor* const> args, const detail::CallStructure* structure) const {
    for (size_t i = num_traced_.load(std::memory_order_acquire); i-- > 0;) {
      const std::string& variant = traced_[i]->parts().variant;
      if (structure == nullptr ? !variant.empty() : variant != structure->variant) continue;
      if (fits(*traced_[i], args)) return traced_[i].get();
    }
    return nullptr;
  }
  ConcreteFunction& find(std::span<const Tensor* const> args, const detail::CallStructure* structure) {
    if (ConcreteFunction* known = find_traced(args, structure)) return *known;
    const std::lock_guard lock(trace_lock_);
    if (ConcreteFunction* known = find_traced(args, structure)) return *known;
    for (const Tensor* t : args) {
      if (!t->defined()) invalid("argument: expected a tensor, got an undefined handle");
    }
    const UnderWay trace(*this, args);
    ConcretePtr made = trace_once(fn_, specs_of(args), {}, where_, states_, structure);
    const std::lock_guard adding(mutex_);
    if (ConcreteFunction* known = find_traced(args, structure)) return *known;  // by a thread that went ahead
    const size_t count = num_traced_.load(std::memory_order_relaxed);
    traced_[count] = std::move(made);
    num_traced_.store(count + 1, std::memory_order_release);
    return *traced_[count];
  }

  // Registers a trace that this thread has begun. There are several at once if a function calls itself.
  class UnderWay {
   public:
    UnderWay(Impl& impl, std::span<const Tensor* const> args) : impl_(impl) {
      const std::lock_guard lock(impl.mutex_);
      std::vector<TensorSpec> specs = specs_of(args);
      size_t before = impl.num_traced_.load(std::memory_order_relaxed);
      for (const auto& [thread, other] : impl.under_way_) {
        ++before;
        if (thread == std::this_thread::get_id() && same(other, specs)) {
          failf(Code::kFailedPrecondition,
                "function: expected a call that does not need itself, got one with the arguments ({}) that it is being "
                "traced with",
                spec_list(specs));
        }
      }
      if (before >= kMaxTraces) {
        failf(Code::kFailedPrecondition,
              "function: expected at most {} signatures, got another ({}): trace it with specs that have -1 for the "
              "dimensions that change",
              kMaxTraces, difference(impl.latest_specs(), args));
      }
      if (before > 0) {
        log_info(fmt::format("retrace {} of the function traced {}: {}", before, place(impl.where_),
                             difference(impl.latest_specs(), args)));
      }
      position_ = impl.under_way_.emplace(impl.under_way_.end(), std::this_thread::get_id(), std::move(specs));
    }
    ~UnderWay() {
      const std::lock_guard lock(impl_.mutex_);
      impl_.under_way_.erase(position_);
    }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

   private:
    Impl& impl_;
    std::list<std::pair<std::thread::id, std::vector<TensorSpec>>>::iterator position_;
  };

  // The specs of the latest trace.
  const std::vector<TensorSpec>& latest_specs() const {
    return under_way_.empty() ? latest().parts().specs : under_way_.back().second;
  }
  static bool fits(const ConcreteFunction& f, std::span<const Tensor* const> args) {
    const auto& specs = f.parts().specs;
    if (specs.size() != args.size()) return false;
    for (size_t i = 0; i < args.size(); ++i) {
      const Tensor& t = *args[i];
      if (!t.defined() || t.dtype() != specs[i].dtype || !(t.partial_shape() == specs[i].shape)) return false;
    }
    return true;
  }

  ConcretePtr fixed_;
  TensorFunction fn_;
  std::source_location where_;
  // Shared by all signatures, so that the same node in another trace continues from its state.
  std::shared_ptr<NodeStates> states_ = new_states();
  TraceLock trace_lock_;  // held while tracing, as a user's function need not be thread-safe
  std::mutex mutex_;      // guards under_way_; held briefly
  std::list<std::pair<std::thread::id, std::vector<TensorSpec>>> under_way_;
  std::mutex passes_mutex_;
  std::set<std::string> all_passes_ = {""};
  std::atomic<const std::string*> passes_ = &*all_passes_.begin();
  std::array<ConcretePtr, kMaxTraces> traced_;
  std::atomic<size_t> num_traced_ = 0;
};

std::vector<Tensor> Function::call(std::span<const Tensor> inputs, std::source_location where) const {
  std::vector<Tensor> outputs;
  impl().call(dispatch::pointers_to(inputs), where, [&](size_t count) -> std::span<Tensor> {
    outputs.resize(count);
    return outputs;
  });
  return outputs;
}

std::vector<Tensor> Function::call(std::span<const Tensor> inputs, detail::CallStructure& structure,
                                   std::source_location where) const {
  std::vector<Tensor> outputs;
  const auto sized = [&](size_t count) -> std::span<Tensor> {
    outputs.resize(count);
    return outputs;
  };
  impl().call(dispatch::pointers_to(inputs), where, sized, &structure);
  return outputs;
}

detail::CallStructure* detail::structure_of_trace() noexcept { return traced_structure; }

Function::Function(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Function::Impl& Function::impl() const {
  if (impl_ == nullptr) fail(Code::kFailedPrecondition, "function: expected one that was traced or loaded, got none");
  return *impl_;
}

namespace {

const Tensor& tensor_of(Arg& a, size_t position) {
  if (a.kind() == Arg::Kind::kVariable) a.set_tensor(a.variable().value(a.where()));
  if (a.is_literal()) invalid("argument {}: expected a tensor or variable, got a C++ value", position);
  return a.tensor();
}

}  // namespace

std::vector<Tensor> Function::tensors_of(std::span<Arg> args) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < args.size(); ++i) tensors.push_back(tensor_of(args[i], i));
  return tensors;
}

Tensor Function::call_one(std::span<Arg* const> args) const {
  const Tensor* inputs[kMaxArgs];
  for (size_t i = 0; i < args.size(); ++i) inputs[i] = &tensor_of(*args[i], i);
  Tensor output;
  impl().call({inputs, args.size()}, args.empty() ? std::source_location() : args[0]->where(), [&](size_t count) {
    if (count > 1) [[unlikely]] {
      failf(Code::kFailedPrecondition, "function: expected one with at most one output, got {} (use call)", count);
    }
    return std::span<Tensor>(&output, count);
  });
  return output;
}

void Function::call_into(std::span<Arg> args, std::span<Tensor> outputs) const {
  const std::vector<Tensor> inputs = tensors_of(args);
  impl().call(
      dispatch::pointers_to(inputs), args.empty() ? std::source_location() : args[0].where(), [&](size_t count) {
        if (count != outputs.size()) {
          failf(Code::kFailedPrecondition, "function: expected {} outputs, got one with {}", outputs.size(), count);
        }
        return outputs;
      });
}

Tensor Function::operator()() const { return call_one({}); }
Tensor Function::operator()(Arg a) const {
  Arg* const args[] = {&a};
  return call_one(args);
}
Tensor Function::operator()(Arg a, Arg b) const {
  Arg* const args[] = {&a, &b};
  return call_one(args);
}
Tensor Function::operator()(Arg a, Arg b, Arg c) const {
  Arg* const args[] = {&a, &b, &c};
  return call_one(args);
}
Tensor Function::operator()(Arg a, Arg b, Arg c, Arg d) const {
  Arg* const args[] = {&a, &b, &c, &d};
  return call_one(args);
}

const Graph& Function::graph() const { return impl().latest().parts().graph; }
std::vector<TensorSpec> Function::inputs() const { return impl().latest().parts().specs; }

std::vector<TensorSpec> Function::outputs() const {
  const ConcreteFunction* f = &impl().latest();
  std::vector<TensorSpec> specs;
  for (NodeOutput o : f->parts().outputs) {
    const OutputInfo& info = f->parts().graph.info(o);
    specs.emplace_back(info.dtype, info.shape, f->parts().graph.output_name(o));
  }
  return specs;
}

std::vector<Variable> Function::variables() const {
  std::vector<Variable> result;
  for (const Capture& c : impl().latest().parts().captures) {
    if (c.value.dtype() != kResource) continue;
    const VariableResource& v = variable_of(c.value);
    result.push_back(Variable::from_handle(c.value, v.dtype(), v.shape(), v.name()));
  }
  return result;
}

const std::vector<std::string>& Function::baked() const { return impl().latest().parts().baked; }
int Function::num_traces() const { return impl().num_traces(); }

std::string Function::to_string() const {
  std::string text = "(";
  for (const TensorSpec& s : inputs()) text.append(text.size() > 1 ? ", " : "").append(s.name + ": " + s.to_string());
  text += ") -> (";
  bool first = true;
  for (const TensorSpec& s : outputs()) {
    text.append(first ? "" : ", ").append(s.to_string());
    first = false;
  }
  return fmt::format("{}), {} nodes", text, graph().num_nodes());
}

Graph Function::frozen_graph() const { return impl().latest().frozen(); }

void Function::save(const std::string& path) const {
  const std::string extension = std::filesystem::path(path).extension().string();
  if (extension != ".pb" && extension != ".pbtxt") {
    failf(Code::kUnimplemented,
          "save: expected a file name that ends with .pb or .pbtxt, got '{}' (a SavedModel folder)", path);
  }
  write_graph(frozen_graph(), path);
}

namespace {

std::shared_ptr<const GraphFunction> named(Graph graph, const std::string& name) {
  Endpoints endpoints = endpoints_of(graph);
  erase_endpoints(graph);
  return std::make_shared<GraphFunction>(name, std::move(graph), std::move(endpoints));
}

}  // namespace

std::string Function::to_function_def(const std::string& name) const {
  return panto::to_function_def(named(frozen_graph(), name));
}
std::string Function::to_function_library(const std::string& name) const {
  return panto::to_function_library(named(frozen_graph(), name));
}

void Function::set_optimizer(std::string passes) const { impl().set_passes(std::move(passes)); }

Function make_traced(TensorFunction fn, std::initializer_list<TensorSpec> specs, std::source_location where) {
  return make_traced(std::move(fn), std::vector<TensorSpec>(specs), where);
}

Function make_traced(TensorFunction fn, const std::vector<TensorSpec>& specs, std::source_location where) {
  return Function(std::make_shared<Function::Impl>(trace_once(fn, specs, {}, where, new_states())));
}

Function make_traced_with(const TensorFunction& fn, const std::vector<Tensor>& values, std::source_location where) {
  return Function(std::make_shared<Function::Impl>(
      trace_once(fn, specs_of(dispatch::pointers_to(values)), values, where, new_states())));
}

Function make_polymorphic(TensorFunction fn, std::source_location where) {
  return Function(std::make_shared<Function::Impl>(std::move(fn), where));
}

Function function_of(std::shared_ptr<ConcreteFunction> only) {
  return Function(std::make_shared<Function::Impl>(std::move(only)));
}

namespace detail {

void wrong_argument_count(size_t expected, size_t got) {
  invalid("function: expected {} specs, one for each argument, got {}", expected, got);
}

}  // namespace detail
}  // namespace panto
