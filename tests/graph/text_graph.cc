#include "panto/tests/graph/text_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "panto/lib/graph/files/io.h"

namespace panto::test {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// At commas that are not inside brackets, braces or quotes.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  bool quoted = false;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (i < text.size() && (c != ',' || depth > 0 || quoted)) continue;
    if (const std::string_view part = trimmed(text.substr(start, i - start)); !part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

[[noreturn]] void malformed(std::string_view text) {
  throw std::runtime_error(fmt::format("text_graph: cannot read '{}'", text));
}

int number_of(std::string_view dtype) {
  const DType type = parse_dtype(dtype);
  if (type == DType::kInvalid) malformed(dtype);
  return static_cast<int>(type);
}

// "[?,2]", "?" for an unknown rank.
std::string shape_text(std::string_view text) {
  if (text == "?") return "unknown_rank: true";
  std::string out;
  for (std::string_view dim : split(text.substr(1, text.size() - 2))) {
    out += fmt::format("dim {{ size: {} }} ", dim == "?" ? "-1" : dim);
  }
  return out;
}

const char* value_field(DType type) {
  switch (type) {
    case DType::kFloat32: return "float_val";
    case DType::kFloat64: return "double_val";
    case DType::kInt64: return "int64_val";
    case DType::kBool: return "bool_val";
    case DType::kString: return "string_val";
    case DType::kFloat16:
    case DType::kBFloat16: return "half_val";
    case DType::kUint32: return "uint32_val";
    case DType::kUint64: return "uint64_val";
    default: return "int_val";
  }
}

// "float32[2]{1, 2}", "int32{3}".
std::string tensor_text(std::string_view text) {
  const size_t brace = text.find('{'), bracket = std::min(text.find('['), brace);
  if (brace == std::string_view::npos) malformed(text);
  const int type = number_of(text.substr(0, bracket));
  std::string out = fmt::format("dtype: {} tensor_shape {{ {}}} ", type,
                                bracket < brace ? shape_text(text.substr(bracket, brace - bracket)) : "");
  for (std::string_view value : split(text.substr(brace + 1, text.size() - brace - 2))) {
    out += fmt::format("{}: {} ", value_field(static_cast<DType>(type)), value);
  }
  return out;
}

std::string list_text(std::string_view text, const char* field, bool types) {
  std::string out = "list { ";
  for (std::string_view item : split(text.substr(1, text.size() - 2))) {
    out += types ? fmt::format("type: {} ", number_of(item)) : fmt::format("{}: {} ", field, item);
  }
  return out + "}";
}

std::string value_text(AttrKind kind, std::string_view text) {
  switch (kind) {
    case AttrKind::kInt: return fmt::format("i: {}", text);
    case AttrKind::kFloat: return fmt::format("f: {}", text);
    case AttrKind::kBool: return fmt::format("b: {}", text);
    case AttrKind::kString: return fmt::format("s: {}", text);
    case AttrKind::kType: return fmt::format("type: {}", number_of(text));
    case AttrKind::kShape: return fmt::format("shape {{ {}}}", shape_text(text));
    case AttrKind::kTensor: return fmt::format("tensor {{ {}}}", tensor_text(text));
    case AttrKind::kIntList: return list_text(text, "i", false);
    case AttrKind::kStringList: return list_text(text, "s", false);
    case AttrKind::kTypeList: return list_text(text, "", true);
    default: malformed(text);
  }
}

std::string attr_text(const Op& op, std::string_view text) {
  const size_t equal = text.find('=');
  if (equal == std::string_view::npos) malformed(text);
  const std::string_view name = text.substr(0, equal), value = text.substr(equal + 1);
  const int at = op.signature().find_attr(name);
  const AttrKind kind = at >= 0                ? op.signature().attrs[static_cast<size_t>(at)].kind
                        : value.front() == '[' ? AttrKind::kStringList
                                               : AttrKind::kString;
  std::string out = fmt::format("  attr {{ key: \"{}\" value {{ {} }} }}\n", name, value_text(kind, value));
  if (kind == AttrKind::kTensor) {  // a constant's dtype need not be said twice
    const std::string_view dtype = value.substr(0, value.find_first_of("[{"));
    out += fmt::format("  attr {{ key: \"dtype\" value {{ type: {} }} }}\n", number_of(dtype));
  }
  return out;
}

std::string node_text(std::string_view line) {
  const size_t equal = line.find(" = "), open = line.find('(', equal), close = line.rfind(')');
  if (equal == std::string_view::npos || open == std::string_view::npos || close == std::string_view::npos) {
    malformed(line);
  }
  const std::string_view op = line.substr(equal + 3, open - equal - 3);
  std::string out = fmt::format("node {{\n  name: \"{}\"\n  op: \"{}\"\n", line.substr(0, equal), op);
  const std::string_view inside = line.substr(open + 1, close - open - 1);
  const size_t semicolon = inside.find(';');
  for (std::string_view input : split(inside.substr(0, semicolon))) out += fmt::format("  input: \"{}\"\n", input);
  if (semicolon != std::string_view::npos) {
    for (std::string_view attr : split(inside.substr(semicolon + 1))) out += attr_text(get_op(op), attr);
  }
  if (const size_t at = line.find('@', close); at != std::string_view::npos) {
    out += fmt::format("  device: \"{}\"\n", trimmed(line.substr(at + 1)));
  }
  return out + "}\n";
}

}  // namespace

std::string text_graph_def(std::string_view lines) {
  std::string text = "versions { producer: 175 }\n";
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    if (const std::string_view line = trimmed(lines.substr(0, end)); !line.empty()) text += node_text(line);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return text;
}

Graph text_graph(std::string_view lines) { return parse_graph(text_graph_def(lines)); }

}  // namespace panto::test
