#include "panto/apps/repl/text/hints.h"

#include <fmt/core.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <vector>

#include "panto/apps/repl/commands/commands.h"
#include "panto/apps/repl/text/names.h"
#include "panto/apps/repl/text/python.h"
#include "panto/apps/repl/text/tokens.h"

namespace panto::repl {
namespace {

// One error of a message.
struct Fault {
  std::string message, source;
  size_t caret = std::string::npos;  // in source
  std::vector<Token> list;           // of source
  size_t at = 0;                     // the token under the caret; list.size(): none

  bool says(const char* text) const { return message.find(text) != std::string::npos; }
};

std::vector<Fault> faults_of(const std::string& shown) {
  std::vector<Fault> faults;
  std::istringstream in(shown);
  for (std::string line; std::getline(in, line);) {
    if (line.find("error: ") != std::string::npos) {
      faults.emplace_back().message = line;
    } else if (!faults.empty() && line.starts_with("  ")) {
      Fault& f = faults.back();
      if (line.find_first_not_of(" \t") == line.size() - 1 && line.ends_with('^')) {
        f.caret = line.size() - 1;
      } else {
        f.source = line;
      }
    }
  }
  for (Fault& f : faults) {
    f.list = scan(f.source).list;
    while (f.at < f.list.size() && f.list[f.at].end() <= f.caret) ++f.at;
  }
  return faults;
}

// Returns the names of the calls that enclose the token, innermost first.
std::vector<Chain> calls_around(const std::vector<Token>& list, size_t at) {
  std::vector<Chain> calls;
  for (size_t i = std::min(at, list.size()); i-- > 0;) {
    if (!list[i].is("(") || i == 0 || closing(list, i) < at || is_keyword(list[i - 1])) continue;
    if (Chain call = chain_at(list, i - 1); !call.text.empty()) calls.push_back(std::move(call));
  }
  return calls;
}

// Returns the operator under the caret: "**" even if the caret is under its second character.
std::string operator_at(const Fault& f) {
  if (f.caret >= f.source.size()) return "";
  static constexpr const char* kMarks = "=!%&|+-*/<@~^";
  size_t begin = f.caret;
  while (begin > 0 && f.source.find_first_of(kMarks, begin - 1) == begin - 1) --begin;
  return f.source.substr(begin, std::min(f.source.find_first_not_of(kMarks, f.caret), f.source.size()) - begin);
}

std::string last_name(const std::string& chain) { return chain.substr(chain.rfind('.') + 1); }

// Hint for another library's name: the entry of docs/names.md, else our own name if it is the same.
std::string foreign_name(const std::string& chain, const std::string& line) {
  if (std::string ours = written_here(chain, line); !ours.empty()) return ours;
  const std::string name = last_name(chain);
  if (const std::string call = op_call(name); !call.empty()) return call + ", without a prefix";
  if (!header_help(name).empty()) return name + ", without a prefix";
  return "names have no prefix here; `:help NAME` says what there is";
}

// Hint from the name that the compiler does not know or cannot call.
std::string by_name(const Fault& f) {
  static const std::regex kUnknown("(?:undeclared identifier|no type named|unknown type name) '(\\w+)'");
  static const std::regex kMember("no member named '(\\w+)' in '");
  static const std::regex kCall("no matching (?:member )?function for call to '(\\w+)'");
  static const std::regex kMake(
      "no matching (?:constructor for initialization of|conversion for functional-style cast from '.*' to) "
      "'(?:panto::)?(\\w+)'");
  std::smatch m;
  if (std::regex_search(f.message, m, kUnknown)) {
    const std::string name = m[1];
    if (name == "_") return "the last value that was shown: there is none yet, or one that cannot be copied";
    if (name == "Out") return "Out[2], with the number of an input that showed a value";
    const bool argument = f.at + 1 < f.list.size() && f.list[f.at + 1].is("=");
    if (argument) {  // `axis=1`
      for (const Chain& call : calls_around(f.list, f.at)) {
        if (std::string ours = written_here(call.text, f.source); !ours.empty()) return ours;
      }
    }
    // `CategoricalCrossentropy(True)`: the enclosing call is unknown too.
    for (const Chain& call : calls_around(f.list, f.at)) {
      const std::string callee = last_name(call.text);
      const bool known = call.text != callee || !op_call(callee).empty() || !header_help(callee).empty();
      if (std::string ours = written_here(callee, f.source); !known && !ours.empty()) return ours;
    }
    if (!is_foreign(name)) return written_here(name, f.source);
    for (const Chain& call : calls_around(f.list, f.at)) {  // `x.to(torch.int32)`
      if (is_foreign(call.text) || call.text.find('.') == std::string::npos) continue;
      if (std::string ours = written_here(call.text, f.source); !ours.empty()) return ours;
    }
    for (const Chain& chain : chains(f.list)) {
      if (f.at >= chain.begin && f.at < chain.end) return foreign_name(chain.text, f.source);
    }
    return foreign_name(name, f.source);
  }
  const bool member = std::regex_search(f.message, m, kMember);
  if (member || std::regex_search(f.message, m, kCall) || std::regex_search(f.message, m, kMake)) {
    const std::string name = m[1];
    if (std::string ours = written_here(name, f.source); !ours.empty()) return ours;
    return op_call(name);
  }
  if (f.says("expected class name")) return written_here(chain_at(f.list, f.at).text, f.source);
  if (f.says("subscript") && f.at > 0) return written_here(chain_at(f.list, f.at - 1).text, f.source);
  if (f.says("unexpected namespace name 'std'")) return written_here("std", f.source);
  if (f.says("reference to non-static member function must be called")) {  // `x.shape`
    const Chain chain = chain_at(f.list, f.at);
    const std::string ours = written_here(last_name(chain.text), f.source);
    return ours.empty() ? fmt::format("{}() has parentheses", chain.text) : ours;
  }
  return "";
}

std::string by_type(const Fault& f, const std::string& shown) {
  static const std::regex kFromTensor("conver(?:sion from|t) '(?:panto::)?Tensor' to ");
  if (std::regex_search(f.message, kFromTensor)) {
    if (f.says("std::span<")) {
      return shown.find("gradients(") != std::string::npos ? "tape.gradient(y, {a, b})" : "{x, y}";
    }
    return f.says("Variable'") ? "Variable v(x, \"v\");" : "x.item<float>()";
  }
  if (f.says("call to 'tensor' is ambiguous")) return "numbers of one type: tensor({1.f, 2.5f})";
  if (f.says("decompose")) {  // a vector's size is not known at compile time
    return f.source.find(".run(") != std::string::npos
               ? "session.run<2>(...), with the number of fetches, can be taken apart"
               : "what has a fixed number of parts can be taken apart: a pair, an array; of a vector v take v[0], v[1]";
  }
  return "";
}

std::string by_sign(const Fault& f) {
  const std::string sign = operator_at(f);
  if (f.says("error: expected ") && sign == "@") {
    const size_t first = f.source.find_first_not_of(' ');
    if (f.caret == first && f.at + 1 < f.list.size()) {  // a decorator
      for (const Chain& chain : chains(f.list)) return written_here(chain.text, f.source);
    }
    return written_here("@", f.source);
  }
  static const std::regex kOperator(
      "(?:invalid operands|no viable overloaded|invalid argument type|indirection requires pointer operand)"
      ".*(?:Tensor|Variable|ostream|'[-+*/]?='|int|float|double)");
  if (!std::regex_search(f.message, kOperator)) return "";
  if (sign == "=") return "v.assign(x) of a variable; auto v = x declares another";
  if (sign == "&") return "logical_and(x, y)";
  if (sign == "|") return "logical_or(x, y)";
  if (sign == "<<") return "x.to_string(), which gives text";
  return sign == "*" ? "" : written_here(sign, f.source);
}

// Hint for a call that we write differently although the name exists here: `x.transpose(1, 0)`, `x.to("cuda")`.
std::string by_call(const Fault& f) {
  if (f.says("undeclared identifier") || f.says("expected ") || f.says("no member named")) return "";
  for (const Chain& call : calls_around(f.list, f.at)) {
    if (std::string ours = written_here(call.text, f.source); !ours.empty()) return ours;
  }
  return "";
}

// Hint for a line that is not C++ at all.
std::string by_syntax(const Fault& f) {
  if (f.list.empty()) return "";
  if (std::string index = python_index(f.source); !index.empty()) return index;
  if (after_python_line(f.list, 0) != 0) return written_here(f.list[0].text, f.source);
  if (f.says("in lambda capture list") || f.says("body of lambda")) {  // `[1, 2]`
    for (const Chain& call : calls_around(f.list, f.at)) {
      if (std::string ours = written_here(call.text, f.source); !ours.empty()) return ours;
    }
    return "lists have braces: tensor({{1.f, 2.f}, {3.f, 4.f}})";
  }
  if (!f.says("expected ")) return "";
  for (const Chain& chain : chains(f.list)) {
    if (is_foreign(chain.text)) return foreign_name(chain.text, f.source);
  }
  return "";
}

// Returns true if a hint is only about a keyword, such as the one for `False`; any other hint is more useful.
bool about_a_word(const std::string& text) {
  const std::vector<Token> list = scan(text).list;
  return !list.empty() && is_keyword(list[0]) && (list.size() == 1 || list[1].is(";"));
}

std::string hint(const std::string& shown) {
  std::string of_a_word;
  for (const Fault& f : faults_of(shown)) {
    for (const std::string& text : {by_name(f), by_type(f, shown), by_sign(f), by_syntax(f), by_call(f)}) {
      if (text.empty()) continue;
      if (!about_a_word(text)) return text;  // `model.trainable = False`: there are two faults
      if (of_a_word.empty()) of_a_word = text;
    }
  }
  return of_a_word;
}

}  // namespace

std::string with_hint(const std::string& shown) {
  const std::string text = hint(shown);
  return text.empty() ? shown : fmt::format("{}\nhint: {}", shown, text);
}

}  // namespace panto::repl
