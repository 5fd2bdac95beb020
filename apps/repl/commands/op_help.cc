// `:help NAME`: the doc of an op, from the registry.
#include <fmt/core.h>

#include <string>

#include "panto/apps/repl/commands/commands.h"
#include "panto/apps/repl/text/names.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/op.h"

namespace panto::repl {
namespace {

// Returns a call with the inputs' names as arguments.
std::string example(const Op& op) {
  std::string arguments;
  for (const ArgDef& a : op.signature().inputs) arguments.append(arguments.empty() ? "" : ", ").append(a.name);
  return fmt::format("{}({})", op.cpp_name(), arguments);
}

// Returns the options of the last argument, like ".transpose_a = false".
std::string options(const Op& op) {
  std::string text;
  for (const AttrDef& a : op.signature().attrs) {
    if (a.inferred) continue;
    text.append(text.empty() ? "" : ", ").append("." + a.name);
    if (a.has_default()) text.append(" = " + a.default_value.to_string());
  }
  return text;
}

std::string without_namespace(const std::string& name) { return name.starts_with("panto::") ? name.substr(7) : name; }

// Finds an op by its name in C++ or in graphs; null if there is none.
const Op* named(const std::string& name) {
  const std::string plain = without_namespace(name);
  for (const Op* op : all_ops()) {
    if (op->cpp_name() == plain && !op->name().starts_with("_")) return op;
  }
  return find_op(plain);
}

}  // namespace

std::string op_call(const std::string& name) {
  const Op* op = named(name);
  if (op == nullptr || op->name().starts_with("_")) return "";
  const std::string o = options(*op);
  return example(*op) + (o.empty() ? "" : fmt::format(", options {{{}}}", o));
}

std::string op_help(const std::string& name) {
  const Op* found = named(name);
  if (found == nullptr) {
    if (std::string other = header_help(name); !other.empty()) return other;
    if (const std::string ours = written_here(name, name); !ours.empty()) return fmt::format("here: {}", ours);
    const std::string plain = without_namespace(name);
    std::string near;
    int count = 0;
    for (const Op* op : all_ops()) {
      const bool close = op->cpp_name().find(plain) != std::string::npos || op->name().find(plain) != std::string::npos;
      if (!close || op->name().starts_with("_") || ++count > 8) continue;
      near.append(near.empty() ? "" : ", ").append(op->cpp_name());
    }
    if (near.empty()) near = "those that `panto ops` lists";
    failf(Code::kNotFound, "help: expected a command, an op, or a name of panto's headers, such as {}; got '{}'", near,
          name);
  }
  const Op& op = *found;
  std::string text = fmt::format("{}\n\n{}\n\nexample    {}", op.signature().to_string(), op.doc(), example(op));
  if (const std::string o = options(op); !o.empty()) text += fmt::format("\noptions    {{{}}}", o);
  text += fmt::format("\ngradient   {}", op.gradient() != nullptr   ? "yes"
                                         : op.body() != nullptr     ? "that of its body"
                                         : op.no_gradient().empty() ? "none"
                                                                    : "none: " + op.no_gradient());
  return text;
}

}  // namespace panto::repl
