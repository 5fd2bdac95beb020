// Tokens of C++, as far as the session needs them: to find where an input ends and what it declares. Which program the
// tokens make is the compiler's business.
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
    kDirective,  // a whole line that begins with #, and the lines it goes on in
  };
  Kind kind = Kind::kMark;
  std::string_view text;  // borrows from what was scanned
  size_t offset = 0;      // where it begins there
  bool first = false;     // on its line

  size_t end() const { return offset + text.size(); }
  bool is(std::string_view what) const { return text == what && kind != Kind::kText; }
  bool is_name() const { return kind == Kind::kName; }
};

struct Tokens {
  std::vector<Token> list;
  bool open = false;  // the text ends inside a comment, a raw string or a line that ends with a backslash
};

Tokens scan(std::string_view text);

// Words of the language, by what they can be where something is declared.
bool is_keyword(const Token& token);       // begins no type: `return`, `sizeof`, `this`
bool is_builtin_type(const Token& token);  // `int`, `unsigned`
bool is_specifier(const Token& token);     // `const`, `static`

// The bracket that closes the one at `begin`; list.size() if there is none.
size_t closing(const std::vector<Token>& list, size_t begin);
// The `>` that closes the `<` at `begin`, if what is between can be template arguments; list.size() otherwise. A `>>`
// counts as two: the position of the one that closes is returned.
size_t closing_angle(const std::vector<Token>& list, size_t begin, size_t limit);

}  // namespace panto::repl
