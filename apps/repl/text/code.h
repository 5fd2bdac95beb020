// The code that a piece is compiled as. All of a session lives in namespace `session`. What is declared again goes into
// a namespace nested in the one before, where it hides the older meaning from later inputs and leaves it to those that
// use it already:
//
//   namespace session { int f() { return 1; }  int g() { return f(); } }
//   namespace session::s1 { int f() { return 2; } }
#pragma once

#include <string>
#include <vector>

#include "panto/apps/repl/text/variable.h"

namespace panto::repl {

// Where pieces come from, for the compiler's messages and for those of panto::Error: "input 3", or a file's name.
struct Origin {
  std::string name;
  int line = 1;
};

class CodeWriter {
 public:
  // Counts from 0: every piece has functions of its own.
  CodeWriter(int serial, std::string scope, Origin origin)
      : serial_(serial), scope_(std::move(scope)), origin_(std::move(origin)) {}

  // Declarations that stand in front of what is run: names of values that were shown.
  CodeWriter& with(std::string results) {
    results_ = std::move(results);
    return *this;
  }
  int serial() const { return serial_; }
  // Declares `name` as a reference to what piece `serial` showed.
  static std::string result(const std::string& name, int serial, const char* specifier);

  // Runs the piece; with `show`, an expression whose value is handed over.
  std::string run(const Piece& piece, bool show) const;
  // Runs what makes the variable's object and keeps it.
  std::string make(const Piece& piece, const Declaration& variable) const;
  // Gives the kept object its name, in namespace `scope`.
  std::string bind(const Declaration& variable, const std::string& scope) const;
  // As it stands. `outside`: at file scope, as directives and specializations of std's templates are.
  std::string plain(const Piece& piece, bool outside) const;
  // The same without running initializers: only good for finding errors.
  std::string inside_function(const Piece& piece) const;
  // Compiles where the piece, which declares a `const`, is a constant expression.
  std::string constant(const Piece& piece) const;
  // Measures an expression.
  std::string timed(const Piece& piece) const;
  // Shows the type of an expression instead of its value, without computing it.
  std::string typed(const Piece& piece) const;

 private:
  // `text` on a line of its own that the compiler believes to be the origin's.
  std::string at_origin(const Piece& piece, const std::string& text, size_t offset) const;
  std::string in_scope(const std::string& code) const;
  std::string entered(const std::string& body) const;
  std::string name(const char* what) const;

  int serial_;
  std::string scope_;  // "session::s1"
  Origin origin_;
  std::string results_;
};

}  // namespace panto::repl
