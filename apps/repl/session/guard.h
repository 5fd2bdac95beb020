// Runs inputs safely: exceptions become messages, Ctrl-C stops them, and after a fatal error (a bad pointer, abort) the
// process restarts from the session's log.
#pragma once

#include <string>
#include <vector>

namespace panto::repl {

struct RunResult {
  enum class Outcome { kFine, kThrew, kInterrupted };
  Outcome outcome = Outcome::kFine;
  std::string message;
};

// Calls `run`. At the first Ctrl-C ops throw Cancelled; code without ops is left without running destructors, if all of
// its frames are the session's. If neither works, further Ctrl-C restart the session.
RunResult run_guarded(void (*run)());

// Installs the handlers. Call it in the main thread before there are others. `restart`: the command line that resumes
// this session; the reason is appended as the last argument.
void install_guard(const std::vector<std::string>& restart);
// Restarts with that command line now.
[[noreturn]] void restart(const std::string& why);
// Returns true if Ctrl-C was pressed since the last call.
bool take_interrupt();

}  // namespace panto::repl
