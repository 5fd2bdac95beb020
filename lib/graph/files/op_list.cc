#include "panto/lib/graph/files/op_list.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/op/signature_grammar.h"
#include "panto/lib/graph/files/wire/attr_proto.h"
#include "panto/lib/graph/files/wire/proto_text.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/proto/op_def.pb.h"

namespace panto {
namespace {

namespace pb = google::protobuf;
using graphdef::OpDef;

// ---- Writing --------------------------------------------------------------------------------------------------------

void write_arg(const Signature& signature, const ArgDef& arg, OpDef::ArgDef* def) {
  const auto attr_name = [&](int i) { return signature.attrs[static_cast<size_t>(i)].name; };
  def->set_name(arg.name);
  if (arg.number_attr >= 0) def->set_number_attr(attr_name(arg.number_attr));
  if (arg.type_list_attr >= 0) {
    def->set_type_list_attr(attr_name(arg.type_list_attr));
  } else if (arg.type_attr >= 0) {
    def->set_type_attr(attr_name(arg.type_attr));
  } else {
    def->set_type(static_cast<graphdef::DataType>(arg.dtype));
  }
}

void write_attr(const AttrDef& attr, OpDef::AttrDef* def) {
  def->set_name(attr.name);
  def->set_type(std::string(attr_kind_name(attr.kind)));
  if (attr.has_default()) attr_to_proto(attr.default_value, def->mutable_default_value());
  if (attr.has_minimum) {
    def->set_has_minimum(true);
    def->set_minimum(attr.minimum);
  }
  for (const std::string& text : attr.allowed_strings) def->mutable_allowed_values()->mutable_list()->add_s(text);
  if (attr.kind != AttrKind::kType || attr.allowed_types == dtypes::kAny) return;
  for (int i = 0; i < kDTypeSlots; ++i) {
    if (!attr.allowed_types.contains(static_cast<DType>(i))) continue;
    def->mutable_allowed_values()->mutable_list()->add_type(static_cast<graphdef::DataType>(i));
  }
}

void write_op(const Op& op, OpDef* def) {
  const Signature& signature = op.signature();
  def->set_name(op.name());
  for (const ArgDef& arg : signature.inputs) write_arg(signature, arg, def->add_input_arg());
  for (const ArgDef& arg : signature.outputs) write_arg(signature, arg, def->add_output_arg());
  for (const AttrDef& attr : signature.attrs) write_attr(attr, def->add_attr());
  const std::string summary = op_summary(op);
  def->set_summary(summary);
  if (summary.size() < op.doc().size()) def->set_description(op.doc().substr(summary.size() + 1));
  def->set_is_stateful(op.has_effects());
  def->set_is_commutative(op.has(Trait::kCommutative));
}

// ---- Reading --------------------------------------------------------------------------------------------------------

// The text of a signature does not quote names.
void check_name(const std::string& name) {
  const bool plain = !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '>';
  });
  if (!plain) invalid("name: expected letters, digits and '_', got '{}'", printable(name));
}

std::string arg_text(const OpDef::ArgDef& arg) {
  check_name(arg.name());
  if (arg.is_ref()) failf(Code::kUnimplemented, "argument {}: expected a value, got a reference", arg.name());
  std::string text = arg.name() + ": ";
  if (!arg.number_attr().empty()) {
    check_name(arg.number_attr());
    text += arg.number_attr() + "*";
  }
  const std::string& attr = arg.type_list_attr().empty() ? arg.type_attr() : arg.type_list_attr();
  if (attr.empty()) return text.append(dtype_name(dtype_from_proto(arg.type())));
  check_name(attr);
  return text + attr;
}

std::string allowed_types_text(const graphdef::AttrValue& allowed) {
  if (allowed.list().type().empty()) return "type";
  DTypeSet set;
  for (const int type : allowed.list().type()) {
    try {
      set = set | DTypeSet{dtype_from_proto(type)};
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;
    }
  }
  std::string text = type_set_text(set);
  if (text.empty())
    failf(Code::kUnimplemented, "expected one of this library's types among the allowed ones, got none");
  // A single word could also be a kind: "string", "bool".
  return text.find('|') == std::string::npos ? text + "|" + text : text;
}

std::string attr_text(const OpDef::AttrDef& attr) {
  check_name(attr.name());
  std::string text = attr.name() + ": ";
  if (!attr.allowed_values().list().s().empty()) {
    const char* separator = "{";
    for (const std::string& s : attr.allowed_values().list().s()) {
      text += separator + quote(s);
      separator = ", ";
    }
    text += "}";
  } else {
    text += attr.type() == "type" ? allowed_types_text(attr.allowed_values()) : attr.type();
  }
  if (attr.has_minimum()) text += fmt::format(" >= {}", attr.minimum());
  // A signature cannot express a tensor as a default.
  if (attr.has_default_value() && attr.type() != "tensor") {
    ExpansionBudget none(0);
    const std::optional<AttrValue> value = value_to_show(attr.default_value(), none);
    if (!value) failf(Code::kUnimplemented, "attribute {}: expected a default of a plain kind", attr.name());
    text += " = " + value->to_string();
  }
  return text;
}

template <class Items, class Text>
std::string joined(const Items& items, Text&& text_of) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + text_of(item);
  return text;
}

Signature signature_of(const OpDef& def) {
  check_name(def.name());
  const std::string attrs = joined(def.attr(), attr_text);
  return parse_signature(fmt::format("{}({}{}{}) -> ({})", def.name(), joined(def.input_arg(), arg_text),
                                     attrs.empty() ? "" : "; ", attrs, joined(def.output_arg(), arg_text)));
}

void parse_json(std::string_view text, graphdef::OpList& list) {
  const auto status = pb::util::JsonStringToMessage(pb::StringPiece(text.data(), text.size()), &list);
  if (!status.ok()) {
    failf(Code::kDataLoss, "OpList: expected its JSON form, got a fault: {}", printable(std::string(status.message())));
  }
}

}  // namespace

std::string op_summary(const Op& op) {
  const size_t stop = op.doc().find(". ");
  return stop == std::string::npos ? op.doc() : op.doc().substr(0, stop + 1);
}

std::string op_list(const std::vector<const Op*>& ops, OpListFormat format) {
  graphdef::OpList list;
  for (const Op* op : ops) write_op(*op, list.add_op());
  if (format == OpListFormat::kText) return proto_text(list);
  std::string text;
  pb::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  if (const auto status = pb::util::MessageToJsonString(list, &text, options); !status.ok()) {
    failf(Code::kInternal, "OpList: {}", std::string(status.message()));
  }
  return text;
}

std::vector<std::string> signature_differences(const Signature& theirs, const Signature& ours) {
  std::vector<std::string> differences;
  const auto note = [&](std::string_view what, const std::string& there, const std::string& here) {
    if (there != here) differences.push_back(fmt::format("{}: {} there, {} here", what, there, here));
  };
  const auto note_args = [&](std::string_view what, const std::vector<ArgDef>& there, const std::vector<ArgDef>& here) {
    const auto text = [](const Signature& s, const std::vector<ArgDef>& args) {
      return "(" +
             joined(args,
                    [&](const ArgDef& arg) {
                      OpDef::ArgDef one;
                      write_arg(s, arg, &one);
                      return arg_text(one);
                    }) +
             ")";
    };
    note(what, text(theirs, there), text(ours, here));
  };
  note_args("inputs", theirs.inputs, ours.inputs);
  note_args("outputs", theirs.outputs, ours.outputs);
  for (const AttrDef& there : theirs.attrs) {
    const int found = ours.find_attr(there.name);
    if (found < 0) {
      differences.push_back(fmt::format("attribute {}: not here", there.name));
      continue;
    }
    const AttrDef& here = ours.attrs[static_cast<size_t>(found)];
    const auto kind = [](const AttrDef& a) { return std::string(attr_kind_name(a.kind)); };
    const auto default_text = [](const AttrDef& a) { return a.has_default() ? a.default_value.to_string() : "none"; };
    const auto types = [](const AttrDef& a) { return type_set_text(a.allowed_types); };
    note(fmt::format("attribute {}: kind", there.name), kind(there), kind(here));
    note(fmt::format("attribute {}: default", there.name), default_text(there), default_text(here));
    if (there.kind == AttrKind::kType) note(fmt::format("attribute {}: types", there.name), types(there), types(here));
  }
  for (const AttrDef& here : ours.attrs) {
    if (theirs.find_attr(here.name) < 0) differences.push_back(fmt::format("attribute {}: not there", here.name));
  }
  return differences;
}

std::vector<ListedOp> parse_op_list(std::string_view text) {
  if (text.size() > static_cast<size_t>(INT32_MAX)) {
    failf(Code::kResourceExhausted, "OpList: expected at most 2^31 - 1 bytes, got {}", text.size());
  }
  const pb::LogSilencer quiet;  // faults become Errors, not lines on standard error
  graphdef::OpList list;
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string_view::npos && text[begin] == '{') {
    parse_json(text, list);
  } else {
    parse_proto_text(text, "OpList", list);
  }
  std::vector<ListedOp> ops;
  for (const OpDef& def : list.op()) {
    ListedOp op{.name = def.name(), .signature = {}, .unreadable = {}};
    try {
      op.signature = signature_of(def);
    } catch (const Error& error) {
      op.unreadable = error.message();
    }
    ops.push_back(std::move(op));
  }
  return ops;
}

}  // namespace panto
