// Attributes and devices of imported nodes.
#include "panto/lib/graph/files/import/importer.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/functions.h"
#include "panto/lib/graph/files/graph_def.h"
#include "panto/lib/graph/files/import/adapters.h"
#include "panto/lib/graph/files/import/file_nodes.h"
#include "panto/lib/graph/files/import/references.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/files/wire/attr_proto.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/infer.h"

namespace panto {

void Importer::check_device(const std::string& device) {
  if (device == checked_device_) return;
  static_cast<void>(DeviceSpec::parse(device));
  checked_device_ = device;
}

void Importer::keep(Expansion expansion, Made& made) {
  made.outputs = {expansion.outputs.begin(), expansion.outputs.end()};
  made.abstract_values = std::move(expansion.abstract_values);
  if (!made.outputs.empty()) made.node = made.outputs[0].node;
}

Importer::Attrs Importer::sorted_attrs(const NodeDef& def) {
  Attrs attrs;
  for (const auto& attr : def.attr()) attrs.push_back(&attr);
  std::ranges::sort(attrs, {}, [](const auto* attr) -> const std::string& { return attr->first; });
  return attrs;
}

void Importer::check_attr_name(const std::string& name) {
  if (name.empty()) invalid("attribute: expected a name, got none");
  if (!std::ranges::all_of(name, [](char c) { return c > ' ' && c < '\x7f'; })) {
    invalid("attribute: expected a name of visible ASCII characters, got '{}'", name);
  }
}

AttrValue Importer::attr_value(const AttrDef& described, const graphdef::AttrValue& value) {
  const bool one = described.kind == AttrKind::kFunc && value.has_func();
  if (!one && (described.kind != AttrKind::kFuncList || !value.has_list())) {
    return attr_from_proto(described, value, budget_);
  }
  return with_context([&] { return "attribute " + described.name; },
                      [&]() -> AttrValue {
                        if (one) return AttrValue(function_named(value.func()));
                        std::vector<FunctionRef> functions;
                        for (const auto& function : value.list().func()) {
                          functions.push_back(function_named(function));
                        }
                        return AttrValue(std::move(functions));
                      });
}

FunctionRef Importer::function_named(const graphdef::NameAttrList& function) {
  if (functions_ != nullptr) return functions_->reference(function);
  failf(Code::kUnimplemented, "expected a function of the file, got '{}', which it does not have",
        printable(function.name()));
}

void Importer::read_attrs(const Signature& signature, const NodeDef& def, NodeSpec& spec) {
  spec.attrs.resize(signature.attrs.size());
  spec.explicitly_set = 0;
  NodeDef kept;
  for (const auto* attr : sorted_attrs(def)) {
    const std::string& name = attr->first;
    const graphdef::AttrValue& value = attr->second;
    check_attr_name(name);
    const int at = signature.find_attr(name);
    if (at >= 0) {
      const AttrDef& described = signature.attrs[static_cast<size_t>(at)];
      spec.attrs[static_cast<size_t>(at)] = attr_value(described, value);
      check_attr(described, spec.attrs[static_cast<size_t>(at)]);
      if (at < 64) spec.explicitly_set |= uint64_t{1} << at;
    } else if (name.front() == '_') {
      if (name == "_output_shapes") continue;  // it was checked; inference gives better information
      if (auto note = note_from_proto(value)) {
        spec.internal_attrs.emplace_back(name, std::move(*note));
      } else {
        (*kept.mutable_attr())[name] = value;
      }
    } else if (is_zero(value)) {
      if (log_debug_enabled()) {
        log_debug(fmt::format("attribute '{}' of {} is not known here and ignored", name, def.op()));
      }
    } else {
      failf(Code::kUnimplemented, "attribute: expected one that {} has here, got '{}' with a value", def.op(), name);
    }
  }
  for (size_t i = 0; i < signature.attrs.size(); ++i) {
    if (signature.attrs[i].kind != AttrKind::kTensor || spec.attrs[i].kind() != AttrKind::kNone) continue;
    if (const Tensor value = default_tensor(def.op(), signature.attrs[i].name); value.defined()) {
      spec.attrs[i] = AttrValue(value);
    }
  }
  if (kept.attr_size() > 0) spec.internal_attrs.emplace_back(kKeptAttrs, AttrValue(kept_bytes(kept, "attributes")));
  const bool placeholder = spec.op != nullptr && spec.op->is(OpKind::kPlaceholder);
  if (placeholder && graph_.versions().producer < 22) forgive_scalar_shape(signature, spec.attrs);
}

void Importer::check_inputs(const Signature& signature, const NodeSpec& spec, const AbstractPointers& abstract_values) {
  const Types types = flat_types(signature.inputs, spec.attrs);
  if (types.size() != abstract_values.size())
    invalid("inputs: expected {}, got {}", types.size(), abstract_values.size());
  for (size_t i = 0; i < types.size(); ++i) {
    if (abstract_values[i]->dtype() == types[i]) continue;
    invalid("input {}: expected {}, got {}", i, dtype_name(types[i]), dtype_name(abstract_values[i]->dtype()));
  }
}

void Importer::check_output_shapes(const NodeDef& def, const std::vector<OutputInfo>& outputs) {
  const auto found = def.attr().find("_output_shapes");
  if (found == def.attr().end() || !found->second.has_list()) return;
  const auto& shapes = found->second.list().shape();
  for (int k = 0; k < shapes.size() && k < static_cast<int>(outputs.size()); ++k) {
    const PartialShape noted = shape_from_proto(shapes[k]);
    const PartialShape& inferred = outputs[static_cast<size_t>(k)].shape;
    if (!noted.compatible_with(inferred)) {
      invalid("_output_shapes of output {}: expected one compatible with {}, got {}", k, inferred.to_string(),
              noted.to_string());
    }
  }
}

}  // namespace panto
