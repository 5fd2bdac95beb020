// C++ tokens, as far as the session needs them: to find where an input ends and what it declares. The compiler does the
// real parsing.
#pragma once

#include <string_view>
#include <vector>

namespace panto::repl {

struct Token {
  enum class Kind {
    kName,  // identifiers and keywords
    kNumber,
    kText,       // string and character literals
    kMark,       // operators and punctuation
    kDirective,  // a whole line that begins with #, and its continuation lines
  };
  Kind kind = Kind::kMark;
  std::string_view text;  // points into the scanned text
  size_t offset = 0;      // offset in the scanned text
  bool first = false;     // the first one on its line

  size_t end() const { return offset + text.size(); }
  bool is(std::string_view what) const { return text == what && kind != Kind::kText; }
  bool is_name() const { return kind == Kind::kName; }
};

struct Tokens {
  std::vector<Token> list;
  bool open = false;  // the text ends inside a comment, a raw string or a line that ends with a backslash
};

Tokens scan(std::string_view text);

// Classes of keywords in declarations.
bool is_keyword(const Token& token);       // cannot begin a type: `return`, `sizeof`, `this`
bool is_builtin_type(const Token& token);  // `int`, `unsigned`
bool is_specifier(const Token& token);     // `const`, `static`

// Returns the bracket that closes the one at `begin`; list.size() if there is none.
size_t closing(const std::vector<Token>& list, size_t begin);
// Returns the `>` that closes the `<` at `begin`, if the tokens between can be template arguments; else list.size(). A
// `>>` counts as two.
size_t closing_angle(const std::vector<Token>& list, size_t begin, size_t limit);

}  // namespace panto::repl
