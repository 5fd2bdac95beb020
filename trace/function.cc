#include "panto/trace/function.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>

#include "panto/lib/base/file.h"
#include "panto/lib/base/format.h"
#include "panto/lib/base/log.h"
#include "panto/lib/core/dispatch.h"
#include "panto/lib/core/resource.h"
#include "panto/lib/graph/io.h"
#include "panto/trace/concrete.h"

namespace panto {
namespace {

using ConcretePtr = std::shared_ptr<ConcreteFunction>;

std::string place(const std::source_location& where) {
  return fmt::format("at {}:{}", where.file_name(), where.line());
}

// An output must be a value of the trace with a node of its own: inputs, captures, constants and repeats pass an
// Identity.
std::vector<NodeOutput> collect_outputs(Tracer& tracer, std::vector<Tensor>& returned) {
  std::vector<NodeOutput> outputs;
  for (size_t i = 0; i < returned.size(); ++i) {
    if (!returned[i].defined()) invalid("output {}: expected a tensor, got an undefined handle", i);
    NodeOutput o = tracer.output_of(returned[i]);
    const Node& node = tracer.graph().at(o.node);
    if (node.has(Trait::kPlaceholder) || node.has(Trait::kConstant) || std::ranges::find(outputs, o) != outputs.end()) {
      const Tensor input = returned[i];
      returned[i] = std::move(dispatch::call("Identity", {&input, 1})[0]);
      o = tracer.output_of(returned[i]);
    }
    outputs.push_back(o);
  }
  return outputs;
}

ConcretePtr trace_once(const TensorFunction& fn, std::vector<TensorSpec> specs, std::span<const Tensor> values,
                       const std::source_location& where) {
  return with_context([&] { return "while tracing, " + place(where); },
                      [&] {
                        ConcreteFunction::Parts parts;
                        Tracer tracer(parts.graph, {.symbolic = values.empty()});
                        const RecorderPause outer;  // an outer trace hears of the function when it is called
                        const RecorderScope recording(&tracer);
                        VariableMaker* previous = set_variable_maker(&tracer);
                        std::vector<Tensor> arguments, returned;
                        try {
                          for (size_t i = 0; i < specs.size(); ++i) {
                            if (specs[i].name.empty()) specs[i].name = "arg_" + std::to_string(i);
                            const Tensor value = values.empty() ? Tensor() : view_tensor(values[i], values[i].shape());
                            arguments.push_back(tracer.add_input(specs[i].dtype, specs[i].shape, specs[i].name, value));
                            parts.inputs.push_back(parts.graph.output_of(arguments.back()));
                          }
                          returned = fn(arguments);
                        } catch (...) {
                          set_variable_maker(previous);
                          throw;
                        }
                        set_variable_maker(previous);
                        parts.outputs = collect_outputs(tracer, returned);
                        parts.specs = std::move(specs);
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

std::string TensorSpec::to_string() const { return std::string(dtype_name(dtype)) + shape.to_string(); }

// Calls take no lock: signatures are only ever added, and so are the names of passes.
class Function::Impl {
 public:
  Impl(ConcretePtr only) : fixed_(std::move(only)) {}  // NOLINT(google-explicit-constructor)
  Impl(TensorFunction fn, std::source_location where) : fn_(std::move(fn)), where_(where) {}

  // `outputs`, given the number of outputs, tells where they go.
  template <class Outputs>
  void call(std::span<const Tensor* const> args, const std::source_location& where, const Outputs& outputs) {
    try {
      ConcreteFunction& concrete = fixed_ != nullptr ? *fixed_ : find(args);
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
    const std::lock_guard lock(passes_mutex_);
    passes_.store(&*all_passes_.insert(std::move(passes)).first, std::memory_order_release);
  }

 private:
  static constexpr size_t kMaxTraces = 64;

  ConcreteFunction* find_traced(std::span<const Tensor* const> args) const {
    for (size_t i = num_traced_.load(std::memory_order_acquire); i-- > 0;) {
      if (fits(*traced_[i], args)) return traced_[i].get();
    }
    return nullptr;
  }
  ConcreteFunction& find(std::span<const Tensor* const> args) {
    if (ConcreteFunction* known = find_traced(args)) return *known;
    // Held while tracing: two threads with the same new signature must not both trace.
    const std::lock_guard lock(trace_mutex_);
    if (ConcreteFunction* known = find_traced(args)) return *known;
    const size_t count = num_traced_.load(std::memory_order_relaxed);
    if (count >= kMaxTraces) {
      failf(Code::kFailedPrecondition,
            "function: expected at most {} signatures, got another ({}): trace it with specs that have -1 for the "
            "dimensions that change",
            kMaxTraces, difference(latest().parts().specs, args));
    }
    for (const Tensor* t : args) {
      if (!t->defined()) invalid("argument: expected a tensor, got an undefined handle");
    }
    if (count > 0) {
      log_info(fmt::format("retrace {} of the function traced {}: {}", count, place(where_),
                           difference(latest().parts().specs, args)));
    }
    traced_[count] = trace_once(fn_, specs_of(args), {}, where_);
    num_traced_.store(count + 1, std::memory_order_release);
    return *traced_[count];
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
  std::mutex trace_mutex_;
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

Function::Impl& Function::impl() const {
  if (impl_ == nullptr) fail(Code::kFailedPrecondition, "function: expected one that was traced or loaded, got none");
  return *impl_;
}

Tensor Function::call_one(std::span<Arg* const> args) const {
  const Tensor* inputs[kMaxArgs];
  for (size_t i = 0; i < args.size(); ++i) {
    Arg& a = *args[i];
    if (a.kind() == Arg::Kind::kVariable) a.set_tensor(a.variable().value(a.where()));
    if (a.is_literal()) invalid("argument {}: expected a tensor or variable, got a C++ value", i);
    inputs[i] = &a.tensor();
  }
  Tensor output;
  impl().call({inputs, args.size()}, args.empty() ? std::source_location() : args[0]->where(), [&](size_t count) {
    if (count > 1) [[unlikely]] {
      failf(Code::kFailedPrecondition, "function: expected one with at most one output, got {} (use call)", count);
    }
    return std::span<Tensor>(&output, count);
  });
  return output;
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

void Function::set_optimizer(std::string passes) const { impl().set_passes(std::move(passes)); }

Function make_traced(TensorFunction fn, std::vector<TensorSpec> specs, std::source_location where) {
  return Function(std::make_shared<Function::Impl>(trace_once(fn, std::move(specs), {}, where)));
}

Function make_traced_with(const TensorFunction& fn, std::span<const Tensor> values, std::source_location where) {
  return Function(
      std::make_shared<Function::Impl>(trace_once(fn, specs_of(dispatch::pointers_to(values)), values, where)));
}

Function make_polymorphic(TensorFunction fn, std::source_location where) {
  return Function(std::make_shared<Function::Impl>(std::move(fn), where));
}

Function function_of(Graph graph) {
  ConcreteFunction::Parts parts;
  parts.graph = std::move(graph);
  for (int id : parts.graph.ids()) {
    const Node& node = parts.graph.at(id);
    if (node.has(Trait::kPlaceholder)) {
      parts.inputs.push_back({id, 0});
      parts.specs.emplace_back(node.output(0).dtype, node.output(0).shape, node.name());
      continue;
    }
    if (!node.consumers().empty()) continue;
    if (node.num_outputs() == 0) parts.effects.push_back(id);
    for (int k = 0; k < node.num_outputs(); ++k) parts.outputs.push_back({id, k});
  }
  return Function(std::make_shared<Function::Impl>(std::make_shared<ConcreteFunction>(std::move(parts))));
}

Function load(const std::string& path) {
  if (is_folder(path)) {
    failf(Code::kUnimplemented, "load: expected a .pb or .pbtxt file, got the folder '{}' (a SavedModel)", path);
  }
  return function_of(read_graph(path));
}

namespace detail {

void wrong_argument_count(size_t expected, size_t got) {
  invalid("function: expected {} specs, one for each argument, got {}", expected, got);
}

}  // namespace detail
}  // namespace panto
