// panto repl: the command.
#pragma once

#include <string>
#include <vector>

namespace panto::repl {

struct CommandOptions {
  std::string script;   // "": standard input
  std::string command;  // -c
  bool has_command = false;
  bool keep_going = false;
  std::string engine;             // "": the first that is there
  std::string resume;             // a session's folder, after a restart
  std::string reason;             // of the restart
};
// The exit status.
int run_command(const CommandOptions& options);

}  // namespace panto::repl
