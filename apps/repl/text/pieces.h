// What is typed, cut into pieces that are run one after the other: a statement, a declaration, a directive. A piece
// that ends at its line's end instead of a semicolon shows its value.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/repl/text/tokens.h"

namespace panto::repl {

struct Piece {
  enum class Kind {
    kCommand,      // :help and the like
    kDirective,    // #include <map>
    kDeclaration,  // functions, classes, templates, using, ...: as they are
    kStatement,    // blocks, loops and conditions: run as they are
    kSimple,       // an expression or a variable
  };
  Kind kind = Kind::kSimple;
  std::string text;  // without the semicolon of a simple one
  int line = 1;      // of what was scanned, from 1
  int column = 1;
  bool semicolon = false;  // ended with one
};

struct Pieces {
  std::vector<Piece> list;
  // What is behind the last piece goes on in a line that is not there yet. Where nothing more comes, it is a piece too.
  bool incomplete = false;
  size_t used = 0;  // bytes that the pieces took
};

// The name that a line asks about: "matmul" of "?matmul", "matmul?" and "matmul??"; "" of other lines.
std::string_view help_topic(std::string_view line);

// With `whole`, nothing comes after `text`: a piece may go on in the next line where that one says so (`else`, `<<`),
// and what is incomplete becomes the last piece, for the compiler to say what is missing.
Pieces cut(std::string_view text, bool whole);

}  // namespace panto::repl
