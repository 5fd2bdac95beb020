// panto repl: the command.
#pragma once

#include <string>

namespace panto::repl {

struct CommandOptions {
  std::string script;   // "": standard input
  std::string command;  // -c
  bool has_command = false;
  bool keep_going = false;
  std::string engine;  // "": the first available one
  // Set by a session that restarts itself: its folder, and the reason.
  std::string resume, reason;
};
// Returns the exit status: 0, or 1 if an input failed. Throws panto::Error if no session can be started.
int run_command(const CommandOptions& options);

}  // namespace panto::repl
