// Running another program.
#pragma once

#include <string>
#include <vector>

namespace panto::repl {

// Runs a program, found in PATH where its name has no slash, and waits for it. False: it could not be started, or
// failed.
bool run_program(const std::vector<std::string>& command);

}  // namespace panto::repl
