// What a piece declares.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/repl/text/pieces.h"

namespace panto::repl {

// A variable whose object the session keeps, so that a failing initializer leaves nothing behind and `auto x = ...` may
// come again: `type name = init`, `type name(init)`, `type name{init}`, `type name`, `auto [a, b] = init`.
struct Declaration {
  enum class Form { kNone, kEquals, kParentheses, kBraces };
  std::vector<std::string> names;  // several: a structured binding
  std::string type;                // "auto" or as written
  Form form = Form::kNone;
  std::string init;        // without brackets, and without the =
  size_t init_offset = 0;  // in the piece's text
  bool pointer = false;    // `a * b` may be a product
  bool constant = false;   // `const type name = init`
};
std::optional<Declaration> read_variable(std::string_view text);
// `name = init`, read as `auto name = init`: what it is where there is no such variable yet.
std::optional<Declaration> read_assignment(std::string_view text);

// What a text uses of the values that were shown: `_`, the last one, and `Out[3]`, that of input 3.
struct ResultUses {
  bool last = false;
  std::vector<int> numbers;
  std::string text;  // with names for C++, of the same length: `Out[3]` is `Out_3_`
  bool any() const { return last || !numbers.empty(); }
};
ResultUses read_results(const std::string& text);
std::string result_name(int number);  // "Out_3_"

// The names that a piece other than those declares at namespace scope: functions, types, aliases, variables that stay
// as they are written (arrays, references, constants, several at once). Overloads bring the same name again.
std::vector<std::string> declared_names(const Piece& piece);
// Whether it declares variables as it stands: their initializers run when it is compiled.
bool declares_variables(std::string_view text);
// `int main() { ... }`
bool is_main_function(std::string_view text);

// `[k]` and `[&k]` in lambdas' captures become `[k = k]` and `[&k = k]` where k is one of the session's variables:
// these are no locals, which is all that C++ captures. Offsets before the first change, and lines, stay.
std::string open_captures(const std::string& text, const std::vector<std::string>& variables);

}  // namespace panto::repl
