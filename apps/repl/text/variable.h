// Finds what a piece declares.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/repl/text/pieces.h"

namespace panto::repl {

// A variable whose object the session keeps, so that a failing initializer leaves nothing behind and `auto x = ...` can
// be repeated: `type name = init`, `type name(init)`, `type name{init}`, `type name`, `auto [a, b] = init`.
struct Declaration {
  enum class Form { kNone, kEquals, kParentheses, kBraces };
  std::vector<std::string> names;  // several: a structured binding
  std::string type;                // "auto" or as written
  Form form = Form::kNone;
  std::string init;        // the initializer without brackets or =
  size_t init_offset = 0;  // in the piece's text
  bool pointer = false;    // `a * b` may be a product
  bool constant = false;   // `const type name = init`
};
std::optional<Declaration> read_variable(std::string_view text);
// Reads `name = init` as `auto name = init`, which it means if there is no such variable yet.
std::optional<Declaration> read_assignment(std::string_view text);

// The shown values that a text uses: `_` is the last one, `Out[3]` that of input 3.
struct ResultUses {
  bool last = false;
  std::vector<int> numbers;
  std::string text;  // with valid C++ names of the same length: `Out[3]` is `Out_3_`
  bool any() const { return last || !numbers.empty(); }
};
ResultUses read_results(const std::string& text);
std::string result_name(int number);  // "Out_3_"

// Returns the names that any other piece declares at namespace scope: functions, types, aliases, and variables compiled
// as written (arrays, references, constants, several at once). Overloads repeat a name.
std::vector<std::string> declared_names(const Piece& piece);
// Returns true if the text declares variables; if compiled as written, their initializers run during compilation.
bool declares_variables(std::string_view text);
// `int main() { ... }`
bool is_main_function(std::string_view text);

// Replaces `[k]` and `[&k]` in lambda captures by `[k = k]` and `[&k = k]` if k is one of the session's variables,
// because C++ captures only locals. Line numbers, and offsets before the first change, stay the same.
std::string open_captures(const std::string& text, const std::vector<std::string>& variables);

}  // namespace panto::repl
