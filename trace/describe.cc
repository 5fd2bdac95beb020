#include "panto/trace/describe.h"

#include <map>
#include <typeinfo>

#include "panto/lib/base/text/demangle.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/functions/endpoints.h"

namespace panto {
namespace {

constexpr size_t kLine = 60;  // up to this length, the type is printed after the value, else below it

std::string device_text(const Device& device) {
  return fmt::format("{}:{}", device_kind_name(device.kind()), device.index());
}

std::string spec_list(const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& s : specs) text.append(text.empty() ? "" : ", ").append(s.name + ": " + s.to_string());
  return text;
}

std::string counted(int64_t n, std::string_view what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

std::string describe(const Tensor& t) {
  if (!t.defined()) return "<undefined tensor>";
  if (t.is_meta()) return t.to_string();
  const std::string value = print(t);
  const bool short_line = value.size() <= kLine && value.find('\n') == std::string::npos;
  return fmt::format("{}{}{}, {}", value, short_line ? "  " : "\n", type_text(t.dtype(), t.partial_shape()),
                     device_text(t.device()));
}

std::string describe(const Variable& v) {
  if (!v.defined()) return "<undefined variable>";
  const std::string head = fmt::format("Variable '{}'", v.name());
  if (v.handle().is_meta()) return fmt::format("{}, {}, symbolic", head, type_text(v.dtype(), v.shape()));
  try {
    return fmt::format("{}\n{}", head, describe(v.value()));
  } catch (const Error& error) {  // not initialized
    return fmt::format("{}, {}: {}", head, type_text(v.dtype(), v.shape()), error.what());
  }
}

std::string describe(const Function& f) {
  if (!f.defined()) return "<undefined function>";
  return "Function " + (f.num_traces() == 0 ? std::string("(not traced yet)") : f.to_string());
}

std::string describe(const Graph& g) {
  std::map<std::string, int> by_op;
  for (int id : g.ids()) ++by_op[op_text(g.at(id))];
  const Endpoints endpoints = endpoints_or_order(g);
  const auto specs = [&](const std::vector<NodeOutput>& of) {
    std::vector<TensorSpec> list;
    for (NodeOutput o : of) list.emplace_back(g.info(o).dtype, g.info(o).shape, g.output_name(o));
    return list;
  };
  std::string ops;
  for (const auto& [name, count] : by_op) {
    ops.append(ops.empty() ? "" : ", ").append(name);
    if (count > 1) ops.append(fmt::format(" x{}", count));
  }
  return fmt::format("Graph ({}) -> ({}), {}: {}", spec_list(specs(endpoints.inputs)),
                     spec_list(specs(endpoints.outputs)), counted(g.num_nodes(), "node"), ops.empty() ? "none" : ops);
}

std::string describe(const GradientTape& tape) {
  return fmt::format("GradientTape, {} recorded", counted(static_cast<int64_t>(tape.size()), "op"));
}

std::string describe(const Op& op) { return op.signature().to_string() + "\n" + op.doc(); }
std::string describe(const Device& device) { return fmt::format("{} {}", device.name(), device.description()); }
std::string describe(const PartialShape& shape) { return shape.to_string(); }
std::string describe(const TensorSpec& spec) {
  return spec.name.empty() ? spec.to_string() : fmt::format("{}: {}", spec.name, spec.to_string());
}
std::string describe(DType dtype) { return std::string(dtype_name(dtype)); }

std::string describe(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return ours->what();
  return fmt::format("{}: {}", demangled(typeid(error).name()), error.what());
}

}  // namespace panto
