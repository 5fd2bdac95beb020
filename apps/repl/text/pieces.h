// Cuts input text into pieces that are run in order: statements, declarations, directives. A piece that ends at the end
// of a line instead of with a semicolon shows its value.
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
    kDeclaration,  // functions, classes, templates, using, ...: compiled as written
    kStatement,    // blocks, loops and conditions: run as written
    kSimple,       // an expression or a variable
  };
  Kind kind = Kind::kSimple;
  std::string text;  // without the final semicolon if kSimple
  int line = 1;      // in the scanned text, from 1
  int column = 1;
  bool semicolon = false;  // ended with a semicolon
};

struct Pieces {
  std::vector<Piece> list;
  // The text after the last piece needs a further line.
  bool incomplete = false;
  size_t used = 0;  // bytes that the pieces took
};

// Returns the name that a line asks about: "matmul" for "?matmul", "matmul?" and "matmul??"; "" for other lines.
std::string_view help_topic(std::string_view line);

// With `whole`, nothing follows `text`: a piece may continue on the next line if that line says so (`else`, `<<`), and
// an incomplete rest becomes the last piece, so that the compiler reports what is missing.
Pieces cut(std::string_view text, bool whole);

}  // namespace panto::repl
