#include "panto/lib/core/op/signature.h"

#include <algorithm>
#include <charconv>
#include <type_traits>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/signature_grammar.h"

namespace panto {
namespace {

AttrKind attr_kind(std::string_view name) {
  for (auto i = static_cast<int>(AttrKind::kInt); i <= static_cast<int>(AttrKind::kFuncList); ++i) {
    const auto kind = static_cast<AttrKind>(i);
    if (attr_kind_name(kind) == name) return kind;
  }
  failf(Code::kInternal, "attribute: expected a kind, got {}", name);
}

// Converts the words of a default, which the grammar has checked.
template <class T>
T item(const std::string& word) {
  if constexpr (std::is_same_v<T, std::string>) {
    return word;
  } else if constexpr (std::is_same_v<T, DType>) {
    return parse_dtype(word);
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, uint8_t>) {
    return word == "true";
  } else {
    T value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  }
}
template <class T>
std::vector<T> items(const ValueSyntax& value) {
  std::vector<T> result;
  for (const std::string& word : value.items) result.push_back(item<T>(word));
  return result;
}
PartialShape shape(const ValueSyntax& value) {
  if (!value.is_list) return {};
  std::vector<int64_t> dims;
  for (const std::string& word : value.items) dims.push_back(word == "?" ? kUnknownDim : item<int64_t>(word));
  return PartialShape(dims);
}

AttrValue attr_value(AttrKind kind, const ValueSyntax& value) {
  switch (kind) {
    case AttrKind::kInt: return AttrValue(item<int64_t>(value.items[0]));
    case AttrKind::kFloat: return AttrValue(item<float>(value.items[0]));
    case AttrKind::kBool: return AttrValue(item<bool>(value.items[0]));
    case AttrKind::kString: return AttrValue(item<std::string>(value.items[0]));
    case AttrKind::kType: return AttrValue(item<DType>(value.items[0]));
    case AttrKind::kShape: return AttrValue(shape(value));
    case AttrKind::kIntList: return AttrValue(items<int64_t>(value));
    case AttrKind::kFloatList: return AttrValue(items<float>(value));
    case AttrKind::kBoolList: return AttrValue(items<uint8_t>(value));
    case AttrKind::kStringList: return AttrValue(items<std::string>(value));
    case AttrKind::kTypeList: return AttrValue(items<DType>(value));
    case AttrKind::kShapeList: return AttrValue(std::vector<PartialShape>());  // the grammar allows only empty ones
    default: failf(Code::kInternal, "attribute: expected a kind that has defaults, got {}", attr_kind_name(kind));
  }
}

AttrDef attr_def(const AttrSyntax& a) {
  AttrDef def;
  def.name = a.name;
  def.kind = attr_kind(a.kind);
  if (a.default_value) def.default_value = attr_value(def.kind, *a.default_value);
  def.allowed_types = a.allowed_types;
  def.allowed_strings = a.allowed_strings;
  def.has_minimum = a.minimum.has_value();
  def.minimum = a.minimum.value_or(0);
  def.inferred = a.inferred;
  return def;
}

ArgDef arg_def(const ArgSyntax& a, std::vector<AttrDef>& attrs) {
  // A list must have at least one tensor, unless the signature gives another minimum.
  const auto counts = [&attrs](int i) {
    AttrDef& attr = attrs[static_cast<size_t>(i)];
    if (!attr.has_minimum) attr.minimum = 1;
    attr.has_minimum = true;
    return i;
  };
  ArgDef def;
  def.name = a.name;
  def.dtype = a.dtype;
  def.host = a.host;
  def.cpp_default = a.cpp_default;
  if (a.number_attr >= 0) def.number_attr = counts(a.number_attr);
  if (a.type_attr >= 0 && attrs[static_cast<size_t>(a.type_attr)].kind == AttrKind::kTypeList) {
    def.type_list_attr = counts(a.type_attr);
  } else {
    def.type_attr = a.type_attr;
  }
  return def;
}

int one_type(const Signature& s) {
  if (s.inputs.empty() || s.inputs[0].type_attr < 0) return -1;
  const int type = s.inputs[0].type_attr;
  const auto has_the_type = [&](const ArgDef& a) { return a.type_attr == type && !a.is_list(); };
  if (!std::ranges::all_of(s.inputs, has_the_type) || !std::ranges::all_of(s.outputs, has_the_type)) return -1;
  for (int i = 0; const AttrDef& def : s.attrs) {
    if (i++ != type && !(def.kind == AttrKind::kBool && def.has_default())) return -1;
  }
  return type;
}

SignatureSyntax syntax_of(std::string_view text) {
  try {
    return read_signature(text);
  } catch (const SignatureFault& f) {
    if (f.op.empty()) {
      invalid("signature \"{}\", column {}: expected {}, got '{}'", text, f.column, f.expected, f.got);
    }
    if (f.got.empty()) invalid("signature of {}: expected {}", f.op, f.expected);
    invalid("signature of {}: expected {}, got '{}'", f.op, f.expected, f.got);
  }
}

std::string arg_text(const Signature& s, const ArgDef& a) {
  std::string text = a.name + ": ";
  if (a.number_attr >= 0) text += s.attrs[static_cast<size_t>(a.number_attr)].name + "*";
  const int type = a.type_attr >= 0 ? a.type_attr : a.type_list_attr;
  text += type >= 0 ? s.attrs[static_cast<size_t>(type)].name : std::string(dtype_name(a.dtype));
  if (a.host) text += " @host";
  return text;
}

std::string attr_text(const AttrDef& a) {
  std::string text = a.name + ": ";
  if (!a.allowed_strings.empty()) {
    text += "{";
    for (const std::string& s : a.allowed_strings)
      text.append(text.back() == '{' ? "\"" : ", \"").append(s).append("\"");
    text += "}";
  } else {
    text += a.kind == AttrKind::kType ? type_set_text(a.allowed_types) : std::string(attr_kind_name(a.kind));
  }
  if (a.has_minimum) text += " >= " + std::to_string(a.minimum);
  if (a.has_default()) text += " = " + a.default_value.to_string();
  return text;
}

}  // namespace

int Signature::find_attr(std::string_view attr_name) const {
  for (size_t i = 0; i < attrs.size(); ++i) {
    if (attrs[i].name == attr_name) return static_cast<int>(i);
  }
  return -1;
}

std::string Signature::to_string() const {
  std::string text = name + "(";
  for (size_t i = 0; i < inputs.size(); ++i) text.append(i > 0 ? ", " : "").append(arg_text(*this, inputs[i]));
  for (size_t i = 0; i < attrs.size(); ++i) text.append(i > 0 ? ", " : "; ").append(attr_text(attrs[i]));
  text += ") -> (";
  for (size_t i = 0; i < outputs.size(); ++i) text.append(i > 0 ? ", " : "").append(arg_text(*this, outputs[i]));
  return text + ")";
}

Signature parse_signature(std::string_view text) {
  SignatureSyntax syntax = syntax_of(text);
  Signature s;
  s.name = std::move(syntax.name);
  for (const AttrSyntax& a : syntax.attrs) {
    s.attr_hashes.push_back(AttrName::hash_of(a.name));
    s.attrs.push_back(attr_def(a));
  }
  for (const ArgSyntax& a : syntax.inputs) s.inputs.push_back(arg_def(a, s.attrs));
  for (const ArgSyntax& a : syntax.outputs) s.outputs.push_back(arg_def(a, s.attrs));
  const auto is_list = [](const ArgDef& a) { return a.is_list(); };
  s.has_input_lists = std::ranges::any_of(s.inputs, is_list);
  s.has_output_lists = std::ranges::any_of(s.outputs, is_list);
  s.one_type = one_type(s);
  return s;
}

}  // namespace panto
