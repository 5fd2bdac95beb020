// The lines that begin with a colon.
#pragma once

#include <string>
#include <vector>

#include "panto/apps/repl/session/session.h"

namespace panto::repl {

class Commands {
 public:
  // Adds itself to the session.
  explicit Commands(Session& session);

  // False where it failed; the listener was told why.
  bool run(const std::string& line, const Origin& origin);
  bool wants_to_quit() const { return quit_; }
  // ":help", ":load", ...
  static std::vector<std::string> names();

 private:
  void dispatch(const std::string& name, const std::string& argument, const Origin& origin);
  void help(const std::string& topic);
  void load(const std::string& path);
  void save(const std::string& path);
  void undo(const std::string& count);
  void shell(const std::string& command);
  void time_once(const std::string& code, const Origin& origin);
  void names_of_session();
  void time(const std::string& expression, const Origin& origin);
  void graph(const std::string& argument, const Origin& origin);
  void variables();
  void devices_and_memory(bool memory);
  void say(const std::string& text) { session_.listener().value(text); }

  Session& session_;
  bool quit_ = false;
};

// A program that does what the accepted entries of the log did.
std::string program_text(const SessionLog& log);
// The doc of an op by its C++ or registry name: signature, text, an example; of other names what header_help says, or
// what is written here for one of NumPy's. Throws NotFound, with names that are near.
std::string op_help(const std::string& name);
// How an op is called, by the same names; "" where there is none.
std::string op_call(const std::string& name);
// Declarations and comments of a function, class or constant of panto's public headers; "" where there is none.
std::string header_help(const std::string& name);

}  // namespace panto::repl
