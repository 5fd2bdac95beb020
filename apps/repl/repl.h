// panto repl: the command.
#pragma once

#include <string>

namespace panto::repl {

struct CommandOptions {
  std::string script;   // "": standard input
  std::string command;  // -c
  bool has_command = false;
  bool keep_going = false;
  std::string engine;  // "": the first that is there
  // Set by a session that starts itself anew: its folder, and why.
  std::string resume, reason;
};
// The exit status: 0, or 1 where an input failed. Throws panto::Error where no session can be had.
int run_command(const CommandOptions& options);

}  // namespace panto::repl
