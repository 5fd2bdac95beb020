// `:save`: the session as a program.
#include <fmt/core.h>

#include <set>

#include "panto/apps/repl/commands.h"
#include "panto/apps/repl/variable.h"

namespace panto::repl {
namespace {

// Statements run where they stand among the variables, before main: the initializers of a file run in its order.
std::string running(int serial, const std::string& body) {
  return fmt::format("const bool run_{} = [] {{\n  {}\n  return true;\n}}();\n", serial, body);
}

}  // namespace

std::string program_text(const SessionLog& log) {
  std::string text =
      "// A session of `panto repl`.  g++ -std=c++20 FILE $(pkg-config --cflags --libs panto) -o PROGRAM\n"
      "#include <panto/panto.h>\n#include <panto/repl.h>\n\n#include <cmath>\n#include <functional>\n#include "
      "<iostream>\n"
      "#include <map>\n#include <memory>\n#include <string>\n#include <vector>\n\nusing namespace panto;\n\n";
  std::set<std::string> here;
  int depth = 0, serial = 0;
  std::string directives, body;
  const auto deeper_if_known = [&](const std::vector<std::string>& names, bool overloads) {
    bool known = false;
    for (const std::string& n : names) known = known || here.contains(n);
    if (known && !overloads) {  // hides the older one
      body += fmt::format("namespace again_{} {{\n", ++depth);
      here.clear();
    }
    here.insert(names.begin(), names.end());
  };
  for (const LogEntry& e : log.entries()) {
    if (e.state != LogEntry::State::kAccepted) continue;
    const Piece& p = e.piece;
    ++serial;
    const std::string ended = p.text + (p.text.ends_with(';') ? "\n" : ";\n");
    if (p.kind == Piece::Kind::kDirective) {
      directives += p.text + "\n";
    } else if (p.kind == Piece::Kind::kDeclaration) {
      if (is_main_function(p.text)) continue;
      deeper_if_known(declared_names(p), false);
      body += p.text.ends_with('}') && p.text.find('(') != std::string::npos && !p.semicolon ? p.text + "\n" : ended;
    } else if (p.kind == Piece::Kind::kStatement) {
      body += running(serial, p.text);
    } else if (const auto v = read_variable(p.text)) {
      deeper_if_known(v->names, false);
      body += ended;
    } else if (declares_variables(p.text)) {
      deeper_if_known(declared_names(p), false);
      body += ended;
    } else if (p.semicolon) {
      body += running(serial, p.text + ";");
    } else {
      body += running(serial, fmt::format("panto::repl::print(({}, panto::repl::End{{}}));", p.text));
    }
  }
  text += directives;
  text += directives.empty() ? "" : "\n";
  text += body;
  for (int i = 0; i < depth; ++i) text += "}\n";
  return text + "\nint main() {}\n";
}

}  // namespace panto::repl
