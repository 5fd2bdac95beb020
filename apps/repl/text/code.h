// Generates the code for a piece. A session's names are in namespace `session`. A redeclaration goes into a nested
// namespace, where it hides the older meaning from later inputs but not from existing code:
//
//   namespace session { int f() { return 1; }  int g() { return f(); } }
//   namespace session::s1 { int f() { return 2; } }
#pragma once

#include <string>
#include <vector>

#include "panto/apps/repl/text/variable.h"

namespace panto::repl {

// The source of pieces, for messages: "input 3" or a file's name.
struct Origin {
  std::string name;
  int line = 1;
};

class CodeWriter {
 public:
  // `serial` counts pieces from 0; it makes the names of a piece's functions unique.
  CodeWriter(int serial, std::string scope, Origin origin)
      : serial_(serial), scope_(std::move(scope)), origin_(std::move(origin)) {}

  // Sets declarations to put in front of the code: names of shown values.
  CodeWriter& with(std::string results) {
    results_ = std::move(results);
    return *this;
  }
  int serial() const { return serial_; }
  // Returns a declaration of `name` as a reference to the value that piece `serial` showed.
  static std::string result(const std::string& name, int serial, const char* specifier);

  // Code that runs the piece; with `show`, an expression whose value is shown.
  std::string run(const Piece& piece, bool show) const;
  // Code that makes the variable's object and keeps it.
  std::string make(const Piece& piece, const Declaration& variable) const;
  // Code that declares the kept object's name in namespace `scope`.
  std::string bind(const Declaration& variable, const std::string& scope) const;
  // The piece as written. `outside`: at file scope, for directives and specializations of std templates.
  std::string plain(const Piece& piece, bool outside) const;
  // The same without running initializers, to find errors.
  std::string inside_function(const Piece& piece) const;
  // Code that compiles only if the piece, which declares a `const`, is a constant expression.
  std::string constant(const Piece& piece) const;
  // Code that measures an expression.
  std::string timed(const Piece& piece) const;
  // Code that shows the type of an expression without evaluating it.
  std::string typed(const Piece& piece) const;

 private:
  // Puts `text` on its own line after a #line directive that names the origin.
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
