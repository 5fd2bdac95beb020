#include "panto/apps/repl/text/code.h"

#include <fmt/core.h>

#include <algorithm>

namespace panto::repl {
namespace {

// Returns "a" or "[a, b]".
std::string name_list(const Declaration& v) {
  std::string names;
  for (const std::string& n : v.names) names.append(names.empty() ? "" : ", ").append(n);
  return v.names.size() > 1 ? "[" + names + "]" : names;
}

}  // namespace

std::string CodeWriter::name(const char* what) const { return fmt::format("panto_{}_{}", what, serial_); }

std::string CodeWriter::in_scope(const std::string& code) const {
  return fmt::format("namespace {} {{\n{}\n}}\n", scope_, code);
}

std::string CodeWriter::at_origin(const Piece& piece, const std::string& text, size_t offset) const {
  const std::string_view before = std::string_view(piece.text).substr(0, offset);
  const auto lines = static_cast<int>(std::ranges::count(before, '\n'));
  const size_t start = lines == 0 ? 0 : before.rfind('\n') + 1;
  const size_t column = offset - start + (lines == 0 ? static_cast<size_t>(piece.column - 1) : 0);
  return fmt::format("\n#line {} \"{}\"\n{}{}\n#line 1 \"session\"\n", origin_.line + piece.line - 1 + lines,
                     origin_.name, std::string(column, ' '), text);
}

// Returns a function with this body, and an initializer that passes it to panto_repl_enter.
std::string CodeWriter::entered(const std::string& body) const {
  return in_scope(
      fmt::format("void {0}() {{{1}}}\nconst int {2} = panto_repl_enter(&{0});", name("run"), body, name("entered")));
}

std::string CodeWriter::run(const Piece& piece, bool show) const {
  const std::string text = at_origin(piece, piece.text, 0);
  if (!show) return entered(results_ + (piece.kind == Piece::Kind::kSimple ? text + ";" : text));
  // The function's return type says how the value is kept. Inline, as in make().
  return in_scope(fmt::format("inline auto {}() {{{}return panto::repl::show(({}, panto::repl::End{{}}));}}",
                              name("shown"), results_, text)) +
         entered(fmt::format("{}();", name("shown")));
}

std::string CodeWriter::timed(const Piece& piece) const {
  return entered(fmt::format("{}panto::repl::time([] {{ panto::repl::discard(({}, panto::repl::End{{}})); }});",
                             results_, at_origin(piece, piece.text, 0)));
}

std::string CodeWriter::typed(const Piece& piece) const {
  return entered(
      fmt::format("{}using T = decltype({}); const std::string t = panto::repl::type_name(typeid(T)); "
                  "panto_repl_result(t.data(), t.size());",
                  results_, at_origin(piece, piece.text, 0)));
}

std::string CodeWriter::make(const Piece& piece, const Declaration& v) const {
  const std::string init = v.init.empty() ? "" : at_origin(piece, v.init, v.init_offset);
  const bool deduced = v.type.starts_with("auto");
  const std::string qualifier = v.constant ? "const " : "";
  std::string code;
  std::string object;
  const size_t type_offset = piece.text.find(v.type);  // none in `x = 3`
  const std::string type =
      qualifier + (type_offset == std::string::npos ? v.type : at_origin(piece, v.type, type_offset));
  if (v.form == Declaration::Form::kEquals) {
    // Inline, not static: otherwise a lambda's type, and thus the variable's, would differ in each input. Returning
    // from a function initializes the value as `=` does, and in its final place.
    const bool to_constant = deduced && v.pointer && v.constant;  // `const auto* p`: the pointer itself is not const
    const char* value = to_constant ? "const auto*" : "auto";
    code = fmt::format("inline {} {}() {{{} return {}; }}\n", deduced ? value : type, name("value"), results_, init);
    object = deduced ? fmt::format("new {}auto({}())", to_constant ? "" : qualifier, name("value"))
                     : fmt::format("new {}({}())", type, name("value"));
  } else if (v.form == Declaration::Form::kBraces) {
    object = fmt::format("new {}{{{}}}", type, init);
  } else {
    object = fmt::format("new {}({})", type, init);
  }
  const std::string results = v.form == Declaration::Form::kEquals ? "" : results_;
  code += fmt::format("inline auto* {}() {{{} return {}; }}", name("object"), results, object);
  if (v.names.size() > 1) {  // checks that it can be destructured before it is made
    const size_t names = piece.text.find('[');
    code += fmt::format("\ninline void {}() {{ auto& {} = *{}(); }}", name("parts"),
                        at_origin(piece, name_list(v), names), name("object"));
  }
  return in_scope(code) + entered(fmt::format("panto::repl::keep({}());", name("object")));
}

std::string CodeWriter::bind(const Declaration& v, const std::string& scope) const {
  return fmt::format("namespace {} {{\nauto& {} = panto::repl::kept(&{});\n}}\n", scope, name_list(v), name("object"));
}

std::string CodeWriter::plain(const Piece& piece, bool outside) const {
  const bool ended =
      piece.kind == Piece::Kind::kDirective || (piece.kind == Piece::Kind::kDeclaration && piece.text.ends_with('}'));
  const bool type = piece.text.ends_with('}') && !piece.semicolon && piece.kind == Piece::Kind::kDeclaration;
  // With internal linkage, each input would have its own copy.
  std::string source = piece.text;
  if (source.starts_with("static ")) source.replace(0, 7, 7, ' ');
  std::string text = at_origin(piece, source, 0);
  const std::string_view bare = std::string_view(source).substr(std::min(source.find_first_not_of(' '), source.size()));
  const bool constant =
      piece.kind == Piece::Kind::kSimple && (bare.starts_with("const ") || bare.starts_with("constexpr "));
  // Initialized now, not at its first use.
  const bool made_now = constant && bare.starts_with("const ");
  if (constant) text = (made_now ? "[[gnu::used]] inline" : "inline") + text;
  if (!ended && !piece.text.ends_with(';')) text += ";";
  if (type) text += ";";  // after a class; an extra one does no harm
  if (!outside) return in_scope(text);
  // A specialization at file scope needs a using-directive to see the session's names.
  std::string code;
  if (piece.kind != Piece::Kind::kDirective) {
    code = in_scope("") + fmt::format("using namespace {};\n", scope_);
  }
  return code + text;
}

std::string CodeWriter::constant(const Piece& piece) const {
  Piece constant = piece;
  constant.text = "constexpr " + piece.text;
  return inside_function(constant);
}

std::string CodeWriter::inside_function(const Piece& piece) const {
  return in_scope(fmt::format("void {}() {{{}{};}}", name("check"), results_, at_origin(piece, piece.text, 0)));
}

std::string CodeWriter::result(const std::string& name, int serial, const char* specifier) {
  return fmt::format("{0} auto& {1} = panto::repl::out<decltype(panto_shown_{2}())>({2}); ", specifier, name, serial);
}

}  // namespace panto::repl
