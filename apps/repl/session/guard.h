// Running what was typed: exceptions become messages, Ctrl-C stops it, and where the process cannot go on (a bad
// pointer, abort) it starts anew with the session's log.
#pragma once

#include <string>
#include <vector>

namespace panto::repl {

struct RunResult {
  enum class Outcome { kFine, kThrew, kInterrupted };
  Outcome outcome = Outcome::kFine;
  std::string message;
};

// Calls `run`. First Ctrl-C: ops throw Cancelled; code that calls none is left without running destructors, if it is in
// code of the session only. A second Ctrl-C, where neither works, restarts.
RunResult run_guarded(void (*run)());

// Installs the handlers, for the main thread of a process that has no other yet. `restart`: the command line that goes
// on with this session; a last argument that says why is added.
void install_guard(const std::vector<std::string>& restart);
// Starts that command line now.
[[noreturn]] void restart(const std::string& why);
// Whether a Ctrl-C came since this was last asked.
bool take_interrupt();

}  // namespace panto::repl
