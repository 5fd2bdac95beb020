#include "panto/lib/graph/check.h"

#include <algorithm>
#include <charconv>

#include "panto/lib/base/text/closest_names.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"

namespace panto {

InputName parse_input_name(std::string_view text) {
  InputName name;
  name.node = text;
  if (text.starts_with('^')) {
    name.control = true;
    name.node.remove_prefix(1);
    if (name.node.find(':') != std::string_view::npos) {
      invalid("control input: expected '^node', got '{}'", text);
    }
  } else if (const size_t colon = text.rfind(':'); colon != std::string_view::npos) {
    name.node = text.substr(0, colon);
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), name.index);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || name.index < 0) {
      invalid("tensor name: expected 'node' or 'node:output', got '{}'", text);
    }
  }
  if (name.node.empty()) invalid("tensor name: expected 'node' or 'node:output', got '{}'", text);
  return name;
}

std::string closest_text(std::string_view name, const std::vector<std::string_view>& names) {
  std::string text;
  for (std::string_view other : closest_names(name, names, 1)) {
    text += fmt::format("{} '{}'", text.empty() ? " (closest:" : ",", printable(other));
  }
  return text.empty() ? text : text + ")";
}

namespace {

std::string quoted_list(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", value);
  return out;
}

void check_type(const AttrDef& attr, DType type) {
  if (type == DType::kInvalid || !attr.allowed_types.contains(type)) {
    invalid("attribute {}: expected one of {}, got {}", attr.name, whole(dtype_set_text(attr.allowed_types)),
            dtype_name(type));
  }
}

void check_string(const AttrDef& attr, const std::string& text) {
  if (!attr.allowed_strings.empty() && std::ranges::find(attr.allowed_strings, text) == attr.allowed_strings.end()) {
    invalid("attribute {}: expected one of {}, got \"{}\"", attr.name, whole(quoted_list(attr.allowed_strings)), text);
  }
}

}  // namespace

void check_attr(const AttrDef& attr, const AttrValue& value) {
  if (value.kind() != attr.kind) {
    invalid("attribute {}: expected a value of kind {}, got {}", attr.name, attr_kind_name(attr.kind),
            attr_kind_name(value.kind()));
  }
  switch (value.kind()) {
    case AttrKind::kType: check_type(attr, value.as<DType>()); break;
    case AttrKind::kTypeList:
      for (DType type : value.as<std::vector<DType>>()) check_type(attr, type);
      break;
    case AttrKind::kString: check_string(attr, value.as<std::string>()); break;
    case AttrKind::kStringList:
      for (const std::string& text : value.as<std::vector<std::string>>()) check_string(attr, text);
      break;
    case AttrKind::kTensor:
      if (!value.as<Tensor>().defined()) invalid("attribute {}: expected a tensor, got none", attr.name);
      break;
    default: break;
  }
  if (!attr.has_minimum) return;
  const int64_t length = value.list_length();
  if (length >= 0 && length < attr.minimum) {
    invalid("attribute {}: expected a list of at least {}, got {}", attr.name, attr.minimum, length);
  }
  if (value.kind() == AttrKind::kInt && value.as<int64_t>() < attr.minimum) {
    invalid("attribute {}: expected at least {}, got {}", attr.name, attr.minimum, value.as<int64_t>());
  }
}

void complete_attrs(const Signature& signature, std::vector<AttrValue>& values) {
  if (values.size() > signature.attrs.size()) {
    invalid("attributes: expected {}, got {}", signature.attrs.size(), values.size());
  }
  values.resize(signature.attrs.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const AttrDef& attr = signature.attrs[i];
    if (values[i].kind() == AttrKind::kNone) {
      if (!attr.has_default()) invalid("attribute {}: expected a value, got none", attr.name);
      values[i] = attr.default_value;
    } else {
      check_attr(attr, values[i]);
    }
  }
}

Types flat_types(std::span<const ArgDef> args, std::span<const AttrValue> attrs) {
  constexpr int64_t kMaxListLength = int64_t{1} << 20;
  const auto attr = [&](int position) -> const AttrValue& { return attrs[static_cast<size_t>(position)]; };
  Types types;
  for (const ArgDef& arg : args) {
    if (arg.type_list_attr >= 0) {
      for (DType type : attr(arg.type_list_attr).as<std::vector<DType>>()) types.push_back(type);
      continue;
    }
    const DType type = arg.type_attr >= 0 ? attr(arg.type_attr).as<DType>() : arg.dtype;
    const int64_t count = arg.number_attr >= 0 ? attr(arg.number_attr).as<int64_t>() : 1;
    if (count < 0 || count > kMaxListLength) {
      invalid("{}: expected 0 to {} tensors, got {}", arg.name, kMaxListLength, count);
    }
    for (int64_t k = 0; k < count; ++k) types.push_back(type);
  }
  return types;
}

void fail_cycle(std::span<const int> waiting, const std::function<std::vector<int>(int)>& before,
                const std::function<std::string(int)>& name) {
  // Start at a node that waits, and go back along inputs that wait, until a node is reached again.
  const auto waits = [&](int node) { return waiting[static_cast<size_t>(node)] > 0; };
  int node = 0;
  while (!waits(node)) ++node;
  std::vector<int> path;
  std::vector<int> seen_at(waiting.size(), -1);
  while (seen_at[static_cast<size_t>(node)] < 0) {
    seen_at[static_cast<size_t>(node)] = static_cast<int>(path.size());
    path.push_back(node);
    for (int earlier : before(path.back())) {
      if (waits(earlier)) node = earlier;
    }
  }
  std::vector<int> cycle(path.begin() + seen_at[static_cast<size_t>(node)], path.end());
  std::ranges::reverse(cycle);  // in the direction of the edges
  std::ranges::rotate(cycle, std::ranges::min_element(cycle));
  std::string text;
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < std::min(cycle.size(), kShown); ++i) text += "'" + printable(name(cycle[i])) + "' -> ";
  if (cycle.size() > kShown) text += fmt::format("... ({} nodes) -> ", cycle.size());
  invalid("graph: expected no cycle, got {}'{}'", whole(text), name(cycle.front()));
}

}  // namespace panto
