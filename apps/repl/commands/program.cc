// `:save`: the session as a program.
#include <fmt/core.h>

#include <map>
#include <set>
#include <vector>

#include "panto/apps/repl/commands/commands.h"
#include "panto/apps/repl/text/variable.h"

namespace panto::repl {
namespace {

// Wraps a statement in an initializer: it runs before main, in order with the variables around it.
std::string running(int serial, const std::string& body) {
  return fmt::format("const bool run_{} = [] {{\n  {}\n  return true;\n}}();\n", serial, body);
}

// Replaces `_` and `Out[n]` in a piece's text by the names of variables.
std::string with_names(const std::string& text, int last, const std::map<int, int>& of_inputs, std::set<int>& used) {
  const ResultUses uses = read_results(text);
  if (!uses.any()) return text;
  std::string out;
  size_t copied = 0;
  const std::vector<Token> words = scan(uses.text).list;
  for (size_t i = 0; i < words.size(); ++i) {
    int serial = words[i].is("_") && !(i > 0 && words[i - 1].is_name()) ? last : 0;
    for (int n : uses.numbers) {
      if (words[i].is(result_name(n)) && of_inputs.contains(n)) serial = of_inputs.at(n);
    }
    if (serial == 0) continue;
    used.insert(serial);
    out.append(uses.text, copied, words[i].offset - copied).append(fmt::format("shown_{}", serial));
    copied = words[i].end();
  }
  return out.append(uses.text, copied);
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
  // `used`: pieces whose value is used later; `texts`: each piece's text, with names for such values.
  std::vector<std::string> texts;
  std::set<int> used;
  std::map<int, int> of_inputs;
  bool own = false;  // the session declared its own `_`
  int last = 0, number = 0;
  for (const LogEntry& e : log.entries()) {
    if (e.state != LogEntry::State::kAccepted) continue;
    ++number;
    const std::string& text_of = e.meaning.empty() ? e.piece.text : e.meaning;
    texts.push_back(own ? text_of : with_names(text_of, last, of_inputs, used));
    for (const std::string& name : declared_names(e.piece)) own = own || name == "_";
    if (e.shown) of_inputs[e.input] = last = number;
  }
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
    Piece p = e.piece;
    p.text = texts[static_cast<size_t>(serial)];
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
      if (used.contains(serial)) body += fmt::format("auto shown_{} = {};\n", serial, v->names[0]);
    } else if (declares_variables(p.text)) {
      deeper_if_known(declared_names(p), false);
      body += ended;
    } else if (p.semicolon) {
      body += running(serial, p.text + ";");
    } else if (used.contains(serial)) {
      body += fmt::format("auto shown_{} = {};\n", serial, p.text);
      body += running(serial, fmt::format("panto::repl::print((shown_{}, panto::repl::End{{}}));", serial));
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
