#include "panto/apps/repl/one_line.h"

#include <fmt/core.h>

#include <regex>
#include <sstream>

#include "panto/lib/core/tensor/print.h"
#include "panto/trace/value_text.h"

namespace panto::repl {
namespace {

std::string counted(int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string plain_type_name(const std::type_info& type) {
  std::string name = type_name(type);
  static const std::regex kLambda(R"(^.*\{lambda\((.*)\)#\d+\}$)"), kUnnamed(R"(^.*(\$_\d+|'lambda.*'.*)$)");
  static const std::regex kOurs("panto::|__cxx11::|__gnu_cxx::");
  // Removed from the inside out: the pattern allows no nested brackets.
  static const std::regex kDefaults(R"(, std::(allocator|less|equal_to|hash|default_delete|char_traits)<[^<>]*> ?)");
  name = std::regex_replace(std::regex_replace(name, kLambda, "lambda ($1)"), kUnnamed, "lambda");
  name = std::regex_replace(name, kOurs, "");
  for (std::string before; before != name;) {
    before = name;
    name = std::regex_replace(before, kDefaults, "");
  }
  return name;
}

std::string line_of(const Tensor& t) {
  if (!t.defined()) return "<undefined tensor>";
  const std::string type = type_text(t.dtype(), t.partial_shape());
  if (t.is_meta()) return type + ", symbolic";
  constexpr int64_t kFew = 10;
  if (t.numel() <= kFew) {
    if (std::string shown = describe(t); shown.find('\n') == std::string::npos) return shown;
  }
  return fmt::format("{}, {}:{}", type, device_kind_name(t.device().kind()), t.device().index());
}

std::string line_of(const Variable& v) {
  if (!v.defined()) return "<undefined variable>";
  const std::string shown = describe(v);  // the value is between name and type
  const std::string head = fmt::format("Variable '{}'", v.name());
  const size_t type = shown.rfind(std::string(dtype_name(v.dtype())) + "[");
  return type == std::string::npos ? first_line(shown) : fmt::format("{}  {}", head, first_line(shown.substr(type)));
}

std::string line_of(const Layer& layer) {
  int64_t parameters = 0;
  for (const Variable& v : layer.variables()) parameters += v.shape().numel();
  const std::string text = layer.to_string();
  const size_t end = text.find('\n');
  if (end == std::string::npos) return fmt::format("{}, {}", text, counted(parameters, "parameter"));
  std::string parts;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    parts.append(parts.empty() ? "" : ", ").append(line.substr(0, line.find("  ")));
  }
  return fmt::format("{}, {}: {}", plain_type_name(typeid(layer)), counted(parameters, "parameter"), parts);
}

std::string line_of(const Optimizer& optimizer) {
  std::string rate;
  try {
    rate = fmt::format(", learning rate {}", number_text(optimizer.learning_rate()));
  } catch (const Error&) {
    rate = "";  // in a graph the rate is known only at run time
  }
  return fmt::format("{}{}, {}", plain_type_name(typeid(optimizer)), rate,
                     counted(static_cast<int64_t>(optimizer.variables().size()), "variable"));
}

std::string line_of(const Function& f) { return first_line(describe(f)); }

std::string line_of(const Graph& g) { return first_line(describe(g)); }

std::string line_of(const panto::Session& session) {
  return fmt::format("Session of a graph with {}", counted(session.graph().num_nodes(), "node"));
}

std::string line_of(const std::type_info& type, const std::string& shown) {
  if (shown == "<" + type_name(type) + ">") return plain_type_name(type);
  const size_t end = shown.find('\n');
  return end == std::string::npos ? shown : shown.substr(0, end) + " ...";
}

void LineList::add(const std::string& item) {
  text_.append(count_ == 0 ? "" : ", ").append(item);
  ++count_;
}

std::string LineList::finish(char open, char close, bool more) const {
  return open + text_ + (more ? ", ..." : "") + close;
}

}  // namespace panto::repl
