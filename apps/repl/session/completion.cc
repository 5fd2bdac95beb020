// Completion by Tab.
#include <algorithm>
#include <cstdio>
#include <set>

#include "panto/apps/repl/session/session.h"
#include "panto/lib/core/op/op.h"

namespace panto::repl {
namespace {

// Names offered besides ops.
constexpr const char* kCommonNames[] = {
    "Tensor",          "Variable",   "Function", "GradientTape", "TensorSpec", "Graph",          "GraphScope",
    "Session",         "Sequential", "Dense",    "Flatten",      "kFloat32",   "kFloat64",       "kInt32",
    "kInt64",          "kBool",      "auto",     "std::",        "panto::",    "trace(",         "load(",
    "tensor(",         "zeros(",     "ones(",    "eye(",         "linspace(",  "random_normal(", "random_uniform(",
    "value_and_grad(", "return",     "const",    "for"};

}  // namespace

std::vector<std::string> Session::complete(const std::string& code, const std::string& word) {
  // Builds the last statement with qualified names of the session, because engines complete it outside the session's
  // namespace.
  const std::vector<Token> tokens = scan(code).list;
  std::string text;
  size_t copied = 0;
  bool member = false;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.is(";")) {
      text.clear();
      copied = t.end();
      continue;
    }
    const bool selected = i > 0 && (tokens[i - 1].is(".") || tokens[i - 1].is("->") || tokens[i - 1].is("::"));
    if (t.end() == code.size()) member = t.is(".") || t.is("->") || t.is("::") || (t.is_name() && selected);
    const auto place = places_.find(std::string(t.text));
    if (!t.is_name() || selected || place == places_.end()) continue;
    text.append(code, copied, t.offset - copied).append(place->second).append("::").append(t.text);
    copied = t.end();
  }
  text.append(code, copied);
  // For members, asks the engine for all, because not every engine can filter by prefix.
  if (member && text.ends_with(word)) text.resize(text.size() - word.size());
  std::set<std::string> found;
  if (!member || text.ends_with("panto::")) {
    for (const Op* op : all_ops()) {
      if (!op->name().starts_with("_")) found.insert(op->cpp_name() + "(");
    }
    found.insert(std::begin(kCommonNames), std::end(kCommonNames));
  }
  if (!member) {
    for (const auto& [name, place] : places_) found.insert(name);
  }
  if (member || !word.empty()) {
    const Probe asked = probe([&] {
      for (const std::string& name : engine_.complete(text)) std::fprintf(stderr, "\n\x01%s", name.c_str());
      return true;
    });
    size_t at = 0;
    while ((at = asked.messages.find('\x01', at)) != std::string::npos) {
      const size_t end = std::min(asked.messages.find('\n', at), asked.messages.size());
      found.insert(asked.messages.substr(at + 1, end - at - 1));
      at = end;
    }
  }
  std::vector<std::string> list;
  for (const std::string& name : found) {
    const bool internal = name.starts_with("_") || name.ends_with("_") || name.starts_with("panto_repl_");
    if (name.starts_with(word) && !internal) list.push_back(name);
  }
  return list;
}

}  // namespace panto::repl
