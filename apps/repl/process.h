// Running another program.
#pragma once

#include <string>
#include <vector>

namespace panto::repl {

// Runs a program, found in PATH where its name has no slash, and waits for it. False: it could not be started, or
// failed.
bool run_program(const std::vector<std::string>& command);

// Runs a command of the shell, which has this process's input and output and may be stopped by Ctrl-C. "" where it ends
// well, else how it ended: "status 2", "signal 9 (Killed)".
std::string run_shell(const std::string& command);

}  // namespace panto::repl
