// The commands of the prompt: lines that begin with a colon.
#pragma once

#include <string>
#include <vector>

#include "panto/apps/repl/session/session.h"

namespace panto::repl {

class Commands {
 public:
  // Registers itself with the session.
  explicit Commands(Session& session);

  // Returns false if the command failed; the listener was told why.
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

// Returns a program that does what the accepted entries of the log did.
std::string program_text(const SessionLog& log);
// Returns the doc of an op by its C++ or registry name: signature, text, an example. For other names, header_help's
// text or our equivalent of a NumPy name. Throws NotFound with similar names.
std::string op_help(const std::string& name);
// Returns an example call of an op, by the same names; "" if there is no such op.
std::string op_call(const std::string& name);
// Returns declarations and comments of a function, class or constant of panto's public headers; "" if there is none.
std::string header_help(const std::string& name);

}  // namespace panto::repl
