// Runs other programs.
#pragma once

#include <string>
#include <vector>

namespace panto::repl {

// Runs a program and waits for it; looks in PATH if its name has no slash. Returns false if it could not be started or
// failed.
bool run_program(const std::vector<std::string>& command);

// Runs a shell command with this process's input and output; Ctrl-C stops it. Returns "" on success, else how it ended:
// "status 2", "signal 9 (Killed)".
std::string run_shell(const std::string& command);

}  // namespace panto::repl
