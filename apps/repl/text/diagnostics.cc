#include "panto/apps/repl/text/diagnostics.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <regex>
#include <sstream>
#include <vector>

#include "panto/lib/base/text/demangle.h"

namespace panto::repl {
namespace {

struct Message {
  std::string file, kind, text;
  int line = 0, column = 0;
};

std::optional<Message> read_message(const std::string& line) {
  static const std::regex kForm(R"(^(.+?):(\d+):(\d+): (fatal error|error|note|warning): (.*)$)");
  std::smatch m;
  if (!std::regex_match(line, m, kForm)) return std::nullopt;
  return Message{m[1], m[4], m[5], std::atoi(m[2].str().c_str()), std::atoi(m[3].str().c_str())};
}

std::string without_own_names(const std::string& text) {
  static const std::regex kScope(R"(session::(s\d+::)*)");
  static const std::regex kString("(basic_string<char>|std::__cxx11::string)");
  // A suggestion from a namespace that the session abandoned.
  static const std::regex kAbandoned(R"(; did you mean '(s\d+::)+\w+'\?)");
  const std::string plain = std::regex_replace(std::regex_replace(text, kScope, ""), kString, "string");
  static const std::regex kResult(R"(\bOut_(\d+)_)");
  return std::regex_replace(std::regex_replace(plain, kAbandoned, ""), kResult, "Out[$1]");
}

// Removes mentions of the `return` that the session adds to an input, unless the line has its own.
std::string without_own_return(const std::string& text, const std::string& line) {
  if (line.find("return") != std::string::npos) return text;
  static const std::regex kStatement("after return statement"), kValue("returned value of type ('[^']*')"),
      kResult("function return type ('[^']*')");
  return std::regex_replace(std::regex_replace(std::regex_replace(text, kStatement, "after this"), kValue, "$1"),
                            kResult, "$1");
}

// Returns the symbols that the interpreter's linker did not find: "Symbols not found: [ _Z1fi, _Z1gv ]", "symbol
// '_Z1fi' unresolved".
std::string missing_symbols(const std::string& messages) {
  static const std::regex kSymbol(R"((?:symbol '|not found: \[ |found: \[ [^\]]*, )(_Z\w+))");
  std::string names;
  for (std::sregex_iterator at(messages.begin(), messages.end(), kSymbol), end; at != end; ++at) {
    const std::string text = without_own_names(demangled((*at)[1].str().c_str()));
    if (text.find("panto_") != std::string::npos || names.find(text) != std::string::npos) continue;
    names.append(names.empty() ? "" : ", ").append(text);
  }
  return names;
}

// cling colours its messages whenever the session has a terminal; no option prevents it.
std::string without_colours(const std::string& text) {
  static const std::regex kSequence("\x1b\\[[0-9;]*m");
  return std::regex_replace(text, kSequence, "");
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string readable(const std::string& said, std::string_view origin,
                     const std::function<std::string(int)>& source_line) {
  const std::string messages = without_colours(said);
  constexpr int kMost = 3;
  const auto with_line = [&](const Message& m) {
    const std::string line = source_line(m.line);
    std::string text = fmt::format("{}:{}:{}: {}: {}", m.file, m.line, m.column, m.kind,
                                   without_own_return(without_own_names(m.text), line));
    if (line.empty()) return text;
    std::string caret(static_cast<size_t>(std::max(0, m.column - 1)), ' ');
    for (size_t i = 0; i < caret.size() && i < line.size(); ++i) {
      if (line[i] == '\t') caret[i] = '\t';
    }
    return text + "\n  " + line + "\n  " + caret + "^";
  };
  std::istringstream in(messages);
  std::vector<std::string> errors;
  bool wants_place = false;  // the last error lies in a header
  int more = 0;
  for (std::string line; std::getline(in, line);) {
    const auto m = read_message(line);
    if (!m) continue;
    const bool ours = m->file == origin;
    if (m->kind == "note") {
      if (wants_place && ours && !errors.empty()) {
        errors.back() += "\n" + with_line(*m);
        wants_place = false;
      }
      continue;
    }
    if (m->kind == "warning") continue;
    if (static_cast<int>(errors.size()) == kMost) {
      ++more;
      wants_place = false;
      continue;
    }
    Message shown = *m;
    shown.kind = "error";
    if (ours) {
      errors.push_back(with_line(shown));
    } else {
      const bool known =
          shown.file != "session" && !shown.file.starts_with("input_line_") && !shown.file.starts_with("<<<");
      // An error in generated code only repeats one that was already reported.
      if (!known && !errors.empty()) continue;
      errors.push_back(fmt::format("{}error: {}",
                                   known ? fmt::format("{}:{}: ", base_name(shown.file), shown.line) : "",
                                   without_own_names(shown.text)));
    }
    wants_place = !ours;
  }
  std::string text;
  for (const std::string& e : errors) text.append(text.empty() ? "" : "\n").append(e);
  if (more > 0) text += fmt::format("\n... and {} more", more);
  if (!text.empty()) return text;
  if (const std::string names = missing_symbols(messages); !names.empty()) {
    return fmt::format("error: expected a definition of {}, got only a declaration", names);
  }
  if (messages.find("Failed to materialize") != std::string::npos) {
    return "error: expected definitions of all that is used, got a function or variable that is only declared";
  }
  // Not in the format of a compiler's message.
  text = without_own_names(messages.substr(0, messages.find_last_not_of(" \n") + 1));
  return text.empty() ? "error: the compiler gave up without a message" : text;
}

}  // namespace panto::repl
